"""The end of a run in a terminal.

It prints headline, sentences, a plot of the checks, what changed, what to do, and the exit code. Order and sentences
are those of the comment, in at most 80 columns. Only the signs are coloured.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from accgate.guard.state import Guard
from accgate.report import words
from accgate.report.flips import Answers, FlipsByCheck, first_answers
from accgate.report.forest import Row, row_cells, row_scale, rows_of
from accgate.report.story import SIGNS, WAITING, Story, guard_sentence, name_in, story_of
from accgate.report.terminal import COLOURS, print_table
from accgate.report.views import GROUP_HEADINGS, gamma_of, group_rows, theta_of
from accgate.result import Result
from accgate.text import clip, p_text, visible, with_stop
from accgate.verdict import Verdict
from accgate.verdict.advice import after_inconclusive, approval_steps
from accgate.verdict.findings import collapse_sentence, lack_sentence
from accgate.verdict.points import samples_of
from accgate.verdict.reasons import RESOLUTION
from accgate.verdict.sentences import Setting, drift_sentence, groups_sentence, readings_sentence, settings_of

WIDEST = 80  # columns, a terminal's as it opens
NARROW = 70  # columns under which the intervals' figures are left out
KEYS = 9  # columns of the words before what to do
ANSWER = 20  # columns of an answer
NOTES = 3  # of a check
GROUPS = 5
LONGEST = 34  # characters of a group's name
RULES = 20  # more would scroll the verdict away


def print_result(
    console: Console, result: Result, flips: FlipsByCheck | None = None, *, report: str = "", place: str = ""
) -> None:
    """Print the end of a run.

    `report` is the report's file, if there is one. `place` is the argument by which `accgate report` finds the run, and
    is empty where it needs none.
    """
    story = story_of(result)
    printer = _Printer(console)
    _print_headline(printer, story)
    if story.sentences:
        printer.paragraph(" ".join(story.sentences))
        printer.line()
    rows = rows_of(story.checks)
    if len(rows) > 1:
        _print_plot(printer, rows)
    _print_undecided(printer, result, story)
    _print_notes(printer, result, story)
    if story.lead is not None and story.lead.verdict != "pass" and (settings := settings_of(story.lead)):
        several = len({verdict.model for verdict in result.decided}) > 1
        _print_settings(printer, settings, f", {visible(story.lead.model or '')}" if several else "")
    if (answers := first_answers(story.checks, flips or {})) is not None:
        _print_answers(printer, answers)
    _print_steps(printer, story, report, place)
    cost, saved = words.cost(result), words.savings(result)
    spent = f"{cost}{'' if saved is None else f'; {saved}'}. " if cost else ""
    printer.paragraph(f"{spent}Exit code {result.exit_code}.")


class _Printer:
    """Prints lines of at most 80 columns."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = max(min(console.width, WIDEST), 20)

    def line(self, text: Text | str = "") -> None:
        """Print one line as it is."""
        line = text if isinstance(text, Text) else Text(text)
        line.rstrip()
        self.console.print(line, no_wrap=True, crop=False, overflow="ignore")

    def paragraph(self, text: Text | str, *, indent: int = 2, hanging: int | None = None, first: str = "") -> None:
        """Print a paragraph. Its first line follows `first`, the others are indented by `hanging` columns."""
        body = text if isinstance(text, Text) else Text(visible(text))
        deep = indent if hanging is None else hanging
        lines = body.wrap(self.console, max(self.width - deep, 8))
        for number, line in enumerate(lines):
            line.rstrip()
            before = f"{' ' * indent}{first}" if number == 0 else " " * deep
            before = before.ljust(deep) if first else before
            self.line(Text(before).append_text(line))


def _print_headline(printer: _Printer, story: Story) -> None:
    name = next((name for name, sign in SIGNS.items() if sign == story.headline.symbol), "error")
    line = Text(visible(" ".join(story.headline)), style=f"bold {COLOURS[name]}")
    printer.line()
    printer.paragraph(line, indent=0, hanging=2 if len(line) > printer.width else 0)
    printer.line()


def _print_plot(printer: _Printer, rows: Sequence[Row]) -> None:
    """Print each check with its interval as a drawing, and its change.

    A wide terminal has room for the interval's figures too.
    """
    shows_figures = printer.width >= NARROW
    names = min(18 if shows_figures else 16, 2 + max(len(row.name) for row in rows))
    width = max(9, *(2 + len(row.figure) for row in rows))
    reach = max(17, *(2 + len(row.interval) for row in rows)) if shows_figures else 0
    head = "change".rjust(width) + "interval".rjust(reach)[:reach]
    tail = len(head) + (1 if shows_figures else 0)
    scale = row_scale(rows, 0, printer.width - names - tail - 6)
    model = None
    for row in rows:
        if row.model != model:
            name = clip(visible(row.model), printer.width - tail - 4, "…") if row.model else ""
            printer.line(f"  {name}".ljust(printer.width - len(head) - 1) + (head if model is None else ""))
            model = row.model
        cells = row_cells(row, scale, whole=True).ljust(int(scale.end) + 1)
        line = Text("  ").append(SIGNS[row.verdict], style=COLOURS[row.verdict])
        line.append(f" {clip(visible(row.name), names - 2, '…')}".ljust(names))
        line.append(f"{cells}".ljust(printer.width - len(head) - 1 - len(line)))
        line.append(row.figure.rjust(width) + row.interval.rjust(reach)[:reach])
        printer.line(line)
    printer.line()
    failed = any(row.place.limit is not None for row in rows)
    worse = "   ▕ gamma: fails to the left of it" if shows_figures else "   ▕ gamma"
    printer.line(f"  ┊ no change   ├ ┤ interval{worse if failed else ''}")
    printer.line()


def _print_undecided(printer: _Printer, result: Result, story: Story) -> None:
    """Print what the undecided checks lack, except the first, which the headline names."""
    decided = ("pass", "regression")
    rest = [verdict for verdict in story.checks if verdict is not story.lead and verdict.verdict not in decided]
    names = {verdict: clip(visible(name_in(result, verdict)), 32, "…") for verdict in rest[:GROUPS]}
    width = max(map(len, names.values()), default=0)
    for verdict in rest[:GROUPS]:
        is_same = verdict.verdict == story.checks[0].verdict == "error" and verdict.reasons == story.checks[0].reasons
        lack = "for the same reason." if is_same and verdict.reasons else _lack(verdict)
        printer.paragraph(lack, first=names[verdict], hanging=4 + width)
    if len(rest) > GROUPS:
        printer.paragraph(f"and {len(rest) - GROUPS} more without a verdict")
    if rest:
        printer.line()


def _lack(verdict: Verdict) -> str:
    if verdict.verdict == "inconclusive":
        return f"{lack_sentence(verdict)}. Next: {after_inconclusive(verdict, needs_approval=False)}."
    return with_stop("; ".join(verdict.reasons) or verdict.verdict)


def _print_notes(printer: _Printer, result: Result, story: Story) -> None:
    """Print remarks on replies, groups, drift and reasons of each check."""
    printed = False
    for verdict in story.checks:
        name = f"{visible(name_in(result, verdict))}: " if len(story.checks) > 1 else ""
        groups = groups_sentence(verdict)
        for text in (*_notes(verdict, is_lead=verdict is story.lead), *filter(None, [groups])):
            printer.paragraph(f"{name}{text}.", first="- ", hanging=4)
            printed = True
        if groups is not None:
            print_groups(printer.console, verdict, most=GROUPS)
    if printed:
        printer.line()


def _notes(verdict: Verdict, *, is_lead: bool) -> Iterator[str]:
    """Yield the remarks on one check that the sentences leave out, without full stops."""
    yield from filter(None, (collapse_sentence(verdict), readings_sentence(verdict), drift_sentence(verdict)))
    if verdict.p_value is None:  # the first check's first reason is among the sentences; other checks' are above
        yield from verdict.reasons[1 : NOTES + 1] if is_lead else ()
        return
    lack = lack_sentence(verdict) if verdict.verdict == "inconclusive" else ""
    elsewhere = {*RESOLUTION, "unread"} if is_lead and verdict.verdict == "regression" else RESOLUTION
    pairs = zip(verdict.causes, verdict.reasons, strict=True)
    texts = (text.removesuffix(".") for cause, text in pairs if cause.kind not in elsewhere)
    remarks = [text for text in texts if text.lower() != lack.lower()]
    yield from remarks[:NOTES]
    if len(remarks) > NOTES:
        yield f"and {len(remarks) - NOTES} more, which `accgate report --check MODEL/TASK` lists"


def print_groups(console: Console, verdict: Verdict, *, most: int | None = None) -> None:
    """Print the table of a check's groups.

    Groups that fell most surely come first, and at most `most` are shown.
    """
    rows = [[clip(visible(name), LONGEST, " …"), n, *rest] for name, n, _, _, *rest in group_rows(verdict)]
    print_table(console, GROUP_HEADINGS[:2] + GROUP_HEADINGS[4:], rows[:most], left=(0,))
    if most is not None and len(rows) > most:
        console.print(Text(f" and {len(rows) - most:,} more, which `accgate report --check MODEL/TASK` lists"))


def _print_settings(printer: _Printer, settings: Sequence[Setting], of: str) -> None:
    printer.paragraph(f"Settings that changed{of}")
    first = settings[:8]
    width = min(max(len(visible(setting.name)) for setting in first), 30)
    for number, setting in enumerate(first):
        if setting.is_outside and not (number and first[number - 1].is_outside):
            printer.paragraph("Changed outside accuracy.toml:", indent=4)
        name = clip(visible(setting.name), 30, "…").ljust(width)
        change = f"{visible(setting.before)} → {visible(setting.now)}" if setting.now else ""
        printer.paragraph(change, indent=4, first=f"{name}   ", hanging=4 + width + 3)
    if len(settings) > len(first):
        printer.paragraph(f"and {len(settings) - len(first)} more", indent=4)
    printer.line()


def _print_answers(printer: _Printer, answers: Answers) -> None:
    """Print the first answers that got worse, with replies in columns.

    Each column is as wide as its replies need.
    """
    title = f"  Answers that got worse, {len(answers.rows)} of {answers.count:,}"
    if printer.width < 50:
        printer.paragraph(title)
        for answer in answers.rows:
            printer.paragraph(f"{answer.prompt} {_end(answer.before, ANSWER)} → {_end(answer.now, ANSWER)}", indent=4)
        printer.line()
        return
    most = ANSWER if printer.width >= NARROW else ANSWER // 2
    cells = [[_end(answer.before, most), _end(answer.now, most)] for answer in answers.rows]
    widths = [max(len(head), *(len(row[i]) for row in cells)) for i, head in enumerate(("before", "now"))]
    left = printer.width - sum(widths) - 5
    longest = max(len(title), *(4 + len(visible(answer.prompt)) for answer in answers.rows))
    left = min(left, longest + 2, 48 if longest < 48 else left)
    printer.line(title.ljust(left) + f"{'before':>{widths[0]}}  {'now':>{widths[1]}}")
    for answer, (before, now) in zip(answers.rows, cells, strict=True):
        prompt = clip(visible(answer.prompt), max(left - 6, 4), "…")
        printer.line(f"    {prompt}".ljust(left) + f"{before:>{widths[0]}}  {now:>{widths[1]}}")
    printer.line()


def _end(reply: str, most: int) -> str:
    """Return the end of a reply, where its answer mostly is."""
    text = visible(reply)
    return text if len(text) <= most else f"…{text[-most + 1 :].lstrip()}"


def _print_steps(printer: _Printer, story: Story, report: str, place: str) -> None:
    lead = story.lead
    pairs = [("Next", "; ".join(str(step) for step in story.steps if step.kind == "next"))]
    accept = [step for step in story.steps if step.kind == "accept"]
    pairs.extend(("Accept", next(part.text for part in step.words if part.is_code)) for step in accept)
    if lead is not None and len(story.checks) == 1 and lead.p_value is not None:
        figures = f"gamma {gamma_of(lead)}, theta {theta_of(lead)}, p {p_text(lead.p_value)}, n {samples_of(lead)}"
        pairs.append(("Figures", figures))
        pairs.append(("Answers", "" if lead.lost is None else f"{lead.lost:,} got worse, {lead.gained:,} better"))
    if report and lead is not None:
        pairs.append(("Details", " ".join(filter(None, ("accgate report", place, "--check", "/".join(lead.names))))))
        pairs.append(("Report", report))
    for key, text in pairs:
        if text:
            printer.paragraph(text, first=key, hanging=2 + KEYS)
    printer.line()


def guard_ending(result: Result | None, guard: Guard, head_sha: str, exit_code: int, *, commands: bool) -> list[str]:
    """Return the last lines of `publish` for a run that waits for approval.

    A run that does not pass, or needs no approval, has none.
    """
    if result is None or result.verdict != "pass" or guard.holds or not (sentence := guard_sentence(result, guard)):
        return []
    lines = [f"{WAITING} Waiting for approval: this pull request loosens the gate", "", f"  {sentence}", ""]
    signs = {"loosening": "▽ loosens", "tightening": "△ tightens", "new": "  new"}
    names = [clip(visible(change.rule), 40, "…") for change in guard.changes[:RULES]]
    for change, name in zip(guard.changes, names, strict=False):
        values = clip(visible(f"{change.base or 'none'} → {change.head or 'none'}"), 80, "…")
        lines.append(f"    {signs[change.effect]:<10}   {name.ljust(max(map(len, names)))}   {values}")
    if len(guard.changes) > RULES:
        lines.append(f"    and {len(guard.changes) - RULES} more")
    steps = "; ".join(str(step) for step in approval_steps(head_sha, answers_commands=commands))
    return [*lines, "", f"  Next     {steps}", "", f"  Exit code {exit_code}."]

"""Reports of which changed setting explains a regression.

The outcome of `accgate blame` is kept in cause.json, printed, and written as Markdown and HTML. The file is checked
when it is read.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accgate.decision.cause import Blame, Explained, Trial, explained_bounds, is_consistent, selection_of
from accgate.errors import BadInput, writing
from accgate.inputs.paths import read_json
from accgate.inputs.rows import holds_only
from accgate.records.replacement import write_atomically
from accgate.report.flips import opening
from accgate.report.html.inline import page_parts, whole_page
from accgate.report.limits import LIMITS, Limits
from accgate.report.markdown import fill_template
from accgate.result import CAUSE, Result, to_json
from accgate.text import visible, with_stop

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("Setting", "Reference", "Now", "Came back with it put back", "Lost with it alone", "Finding")
EITHER_WAY = "flips either way, loses nothing"
# Of both trials of a setting the first of these counts.
FINDINGS = {"cause": "explains", "open": "not shown", "either way": EITHER_WAY, "no cause": "does not"}
ORIGIN = "The evaluating job found this after its verdict; it is not part of the verdict."
ROWS, SENTENCES = 10, 4  # of a comment
NAME, SENTENCE = 60, 400  # characters of them


@dataclass(frozen=True)
class CauseView:
    """The outcome of a search as a template shows it.

    Its texts are not escaped yet.
    """

    sentences: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()
    method: str = ""
    origin: str = ""
    headings: tuple[str, ...] = HEADINGS
    title: str = ""
    bars: tuple[tuple[Row, Bar | None], ...] = ()  # of the HTML page

    def cut(self, limits: Limits) -> CauseView:
        """Return the outcome cut to the room that a comment has."""
        rows = self.rows[:ROWS] if limits.details else ()
        return replace(
            self,
            sentences=tuple(
                opening(text, min(SENTENCE, limits.reasons))
                for text in self.sentences[: SENTENCES if limits.group_lines else 1]
            ),
            rows=tuple(tuple(opening(text, min(NAME, limits.names)) for text in row) for row in rows),
            bars=(),
        )


def cause_view(cause: CauseFile, result: Result) -> CauseView:
    """Show a cause file's outcome beside a result.

    It names its origin: the job that evaluates a pull request could have written anything into the file.
    """
    if cause.blame is None:
        return CauseView((with_stop(f"That is unknown: {cause.failure}"),), origin=ORIGIN)
    if not is_of(cause, result):
        return CauseView(("That is unknown: the search was for a check that did not regress in this run.",))
    return replace(_view(cause.blame), origin=ORIGIN)


def _view(blame: Blame) -> CauseView:
    rows = rows_of(blame)
    return CauseView(
        sentences=tuple(blame_sentences(blame)),
        rows=tuple(row.cells for row in rows),
        method=method_of(blame),
        title=f"{blame.model} / {blame.task}",
        bars=tuple((row, _bar(row.back, blame)) for row in rows),
    )


def blame_sentences(blame: Blame) -> list[str]:
    """Describe the outcome of a search in sentences.

    The causes come first, then what limits the answer.
    """
    sentences = _causes(blame)
    if flipping := [row.name for row in rows_of(blame) if row.is_single and row.finding == EITHER_WAY]:
        flip = "flip" if len(flipping) > 1 else "flips"
        sentences.append(f"{' and '.join(flipping)} {flip} answers either way: as many came back as went.")
    if blame.by_chance:
        those = f"{blame.by_chance} of the {blame.control} lost answers that were asked again"
        sentences.append(f"{those} came back with nothing changed: by chance.")
    if blame.fixed:
        reasons = dict.fromkeys(change.why for change in blame.fixed)
        kinds = (", ".join(str(replace(c, why="")) for c in blame.fixed if c.why == why) for why in reasons)
        others = "; ".join(f"{kind} ({why})" for kind, why in zip(kinds, reasons, strict=True))
        sentences.append(f"Also different, but cannot be put back here: {others}.")
    problems = {trial.problem: trial for trial in blame.trials if trial.problem}
    for problem, trial in problems.items():
        way = "set alone" if trial.kind == "set alone" else "put back"
        sentences.append(f"With {_name_of(trial)} {way} the model could not be asked: {problem}.")
    if blame.ended_early is not None:
        sentences.append(f"The search ended {blame.ended_early}; `accgate blame --resume` with more continues it.")
    return sentences


def _causes(blame: Blame) -> list[str]:
    if blame.causes:
        return [_explains(blame, cause) for cause in blame.causes]
    joint = blame.trials[0] if blame.trials else None
    if joint is None:
        return ["Nothing was tried."]
    if joint.problem:
        return ["No single setting is shown to explain the loss."]
    if joint.finding != "cause":
        what = "the setting" if len(blame.changes) == 1 else "all of them"
        is_shown = joint.finding in ("no cause", "either way")
        words = "Nothing in the settings explains the loss" if is_shown else "No setting is shown to explain the loss"
        went = f", and {joint.undone} of {joint.gained} gained ones went" if joint.gained else ""
        return [f"{words}: with {what} put back, {joint.back} of {joint.lost} lost answers came back{went}."]
    return [
        f"The settings together explain the loss ({joint.back} of {joint.lost} lost answers came back with all of "
        "them put back), but no single one, and no pair of them, is shown to."
    ]


def _explains(blame: Blame, cause: Explained) -> str:
    of = {change.name: change for change in blame.changes}
    names = " with ".join(f"{name} = {of[name].now}" if name in of else name for name in cause.settings)
    text = f"{names} explains {cause.count} of the {cause.of} lost answers"
    if cause.least:
        text += f" (at least {cause.least}, at {100 * (1 - blame.alpha):g}%)"
    if cause.gained:
        text += f", and gained {cause.gained}"
    if cause.alone is False:
        text += "; alone it loses none, so it does so together with others"
    return f"{text}."


def print_blame(console: Console, blame: Blame) -> None:
    """Print what explains the loss, and a row for each setting."""
    from accgate.report.terminal import print_paragraph, print_table

    first, *others = blame_sentences(blame)
    print_paragraph(console, first, "bold")
    for sentence in others:
        print_paragraph(console, sentence)
    console.print()
    print_table(console, HEADINGS, [[*map(visible, row.cells)] for row in rows_of(blame)], left=(0, 1, 2, 5))
    console.print()
    print_paragraph(console, method_of(blame))


def blame_markdown(blame: Blame) -> str:
    """Write the outcome of a search as GitHub-flavoured Markdown, names and values escaped."""
    return fill_template({"cause": _view(blame).cut(LIMITS[0])}, "cause.md.j2")


class Row(NamedTuple):
    """A setting, or several that were tried together, with the trials of them.

    `back` is the trial that put them back, `alone` the one that changed nothing else.
    """

    name: str
    before: str
    now: str
    back: Trial | None
    alone: Trial | None

    @property
    def is_single(self) -> bool:
        """Whether it is one setting. Several together have no trial of their own."""
        return self.back is None or self.back.kind == "put back"

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts under `HEADINGS`."""
        alone = share_of(self.alone) if self.is_single else ""
        return self.name, self.before, self.now, share_of(self.back), alone, self.finding

    @property
    def tried(self) -> list[Trial]:
        """The trials that were made."""
        return [trial for trial in (self.back, self.alone) if trial is not None]

    @property
    def finding(self) -> str:
        """What the trials show, in a word or two."""
        if not self.tried:
            return "not tried"
        if all(trial.problem for trial in self.tried):
            return "could not be asked"
        findings = [trial.finding for trial in self.tried]
        finding = next(each for each in FINDINGS if each in findings)
        no_sign = finding == "open" and all(trial.back <= trial.gone for trial in self.tried)
        return "no sign" if no_sign else FINDINGS[finding]


def rows_of(blame: Blame) -> list[Row]:
    """Return a row for each setting, and for those that were tried together."""
    trials = {(trial.kind == "set alone", trial.settings): trial for trial in blame.trials}
    rows = []
    for change in blame.changes:
        back, alone = (trials.get((is_alone, (change.name,))) for is_alone in (False, True))
        rows.append(Row(change.name, change.before, change.now, back, alone))
    together = [trial for trial in blame.trials if trial.kind in ("all back", "pair back")]
    return rows + [Row(_name_of(trial), "", "", trial, None) for trial in together]


def _name_of(trial: Trial) -> str:
    return "all of them" if trial.kind == "all back" else " and ".join(trial.settings)


def share_of(trial: Trial | None) -> str:
    """Say how many answers moved in a trial.

    An example is "5 of 9, 1 the other way; 2 of 3 gained".
    """
    if trial is None or not trial.lost:
        return "-"
    against = f", {trial.gone} the other way" if trial.gone else ""
    gained = f"; {trial.undone} of {trial.gained} gained" if trial.gained else ""
    return f"{trial.back} of {trial.lost}{against}{gained}"


def method_of(blame: Blame) -> str:
    """Say how the settings were tried, and how sure that is."""
    return (
        f"{blame.questions:,} questions. Each setting was put back, and set alone, and compared with the same model "
        f"asked again, on lost and gained answers alike; a setting that loses nothing is named with a probability of "
        f"at most {100 * blame.alpha:g}%, over all of them."
    )


# cause.json: read as data that anybody may have written


LARGEST = 1_000_000  # bytes; a search over 20 settings has 20,000
MOST = 300  # settings, trials or causes
LONGEST = 2_000  # characters of a text
FIX = "run `accgate blame` again"


@dataclass(frozen=True)
class CauseFile:
    """Either what a search found, or the failure that took its place."""

    blame: Blame | None = None
    failure: str | None = None


def write_cause(cause: CauseFile, path: Path) -> None:
    """Write the file.

    Raises
    ------
    CannotEvaluate
        When it cannot be written.
    """
    with writing(path):
        write_atomically(path, to_json(cause).encode("utf-8", "backslashreplace") + b"\n")


def read_cause(path: Path) -> CauseFile | None:
    """Read the file, or return None where there is none.

    Nothing in it is believed that does not follow from its own counts.

    Raises
    ------
    BadInput
        When it is no plain file, is too large, holds anything else, or contradicts itself.
    """
    from pydantic import ValidationError

    from accgate.inputs.typed import adapter_of, first_fault

    if path.is_symlink():
        raise BadInput(f"{path}: is a link, not a file; {FIX}")
    if not path.exists():
        return None
    data = read_json(path, LARGEST, FIX)
    try:
        cause = adapter_of(CauseFile).validate_python(data)
    except ValidationError as error:
        raise BadInput(f"{path}: is not what `accgate blame` writes: {first_fault(error)}; {FIX}") from error
    if not holds_only(data, asdict(cause), text=LONGEST, entries=MOST):
        raise BadInput(f"{path}: holds more than `accgate blame` writes; {FIX}")
    if (cause.blame is None) == (cause.failure is None):
        raise BadInput(f"{path}: must hold either the outcome of a search or the reason why there is none; {FIX}")
    if cause.blame is not None and not is_consistent(cause.blame):
        raise BadInput(f"{path}: its figures contradict each other; {FIX}")
    return cause


def is_of(cause: CauseFile, result: Result) -> bool:
    """Tell whether a search was for a check of this result that regressed.

    The check must have as many lost answers, and evidence at least as strong as the search assumed.
    """
    blame = cause.blame
    return blame is None or any(
        (verdict.model, verdict.task, verdict.verdict) == (blame.model, blame.task, "regression")
        and len(verdict.flips) == blame.lost
        and selection_of(blame.p_value, blame.run_alpha, blame.alpha)
        <= selection_of(verdict.p_value, verdict.level, blame.alpha)
        for verdict in result.checks
    )


# As HTML: a page of its own, and a section of a run's report


@dataclass(frozen=True)
class Bar:
    """How many of the `of` lost answers a setting explains, with its interval."""

    count: int
    least: int
    most: int
    of: int


def blame_html(blame: Blame) -> str:
    """Write the outcome of a search as one HTML page.

    The page loads and runs nothing.
    """
    style = page_parts("accgate.report", "tokens.css", "cause.css")
    return whole_page("accgate.report", "cause-page.html.j2", style=style, cause=_view(blame))


def cause_section(result: Result, folder: Path | None) -> CauseView | None:
    """Make the section of a report from the cause.json of its run.

    The result is None without such a file, or if the file is of another run.

    Raises
    ------
    BadInput
        When the file is damaged.
    """
    cause = None if folder is None else read_cause(folder / CAUSE)
    return cause_view(cause, result) if cause is not None and is_of(cause, result) else None


def _bar(trial: Trial | None, blame: Blame) -> Bar | None:
    if trial is None or not trial.lost:
        return None
    least, most = explained_bounds(trial, blame.lost, blame.alpha)
    count = max(0, round(blame.lost * (trial.back - trial.gone) / trial.lost))
    return Bar(count, min(least, count), max(most, count), blame.lost)

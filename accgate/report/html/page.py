"""The report as one HTML file that needs no other.

It serves light or dark, on paper or on a phone, without a network.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from accgate.records.file import paths_of
from accgate.report.charts.svg import Chart
from accgate.report.html.cause import cause_section
from accgate.report.html.checks import charts_of, outcome_text
from accgate.report.html.inline import page_parts, whole_page
from accgate.report.html.overview import Plot, forest_of, group_table, start_text, stats_of
from accgate.report.html.viewer import Beside, ShownList, lists_of
from accgate.report.limits import LIMITS, shorten_result
from accgate.report.samples import Samples
from accgate.report.story import Story, story_of, together_words, worst_first
from accgate.report.views import COST_HEADINGS, FIGURE_HEADINGS, HEADINGS, check_view, cost_note, cost_rows, figures_of
from accgate.report.words import explanation_of
from accgate.result import Result
from accgate.text import visible, with_capital
from accgate.verdict import Verdict
from accgate.verdict.advice import Words
from accgate.verdict.findings import collapse_sentence
from accgate.verdict.paragraphs import RULES, other_rules
from accgate.verdict.points import change_text
from accgate.verdict.sentences import drift_sentence, readings_sentence, settings_of

DRAWN = 40  # checks that did not pass and have charts
NOUNS = {
    "regression": ("regression", "regressions"),
    "error": ("error", "errors"),
    "no-reference": ("without a reference", "without a reference"),
    "inconclusive": ("inconclusive", "inconclusive"),
    "pass": ("pass", "passes"),
}
COLOURS = {"regression": "bad", "error": "bad", "no-reference": "bad", "inconclusive": "warn", "pass": "good"}


@dataclass(frozen=True)
class Section:
    """One check of the page.

    `number` names it in links and data. `missing` says why it lacks a chart, and `list` has its samples, None without
    records. `steps` explain the verdict, each under a heading; `notes` are further sentences on it.
    """

    number: int
    verdict: Verdict
    told: str
    steps: Sequence[tuple[str, str]]
    notes: tuple[str, ...]
    charts: Sequence[Chart]
    missing: str
    groups: Plot | None
    list: ShownList | None

    @property
    def task(self) -> str:
        """What was asked, which is the section's heading."""
        return self.verdict.task or self.verdict.model or "candidate against reference"


def html_report(result: Result, folder: Path | None = None, beside: Beside | None = None) -> str:
    """Write the report of a run as a whole HTML page.

    Names, prompts and replies can hold anything: each shows as text, and the page's policy lets only its own style and
    script load and run.

    Parameters
    ----------
    result : Result
        The run.
    folder : Path, optional
        Where accgate.json lies with the run's records; without it charts and lists of single samples are left out.
    beside : Beside, optional
        The file that takes what has no room in the page; without it the page says what is left out.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    short = shorten_result(result, LIMITS[0])
    story = story_of(short)
    sections, data = _sections(result, short, folder, beside)
    return whole_page(
        "accgate.report",
        "report.html.j2",
        script=page_parts("accgate.report", "samples.js", "report.js"),
        **_frame(data, beside),
        **_overview(short, story),
        forest=forest_of(story.checks),
        sections=sections,
        cause=cause_section(result, folder),
        opened=[section for section in sections if section.verdict.verdict != "pass" or len(sections) == 1],
        passes=[section for section in sections if section.verdict.verdict == "pass" and len(sections) > 1],
        all_figures=[all_figures(verdict) for verdict in story.checks],
        beside=[all_figures(verdict) for verdict in short.beside],
        beside_words=other_rules(result.rules),
        ALL=ALL,
        change_text=change_text,
        settings_of=settings_of,
        figures_of=figures_of,
        cost_rows=cost_rows,
        cost_note=cost_note,
        COSTS=COST_HEADINGS,
        colours=COLOURS,
    )


def answers_page(answers: Mapping[str, Samples], beside: Beside, *, answered: bool) -> str:
    """Show the answers of a run without a verdict as a whole HTML page.

    Those of each check are under its name.
    """
    lists, data = lists_of(dict(enumerate(answers.values())), beside)
    script = page_parts("accgate.report", "samples.js")
    named, frame = list(zip(answers, lists.items(), strict=True)), _frame(data, beside)
    return whole_page("accgate.report", "answers.html.j2", script=script, named=named, answered=answered, **frame)


def _frame(data: str, beside: Beside | None) -> dict[str, Any]:
    """Return what every page with lists of samples holds."""
    from markupsafe import Markup

    style = page_parts("accgate.report", "tokens.css", "report.css", "cause.css")
    file = beside if beside is not None and beside.parts else None
    return {"data": Markup(data), "style": style, "samples_file": file, "nonce": file.nonce if file else ""}


def _overview(result: Result, story: Story) -> dict[str, Any]:
    """Return what stands above the checks.

    `title` is the headline without the verdict's name, which is shown above it.
    """
    counts: Counter[str] = Counter(verdict.verdict for verdict in result.decided)
    tally = [(name, f"{counts[name]:,} {forms[counts[name] != 1]}") for name, forms in NOUNS.items() if counts[name]]
    word, colon, title = story.headline.text.partition(": ")
    return {
        "result": result,
        "headline": story.headline.text,
        "word": word if colon else result.verdict.capitalize(),
        "title": with_capital(title) if title and word == "No verdict" else title or story.headline.text,
        "sentences": story.sentences,
        "next": [[Words(_plain(part.text), part.is_code) for part in step.words] for step in story.steps],
        "tally": tally,
        "stats": stats_of(result),
        "started": start_text(result),
        "rules": "" if result.rules == "own" else f"by {RULES[result.rules]}",
    }


def _plain(text: str) -> str:
    """Return a part of a sentence with the spaces at its ends."""
    return f"{' ' * text.startswith(' ')}{visible(text)}{' ' * text.endswith(' ')}"


def _sections(result: Result, short: Result, folder: Path | None, beside: Beside | None) -> tuple[list[Section], str]:
    """Return the checks of `short`, worst first.

    Files are read by the names of `result`.
    """
    whole, checks = worst_first(result.decided), worst_first(short.decided)
    with tempfile.TemporaryFile() as spool:
        found = {} if folder is None else {at: _samples(spool, folder, v, result.seed) for at, v in enumerate(whole)}
        lists, data = lists_of({at: samples for at, samples in found.items() if samples is not None}, beside)
    drawn = [at for at, verdict in enumerate(checks) if verdict.verdict != "pass" or len(checks) == 1][:DRAWN]
    sections = []
    for at, verdict in enumerate(checks):
        charts: Sequence[Chart] = ()
        missing = ""
        if at in drawn:
            charts, missing = charts_of(whole[at], folder, result.seed, f"c{at}")
        elif verdict.verdict != "pass":
            missing = f"Only {DRAWN} checks have charts, those with the worst verdicts."
        told, groups = outcome_text(verdict, together_words(short, verdict), first=at == 0), group_table(verdict)
        _, *steps, _ = explanation_of(short, verdict)
        sections.append(Section(at, verdict, told, steps, _notes(verdict), charts, missing, groups, lists.get(at)))
    return sections, data


def _samples(spool: IO[bytes], folder: Path, verdict: Verdict, seed: int) -> Samples | None:
    """Return the samples of a check.

    None where no records are beside the result.
    """
    if verdict.model is None or verdict.task is None:
        return None
    paths, judged = paths_of(folder, verdict.model, verdict.task), None if verdict.lost is None else verdict.n
    if not paths.records.is_file():
        return None
    higher = verdict.higher_is_better
    collapsed = () if verdict.collapse is None else verdict.collapse.ids
    flips = verdict.flips
    return Samples(spool, paths, flips=flips, collapsed=collapsed, judged=judged, higher_is_better=higher, seed=seed)


def _notes(verdict: Verdict) -> tuple[str, ...]:
    notes = tuple(filter(None, (collapse_sentence(verdict), readings_sentence(verdict), drift_sentence(verdict))))
    if verdict.p_value is not None and verdict.verdict != "inconclusive":
        notes += verdict.reasons
    return notes


ALL = (*HEADINGS, *FIGURE_HEADINGS[1:], "Verdict")


def all_figures(verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of a check's row under `ALL`."""
    view = check_view(verdict, (), LIMITS[0])
    return (*view.row, *view.figure_row[1:], view.word)

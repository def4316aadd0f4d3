"""The report as one HTML page.

It needs no network, and follows the reader's light or dark theme.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from accgate.decision.path import path_of
from accgate.records.file import paths_of
from accgate.report.cause import cause_section
from accgate.report.charts.distribution import distribution_chart
from accgate.report.charts.evidence import evidence_chart
from accgate.report.charts.svg import Chart
from accgate.report.html.inline import page_parts, whole_page
from accgate.report.html.overview import Plot, forest_of, group_table, start_text, stats_of
from accgate.report.html.run import sides_of
from accgate.report.html.viewer import SamplesFile, ShownList, lists_of
from accgate.report.limits import LIMITS, shorten_result
from accgate.report.samples import Samples
from accgate.report.story import Story, story_of, together_words, worst_first
from accgate.report.views import ALL, COST_HEADINGS, all_figures, cost_note, cost_rows, figures_of
from accgate.report.words import explanation_of
from accgate.result import Result
from accgate.text import visible, with_capital, with_stop
from accgate.verdict import Verdict
from accgate.verdict.advice import Words
from accgate.verdict.findings import (
    chance_sentence,
    collapse_sentence,
    drop_sentence,
    lack_sentence,
    lost_answers,
    move_sentence,
    pass_words,
    samples_words,
)
from accgate.verdict.paragraphs import RULES, other_rules
from accgate.verdict.points import change_text, points_text
from accgate.verdict.sentences import drift_sentence, readings_sentence, settings_of, sight_sentence

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

    `number` names it in links and data. `outcome` says what became of it, `steps` explain the verdict, each under a
    heading, and `notes` are further sentences. `missing` says why it lacks a chart. `list` counts its samples, None
    without records.
    """

    number: int
    verdict: Verdict
    outcome: str
    steps: Sequence[tuple[str, str]]
    notes: tuple[str, ...]
    charts: Sequence[Chart]
    missing: str
    groups: Plot | None
    list: ShownList | None

    @property
    def task(self) -> str:
        """The section's heading."""
        return self.verdict.task or self.verdict.model or "candidate against reference"


def html_report(result: Result, folder: Path | None = None, samples_file: SamplesFile | None = None) -> str:
    """Write the report of a run as a whole HTML page.

    Names, prompts and replies can hold anything: each shows as text, and the page's policy lets only its own style and
    script load and run.

    Parameters
    ----------
    result : Result
        The run.
    folder : Path, optional
        Where accgate.json lies with the run's records; without it charts and lists of single samples are left out.
    samples_file : SamplesFile, optional
        It takes the samples that have no room in the page; without it the page says what is left out.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    short = shorten_result(result, LIMITS[0])
    story = story_of(short)
    sections, data = _sections(result, short, folder, samples_file)
    return whole_page(
        "accgate.report",
        "report.html.j2",
        script=page_parts("accgate.report", "samples.js", "report.js"),
        **_frame(data, samples_file),
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


def answers_page(answers: Mapping[str, Samples], samples_file: SamplesFile, *, answered: bool) -> str:
    """Write a page with the answers of a run that has no verdict.

    The keys of `answers` are the names of the checks.
    """
    lists, data = lists_of(dict(enumerate(answers.values())), samples_file)
    script = page_parts("accgate.report", "samples.js")
    named, frame = list(zip(answers, lists.items(), strict=True)), _frame(data, samples_file)
    return whole_page("accgate.report", "answers.html.j2", script=script, named=named, answered=answered, **frame)


def _frame(data: str, samples_file: SamplesFile | None) -> dict[str, Any]:
    """Return the template values of every page with lists of samples."""
    from markupsafe import Markup

    style = page_parts("accgate.report", "tokens.css", "report.css", "cause.css")
    file = samples_file if samples_file is not None and samples_file.parts else None
    return {"data": Markup(data), "style": style, "samples_file": file, "nonce": file.nonce if file else ""}


def _overview(result: Result, story: Story) -> dict[str, Any]:
    """Return the template values of the page's top.

    `title` is the headline without its first word, the verdict, which the page shows above it.
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
    """Return a part of a sentence without control characters.

    Spaces at its ends stay.
    """
    return f"{' ' * text.startswith(' ')}{visible(text)}{' ' * text.endswith(' ')}"


def _sections(
    result: Result, short: Result, folder: Path | None, samples_file: SamplesFile | None
) -> tuple[list[Section], str]:
    """Return a section for each check, worst first, and the data of their lists.

    `short` has the names cut for reading; those of `result` name the files.
    """
    whole, checks = worst_first(result.decided), worst_first(short.decided)
    with tempfile.TemporaryFile() as spool:
        samples = {} if folder is None else {at: _samples(spool, folder, v, result.seed) for at, v in enumerate(whole)}
        lists, data = lists_of({at: each for at, each in samples.items() if each is not None}, samples_file)
    drawn = [at for at, verdict in enumerate(checks) if verdict.verdict != "pass" or len(checks) == 1][:DRAWN]
    sections = []
    for at, verdict in enumerate(checks):
        charts: Sequence[Chart] = ()
        missing = ""
        if at in drawn:
            charts, missing = charts_of(whole[at], folder, result.seed, f"c{at}")
        elif verdict.verdict != "pass":
            missing = f"Only {DRAWN} checks have charts, those with the worst verdicts."
        outcome, groups = outcome_text(verdict, together_words(short, verdict), first=at == 0), group_table(verdict)
        _, *steps, _ = explanation_of(short, verdict)
        sections.append(Section(at, verdict, outcome, steps, _notes(verdict), charts, missing, groups, lists.get(at)))
    return sections, data


def _samples(spool: IO[bytes], folder: Path, verdict: Verdict, seed: int) -> Samples | None:
    """Return the samples of a check, or None where it has no records."""
    if verdict.model is None or verdict.task is None:
        return None
    paths = paths_of(folder, verdict.model, verdict.task)
    if not paths.records.is_file():
        return None
    return Samples(
        spool,
        paths,
        flips=verdict.flips,
        collapsed=() if verdict.collapse is None else verdict.collapse.ids,
        judged=None if verdict.lost is None else verdict.n,
        higher_is_better=verdict.higher_is_better,
        seed=seed,
    )


def charts_of(verdict: Verdict, folder: Path | None, seed: int, key: str) -> tuple[list[Chart], str]:
    """Draw how a check's evidence grew, and whether its outcome can be chance.

    The first chart needs the run's folder. The text says why it is missing, if it is.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    if verdict.p_value is None or verdict.candidate.mean is None or verdict.test == "overall":
        return [], ""
    verdict = replace(verdict, verdict=verdict.by_scores or verdict.verdict)  # the charts are of the scores
    first = None if verdict.test in ("two-sample", "target") else _of_samples(verdict, folder, seed, key)
    charts = [chart for chart in (first, distribution_chart(verdict, key)) if isinstance(chart, Chart)]
    return charts, f"The chart of single samples is left out: {first}." if isinstance(first, str) else ""


def _of_samples(verdict: Verdict, folder: Path | None, seed: int, key: str) -> Chart | str:
    """Return the chart of single samples, or the reason why there is none."""
    if verdict.statistic is not None:
        return f"{verdict.statistic} is not a mean of single samples"
    if folder is None:
        return "the run's folder was not given"
    sides = sides_of(verdict, folder, seed)
    evidence = sides if isinstance(sides, str) else sides.evidence(verdict)
    if isinstance(evidence, str):
        return evidence
    if (steps := path_of(evidence, verdict)) is None:
        return "the records beside accgate.json give another verdict"
    return evidence_chart(verdict, steps, key)


# What became of a check


def outcome_text(verdict: Verdict, together: str = "", *, first: bool) -> str:
    """Say what became of a check in two or three sentences.

    Of the `first` check the page's headline tells the most, so the text adds what that leaves out. `together` says what
    error rate the gate allows the whole run.
    """
    if verdict.failed_cost is not None:
        lines = [] if first else [drop_sentence(verdict), chance_sentence(verdict, together)]
        return " ".join(f"{line}." for line in (*lines, f"The scores alone: {verdict.by_scores}"))
    if first:
        return f"{_failed_at(verdict)}." if verdict.verdict == "regression" and verdict.p_value is not None else ""
    if verdict.p_value is None or verdict.candidate.mean is None:
        return with_stop(with_capital("; ".join(verdict.reasons) or "no reason is recorded"))
    if verdict.verdict == "regression":
        start = f"{drop_sentence(verdict)}, {samples_words(verdict)}"
        parts = [start, _failed_at(verdict), chance_sentence(verdict, together)]
    elif verdict.verdict == "pass":
        parts = [f"{move_sentence(verdict)}, {pass_words(verdict)}", lost_answers(verdict), sight_sentence(verdict)]
    elif verdict.verdict == "inconclusive":
        parts = [lack_sentence(verdict), f"{move_sentence(verdict)}, {samples_words(verdict)}"]
    else:
        parts = ["; ".join(verdict.reasons), f"{move_sentence(verdict)}, {samples_words(verdict)}"]
    return " ".join(with_stop(part) for part in parts if part)


def _failed_at(verdict: Verdict) -> str:
    """Say how many answers were lost and gained, and which limit the mean passed."""
    lost = "" if verdict.lost is None else f"{verdict.lost:,} answers got worse and {verdict.gained or 0:,} better"
    if verdict.gamma is None:
        return lost
    early = f" after {verdict.n:,} of {verdict.n_max:,} samples" if verdict.is_early else ""
    limit = f"the limit was {points_text(verdict, verdict.gamma)}{early}"
    return f"{lost}; {limit}" if lost else with_capital(limit)


def _notes(verdict: Verdict) -> tuple[str, ...]:
    notes = tuple(filter(None, (collapse_sentence(verdict), readings_sentence(verdict), drift_sentence(verdict))))
    if verdict.p_value is not None and verdict.verdict != "inconclusive":
        notes += verdict.reasons
    return notes

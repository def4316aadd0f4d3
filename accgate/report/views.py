"""The checks of a run, as a template shows them.

They have rows by model, figures, groups and costs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from accgate.report.flips import Flip, FlipsByCheck, excerpt, opening
from accgate.report.limits import Limits, most_of
from accgate.report.story import SIGNS, worst_first
from accgate.result import Result
from accgate.text import clip, count_of, figure, p_text
from accgate.verdict import Cost, GroupFigures, ReferenceSummary, Verdict
from accgate.verdict.advice import Step, after_inconclusive
from accgate.verdict.findings import collapse_sentence, lack_sentence, subject_of
from accgate.verdict.points import (
    asked_text,
    change_text,
    corrected_text,
    interval_text,
    points_text,
    range_text,
    samples_of,
    theta_text,
)
from accgate.verdict.sentences import (
    Setting,
    drift_sentence,
    groups_paragraph,
    groups_sentence,
    name_of,
    readings_sentence,
    sentence,
    settings_of,
)

HEADINGS = ("Check", "Change", "Mean", "gamma", "theta")
ORIGINS = 5  # models of one table that have a line
FIGURE_HEADINGS = ("Check", "Samples", "Interval", "p", "alpha", "Worse, better", "Theta asked", "Test")


@dataclass(frozen=True)
class CheckView:
    """One check as a template shows it. Texts are of one line, and not escaped yet.

    `row` has the cells under `headings`. The first is also there in parts: `task`, `word` (the verdict) and `model`.
    `figures` are pairs of name and value, `figure_row` has the cells under `figure_headings`, and `group_rows` those
    under `group_headings`. `to_do` says what an inconclusive check lacks, and the step that would decide it. A sentence
    is None where there is nothing to say.
    """

    verdict: Verdict
    name: str
    symbol: str
    task: str
    word: str
    model: str
    change: str
    interval: str
    row: tuple[str, ...]
    sentence: str
    drifted: str | None
    readings: str | None
    reasons: tuple[str, ...]
    flips: tuple[Flip, ...]
    more_flips: int
    figures: tuple[tuple[str, str], ...]
    figure_row: tuple[str, ...]
    standing_out: str | None = None
    groups: str | None = None
    group_rows: tuple[tuple[str, ...], ...] = ()
    to_do: tuple[str, Step] | None = None
    collapsed: str | None = None

    @property
    def has_notes(self) -> bool:
        """Whether its details say more than its figures."""
        return bool(self.collapsed or self.readings or self.drifted or self.reasons or self.groups)


class Origin(NamedTuple):
    """A model, the reference that it is compared with, and the settings that changed.

    `made` says how old the reference is, of how many runs, and with which engine. A text is empty where it is not
    known. `left_out` counts the settings that there is no room for.
    """

    model: str
    reference: str
    commit: str
    settings: tuple[Setting, ...]
    left_out: int
    made: str = ""


class Section(NamedTuple):
    """A table of the checks of one model, or of all models.

    One table holds all where most models have a single check.
    """

    origins: tuple[Origin, ...]
    rows: tuple[CheckView, ...]


def sections_of(rows: Sequence[CheckView], limits: Limits, started: str | None = None) -> tuple[Section, ...]:
    """Group the rows by model, models in the order of their first row.

    The age of references is counted until the run `started`.
    """
    models = {
        name: tuple(row for row in rows if row.model == name) for name in dict.fromkeys(row.model for row in rows)
    }
    sections = tuple(Section((_origin(name, those, limits, started),), those) for name, those in models.items())
    if 2 * len(models) <= len(rows) or len(models) == 1:
        return sections
    return (Section(tuple(section.origins[0] for section in sections[:ORIGINS]), tuple(rows)),)


def _origin(model: str, rows: Sequence[CheckView], limits: Limits, started: str | None) -> Origin:
    references = [row.verdict.reference for row in rows if row.verdict.reference.name]
    names = ["its reference" if each.name == model else each.name for each in references]
    is_asked = any(row.verdict.equal_to is not None for row in rows)
    dates = sorted({each.date or ("this run" if is_asked else "an unknown date") for each in references})
    commits = {(each.commit or "")[:7] for each in references}
    settings = next(filter(None, (settings_of(row.verdict) for row in rows)), ())
    kinds = ([each for each in settings if each.is_outside is outside] for outside in (False, True))
    shown = [each for kind in kinds for each in kind[: limits.settings]]
    recorded = opening(" to ".join(dict.fromkeys((*dates[:1], *dates[-1:]))), 40)
    reference = f"{opening(names[0], limits.names)} of {recorded}" if names else ""
    commit = commits.pop() if len(commits) == 1 else ""
    made = ", ".join(filter(None, (_age(references, started), _makers(references, limits)))) if names else ""
    return Origin(model, reference, commit, tuple(shown), len(settings) - len(shown), made)


def _age(references: Sequence[ReferenceSummary], started: str | None) -> str:
    """Say how old the references were when a run started.

    The text is empty where the age is unknown or 0 days.

    >>> _age([ReferenceSummary(75.0, 400, date="2026-11-12")], "2026-11-26T08:00:00+00:00")
    '14 days old'
    """
    try:
        now = date.fromisoformat((started or "")[:10])
        days = sorted((now - date.fromisoformat(each.date or "")).days for each in references)
    except ValueError:
        return ""
    if days[0] < 0 or days[-1] == 0:  # below 0 a clock was wrong
        return ""
    return f"{f'{days[0]} to ' if days[0] < days[-1] else ''}{count_of(days[-1], 'day')} old"


def _makers(references: Sequence[ReferenceSummary], limits: Limits) -> str:
    """Say which engines made references, and from how many runs if there were several."""
    runs = sorted({each.runs for each in references if each.runs is not None})
    engines = opening(", ".join(dict.fromkeys(each.engine for each in references if each.engine)), limits.names)
    of = f"from {f'{runs[0]} to ' if len(runs) > 1 else ''}{count_of(runs[-1], 'run')}" if runs and runs[-1] > 1 else ""
    return f"{of or 'made'} with {engines.replace(';', ',')}" if engines else of


@dataclass(frozen=True)
class Checks:
    """The checks of a run that a template shows, worst first.

    The room decides how many they are. Templates use the names of the fields. `checks` are the `rows` that have
    details. `beside` are the same checks by a pull request's own rules, where the rules of its base decide. The counts
    say how many are left out.
    """

    rows: tuple[CheckView, ...] = ()
    checks: tuple[CheckView, ...] = ()
    passed_left_out: int = 0
    others_left_out: int = 0
    beside: tuple[CheckView, ...] = ()
    beside_left_out: int = 0
    sections: tuple[Section, ...] = ()


def checks_of(result: Result, short: Result, flips: FlipsByCheck, limits: Limits) -> Checks:
    """Return the checks that there is room for, worst first.

    `short` is the same result with short names.
    """
    all_checks = worst_first(result.decided)
    pairs = [*zip(all_checks, worst_first(short.decided), strict=True)][: most_of(all_checks, limits)]
    rows = tuple(check_view(cut, flips.get((full.model, full.task), ()), limits) for full, cut in pairs)
    passed = sum(v.verdict == "pass" for v in all_checks) - sum(row.verdict.verdict == "pass" for row in rows)
    beside = worst_first(short.beside)[: most_of(result.beside, limits)]
    return Checks(
        rows=rows,
        checks=tuple(
            view for view in rows if limits.details and (limits.passing_details or view.verdict.verdict != "pass")
        ),
        passed_left_out=passed,
        others_left_out=len(all_checks) - len(rows) - passed,
        beside=tuple(check_view(verdict, (), limits) for verdict in beside),
        beside_left_out=len(result.beside) - len(beside),
        sections=sections_of(rows, limits, result.started),
    )


def check_view(verdict: Verdict, flips: Sequence[Flip], limits: Limits) -> CheckView:
    """View one check, with as many of its flips as there is room for."""
    first = flips[: limits.flips]
    to_do = opening(lack_sentence(verdict), limits.reasons), after_inconclusive(verdict, needs_approval=True)
    return CheckView(
        verdict=verdict,
        name=name_of(verdict),
        symbol=SIGNS[verdict.verdict],
        task=subject_of(verdict),
        word=word_of(verdict),
        model=(verdict.model or "") if verdict.task else "",
        change=change_text(verdict),
        interval=interval_text(verdict),
        row=row_of(verdict),
        sentence=opening(sentence(verdict), 4 * limits.reasons),
        drifted=opening(drift_sentence(verdict), limits.reasons) or None,
        readings=readings_sentence(verdict),
        reasons=verdict.reasons if verdict.p_value is not None else (),  # the sentence has them else
        flips=tuple(_short_flip(flip, limits) for flip in first),
        more_flips=len(verdict.flips) - len(first) if verdict.verdict != "pass" else 0,
        figures=(*figures_of(verdict), *cost_figures(verdict)),
        figure_row=figure_row(verdict),
        standing_out=groups_sentence(verdict),
        groups=groups_paragraph(verdict) if limits.groups else None,
        group_rows=group_rows(verdict)[: limits.groups],
        to_do=to_do if verdict.verdict == "inconclusive" else None,
        collapsed=collapse_sentence(verdict),
    )


def _short_flip(flip: Flip, limits: Limits) -> Flip:
    expected, before, got = map(opening, (flip.expected, flip.before, flip.got))
    return Flip(opening(flip.id, limits.names), f"{flip.sign}{excerpt(flip.prompt)}", expected, before, got)


def _marks(verdict: Verdict) -> str:
    return f"{', new' if verdict.is_new else ''}{', advisory' if verdict.tier == 'advisory' else ''}"


def word_of(verdict: Verdict) -> str:
    """Write a verdict for a table, with what else marks the check."""
    return f"{verdict.verdict.replace('-', ' ')}{_marks(verdict)}"


def _check(verdict: Verdict, marks: str = "") -> str:
    model = f", {verdict.model}" if verdict.task and verdict.model else ""
    return f"{subject_of(verdict)}{marks}{model}"


def row_of(verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of a check under `HEADINGS`."""
    before, now = verdict.reference.mean, verdict.candidate.mean
    means = [points_text(verdict, mean) for mean in (before, now)]
    return (
        f"{SIGNS[verdict.verdict]} {_check(verdict, _marks(verdict))}",
        change_text(verdict),
        "→".join(means) if before is not None or now is not None else means[0],
        gamma_of(verdict),
        theta_of(verdict),
    )


def gamma_of(verdict: Verdict) -> str:
    """Write gamma for a table, or "none" where no mean would fail."""
    if verdict.gamma is None:
        return "–" if verdict.p_value is None else "none"
    return points_text(verdict, verdict.gamma)


def theta_of(verdict: Verdict) -> str:
    """Write theta for a table, with the allowed drop.

    A run that failed too early to know its theta shows the drop that was asked for.
    """
    if verdict.theta is None and verdict.wanted_drop is not None and verdict.verdict == "regression":
        return f"asked {asked_text(verdict)}"
    return theta_text(verdict)


def figure_row(verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of a check under `FIGURE_HEADINGS`."""
    changed = "–" if verdict.lost is None else f"{verdict.lost:,}, {verdict.gained:,}"
    return (
        _check(verdict),
        samples_of(verdict),
        interval_text(verdict) or "–",
        p_text(verdict.p_value),
        f"{verdict.level:.4g}",
        changed,
        asked_text(verdict),
        verdict.test or "–",
    )


ALL = (*HEADINGS, *FIGURE_HEADINGS[1:], "Verdict")


def all_figures(verdict: Verdict) -> tuple[str, ...]:
    """Return the cells of a check's row under `ALL`."""
    return (*row_of(verdict), *figure_row(verdict)[1:], word_of(verdict))


def figures_of(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Return the names and values of the figures that a check has."""
    aim = "" if verdict.wanted_drop is None else f", asked {asked_text(verdict)}"
    rows: list[tuple[str, str | None]] = [
        ("Samples used", samples_of(verdict)),
        ("Reference", points_text(verdict, verdict.reference.mean)),
        ("Candidate", points_text(verdict, verdict.candidate.mean)),
        ("Difference", change_text(verdict)),
        ("Difference, corrected for the early stop", corrected_text(verdict) or None),
        (f"{verdict.confidence} interval", interval_text(verdict) or None),
        ("gamma: limit on the mean", gamma_of(verdict)),
        ("theta: smallest visible drop", f"{theta_text(verdict)}{aim}"),
        ("Allowed drop", f"{verdict.allowed_drop:.4g}" if verdict.allowed_drop else None),
        ("p", p_text(verdict.p_value)),
        ("p, adjusted for all checks", _adjusted_p(verdict)),
        ("alpha, beta", f"{verdict.level:.4g}, {verdict.beta:g}"),
        ("Answers worse, better", None if verdict.lost is None else f"{verdict.lost:,}, {verdict.gained:,}"),
        ("Samples without a score", f"{verdict.candidate.errors:,}" if verdict.candidate.errors else None),
    ]
    return tuple((name, value) for name, value in rows if value is not None) if verdict.p_value is not None else ()


def _adjusted_p(verdict: Verdict) -> str | None:
    return p_text(verdict.p_adjusted) if verdict.p_adjusted not in (None, verdict.p_value) else None


# Groups and costs


GROUP_HEADINGS = ("Group", "n", "Reference", "Mean", "Difference", "Interval", "p")
GROUP_NAME = 120  # characters of a group's name


def group_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """Return the cells of each group under `GROUP_HEADINGS`, those that fell most surely first."""
    return tuple(_group_cells(verdict, row) for row in (verdict.groups.rows if verdict.groups is not None else ()))


def _group_cells(verdict: Verdict, row: GroupFigures) -> tuple[str, ...]:
    mark = "" if not row.stands_out else " *"
    return (
        clip(row.name, GROUP_NAME, " …"),
        f"{row.n:,}",
        points_text(verdict, row.reference),
        points_text(verdict, row.candidate),
        f"{points_text(verdict, row.difference, sign=True)}{mark}",
        range_text(verdict, row.interval) or "–",
        p_text(row.p_adjusted),
    )


COST_HEADINGS = ("Per sample", "Before", "Now", "Change", "Interval", "Allowed")
NONE = "–"
NAMES = {"tokens": "Completion tokens", "seconds": "Seconds", "acceptance": "Acceptance length"}


def cost_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """Return the cells of each cost under the headings `COST_HEADINGS`.

    Costs that the reference lacks are left out.
    """
    return tuple(_cost_cells(cost) for cost in verdict.costs if cost.change is not None)


def cost_figures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the name of each cost, and its figures as one text."""
    for name, before, now, change, interval, allowed in cost_rows(verdict):
        gate = "" if allowed == NONE else f", allowed {allowed}"
        yield f"{name} per sample", f"{before} to {now}, {change} ({interval}){gate}"


def _cost_cells(cost: Cost) -> tuple[str, ...]:
    allowed = NONE if cost.allowed is None else f"{100 * cost.allowed:.4g}%{OUTCOMES[cost.outcome or 'pass']}"
    change = f"{figure(None if cost.change is None else 100 * cost.change, sign=True)}%"
    return NAMES[cost.name], *cost.sides, change, cost.reach or NONE, allowed


OUTCOMES = {"pass": ": kept", "regression": ": exceeded", "error": ": not decided"}


def cost_note(verdict: Verdict) -> str | None:
    """Say what a reader must know of the costs, if anything."""
    costs = [cost for cost in verdict.costs if cost.note is not None and cost.change is not None]
    return " ".join(f"{NAMES[cost.name]}: {cost.note}." for cost in costs) or None

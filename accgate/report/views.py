"""The checks of a run as a template shows them: rows, figures, groups, costs, and the gauge, a line of text."""

# ruff: noqa: RUF001, RUF002 (the marks of the gauge)

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from accgate.design import oriented
from accgate.report.flips import Flip, FlipsByCheck, excerpt, opening
from accgate.report.room import Room, most_of
from accgate.report.story import SIGNS, worst_first
from accgate.report.words import confidence_of
from accgate.result import Result
from accgate.text import clip, figure, p_text
from accgate.verdict import (
    Cost,
    GroupFigures,
    Step,
    Verdict,
    after_inconclusive,
    asked_text,
    drift_sentence,
    groups_paragraph,
    groups_sentence,
    interval_text,
    lack_sentence,
    mean_change,
    name_of,
    points_text,
    range_text,
    readings_sentence,
    samples_of,
    sentence,
    subject_of,
    theta_text,
)
from accgate.verdict.sentences import flip_counts, settings_sentence

HEADINGS = ("Check", "Change", "Before", "Now", "Limit (gamma)", "Sees (theta)")
FIGURE_HEADINGS = ("Check", "Samples", "Difference", "p", "alpha", "Worse, better", "Theta asked", "Test")


@dataclass(frozen=True)
class CheckView:
    """One check as a template shows it: `row` is under the headings of the table, texts are one line each.

    The row's first cell is also there in parts: `task`, `word` (the verdict) and `model`; its second is `change` with
    `interval`. `changed`, `readings`, `set_differently`, `drifted`, `standing_out`, `groups` and `to_do` are None where
    there is nothing to say; `gauge` is empty without figures. `group_rows` stand under `group_headings`, `figures` are
    names with values, and `figure_row` stands under `figure_headings`. `to_do` says what an inconclusive check lacks,
    and the step that would decide it.
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
    gauge: str
    sentence: str
    changed: str | None
    set_differently: str | None
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

    @property
    def has_notes(self) -> bool:
        """Whether its details say more than its figures."""
        return bool(self.readings or self.drifted or self.reasons or self.groups)


@dataclass(frozen=True)
class Checks:
    """The checks of a run that there is room for, worst first, under the names that templates have for them.

    `checks` are those of the `rows` with details; the counts say how many are left out.
    """

    rows: tuple[CheckView, ...] = ()
    checks: tuple[CheckView, ...] = ()
    passed_left_out: int = 0
    others_left_out: int = 0
    beside: tuple[CheckView, ...] = ()
    beside_left_out: int = 0


def checks_of(result: Result, short: Result, flips: FlipsByCheck, room: Room) -> Checks:
    """The checks that there is room for, worst first; `short` is the run with short names."""
    all_checks = worst_first(result.decided)
    pairs = [*zip(all_checks, worst_first(short.decided), strict=True)][: most_of(all_checks, room)]
    rows = tuple(check_view(cut, flips.get((whole.model, whole.task), ()), room) for whole, cut in pairs)
    failed = tuple(view for view in rows if view.verdict.verdict != "pass")
    passed = sum(v.verdict == "pass" for v in all_checks) - (len(rows) - len(failed))
    beside = worst_first(short.beside)[: most_of(result.beside, room)]
    return Checks(
        rows=rows,
        checks=tuple(
            view for view in rows if room.details and (room.passing_details or view.verdict.verdict != "pass")
        ),
        passed_left_out=passed,
        others_left_out=len(all_checks) - len(rows) - passed,
        beside=tuple(check_view(verdict, (), room) for verdict in beside),
        beside_left_out=len(result.beside) - len(beside),
    )


def check_view(verdict: Verdict, flips: Sequence[Flip], room: Room) -> CheckView:
    """One check, with as many of its flips as there is room for."""
    first, before, now = flips[: room.flips], verdict.reference.mean, verdict.candidate.mean
    task = subject_of(verdict)
    word = f"{verdict.verdict.replace('-', ' ')}{', new' if verdict.is_new else ''}"
    model = (verdict.model or "") if verdict.task else ""
    change, interval = change_of(verdict), interval_text(verdict)
    return CheckView(
        verdict=verdict,
        name=name_of(verdict),
        symbol=SIGNS[verdict.verdict],
        task=task,
        word=word,
        model=model,
        change=change,
        interval=interval,
        row=(
            f"{SIGNS[verdict.verdict]} {task} {word}{f', {model}' if model else ''}",
            f"{change} ({interval})" if interval else change,
            points_text(verdict, before),
            points_text(verdict, now),
            gamma_of(verdict),
            theta_of(verdict),
        ),
        gauge=gauge(before, verdict.gamma, now, higher_is_better=verdict.higher_is_better, theta=verdict.theta),
        sentence=opening(sentence(verdict), 4 * room.reasons),
        changed=flip_counts(verdict),
        set_differently=opening(settings_sentence(verdict), room.reasons) or None,
        drifted=opening(drift_sentence(verdict), room.reasons) or None,
        readings=readings_sentence(verdict),
        reasons=verdict.reasons if verdict.p_value is not None else (),  # the sentence has them else
        flips=tuple(_short_flip(flip, room) for flip in first),
        more_flips=len(verdict.flips) - len(first) if verdict.verdict != "pass" else 0,
        figures=(*figures_of(verdict), *cost_figures(verdict)),
        figure_row=figure_row(verdict),
        standing_out=groups_sentence(verdict),
        groups=groups_paragraph(verdict) if room.groups else None,
        group_rows=group_rows(verdict)[: room.groups],
        to_do=_to_do(verdict, room) if verdict.verdict == "inconclusive" else None,
    )


def _short_flip(flip: Flip, room: Room) -> Flip:
    expected, before, got = map(opening, (flip.expected, flip.before, flip.got))
    return Flip(opening(flip.id, room.names), excerpt(flip.prompt), expected, before, got)


def _to_do(verdict: Verdict, room: Room) -> tuple[str, Step]:
    return opening(lack_sentence(verdict), room.reasons), after_inconclusive(verdict, needs_approval=True)


def change_of(verdict: Verdict) -> str:
    """The difference of a check's means as the table has it."""
    before, now = verdict.reference.mean, verdict.candidate.mean
    return points_text(verdict, None if before is None or now is None else now - before, sign=True)


def gamma_of(verdict: Verdict) -> str:
    """Gamma as the table has it: `none` where no mean would have failed the gate."""
    if verdict.gamma is None:
        return "–" if verdict.p_value is None else "none"
    return points_text(verdict, verdict.gamma)


def theta_of(verdict: Verdict) -> str:
    """Theta as the table has it, with the allowed drop; the target of a run that failed too early to tell."""
    if verdict.theta is None and verdict.asked is not None and verdict.verdict == "regression":
        return f"asked {asked_text(verdict)}"
    return theta_text(verdict)


def figure_row(verdict: Verdict) -> tuple[str, ...]:
    """What the folded table of several checks says of one, under `FIGURE_HEADINGS`."""
    changed = "–" if verdict.lost is None else f"{verdict.lost:,}, {verdict.gained:,}"
    return (
        ", ".join(part for part in (subject_of(verdict), verdict.model if verdict.task else "") if part),
        samples_of(verdict),
        points_text(verdict, verdict.difference, sign=True),
        p_text(verdict.p_value),
        f"{verdict.level:.4g}",
        changed,
        asked_text(verdict),
        verdict.test or "–",
    )


def figures_of(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """All figures of a check, for a folded table: name and value."""
    aim = "" if verdict.asked is None else f", asked {asked_text(verdict)}"
    rows: list[tuple[str, str | None]] = [
        ("Samples used", samples_of(verdict)),
        ("Reference", points_text(verdict, verdict.reference.mean)),
        ("Candidate", points_text(verdict, verdict.candidate.mean)),
        ("Difference", points_text(verdict, mean_change(verdict), sign=True)),
        ("Difference, corrected for the early stop", _corrected_difference(verdict)),
        (f"{confidence_of(verdict)} interval", interval_text(verdict) or None),
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


def _corrected_difference(verdict: Verdict) -> str | None:
    is_other = verdict.difference_raw is not None and verdict.difference != verdict.difference_raw
    return points_text(verdict, verdict.difference, sign=True) if is_other else None


def _adjusted_p(verdict: Verdict) -> str | None:
    return p_text(verdict.p_adjusted) if verdict.p_adjusted not in (None, verdict.p_value) else None


# Groups, tokens and seconds


GROUP_HEADINGS = ("Group", "n", "Reference", "Mean", "Difference", "Interval", "p")
SHORT_HEADINGS = ("Group", "n", "Difference", "Interval", "p")
GROUP_NAME = 120  # characters of a group's name
LONGEST = 34  # characters of a name in a terminal of 80 columns


def group_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The cells of each group, under `GROUP_HEADINGS`, those that fell most surely first."""
    return tuple(_group_cells(verdict, row) for row in (verdict.groups.rows if verdict.groups is not None else ()))


def short_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    """The cells of each group under `SHORT_HEADINGS`, for a terminal."""
    for name, n, _, _, *rest in group_rows(verdict):
        yield clip(name, LONGEST, " …"), n, *rest


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
NAMES = {"tokens": "Completion tokens", "seconds": "Seconds"}


def cost_rows(verdict: Verdict) -> tuple[tuple[str, ...], ...]:
    """The cells of each figure under `COST_HEADINGS`; none where the reference does not have them."""
    return tuple(_cost_cells(cost) for cost in verdict.costs if cost.change is not None)


def cost_figures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Each figure under its name, in one cell: both sides, the change and its interval, and what a gate allows."""
    for name, before, now, change, interval, allowed in cost_rows(verdict):
        gate = "" if allowed == NONE else f", allowed {allowed}"
        yield f"{name} per sample", f"{before} to {now}, {change} ({interval}){gate}"


def _cost_cells(cost: Cost) -> tuple[str, ...]:
    allowed = NONE if cost.allowed is None else f"{100 * cost.allowed:.4g}%{OUTCOMES[cost.outcome or 'pass']}"
    change = f"{figure(None if cost.change is None else 100 * cost.change, sign=True)}%"
    return NAMES[cost.name], *cost.sides, change, cost.reach or NONE, allowed


OUTCOMES = {"pass": ": kept", "regression": ": exceeded", "error": ": not decided"}


def cost_note(verdict: Verdict) -> str | None:
    """What a reader must know of the figures; None where there is nothing to say."""
    notes = [cost.note for cost in verdict.costs if cost.note is not None and cost.change is not None]
    return f"Seconds: {notes[0]}." if notes else None


# The gauge


WIDTH = 25  # with both ends
GAMMA, REFERENCE = 8, 16  # cells of the 23 between the ends, so that gauges of several checks compare


def gauge(
    reference: float | None,
    gamma: float | None,
    mean: float | None,
    *,
    higher_is_better: bool = True,
    theta: float | None = None,
) -> str:
    """Reference (R), gamma (γ) and mean (●) on a line of fixed width; left is worse, whatever the metric.

    All figures are points. γ and R always stand at the same places, so the unit is their distance; where there is no
    gamma it is `theta`. A mean left of γ fails the gate; ● hides R where they meet. `«` and `»` say that the mean is
    further off than the line is long. Without a finite reference and mean there is no gauge.

    >>> gauge(75.0, 72.5, 74.4)
    '├────────γ─────●─R──────┤'
    >>> gauge(75.0, 72.5, 72.4)
    '├───────●γ───────R──────┤'
    >>> gauge(75.0, 72.5, 40.0)
    '«●───────γ───────R──────┤'
    >>> gauge(5.0, 5.5, 4.8, higher_is_better=False)
    '├────────γ───────R──●───┤'
    >>> gauge(75.0, None, 75.0, theta=2.0)
    '├────────────────●──────┤'
    >>> gauge(None, None, 75.0)
    ''
    """
    if reference is None or mean is None or not math.isfinite(reference - mean - (gamma or 0.0)):
        return ""
    room = oriented(reference - gamma, higher_is_better) if gamma is not None else theta
    unit = room if room is not None and room > 0.0 else theta if theta is not None and theta > 0.0 else 1.0
    place = REFERENCE + oriented(mean - reference, higher_is_better) / unit * (REFERENCE - GAMMA)
    last = WIDTH - 3
    at = round(min(max(place, 0.0), float(last)))
    cells = ["─"] * (last + 1)
    cells[REFERENCE] = "R"
    if gamma is not None:
        mark = GAMMA if room is not None and room > 0.0 else REFERENCE - 1
        failed = oriented(mean, higher_is_better) < oriented(gamma, higher_is_better)
        at = min(at, mark - 1) if failed else max(at, mark + 1)  # rounding must not move it across
        cells[mark] = "γ"
    cells[at] = "●"
    return ("«" if place < -0.5 else "├") + "".join(cells) + ("»" if place > last + 0.5 else "┤")

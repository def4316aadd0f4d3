"""What a reader sees first: every check on one scale, the worst first, and what the run cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from accgate.design import oriented
from accgate.report.charts.axes import Axis, short
from accgate.report.charts.svg import element, label, line, mark, percent
from accgate.report.forest import Place, place_of, scale_of, tick_text
from accgate.report.words import has_evidence, samples_used, savings
from accgate.text import clip, compact, duration, visible
from accgate.verdict import mean_change, name_of
from accgate.verdict.points import interval_text, points_text, range_text, theta_text

if TYPE_CHECKING:
    from accgate.result import Result
    from accgate.verdict import GroupFigures, Verdict

ROW, GROUP_ROW = 32, 24  # pixels of a row's drawing
GROUPS = 4  # of a check that stand out and have a row of their own
NAME = 60  # characters of a name


@dataclass(frozen=True)
class Row:
    """A row of the forest plot: a check, or one of its groups where `group` names it.

    `number` is the check's, `svg` its drawing, empty where there are no figures. `why` stands there instead.
    """

    number: int
    verdict: Verdict
    svg: str
    change: str
    interval: str
    samples: str
    why: str = ""
    group: str | None = None

    @property
    def task(self) -> str:
        """The name of its row."""
        return clip(self.verdict.task or self.verdict.model or "candidate", NAME, " …")

    @property
    def model(self) -> str:
        """What stands below the name."""
        return clip(self.verdict.model or "", NAME, " …") if self.verdict.task else ""

    @property
    def words(self) -> str:
        """What a search looks through."""
        return f"{self.verdict.task or ''} {self.verdict.model or ''}".lower()


@dataclass(frozen=True)
class Forest:
    """All checks on one scale: the drawing of its axis, the rows, and what the intervals are called."""

    axis: str
    rows: tuple[Row, ...]
    interval: str
    has_limit: bool


def forest_of(verdicts: Sequence[Verdict]) -> Forest:
    """The forest plot of all checks, in their order."""
    places = [place_of(verdict) for verdict in verdicts]
    x = scale_of([place for place in places if place is not None])
    both = len({verdict.higher_is_better for verdict in verdicts}) > 1
    higher = all(verdict.higher_is_better for verdict in verdicts)
    rows: list[Row] = []
    for number, (place, verdict) in enumerate(zip(places, verdicts, strict=True)):
        rows.append(_row(number, verdict, place, x))
        rows += _group_rows(number, verdict, x)
    has_limit = any(place is not None and place.limit is not None for place in places)
    levels = {f"{100 * (1 - 2 * (v.alpha_applied or v.alpha)):.4g}% interval" for v in verdicts if v.interval}
    interval = levels.pop() if len(levels) == 1 else "Interval"
    return Forest(_axis(x, both, higher), tuple(rows), interval, has_limit)


def _axis(x: Axis, both: bool, higher: bool) -> str:
    """The figures over the lines, those that have room on a phone; the middle has its words."""
    taken = [x.at(0.0)]
    parts = [label(taken[0], 13, "no change", class_="t")]
    for value in sorted(x.ticks(6), key=abs):
        place = x.at(value)
        if all(abs(place - other) > (0.2 if both else 0.13) for other in taken):
            parts.append(label(place, 13, _tick(value, both, higher)))
            taken.append(place)
    return element("svg", *parts, width="100%", height=20, aria_hidden="true")


def _tick(value: float, both: bool, higher: bool) -> str:
    if both:
        return f"{short(abs(value))} {'better' if value > 0.0 else 'worse'}"
    return tick_text(oriented(value, higher))


def _row(number: int, verdict: Verdict, place: Place | None, x: Axis) -> Row:
    most = verdict.n_max or verdict.n
    samples = f"{verdict.n:,} of {most:,}" if verdict.n and has_evidence(verdict) else ""
    if place is None:
        return Row(number, verdict, "", "", "", samples, why="; ".join(verdict.reasons[:1]) or "not decided")
    change, interval = points_text(verdict, mean_change(verdict), sign=True), interval_text(verdict)
    outcome = verdict.by_scores or verdict.verdict  # the drawing is of the scores, not of the costs
    drawn = _lines(x, ROW)
    if place.limit is not None:
        at = x.at(place.limit)
        drawn.append(element("rect", x=0, y=3, width=percent(at), height=ROW - 6, class_="zone"))
        drawn.append(line(at, 3, at, ROW - 3, "limit"))
    drawn.append(line(x.at(0.0), -4, x.at(0.0), ROW + 4, "ax"))
    if place.ends is not None:
        low, high = map(x.at, place.ends)
        drawn.append(line(low, ROW / 2, high, ROW / 2, f"reach {outcome}"))
    if place.sees is not None and place.sees >= x.low:
        at = x.at(place.sees)
        drawn.append(line(at, 7, at, ROW - 7, "theta"))
    drawn.append(mark(outcome, x.at(place.change), ROW / 2))
    words = f"{_name(verdict)}: {change} points"
    words += f", interval {interval}" if interval else ""
    words += "" if place.sees is None else f"; smallest visible change {theta_text(verdict)}"
    svg = element("svg", *drawn, width="100%", height=ROW, role="img", aria_label=words, class_="plotted")
    return Row(number, verdict, svg, change, interval, samples)


def _name(verdict: Verdict) -> str:
    return clip(visible(name_of(verdict)), NAME)


def _lines(x: Axis, height: float) -> list[str]:
    return [line(x.at(v), 0, x.at(v), height, "gr") for v in x.ticks(6) if v != 0.0]


def _group_rows(number: int, verdict: Verdict, x: Axis) -> list[Row]:
    """The groups of a check that stand out, those that fell first."""
    if verdict.groups is None:
        return []
    return [_group_row(number, verdict, group, x) for group in verdict.groups.standing_out[:GROUPS]]


def _group_row(number: int, verdict: Verdict, group: GroupFigures, x: Axis) -> Row:
    higher, middle = verdict.higher_is_better, GROUP_ROW / 2
    change, interval = points_text(verdict, group.difference, sign=True), range_text(verdict, group.interval)
    drawn = [*_lines(x, GROUP_ROW), line(x.at(0.0), -4, x.at(0.0), GROUP_ROW + 4, "ax")]
    if group.interval is not None:
        low, high = sorted(x.at(oriented(end, higher)) for end in group.interval)
        drawn.append(line(low, middle, high, middle, "reach group"))
    at = percent(x.at(oriented(group.difference, higher)))
    drawn.append(element("circle", cx=at, cy=middle, r=3, class_="at group"))
    name = f"{_name(verdict)}, group {clip(visible(group.name), NAME)}"
    words = f"{name}: {change} points, interval {interval}"
    svg = element("svg", *drawn, width="100%", height=GROUP_ROW, role="img", aria_label=words, class_="plotted")
    return Row(number, verdict, svg, change, interval, f"{group.n:,}", group=clip(group.name, NAME, " …"))


@dataclass(frozen=True)
class Stat:
    """A figure of the run: its name, the figure, and what is below it in small letters."""

    name: str
    figure: str
    about: str = ""


def stats_of(result: Result) -> tuple[Stat, ...]:
    """What the run cost: samples, tokens and time, as far as it says."""
    used, most = samples_used(result)
    saved, idle = savings(result), sum(check.n for check in result.checks if not has_evidence(check))
    about = "all were used" if saved is None else f"of {most:,}; {saved}"
    if idle:
        about = f"{idle:,} of them in checks without a verdict" + ("" if saved is None else f"; {saved}")
    stats = [Stat("Samples", f"{used + idle:,}", about if used + idle else "")]
    tokens = result.prompt_tokens + result.completion_tokens
    if tokens:
        cached = f"; {result.cached:,} samples from the cache" if result.cached else ""
        about = f"{compact(result.prompt_tokens)} read, {compact(result.completion_tokens)} written{cached}"
        stats.append(Stat("Tokens", compact(tokens), about))
    if result.seconds is not None:
        stats.append(Stat("Time", duration(result.seconds), _hardware(result)))
    return tuple(stats)


def _hardware(result: Result) -> str:
    infos = sorted({f"{info.hardware}, {info.name} {info.version}" for info in result.engines.values()})
    return infos[0] if len(infos) == 1 else f"{len(infos)} engines" if infos else ""


def start_text(result: Result) -> str:
    """When the run began.

    >>> from accgate.result import Result
    >>> start_text(Result("pass", 0, (), started="2026-11-22T07:04:59+00:00"))
    '22 November 2026, 07:04 UTC'
    """
    try:
        moment = datetime.fromisoformat(result.started or "")
    except ValueError:
        return ""
    if moment.tzinfo is not None:
        moment = moment.astimezone(timezone.utc)
    return f"{moment.day} {moment:%B %Y, %H:%M}{' UTC' if moment.tzinfo is not None else ''}"

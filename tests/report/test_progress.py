"""What is shown while a check runs: rate, time left, difference to the reference, and how near a decision is."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from accgate.evaluation.assignment import Comparison, Limits
from accgate.planning.cost import Cost, Estimate, Speed
from accgate.records.file import Record
from accgate.report.progress import ProgressBar
from tests.report.runs import Clock, printed
from tests.support.cases import each
from tests.support.gates import RIGHT, WRONG

TERMINAL = {"force_terminal": True, "force_interactive": True}


def record_of(score: float | None, *, cached: bool = False) -> Record:
    error = None if score is not None else "failed"
    return replace(Record("a", 0, score, "", None, None, None, None, None, 0.0, error), cached=cached or None)


def watched(
    records: Sequence[Record], comparison: Comparison | None = None, *, kept: int = 0, total: int | None = None,
    name: str = "t", seconds: float = 1.0, width: int = 200, clock: Clock | None = None,
    speed: Callable[[int], Speed | None] | None = None, **terminal: Any,
) -> str:  # fmt: skip
    """What a log, or a terminal, shows of a check whose records come so many seconds apart."""
    clock = clock or Clock()

    def run(console: Console) -> None:
        bar, seen = ProgressBar(console, clock=clock), [0]
        if comparison is not None:
            bar.compares(comparison)
        if speed is not None:
            bar.measures(lambda: speed(seen[0]))
        bar.started("m", name, len(records) + kept if total is None else total, [record_of(RIGHT)] * kept)
        for record in records:
            clock.now += seconds
            seen[0] += 1
            bar.finished(record)
        if bar._progress is not None:
            bar._progress.refresh()
        bar.ended()

    text = printed(run, width, **terminal)
    assert text.rfind("\x1b[?25h") >= text.rfind("\x1b[?25l"), "the cursor is back"
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def log(scores: Sequence[float | None], reference: Any = None, **keys: Any) -> list[str]:
    comparison = None if reference is None else Comparison(reference)
    return watched([record_of(score) for score in scores], comparison, **keys).splitlines()


def screen(width: int, limits: Callable[[], Limits | None] = lambda: None, **keys: Any) -> str:
    """What a terminal of this width was sent, for 40 records that come 0.5 s apart."""
    records = [record_of(WRONG if i == 7 else RIGHT if i else None) for i in range(40)]
    return watched(records, Comparison({"a": RIGHT}, limits), total=60, seconds=0.5, width=width, **keys, **TERMINAL)


def test_a_log_has_a_line_a_minute_and_ends_with_mean_difference_and_failures(messages: SnapshotAssertion) -> None:
    assert (
        {
            "a line a minute": log([RIGHT, WRONG] * 65, {"a": RIGHT}, kept=10),
            "a mean as reference": log([RIGHT, WRONG], 30.0)[-1:],
            "more than decide": log([RIGHT, WRONG], None, total=3)[-1:],  # whose mean would mislead
            "failures": log([None, RIGHT, None], {"a": WRONG})[-1:],
            "nothing": log([])[-1:],
        }
        == messages
    )


def test_a_wide_terminal_shows_rate_time_left_mean_difference_and_failures() -> None:
    shown = next(line for line in reversed(screen(140).splitlines()) if "40/60" in line)
    for part in ("m / t", "2.0/s", "0:10 left", "mean 97.44", "diff -2.56", "1 failed"):
        assert part in shown
    assert "0:00 left" not in watched([record_of(RIGHT)] * 3, **TERMINAL)


@each("width", [40, 59, 60, 99, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_the_count_is_whole(width: int) -> None:
    limits = Limits(1312, 14_042, -1.92, 0.041, 0.0123, -0.32, 0.4)
    text = screen(width, lambda: limits, name="task " * 8)
    assert max(len(line.rstrip("\r")) for line in re.split(r"[\n\r]", text)) <= width
    assert "40/60" in text
    assert "diff -2.56" in text


def test_how_near_a_decision_is_stands_under_the_bar_and_goes_with_it() -> None:
    text = screen(140, lambda: Limits(30, 60, -1.92, 0.041, 0.0123, -0.32, 0.75))
    near = "first 30 of 60: -1.92, p = 0.0410 (fails at 0.0123), passes from -0.32 (75% there)"
    assert f"{near}, decided in about 0:05 if nothing changes" in text  # ten more samples at two a second
    assert not text.rstrip().splitlines()[-1].startswith("first")


@each(("cost", "count"), [(0.0, 10), (0.1, 4)])  # in 20 s: a look of a tenth of a second costs 5 s of rest
def test_the_limits_are_looked_at_every_two_seconds_at_most_and_less_often_where_that_takes_long(
    cost: float, count: int
) -> None:
    clock, looks = Clock(), []

    def limits() -> None:
        looks.append(clock.now)
        clock.now += cost

    screen(120, limits, clock=clock)
    assert len(looks) == count
    assert min(later - look for look, later in pairwise(looks)) >= 2.0


EXPECTED: dict[str, dict[str, Any]] = {
    "kept ones took no time": {"kept": 100},
    "and did not decide it": {"kept": 400},
    "cached": {"cached": 5},
    "fast": {"replies": 80.0},
    "nobody waits for it": {"replies": 90.0},
    "the speed never showed": {"after": 40},
    "a shard's part has no verdict": {"total": 416},
    "the last reply": {"kept": 831, "after": 0},
}


def test_one_line_says_when_the_verdict_is_expected(messages: SnapshotAssertion) -> None:
    def estimate(speed: Speed, done: int, free: int) -> Estimate:
        costs = [Cost(n, None, (n - free) / speed.replies, None) for n in (832, 367, 481)]
        return Estimate("m", "t", costs[0], costs[1] if done < 367 else None, costs[2], (), 2.0, "early")

    def lines(case: dict[str, Any], **terminal: Any) -> list[str]:
        kept, total = case.get("kept", 0), case.get("total", 832)
        records = [record_of(RIGHT, cached=at < case.get("cached", 0)) for at in range(min(40, total - kept))]
        speed = Speed(case.get("replies", 9.0), None)
        text = watched(
            records, Comparison(50.0, estimate=estimate), kept=kept, total=total, seconds=0.0,
            speed=lambda seen: speed if seen > case.get("after", 8) else None, **terminal,
        )  # fmt: skip
        return [line.strip() for line in re.split(r"[\r\n]+", text) if "verdict expected" in line]

    said = {name: lines(case) for name, case in EXPECTED.items()}
    assert said == messages
    assert said == {name: lines(case, **TERMINAL) for name, case in EXPECTED.items()}


def test_reference_and_speed_of_one_check_are_not_those_of_the_next(messages: SnapshotAssertion) -> None:
    def estimate(speed: Speed, done: int, free: int) -> Estimate:
        assert (done, free) == (1, 0)
        return Estimate("m", "t", Cost(60, None, 60 / speed.replies, None), None, None, ())

    def run(console: Console) -> None:
        bar = ProgressBar(console, clock=Clock())
        bar.compares(Comparison(50.0, estimate=estimate))
        bar.measures(lambda: Speed(2.0, None))
        for kept in (0, 59):
            bar.started("m", "t", 60, [record_of(RIGHT)] * kept)
            bar.finished(record_of(RIGHT))
            bar.ended()

    assert printed(run, 40) == messages


def test_control_characters_and_markup_of_names_are_not_obeyed() -> None:
    assert "m / [red]\ufffd[2J[/]" in screen(120, name="[red]\x1b[2J[/]")

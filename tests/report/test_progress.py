"""What is shown while a check runs: rate, time left, difference to the reference, and how near a decision is."""

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from accgate.evaluation.assignment import Comparison, Limits
from accgate.planning.cost import Cost, Ends, Estimate, Speed
from accgate.records.file import Record
from accgate.report.progress import ProgressBar
from tests.report.runs import printed
from tests.support.cases import each
from tests.support.gates import RIGHT, WRONG


class Clock:
    """A clock that goes on by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def record_of(score: float | None, id_: str = "a") -> Record:
    return Record(id_, 0, score, "", None, None, None, None, None, 0.0, None if score is not None else "failed")


def log(
    scores: list[float | None], *, reference: Mapping[str, float] | float | None = None, kept: int = 0, missing: int = 0
) -> list[str]:
    """The lines of a log, for records that come a second apart."""

    def run(console: Console) -> None:
        bar = ProgressBar(console, clock=(clock := Clock()))
        if reference is not None:
            bar.compares(Comparison(reference))
        bar.started("m", "t", len(scores) + kept + missing, [record_of(RIGHT)] * kept)
        for score in scores:
            clock.now += 1.0
            bar.finished(record_of(score))
        bar.ended()

    return printed(run).splitlines()


def screen(width: int, limits: Callable[[], Limits | None] = lambda: None, *, name: str = "t", clock: Clock) -> str:
    """What a terminal of this width was sent, for 40 records that come 0.5 s apart."""

    def run(console: Console) -> None:
        bar = ProgressBar(console, clock=clock)
        bar.compares(Comparison({"a": RIGHT}, limits))
        bar.started("m", name, 60, [])
        for i in range(40):
            clock.now += 0.5
            bar.finished(record_of(WRONG if i == 7 else RIGHT if i else None))
        assert bar._progress is not None
        bar._progress.refresh()
        bar.ended()

    text = printed(run, width, force_terminal=True, force_interactive=True)
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l"), "the cursor is back"
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_log_has_a_line_a_minute_with_rate_time_left_and_difference() -> None:
    lines = log([RIGHT, WRONG] * 65, reference={"a": RIGHT}, kept=10)
    assert lines == [
        "m / t: 140 samples, 10 of them already recorded",
        "m / t: 70 of 140, 1.0/s, 1:10 left, mean 57.14, diff -42.86",
        "m / t: 130 of 140, 1.0/s, 0:10 left, mean 53.85, diff -46.15",
        "m / t: mean 53.57, difference -46.43",
    ]


def test_the_difference_is_to_the_mean_where_only_that_is_known() -> None:
    assert log([RIGHT, WRONG], reference=30.0)[-1] == "m / t: mean 50.00, difference +20.00"


def test_a_run_that_stopped_early_ends_with_its_answers_and_no_mean_of_more_than_decide() -> None:
    assert log([RIGHT, WRONG], missing=1)[-1] == "m / t: ended with 2 of 3 answers"


def test_failed_samples_count_in_no_mean_and_no_difference() -> None:
    assert log([None, RIGHT, None], reference={"a": WRONG})[-1] == "m / t: mean 100.00, difference +100.00, 2 failed"
    assert log([]) == ["m / t: 0 samples", "m / t: mean -"]


def test_a_wide_terminal_shows_rate_time_left_mean_difference_and_failures() -> None:
    text = screen(140, clock=Clock())
    shown = next(line for line in reversed(text.splitlines()) if "40/60" in line)
    for part in ("m / t", "2.0/s", "0:10 left", "mean 97.44", "diff -2.56", "1 failed"):
        assert part in shown


@each("width", [40, 59, 60, 99, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_the_count_is_whole(width: int) -> None:
    limits = Limits(1312, 14_042, -1.92, 0.041, 0.0123, -0.32, 0.4)
    text = screen(width, lambda: limits, name="task " * 8, clock=Clock())
    assert max(len(line.rstrip("\r")) for line in text.split("\n") for line in line.split("\r")) <= width
    assert "40/60" in text
    assert "diff -2.56" in text


def test_how_near_a_decision_is_stands_under_the_bar_and_goes_with_it() -> None:
    text = screen(140, lambda: Limits(30, 60, -1.92, 0.041, 0.0123, -0.32, 0.75), clock=Clock())
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


def expecting(
    *, total: int = 832, kept: int = 0, cached: int = 0, ends: Ends = "early", replies: float = 9.0, after: int = 8
) -> list[str]:
    """The lines on the verdict in a log and in a terminal, of a check whose speed is known after so many replies."""

    def estimate(speed: Speed, done: int, free: int) -> Estimate:
        most, healthy, dropped = (Cost(n, None, (n - free) / speed.replies, None) for n in (832, 367, 481))
        return Estimate("m", "t", most, healthy if done < 367 else None, dropped, (), 2.0, ends)

    lines: list[str] = []
    for terminal in (False, True):
        file, seen = io.StringIO(), list[Record]()
        bar = ProgressBar(Console(file=file, width=200, force_terminal=terminal), clock=Clock())
        bar.compares(Comparison(50.0, estimate=estimate))
        bar.measures(lambda: Speed(replies, None) if len(seen) > after else None)  # noqa: B023
        bar.started("m", "t", total, [record_of(RIGHT)] * kept)
        for number in range(min(40, total - kept)):
            seen.append(replace(record_of(RIGHT), cached=number < cached or None))
            bar.finished(seen[-1])
        bar.ended()
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
        lines += [line.strip() for line in re.split(r"[\r\n]+", text) if "verdict expected" in line]
    return lines


@pytest.mark.parametrize(
    ("case", "healthy", "dropped", "most"),
    [
        ({"kept": 100}, "30 s", "42 s", "1 min 21 s"),  # which took no time
        ({"kept": 400}, None, "9 s", "48 s"),  # and did not decide it
        ({"cached": 5}, "40 s", "53 s", "1 min 32 s"),
        ({"replies": 80.0}, "5 s", "6 s", "10 s"),
        ({"replies": 90.0}, None, None, None),  # nobody waits for it
        ({"after": 40}, None, None, None),  # the speed never showed
        ({"total": 416}, None, None, None),  # a shard's part has no verdict
        ({"kept": 831, "after": 0}, None, None, None),  # the last reply
    ],
)
def test_one_line_says_when_the_verdict_is_expected(
    case: dict[str, Any], healthy: str | None, dropped: str | None, most: str | None
) -> None:
    first = "" if healthy is None else f"about 367 samples ({healthy}) if nothing changed, "
    second = f"about 481{'' if first else ' samples'} ({dropped}) after a drop of 2 points"
    line = f"m / t: verdict expected after {first}{second}, at most 832 ({most})"
    assert expecting(**case) == ([] if most is None else [line] * 2)


def test_reference_and_speed_of_one_check_are_not_those_of_the_next() -> None:
    def estimate(speed: Speed, done: int, free: int) -> Estimate:
        assert (done, free) == (1, 0)
        return Estimate("m", "t", Cost(60, None, 60 / speed.replies, None), None, None, ())

    def run(console: Console) -> None:
        bar = ProgressBar(console, clock=Clock())
        bar.compares(Comparison(50.0, estimate=estimate))
        bar.measures(lambda: Speed(2.0, None))
        for task in ("first", "second"):
            bar.started("m", task, 60, [record_of(RIGHT)] * (59 * (task == "second")))
            bar.finished(record_of(RIGHT))
            bar.ended()

    assert printed(run, 40).splitlines() == [
        "m / first: 60 samples", "m / first: verdict expected after 60 samples (30 s)",
        "m / first: ended with 1 of 60 answers", "m / second: 60 samples, 59 of them already recorded",
        "m / second: mean 100.00",
    ]  # fmt: skip


def test_control_characters_and_markup_of_names_are_not_obeyed() -> None:
    assert "m / [red]\ufffd[2J[/]" in screen(120, name="[red]\x1b[2J[/]", clock=Clock())

"""Runs and histories of the tests, made up but for what a test is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from accgate.errors import VerdictName, worst
from accgate.history.file import History, history_of
from accgate.history.page import Chart, chart_of
from accgate.history.run import Against, Point, Run
from accgate.history.series import series_of
from accgate.verdict import CandidateSummary, Drift


def point(mean: float | None = 75.0, verdict: VerdictName = "pass", **keys: Any) -> Point:
    """A paired check of 400 samples against a reference of 76 with a standard error of 1."""
    plain = Point(
        "m@quant=fp8", "gsm8k", verdict, "paired", 400, Against(76.0, 400, "aa" * 8, "2026-01-01"),
        CandidateSummary(mean, 400), difference=None if mean is None else mean - 76.0, sigma=20.0, error=1.0,
        gamma=74.0, theta=2.5,
    )  # fmt: skip
    return replace(plain, **keys)


def run(day: int, *points: Point, **keys: Any) -> Run:
    """The run of a day, with the check above where none is given."""
    checks = points or (point(),)
    verdict = worst(check.verdict for check in checks)
    plain = Run(f"2026-01-{day:02d}T03:00:00+00:00", f"{day:040x}", verdict, checks, "0.1.0", f"{day:016x}")
    return replace(plain, **keys)


def declining(difference: float = -4.0) -> Drift:
    return Drift("2025-12-01", 3, difference, 0.001, 0.05, detected=True)


def season(days: int = 20) -> History:
    """Runs over some days: two references, a regression, a run without a verdict, a decline."""
    runs = []
    for day in range(1, days + 1):
        second = day > days // 2
        keys: dict[str, Any] = (
            {"reference": Against(74.0, 400, "bb" * 8, "2026-01-11"), "gamma": 72.0} if second else {}
        )
        if day == days // 4:
            made = point(71.0, "regression", **keys)
        elif day == days // 4 + 1:
            made = point(None, "error", difference=None, sigma=None, error=None, gamma=None)
        else:
            made = point(74.5 + day % 3, drift=declining() if day == days else None, **keys)
        runs.append(run(day, made, point(50.0 + day % 4, task="mmlu", reference=Against(52.0, 400), gamma=49.5)))
    return history_of(runs)


def chart(*made: Run, check: str = "m/gsm8k") -> Chart:
    """The chart of a check over these runs."""
    (one,) = series_of(made, check)
    drawn = chart_of(one)
    assert drawn is not None
    return drawn


moments = st.integers(0, 10**6).map(lambda minute: f"2026-{1 + minute % 12:02d}-{1 + minute % 28:02d}T03:00:00+00:00")
figures = st.none() | st.floats(-1e6, 1e6)
counts = st.integers(0, 900)
references = st.builds(
    Against, figures, st.none() | st.integers(1, 900), st.sampled_from(["", "aa"]), whole_mean=figures
)
points = st.builds(
    point, figures, st.sampled_from(["pass", "regression", "inconclusive"]), model=st.text(max_size=8),
    task=st.text(max_size=8), error=st.none() | st.floats(0, 1e4), reference=references, n_max=counts,
)  # fmt: skip
runs = st.builds(
    lambda started, commit, checks, result: Run(started, commit, "pass", tuple(checks), "0.1.0", result),
    moments, st.text("0123456789abcdef", max_size=40), st.lists(points, max_size=3), st.text("abc", max_size=3),
)  # fmt: skip

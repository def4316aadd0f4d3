"""The charts: their figures are those of the verdict, and what they shade and draw is what other libraries compute."""

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from syrupy.assertion import SnapshotAssertion

from accgate import compare
from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.report.charts.axes import Axis, axis_of
from accgate.report.charts.distribution import distribution_chart
from accgate.report.charts.svg import ACROSS, element
from accgate.text import figure
from accgate.verdict import Verdict
from accgate.verdict.points import points_text
from tests.report.html_pages import Picture, changed, document
from tests.report.runs import verdict_of
from tests.support.cases import each
from tests.support.decisions import one_each


def drawn(verdict: Verdict) -> tuple[Picture, str]:
    """The picture of a check, and its caption."""
    chart = distribution_chart(verdict, "k")
    assert chart is not None
    (picture,) = document(chart.svg).pictures
    return picture, chart.caption


def two_sample(lower: float = 5.0, **keys: Any) -> Verdict:
    draw = np.random.default_rng(0)
    known = draw.normal(60.0, 20.0, 400).clip(1, 100)
    return compare(known, (known[:300] - lower).clip(0, 100), test="two-sample", scale=1, sigma=20.0, theta=4.0, **keys)


def paired(lost: float = 0.08, **keys: Any) -> Verdict:
    return compare(*changed(600, lost, 0.03), theta=3.0, **keys)


VERDICTS: dict[str, Callable[[], Verdict]] = {
    "two-sample": two_sample,
    "better": lambda: two_sample(-3.0),
    "paired": paired,
    "healthy": lambda: paired(0.03),
    "unchanged": lambda: compare([100.0, 0.0] * 100, [100.0, 0.0] * 100, theta=3.0),
    "stopped": lambda: paired(0.02, early_stopping=True),
    "failed early": lambda: paired(0.08, early_stopping=True),
    "permutation": lambda: paired(test="permutation"),
    "lower is better": lambda: verdict_of(sigma=20.0, gamma=77.5, higher_is_better=False, difference=-5.0),
    "far off": lambda: verdict_of("regression", sigma=2.0, theta=0.5, gamma=74.7),
}


@cache
def verdict_named(name: str) -> Verdict:
    return VERDICTS[name]()


@each("name", VERDICTS)
def test_the_picture_has_the_verdict_s_figures_worse_left_alpha_beyond_the_limit_and_beta_before_it(name: str) -> None:
    verdict = verdict_named(name)
    picture, _ = drawn(verdict)
    words = picture.text.removeprefix(picture.title)
    for value, label in ((verdict.reference.mean, "reference"), (verdict.candidate.mean, "this run")):
        assert f"{label} {figure(value)}" in words
    assert words.count("fails ") <= 1
    assert verdict.gamma is None or re.search(rf"fails (below|above) {points_text(verdict, verdict.gamma)}", words)
    assert (picture.attributes["role"], picture.attributes["aria-labelledby"]) == ("img", "k-distribution")
    if verdict.gamma is None and not verdict.is_early:
        assert picture.all("path", "shade") == picture.all("rect", "zone") == []
        return
    (limit,) = (float(keys["x1"][:-1]) / 100 for keys in picture.all("line", "dashed"))
    (zone,) = picture.all("rect", "zone")
    assert float(zone["width"]) / ACROSS == pytest.approx(limit, abs=1e-3)
    ((tag, mark),) = (each for each in picture.elements if "at" in each[1].get("class", "").split())
    assert (tag == "use") == (verdict.verdict == "regression")
    at = float(mark["cx" if "cx" in mark else "x"][:-1])
    if not verdict.is_early:
        assert (at / 100 < limit) == (verdict.verdict == "regression")
    for class_, worse in (("alpha", True), ("beta", False)):
        for area in picture.all("path", class_):
            xs = [float(x) / ACROSS for x, _ in re.findall(r"(-?[\d.]+) (-?[\d.]+)", area["d"])]
            assert max(xs) <= limit + 1e-3 if worse else min(xs) >= limit - 1e-3


def test_of_a_normal_test_the_shaded_areas_are_alpha_and_beta() -> None:
    picture, _ = drawn(two_sample())
    assert picture.figure("shaded-alpha") == pytest.approx(0.05, abs=1e-12)
    assert picture.figure("shaded-beta") == pytest.approx(0.2, abs=1e-12)
    assert picture.figure("error") == pytest.approx(20.0 * math.sqrt(1 / 400 + 1 / 300))


def test_the_caption_says_what_is_drawn_and_where_the_width_is_from(messages: SnapshotAssertion) -> None:
    before, now = (one_each(pair * 50) for pair in ([40.0, 60.0], [41.0, 61.0]))
    (alike,) = decide([Evidence(now, before, Design(theta=3.0), worst=None, best=None)])
    allowing = verdict_of(theta=2.0, theta_target=2.0, allowed_drop=1.5)
    cases = {name: verdict_named(name) for name in VERDICTS} | {"alike": alike, "allowing": allowing}
    assert {name: drawn(verdict)[1] for name, verdict in cases.items()} == messages


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), most=st.integers(2, 9))
def test_ticks_are_few_and_within_the_axis(low: float, width: float, most: int) -> None:
    axis = Axis(low, low + width)
    ticks = axis.ticks(most)
    assert len(ticks) <= most + 1
    slack = 1e-6 * width + 1e-9
    assert all(axis.low - slack <= tick <= axis.high + slack for tick in ticks)
    assert all(float(tick).is_integer() for tick in axis.ticks(most, whole=True))


def test_an_axis_whose_ends_meet_has_a_place_for_everything_and_attributes_cannot_be_left() -> None:
    assert axis_of(5.0, 5.0).at(5.0) == 0.5
    assert element("a", b='"><script>') == '<a b="&quot;&gt;&lt;script&gt;"/>'


@each("name", ["stopped", "failed early"])
def test_a_run_that_stopped_early_is_drawn_where_it_stopped_as_wide_as_its_interval(name: str) -> None:
    verdict = verdict_named(name)
    picture, _ = drawn(verdict)
    assert verdict.interval is not None
    low, high = verdict.interval.two_sided
    assert picture.figure("error") == pytest.approx((high - low) / 2.0 / norm.ppf(0.95))
    assert picture.all("path", "shade") == []
    assert len(picture.all("line", "reach")) == 1


@each("n", [1, 2, 5])
@each("lost", [0, 1])
@each("test", ["paired", "gsprt", "e-process", "two-sample"])
def test_the_smallest_runs_have_pictures_or_none_but_no_fault(n: int, lost: int, test: Any) -> None:
    verdict = compare([100.0] * n, [0.0] * lost + [100.0] * (n - lost), theta=3.0, test=test)
    chart = distribution_chart(verdict, "k")
    assert chart is None or document(chart.svg).pictures

"""What a verdict says of itself: its level, its confidence, what it sees, what was asked, and its standard error."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind
from scipy.stats import t as stats_t

from accgate import compare
from accgate.decision.comparison import compare_scores, decide
from accgate.decision.evidence import Evidence
from accgate.design import Design, Mean, Target
from accgate.history.run import run_of
from accgate.planning.samples import Assumptions
from accgate.report.charts.distribution import distribution_chart
from accgate.result import result_of_verdict
from accgate.stats.result import Interval
from accgate.verdict import ReferenceSummary, Verdict
from tests.report.html_pages import changed, document
from tests.report.runs import verdict_of
from tests.support.cases import each
from tests.support.decisions import one_each
from tests.support.gates import RIGHT, WRONG


def test_level_and_confidence_are_of_alpha_after_the_correction_where_there_was_one() -> None:
    for applied, level, confidence in ((0.01, 0.01, "98%"), (None, 0.05, "90%")):
        verdict = verdict_of(alpha=0.05, alpha_applied=applied)
        assert (verdict.level, verdict.confidence) == (level, confidence)


def test_what_it_sees_and_what_was_asked_are_on_top_of_the_allowed_drop() -> None:
    verdict = verdict_of(theta=3.0, theta_target=2.5, allowed_drop=0.5)
    assert (verdict.sees, verdict.wanted_drop) == (3.5, 3.0)
    without = replace(verdict, theta=None, theta_target=None)
    assert (without.sees, without.wanted_drop) == (None, None)


def test_a_run_is_too_coarse_where_it_sees_only_more_than_was_asked() -> None:
    asked = [(3.0, 2.5), (2.5 * (1.0 + 1e-12), 2.5), (2.0, 2.5), (None, 2.5), (3.0, None)]
    verdicts = [verdict_of(theta=theta, theta_target=target, allowed_drop=0.5) for theta, target in asked]
    assert [verdict.is_too_coarse for verdict in verdicts] == [True, False, False, False, False]


class TestError:
    draw = np.random.default_rng(5)

    def test_of_paired_scores_is_numpy_s_of_the_differences(self) -> None:
        before, now = (self.draw.normal(60.0, 9.0, 300).round(3) for _ in range(2))
        verdict = compare_scores(one_each(list(before)), one_each(list(now)), Design("paired", theta=2.0))
        assert verdict.error == pytest.approx(np.std(now - before, ddof=1) / 300**0.5)

    def test_of_clusters_is_that_of_the_clusters_and_not_of_the_samples(self) -> None:
        shift = self.draw.normal(0.0, 5.0, 60)
        now = 50.0 + np.repeat(shift, 10)
        verdict = compare(np.full(600, 50.0), now, test="paired", theta=2.0, clusters=np.repeat(np.arange(60), 10))
        assert verdict.error == pytest.approx(np.std(shift, ddof=1) / 60**0.5)

    def test_of_two_samples_at_a_declared_sigma_has_both_their_sizes(self) -> None:
        now = one_each(list(self.draw.normal(60.0, 9.0, 400)))
        (verdict,) = decide([Evidence(now, Mean(61.0, 100), Design("two-sample", sigma=50.0), binary=False)])
        assert verdict.sigma == 50.0
        assert verdict.error == pytest.approx(50.0 * (1 / 400 + 1 / 100) ** 0.5)

    def test_of_two_samples_without_one_is_scipy_s_of_welch(self) -> None:
        now, before = self.draw.normal(60.0, 25.0, 50), self.draw.normal(60.0, 5.0, 800)
        reference = Mean(float(before.mean()), 800, float(before.std(ddof=1)))
        (verdict,) = decide([Evidence(one_each(list(now)), reference, Design("two-sample"), binary=False)])
        known = ttest_ind(now, before, equal_var=False)
        error = (known.confidence_interval().high - (now.mean() - before.mean())) / stats_t.ppf(0.975, known.df)
        assert verdict.error == pytest.approx(error, rel=0.02)  # by the normal quantile and not Student's

    def test_where_nothing_changed_is_that_of_the_interval_at_the_alpha_it_was_made_at(self) -> None:
        for alpha in (0.05, 0.01):
            same = one_each([100.0] * 22)
            verdict = compare_scores(same, same, Design("paired", alpha=alpha, theta=20.0))
            low, high = verdict.interval.two_sided
            assert verdict.sigma == 0.0
            assert verdict.error == pytest.approx((high - low) / 2.0 / norm.ppf(1.0 - alpha))
            assert verdict.error > 3.0

    def test_of_samples_that_all_changed_by_the_same_is_that_of_the_interval_or_of_theta_and_never_0(self) -> None:
        before = list(self.draw.uniform(10.0, 80.0, 50).round())
        for change, end in itertools.product((0.0, 5.0), (0.0, None)):
            now, design = one_each([value + change for value in before]), Design("paired", theta=2.0)
            worst, best = end, None if end is None else 100.0
            (verdict,) = decide([Evidence(now, one_each(before), design, worst=worst, best=best)])
            assert verdict.error > 1.0
            assert (verdict.interval is None) == (end is None)
            if verdict.interval is None:
                assert verdict.error == pytest.approx(verdict.theta / (norm.ppf(0.95) + norm.ppf(0.8)))
            else:  # of 50 samples a loss, or gain, of 5.8 points may show nothing
                low, high = verdict.interval.two_sided
                assert (low, high) == pytest.approx((change - 5.8, change + 5.8), abs=0.4)

    def test_of_a_target_has_the_candidate_s_alone(self) -> None:
        target = verdict_of(test="target", n=400, sigma=50.0, reference=ReferenceSummary(75.0, None))
        assert target.error == pytest.approx(2.5)

    def test_is_nothing_where_nothing_gives_it(self) -> None:
        for verdict in (
            verdict_of(sigma=None, stop="futility"),
            verdict_of(sigma=3.0, difference=None),
            verdict_of(sigma=3.0, n=0),
            verdict_of(sigma=0.0, theta=None, interval=Interval(0.0, (0.0, 0.0))),
            verdict_of(sigma=0.0, theta=None, interval=Interval(math.inf, (-1.0, math.inf))),
            verdict_of(test="two-sample", theta=0.0),
            verdict_of(test="two-sample", sigma=3.0, theta=None),
            verdict_of(sigma=3.0, alpha=0.6, alpha_applied=None),
            verdict_of(test="two-sample", sigma=3.0, theta=3.0, beta=0.0),
        ):
            assert verdict.error is None

    def test_of_a_run_that_may_stop_early_is_that_of_its_interval(self) -> None:
        right, changed = [RIGHT] * 400, [WRONG] * 10 + [RIGHT] * 390
        early = compare(right, changed, theta=8.0, early_stopping=True)
        low, high = early.interval.two_sided
        assert early.error == pytest.approx((high - low) / 2.0 / norm.ppf(0.95))

    def test_of_two_samples_whose_theta_whole_losses_raise_is_that_of_the_interval(self) -> None:
        now, reference = one_each([60.0] * 78 + [60.1, 59.9]), Mean(60.0, 80, 0.02)
        (verdict,) = decide([Evidence(now, reference, Design("two-sample"), binary=False, worst=0.0, best=100.0)])
        spread = np.std(now.means(), ddof=1)
        assert verdict.error == pytest.approx(math.hypot(spread, 0.02) / 80**0.5, rel=0.02)


NOW = one_each([float(score) for score in np.random.default_rng(11).uniform(20.0, 80.0, 400).round(2)])


def unpaired(reference: Mean | Target) -> Verdict:
    (verdict,) = decide([Evidence(NOW, reference, Design(sigma=20.0), binary=False)])
    return verdict


def test_the_report_s_curves_and_the_history_s_band_are_as_wide_as_the_error() -> None:
    for verdict in (unpaired(Mean(52.0, 300)), compare(*changed(400, 0.03, 0.03), theta=4.0, test="gsprt")):
        assert verdict.error > 0.0
        result, now = result_of_verdict(verdict), datetime(2026, 5, 1, tzinfo=timezone.utc)
        (point,) = run_of(result, b"", commit="", config=None, now=lambda now=now: now).checks
        (picture,) = document(distribution_chart(verdict, "k").svg).pictures
        assert point.error == picture.figure("error") == verdict.error


@each("reference", [Mean(52.0, 300), Target(50.0)])
def test_of_a_declared_sigma_the_plan_s_error_is_the_verdict_s(reference: Mean | Target) -> None:
    verdict = unpaired(reference)
    planned = Assumptions(verdict.test, 0.05, 0.2, verdict.sigma, reference_n=verdict.reference.n)
    assert verdict.error == pytest.approx(planned.error(verdict.n))


@each("test", ["auto", "paired"])
def test_of_pairs_the_plan_s_error_at_the_discordance_seen_is_the_verdict_s(test: str) -> None:
    verdict = compare(*changed(400, 0.03, 0.03), theta=4.0, test=test)
    planned = Assumptions("paired", 0.05, 0.2, discordance=verdict.discordance)
    assert verdict.error == pytest.approx(planned.error(verdict.n), rel=0.005)  # n - 1 in the verdict's

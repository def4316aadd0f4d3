"""What is refused: arguments, references and samples that no verdict can be built on."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind, ttest_ind_from_stats

from accgate.decision.comparison import compare, decide
from accgate.decision.evidence import Evidence
from accgate.design import Design, Mean, Target
from accgate.errors import BadInput
from accgate.stats.names import TestName
from tests.support.cases import each
from tests.support.decisions import one_each


@each(
    ("kwargs", "message"),
    [
        ({"alpha": 0.5}, "alpha is 0.5; give a number above 0 and below 0.5"),
        ({"alpha": 0.0}, "alpha is 0.0; give"),
        ({"beta": 0.0}, "beta is 0.0; give a number above 0 and up to 0.5"),
        ({"sigma": -1.0}, "sigma is -1.0; give a number 0 or more"),
        ({"sigma": math.inf}, "sigma is inf; give"),
        ({"theta": 9e-7}, "theta is 9e-07; give a number of 0.000001 or more"),
        ({"alpha": 1.0, "theta": -1.0}, "alpha is 1.0; give a number above 0 and below 0.5\ntheta is -1.0; give"),
        ({"test": "t"}, "test is 't'; use one of auto, two-sample"),
        ({"discordance": -0.1}, "discordance is -0.1; give a number from 0 to 1"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_with_the_mend(kwargs, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare([50.0, 60.0, 70.0], [50.0, 60.0, 70.0], **kwargs)
    assert str(caught.value).startswith(message)


@each("kwargs", [{"beta": 0.5}, {"alpha": 0.499}, {"alpha": 1e-9}, {"sigma": 0.0}])
def test_arguments_just_inside_their_range_are_used(kwargs) -> None:
    assert compare([50.0, 60.0, 70.0] * 20, [50.0, 61.0, 70.0] * 20, discordance=0.1, **kwargs).verdict == "pass"


PER_SAMPLE, MEAN, TARGET = one_each([50.0]), Mean(50.0, 10), Target(50.0)


@each(
    ("test", "reference", "message"),
    [
        ("paired", MEAN, "the paired test needs the reference's score of each sample; use two-sample"),
        ("gsprt", TARGET, "the gsprt test needs the reference's score of each sample; use target"),
        ("target", PER_SAMPLE, "the target test needs an absolute target; use paired"),
        ("target", MEAN, "the target test needs an absolute target; use two-sample"),
        ("two-sample", TARGET, "the two-sample test needs a reference; use target"),
    ],
)  # fmt: skip
def test_a_test_that_does_not_fit_the_reference_is_refused(test: TestName, reference, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        decide([Evidence(one_each([50.0]), reference, Design(test=test, sigma=50.0))])


def test_without_a_declared_sigma_the_means_are_judged_by_the_scores_own() -> None:
    candidate = [40.0, 50.0, 70.0, 20.0, 35.0]
    reference = [60.0, 55.0, 71.0, 42.0, 40.0, 80.0]
    target, welch, pooled = decide(
        [
            Evidence(one_each(candidate), Target(60.0), Design()),
            Evidence(one_each(candidate), one_each(reference), Design(test="two-sample")),
            Evidence(one_each(candidate), Mean(60.0, 6, sigma=float(np.std(reference, ddof=1))), Design()),
        ]
    )
    assert target.p_value == pytest.approx(ttest_1samp(candidate, 60.0, alternative="less").pvalue)
    oracle = ttest_ind(candidate, reference, equal_var=False, alternative="less").pvalue
    assert welch.p_value == pytest.approx(oracle)
    assert pooled.p_value == pytest.approx(
        ttest_ind_from_stats(
            np.mean(candidate), np.std(candidate, ddof=1), 5, 60.0, np.std(reference, ddof=1), 6,
            equal_var=False, alternative="less",
        ).pvalue
    )  # fmt: skip


def test_scores_of_minus_hundred_are_not_zero_and_hundred_scores() -> None:
    wins, losses = [100.0] * 10, [-100.0] * 9 + [100.0]
    assert compare(wins, losses, bounds=(-100.0, 100.0)).difference == pytest.approx(-180.0)
    assert compare(losses, wins, bounds=(-100.0, 100.0)).difference == pytest.approx(180.0)


@pytest.mark.parametrize("reference", [one_each([50.0, math.nan, 71.0]), Mean(math.nan, 100), Target(math.nan)])
def test_a_reference_that_is_not_a_number_never_passes(reference) -> None:
    try:
        (verdict,) = decide([Evidence(one_each([50.0, 60.0, 70.0]), reference, Design(sigma=50.0))])
    except BadInput:
        return
    assert verdict.verdict == "error"


def test_a_reference_of_no_samples_is_refused() -> None:
    with pytest.raises(BadInput, match="number of samples is 0; give 1 or more"):
        decide([Evidence(one_each([50.0]), Mean(50.0, 0), Design(sigma=50.0))])
    assert decide([Evidence(one_each([50.0]), Mean(50.0, 1), Design(sigma=5.0))])[0].verdict == "pass"


@each("mean", [2e12, -2e12])
def test_a_side_beyond_any_metric_is_refused(mean: float) -> None:
    for reference in (Mean(mean, 10), Target(mean), one_each([50.0, mean])):
        with pytest.raises(BadInput):
            decide([Evidence(one_each([50.0, 50.0]), reference, Design(sigma=50.0))])
    with pytest.raises(BadInput, match=r"a score beyond 1e\+12 points for 1 sample"):
        decide([Evidence(one_each([50.0, mean]), Target(50.0), Design(sigma=50.0))])

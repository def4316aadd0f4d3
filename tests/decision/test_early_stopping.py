"""compare() and decide() with tests that stop early: what they use of the samples, and what they say of it."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.stats.gsprt import gsprt_test
from accgate.stats.mcnemar import mcnemar_theta
from accgate.stats.power import GSPRT_LEAST, GSPRT_MAXIMUM
from accgate.stats.sequential import units_of
from tests.stats.sequences import drawn
from tests.support.cases import each
from tests.support.decisions import assert_sound, failing, is_decided, one_each
from tests.support.decisions import compare_in_order as compare

SEQUENTIAL = ["gsprt", "group-sequential", "e-process"]
KINDS = ["binary", "other", "clusters"]
by_test = pytest.mark.parametrize("test", SEQUENTIAL)


def scored(seed: int, n: int = 1192, q: float = 0.05, drop: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """0/100 scores of reference and candidate."""
    change = drawn(np.random.default_rng(seed), n, q, drop)
    reference = np.where(change < 0.0, 100.0, np.where(change > 0.0, 0.0, np.arange(n) % 4 * 100.0 > 0.0) * 1.0)
    reference = np.where(change == 0.0, np.where(np.arange(n) % 4 > 0, 100.0, 0.0), reference)
    return reference, reference + change


def evidence(seed: int, *, n: int = 1192, q: float = 0.05, drop: float = 0.0, **design: Any) -> Evidence:
    reference, candidate = scored(seed, n, q, drop)
    made = Design(**{"early_stopping": True, "theta": 2.0} | design)
    return Evidence(one_each(candidate.tolist()), one_each(reference.tolist()), made)


@pytest.mark.parametrize(
    ("seed", "drop", "verdict", "stop"), [(1, 0.0, "pass", "futility"), (2, 6.0, "regression", "regression")]
)
def test_it_stops_with_the_samples_used_and_all_figures_are_theirs(
    seed: int, drop: float, verdict: str, stop: str
) -> None:
    reference, candidate = scored(seed, drop=drop)
    found = compare(reference, candidate, theta=2.0, early_stopping=True)
    assert (found.test, found.verdict, found.stop, found.n_max) == ("gsprt", verdict, stop, 1192)
    assert found.n < 900
    used_reference, used = reference[: found.n], candidate[: found.n]
    change = used - used_reference
    assert (found.reference.mean, found.reference.n) == (pytest.approx(used_reference.mean()), found.n)
    assert (found.candidate.mean, found.candidate.n) == (pytest.approx(used.mean()), found.n)
    assert (found.lost, found.gained) == ((change < 0).sum(), (change > 0).sum())
    assert found.discordance == pytest.approx((change != 0).mean())
    assert found.flips == tuple(map(str, np.flatnonzero(change < 0)))
    assert found.difference_raw == pytest.approx(change.mean())
    low, high = found.interval.two_sided
    assert low <= found.difference <= high
    assert found.difference < change.mean() if stop == "futility" else found.difference > change.mean()
    assert (found.theta, found.theta_target) == (2.0 if stop == "futility" else None, 2.0)
    assert_sound(found)


def test_a_fixed_test_says_nothing_of_a_stop() -> None:
    reference, candidate = scored(1)
    for rules in ({}, {"test": "unconditional"}, {"test": "paired"}, {"test": "two-sample", "sigma": 50.0}):
        fixed = compare(reference, candidate, theta=2.0, **rules)
        assert (fixed.test, fixed.n, fixed.n_max, fixed.stop) == (rules.get("test", "unconditional"), 1192, None, None)
        assert not rules or compare(reference, candidate, theta=2.0, early_stopping=True, **rules) == fixed


@by_test
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 300), q=st.sampled_from([0.0, 0.03, 0.2, 0.8]),
    kind=st.sampled_from(KINDS), data=st.data(),
)  # fmt: skip
@settings(deadline=None, max_examples=20)
def test_every_verdict_agrees_with_its_own_figures(
    test: Any, seed: int, n: int, q: float, kind: str, data: st.DataObject
) -> None:
    reference, candidate = scored(seed, n, q, data.draw(st.sampled_from([0.0, q * 60.0, q * -60.0])))
    if kind == "other":
        candidate = np.clip(candidate + np.where(candidate != reference, 20.0 * (np.arange(n) % 3), 0.0), 0.0, 100.0)
    theta, alpha = data.draw(st.none() | st.floats(0.5, 50.0)), data.draw(st.sampled_from([0.01, 0.05, 0.3]))
    theta = theta if kind == "binary" else theta or 5.0
    clusters = np.arange(n) // 3 if kind == "clusters" else None
    rules: dict[str, Any] = {"theta": theta, "alpha": alpha, "clusters": clusters}
    found = compare(reference, candidate, test=test, **rules)
    assert_sound(found)
    assert found.n <= n
    if found.stop is not None:
        low, high = found.interval.two_sided
        assert low <= found.difference <= high
        assert (high < 0.0) == (found.verdict == "regression") or abs(high) < 1e-9
    if found.test != test and theta is None:  # so few samples that none of theirs shows any drop: none to look for
        assert mcnemar_theta(int(n / GSPRT_MAXIMUM), discordance=0.05, alpha=alpha, beta=0.2) is None
        assert (found.test, found.n, found.n_max, found.stop) == ("unconditional", n, None, None)
        return
    if kind == "binary":
        assert (found.test, found.n_max) == (test, n)
        assert (found.stop == "regression") == (found.verdict == "regression")
        if found.stop == "futility" and found.verdict != "pass":  # nothing looked at could have been lost enough
            lost = compare(reference, np.zeros(n), test=test, **rules)
            assert lost.stop != "regression" or reference.mean() < (theta or found.theta or 100.0)


@each("test", [*SEQUENTIAL, "auto", "paired"])
@given(seed=st.integers(0, 10**6), drop=st.sampled_from([-4.0, 0.0, 5.0]), kind=st.sampled_from(KINDS))
@settings(deadline=None, max_examples=6)
def test_lower_is_better_on_mirrored_scores_is_the_mirrored_verdict(
    test: Any, seed: int, drop: float, kind: str
) -> None:
    reference, candidate = scored(seed, 300, 0.1, drop)
    if kind == "other":
        reference, candidate = 10.0 + 0.7 * reference, 10.0 + 0.7 * candidate
    clusters = np.arange(300) // 3 if kind == "clusters" else None
    rules: dict[str, Any] = {"test": test, "theta": 3.0, "clusters": clusters}
    up = compare(reference, candidate, **rules)
    down = compare(100.0 - reference, 100.0 - candidate, higher_is_better=False, **rules)
    assert_sound(down)
    mirrored = asdict(up)
    mirrored["higher_is_better"] = False
    assert [cause.kind for cause in down.causes] == [cause.kind for cause in up.causes]
    mirrored["reasons"], mirrored["causes"] = down.reasons, asdict(down)["causes"]  # one says drop, the other rise
    for side in ("reference", "candidate"):
        mirrored[side]["mean"] = 100.0 - mirrored[side]["mean"]
    for key in ("difference", "difference_raw"):
        mirrored[key] = None if mirrored[key] is None else -mirrored[key]
    mirrored["gamma"] = None if up.gamma is None else 100.0 - up.gamma
    if up.interval is not None:
        low, high = up.interval.two_sided
        mirrored["interval"] = {"one_sided": -high, "two_sided": (-high, -low)}
    assert rounded(asdict(down)) == rounded(mirrored)


def rounded(value: Any) -> Any:
    """The same with floats rounded, and zeros of one sign."""
    if isinstance(value, float):
        return round(value, 7) + 0.0
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return tuple(map(rounded, value)) if isinstance(value, (tuple, list)) else value


def test_without_theta_the_drop_that_all_samples_can_show_is_looked_for() -> None:
    """Planned runs are 1.43 times as long as the fixed test's; a twentieth of the samples is expected to change."""
    for n, discordance in ((1192, None), (1192, 0.2), (90, None)):
        reference, candidate = scored(5, n, 0.1, 1.0)
        found = compare(reference, candidate, early_stopping=True, discordance=discordance)
        theta = mcnemar_theta(int(n / 1.43), discordance=discordance or 0.05, alpha=0.05, beta=0.2)
        own = gsprt_test(units_of(candidate - reference), theta=theta, alpha=0.05, beta=0.2, discordance=discordance)
        assert (found.n, found.stop, found.p_value) == (own.n, own.stop, own.p_value)
        assert found.theta_target is None
        assert found.verdict in {"pass", "regression"}


def test_without_theta_other_scores_have_no_drop_to_look_for_and_get_the_fixed_test() -> None:
    rng = np.random.default_rng(6)
    reference, candidate = rng.uniform(20, 80, 300), rng.uniform(20, 80, 300)
    found = compare(reference, candidate, early_stopping=True)
    assert found == compare(reference, candidate)
    assert (found.stop, found.n) == (None, 300)
    assert compare(reference, candidate, early_stopping=True, theta=8.0).test == "group-sequential"


def test_of_equal_scores_the_mean_is_never_past_gamma_by_the_last_bit() -> None:
    """Clusters put the candidate in another order than the reference, so that equal means differ in their last bit."""
    for seed in range(6):
        lower = seed % 2 == 0
        rng = np.random.default_rng(seed)
        scores, clusters = rng.uniform(0.0, 100.0, 90), rng.integers(0, 12, 90)
        found = compare(scores, scores, early_stopping=True, clusters=clusters, higher_is_better=not lower)
        assert found.verdict == "pass"
        assert not (found.candidate.mean > found.gamma if lower else found.candidate.mean < found.gamma)


@by_test
@pytest.mark.parametrize("drop", [0.0, 12.0])
@pytest.mark.parametrize("mixed", [False, True])
def test_a_stop_is_after_whole_clusters_in_the_order_in_which_they_appear(test: Any, drop: float, mixed: bool) -> None:
    reference, candidate = scored(9, 900, 0.2, drop)
    clusters = np.random.default_rng(9).integers(0, 300, 900)
    clusters = clusters if mixed else np.sort(clusters)
    found = compare(reference, candidate, test=test, theta=6.0, clusters=clusters)
    order = list(dict.fromkeys(clusters.tolist()))
    ends = np.cumsum([(clusters == cluster).sum() for cluster in order])
    assert found.n in ends
    assert found.n < 900
    assert found.clusters == 1 + ends.tolist().index(found.n)
    rows = np.concatenate([np.flatnonzero(clusters == cluster) for cluster in order])[: found.n]
    change = (candidate - reference)[rows]
    assert found.difference_raw == pytest.approx(change.mean())
    assert (found.lost, found.gained) == ((change < 0).sum(), (change > 0).sum())
    assert set(found.flips) == {str(i) for i in rows[change < 0]}
    at = np.argsort([order.index(cluster) for cluster in clusters], kind="stable")
    straight = compare(reference[at], candidate[at], test=test, theta=6.0, clusters=clusters[at])
    assert (straight.n, straight.p_value, straight.verdict) == (found.n, found.p_value, found.verdict)


def test_too_few_samples_to_see_theta_are_inconclusive_at_the_end() -> None:
    reference, candidate = scored(11, 60, 0.0)
    candidate = candidate.copy()
    candidate[np.flatnonzero(candidate == 100.0)[[5, 20, 40]]] = 0.0
    found = compare(reference, candidate, theta=2.0, early_stopping=True)
    assert (found.verdict, found.stop, found.n) == ("inconclusive", "end", 60)
    # that of McNemar's exact test on 60 / 1.4 samples, of which a drop of more than 5 points loses all that change
    assert binom.sf(4, int(60 / GSPRT_LEAST), found.theta / 100.0) == pytest.approx(0.8, abs=1e-6)
    assert "evaluate more samples or set a larger theta" in found.reasons[-1]


@by_test
@each(("score", "n", "theta"), [(100.0 / 3.0, 500, 2.0), (100.0, 13, 2.0), (100.0, 20, 100.0)])
def test_a_candidate_that_is_wrong_throughout_is_a_regression(test: Any, score: float, n: int, theta: float) -> None:
    assert compare(np.full(n, score), np.zeros(n), test=test, theta=theta).verdict == "regression"


@by_test
def test_samples_that_failed_after_the_stop_change_nothing(test: Any) -> None:
    whole = evidence(12, drop=8.0, test=test)
    (plain,) = decide([whole])
    (found,) = decide([failing(whole, np.arange(plain.n + 5, plain.n + 15))])
    assert (found.verdict, found.n, found.p_value, found.lost) == ("regression", plain.n, plain.p_value, plain.lost)
    assert (found.candidate.errors, found.reasons) == (0, plain.reasons)


def test_samples_that_failed_before_it_are_taken_at_their_worst_and_their_best() -> None:
    whole = evidence(13, q=0.0)
    (few,) = decide([failing(whole, np.array([3]))])
    assert few.verdict == "pass"
    assert (few.lost, few.gained, few.candidate.errors) == (1, 0, 1)
    assert few.n > decide([whole])[0].n
    right = np.flatnonzero(whole.candidate.values[:, 0] == 100.0)
    (many,) = decide([failing(whole, right[5:65:2])])
    assert many.verdict == "error"
    assert "regression at worst, pass at best" in many.reasons[-1]
    assert many.candidate.errors == (right[5:65:2] < decide([whole])[0].n).sum()
    unbounded = replace(failing(whole, right[:2]), worst=None, best=None)
    assert decide([unbounded])[0].verdict == "error"


def test_the_beginning_of_a_run_is_decided_where_its_failed_samples_cannot_unsettle_it() -> None:
    whole = evidence(14, drop=10.0)
    n = decide([whole])[0].n

    def beginning(k: int, failed: int = 0) -> Evidence:
        part = replace(whole, n_max=1192).first(k)
        return failing(part, np.flatnonzero(part.candidate.values[:, 0] == 0.0)[:failed])

    for more, failed, over in ((-1, 0, False), (1, 0, True), (300, 0, True), (1, 3, False), (300, 1, True)):
        assert is_decided(beginning(n + more, failed), 0.05) is over
    assert not is_decided(replace(beginning(n + 300, failed=1), best=None), 0.05)
    (open_,) = decide([beginning(n - 1)])
    assert (open_.verdict, open_.n_max) == ("error", 1192)
    assert open_.reasons == (f"only {n - 1:,} of 1,192 samples were evaluated: too few to decide",)


@pytest.mark.parametrize(
    ("design", "repeats"),
    [({}, 1), ({}, 4), ({"test": "group-sequential"}, 1), ({"test": "e-process"}, 1), ({"allowed_drop": 0.5}, 1)],
)
@pytest.mark.parametrize("drop", [0.0, 10.0])
def test_a_score_between_0_and_100_past_the_stop_changes_nothing(
    design: dict[str, Any], repeats: int, drop: float
) -> None:
    """It is another test that such scores ask for; whether one had finished when the run stopped is chance."""
    whole = evidence(14, drop=drop, **design)
    reference = replace(whole.reference, values=np.repeat(whole.reference.values, repeats, axis=1))
    whole = replace(whole, reference=reference, n_max=1192)
    (plain,) = decide([whole])
    assert plain.n < 1192 - 30
    values = whole.candidate.values.copy()
    values[plain.n :: 3] = 50.0
    partly = replace(whole, candidate=replace(whole.candidate, values=values))
    for more in (0, 1, 30, 1192 - plain.n):
        beginning = partly.first(plain.n + more)
        assert is_decided(beginning, 0.05)
        (found,) = decide([beginning])
        assert (found.verdict, found.test, found.n) == (plain.verdict, plain.test, plain.n)
        assert (found.p_value, found.gamma, found.flips) == (plain.p_value, plain.gamma, plain.flips)

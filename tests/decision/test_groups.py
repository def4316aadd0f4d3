"""The groups of a check: figures by independent formulas, intervals that hold together, and a verdict left alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from accgate.decision.comparison import compare, compare_scores, decide
from accgate.decision.evidence import Evidence
from accgate.decision.groups import MOST_GROUPS, UNBOUNDED, UNBOUNDED_STOP, add_groups
from accgate.design import Design, Mean
from accgate.errors import BadInput
from accgate.records.scores import Scores
from accgate.stats import bootstrap
from accgate.verdict import CandidateSummary, GroupFigures, ReferenceSummary, Verdict
from accgate.verdict.figures import NO_GROUP, Groups
from tests.support.cases import each
from tests.support.decisions import failing, one_each

G, SIZE = 57, 40  # subjects of MMLU, with samples of each
BOOTSTRAPPED = 15  # groups whose bootstrap is computed, which takes long


def evidence_of(difference: np.ndarray, labels: list[str], **keys: Any) -> Evidence:
    """Evidence of samples, one row each, whose candidate is this much above a reference of 50 or 100 points."""
    values = np.asarray(difference, dtype=float).reshape(len(difference), -1)
    binary = bool(np.isin(values, (-100.0, 0.0, 100.0)).all())
    before = np.where(values > 0.0, 0.0, 100.0) if binary else np.full_like(values, 50.0)
    candidate, reference = one_each(before + values), one_each(before)
    groups = dict(zip(candidate.ids, labels, strict=True))
    return Evidence(candidate, reference, keys.pop("design", Design()), groups=groups, **keys)


def groups_of(evidence: Evidence, *, stop: Any = None) -> Groups:
    """The groups of all samples, without the test that decides the check."""
    sides = ReferenceSummary(50.0, evidence.candidate.n), CandidateSummary(50.0, evidence.candidate.n)
    higher = evidence.design.higher_is_better
    n = evidence.candidate.n
    blank = Verdict(None, None, "pass", "paired", n, *sides, 0.05, 0.2, stop=stop, higher_is_better=higher)
    groups = add_groups(evidence, blank).groups
    assert groups is not None
    return groups


def row_of(groups: Groups, name: str) -> GroupFigures:
    return next(row for row in groups.rows if row.name == name)


def changes(lost: int, gained: int, n: int) -> list[float]:
    return [-100.0] * lost + [100.0] * gained + [0.0] * (n - lost - gained)


def covers(row: GroupFigures, truth: float) -> bool:
    return row.interval[0] - 1e-9 <= truth <= row.interval[1] + 1e-9


def test_figures_of_single_right_and_wrong_answers_are_those_of_independent_formulas() -> None:
    counts = {"law": (14, 1, 40), "art": (0, 0, 70), "bio": (3, 5, 60), "gym": (0, 16, 50)}
    labels = [name for name, (*_, n) in counts.items() for _ in range(n)]
    groups = groups_of(evidence_of(np.concatenate([changes(*c) for c in counts.values()]), labels))
    p = {name: binomtest(lost, lost + gained or 1).pvalue for name, (lost, gained, _) in counts.items()}
    in_order = sorted(p, key=p.__getitem__)
    holm = np.maximum.accumulate([min(1.0, p[name] * (4 - i)) for i, name in enumerate(in_order)])
    for name, (lost, gained, n) in counts.items():
        row = row_of(groups, name)
        assert (row.n, row.lost, row.gained, row.difference) == (n, lost, gained, 100.0 * (gained - lost) / n)
        assert row.candidate - row.reference == pytest.approx(row.difference)
        assert row.p_value == pytest.approx(p[name])
        assert row.p_adjusted == pytest.approx(holm[in_order.index(name)])
    level = 0.05 / 8
    most = 100.0 * (1.0 - level ** (1 / 70))  # the share of losses that no loss in 70 leaves possible at the level
    assert row_of(groups, "art").interval == pytest.approx((-most, most), rel=1e-3)
    alone = compare([100.0] * 14 + [0.0] + [100.0] * 25, [0.0] * 14 + [100.0] * 26, test="paired", alpha=level)
    assert row_of(groups, "law").interval == pytest.approx(alone.interval.two_sided)
    assert [row.name for row in groups.rows] == ["law", "art", "bio", "gym"]  # the surest fall first, gains last
    assert {row.name: row.stands_out for row in groups.rows} == {"law": True, "art": False, "bio": False, "gym": True}
    assert (groups.count, groups.alpha, groups.any_stop, groups.note) == (4, 0.05, False, None)


def test_a_failed_sample_gives_its_group_the_less_sure_p() -> None:
    evidence = evidence_of(np.array(changes(20, 0, 60) + changes(0, 0, 60)), ["law"] * 60 + ["art"] * 60)
    row = row_of(groups_of(failing(evidence, 59)), "law")  # right in the reference: 21 lost at worst, 20 at best
    assert (row.errors, row.p_value) == (1, pytest.approx(2.0 * 0.5**20))


def test_a_change_of_less_than_a_point_is_a_loss_or_a_gain_too() -> None:
    groups = groups_of(evidence_of(np.array([0.25, 0.5, -0.5, 0.0] * 10), ["law", "art", "law", "art"] * 10))
    assert {row.name: (row.lost, row.gained) for row in groups.rows} == {"law": (10, 10), "art": (0, 10)}


def test_where_lower_is_better_a_rise_comes_first_and_figures_keep_their_sign() -> None:
    d, labels = np.array(changes(0, 14, 40) + changes(14, 0, 40)), ["up"] * 40 + ["down"] * 40
    evidence = evidence_of(d, labels, worst=100.0, best=0.0, design=Design(higher_is_better=False))
    up, down = groups_of(evidence).rows
    assert (up.name, up.difference, up.lost, up.gained) == ("up", 35.0, 14, 0)
    assert (down.name, down.difference, down.lost, down.gained) == ("down", -35.0, 0, 14)
    assert down.interval == pytest.approx((-up.interval[1], -up.interval[0]))


def test_57_intervals_hold_together_at_a_fixed_n() -> None:
    """A group alone at 95% is missed by some interval in nearly every run, all at 95% together in 5% at most."""
    rng, runs, truth = np.random.default_rng(1), 40, -6.0  # 8 that miss fail, which alone at 95% have 30 and more
    labels = [str(i % G) for i in range(G * SIZE)]
    together = alone = 0
    for _ in range(runs):
        d = 100.0 * rng.choice([-1, 0, 1], p=[0.1, 0.86, 0.04], size=G * SIZE)
        groups = groups_of(evidence_of(d, labels))
        together += not all(covers(row, truth) for row in groups.rows)
        own = d.reshape(SIZE, G)
        alone += bool((np.abs(own.mean(0) - truth) > 1.96 * own.std(0, ddof=1) / np.sqrt(SIZE)).any())
    assert binom.sf(together - 1, runs, 0.05) > 0.001
    assert alone > 0.8 * runs


@each(("count", "size", "runs"), [(2, 1000, 100), (G, 100, 20)])
def test_intervals_hold_wherever_a_check_stops_even_at_the_worst_moment(count: int, size: int, runs: int) -> None:
    """Each run stops where some group looks worst: limits for a fixed n miss far too often there, and bets do not."""
    rng, missed, naive = np.random.default_rng(2), 0, 0
    level = 0.05 / (2 * count)
    labels = [str(i % count) for i in range(count * size)]
    for _ in range(runs):
        d = 100.0 * rng.choice([-1, 0, 1], p=[0.05, 0.9, 0.05], size=count * size)
        paths = np.cumsum(d.reshape(size, count) < 0, axis=0), np.cumsum(d.reshape(size, count) > 0, axis=0)
        p = binom.sf(np.maximum(*paths) - 1, sum(paths), 0.5)
        at, group = np.unravel_index(int(p.argmin()), p.shape)
        naive += bool(p[at, group] <= level)
        n = int(at) * count + int(group) + 1
        evidence = evidence_of(d, labels)
        kept = [str(i) for i in range(n) if i % count == group]  # the other groups are no worse
        sides = evidence.candidate.take(kept), evidence.reference.take(kept)
        own = replace(evidence, candidate=sides[0], reference=sides[1])
        missed += not covers(groups_of(own, stop="futility").rows[0], 0.0)
    assert binom.sf(missed - 1, runs, 0.05) > 0.001
    if count == 2:
        assert naive > 0.15 * runs


def test_a_run_that_stopped_early_has_the_figures_of_the_samples_it_used() -> None:
    rng = np.random.default_rng(3)
    labels = [f"s{i}" for i in rng.integers(0, G, 4000)]
    before = 100.0 * (rng.random(4000) < 0.7)
    now = np.where(rng.random(4000) < 0.03, 100.0 - before, before)
    verdict = compare(before, now, groups=labels, theta=2.0, early_stopping=True)
    groups = verdict.groups
    assert verdict.is_early
    assert groups.any_stop
    assert groups.count == G  # also those of which no sample was used: the union bound is over all
    assert sum(row.n for row in groups.rows) == verdict.n
    assert sum(row.lost for row in groups.rows) == verdict.lost
    total = sum(row.n * row.difference for row in groups.rows) / verdict.n
    assert total == pytest.approx(verdict.difference_raw)
    assert "wherever the check stopped. With early_stopping = false" in verdict.explain()


def test_groups_never_change_a_verdict() -> None:
    rng = np.random.default_rng(4)
    n = 300
    labels = [f"s{i % 9}" for i in range(n)]
    before = 100.0 * (rng.random(n) < 0.7)
    now = np.where(rng.random(n) < 0.05, 100.0 - before, before)
    bad = np.where([label == "s3" for label in labels], 0.0, now)
    designs: list[dict[str, Any]] = [
        {}, {"theta": 5.0, "early_stopping": True}, {"clusters": [i // 4 for i in range(n)]},
        {"higher_is_better": False}, {"test": "two-sample", "sigma": 50.0},
    ]  # fmt: skip
    for keys in designs:
        for side in (now, bad):
            with_groups = compare(before, side, groups=labels, **keys)
            assert replace(with_groups, groups=None) == compare(before, side, **keys), keys
            assert (with_groups.groups is None) == (keys.get("test") == "two-sample")


def rare_losses(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(SIZE) < 0.02, -49.0, 2.0 * rng.standard_normal(SIZE))


def test_scores_between_0_and_100_have_limits_that_rest_on_their_bounds_alone() -> None:
    """One sample in fifty loses half of the scale: most groups show none, and the bootstrap's limits leave it out."""
    rng, runs, truth = np.random.default_rng(5), 3, 0.02 * -49.0
    labels = [str(g) for g in range(G) for _ in range(SIZE)]
    missed = bootstrapped = 0
    for _ in range(runs):
        d = np.concatenate([rare_losses(rng) for _ in range(G)])
        missed += not all(covers(row, truth) for row in groups_of(evidence_of(d, labels)).rows)
        for own in np.split(d, G)[:BOOTSTRAPPED]:
            result = bootstrap.weighted_bootstrap(-own, SIZE, alpha=0.05 / 114, beta=0.5)
            bootstrapped += -result.interval.one_sided > truth
    assert missed == 0
    assert bootstrapped > 0.02 * runs * BOOTSTRAPPED  # of 2 * 57 limits at this level one in 20 runs may miss


@each("repeats", [1, 4])
def test_repeats_and_clusters_have_limits_too(repeats: int) -> None:
    rng = np.random.default_rng(6)
    d = 100.0 * rng.choice([-1, 0], p=[0.4, 0.6], size=(400, repeats))
    labels = ["law"] * 200 + ["rest"] * 200
    d[200:] = 0.0
    codes = np.arange(400) // 2
    loose = groups_of(evidence_of(d, labels))
    tied = groups_of(evidence_of(np.repeat(d[::2], 2, axis=0), labels, clusters=codes))
    for groups in (loose, tied):
        law, rest = row_of(groups, "law"), row_of(groups, "rest")
        assert law.stands_out
        assert covers(law, -40.0)
        assert not rest.stands_out
    assert np.ptp(tied.rows[0].interval) > np.ptp(loose.rows[0].interval)  # half as many samples tell as much


def test_scores_that_nothing_bounds_say_so() -> None:
    rng = np.random.default_rng(7)
    d = np.concatenate([rng.normal(-300.0, 50.0, 60), rng.normal(0.0, 50.0, 20)])
    labels = ["many"] * 60 + ["few"] * 20
    evidence = evidence_of(d, labels, worst=None, best=None)
    groups = groups_of(evidence)
    assert groups.note == UNBOUNDED
    assert row_of(groups, "many").stands_out
    assert row_of(groups, "few").interval is None
    assert row_of(groups, "few").p_adjusted is None
    stopped = groups_of(evidence, stop="end")
    assert stopped.note == UNBOUNDED_STOP
    assert not any(row.interval for row in stopped.rows)


def test_failed_samples_widen_the_interval_of_their_group_to_both_ends() -> None:
    """A group whose only losses are failures does not stand out, for they may all have been right."""
    labels = ["law"] * 40 + ["rest"] * 40
    d = np.array(changes(16, 0, 40) + changes(0, 0, 40))
    evidence = evidence_of(d, labels)
    assert row_of(groups_of(evidence), "law").stands_out
    failed = failing(evidence, slice(16))
    groups = groups_of(failed)
    law, rest = row_of(groups, "law"), row_of(groups, "rest")
    assert (law.errors, law.difference, law.p_value, law.stands_out) == (16, -40.0, 1.0, False)
    assert covers(law, -40.0)
    assert covers(law, 0.0)
    assert (rest.errors, rest.difference) == (0, 0.0)
    unbounded = replace(failed, worst=None, best=None)
    assert add_groups(unbounded, decide([unbounded])[0]).groups is None


def test_where_lower_is_better_failed_samples_widen_the_interval_downwards() -> None:
    lower: dict[str, Any] = {"worst": 100.0, "best": 0.0, "design": Design(higher_is_better=False)}
    evidence = evidence_of(np.array(changes(0, 16, 40) + changes(0, 0, 40)), ["law"] * 40 + ["rest"] * 40, **lower)
    law = row_of(groups_of(failing(evidence, slice(16))), "law")
    assert covers(law, 40.0)
    assert covers(law, 0.0)


def test_one_group_or_a_reference_without_samples_has_no_table_and_too_many_groups_a_note() -> None:
    d = np.zeros(MOST_GROUPS + 1)
    one = evidence_of(d, ["all"] * len(d))
    assert decide([one])[0].groups is None
    mean = replace(one, reference=Mean(90.0, 100), groups={str(i): str(i % 2) for i in range(len(d))})
    assert decide([mean])[0].groups is None
    many = groups_of(evidence_of(d, [str(i) for i in range(len(d))]))
    assert (many.count, many.rows) == (MOST_GROUPS + 1, ())
    assert "in 301 groups, too many" in str(many.note)
    most = groups_of(evidence_of(d[1:], [str(i) for i in range(MOST_GROUPS)]))
    assert (len(most.rows), most.note) == (MOST_GROUPS, None)


def test_samples_without_a_group_are_a_group_of_their_own() -> None:
    groups = groups_of(evidence_of(np.zeros(6), ["law", "", "", "law", "art", ""]))
    assert {row.name: row.n for row in groups.rows} == {"law": 2, "art": 1, NO_GROUP: 3}


def test_a_sample_of_another_group_than_in_the_reference_is_refused() -> None:
    ids, values = ("a", "b", "c"), np.full((3, 1), 100.0)
    sides = Scores(ids, values, groups=("law", "law", "art")), Scores(ids, values, groups=("law", "art", "art"))
    with pytest.raises(BadInput, match=r"1 of 3 samples differs .*: b;"):
        compare_scores(*sides, Design())
    verdict = compare_scores(sides[0], Scores(ids, values), Design())  # the reference's groups hold
    assert {row.name: row.n for row in verdict.groups.rows} == {"law": 2, "art": 1}
    for labels, message in (
        (["x", "y", "z"], "groups: 3 for 2"), ({0: "x", "0": "y", 1: "y"}, "two ids are"), ("xy", "must be a mapping"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            compare([100.0, 0.0], [100.0, 0.0], groups=labels)


def test_limits_of_a_group_never_leave_out_its_own_difference() -> None:
    rng = np.random.default_rng(8)
    for drift in (0.0, 0.3):
        d = 100.0 * np.where(rng.random(300) < 0.3 + drift * np.linspace(-1, 1, 300), -1.0, 0.0)
        groups = groups_of(evidence_of(d, ["law"] * 150 + ["art"] * 150), stop="end")
        assert all(covers(row, row.difference) for row in groups.rows)

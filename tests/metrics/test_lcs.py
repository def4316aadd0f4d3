"""The bit rows give the length of the textbook's table, and rouge-score's choice among equal subsequences."""

from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from accgate.metrics.lcs import lcs_length, lcs_positions

TOKENS = st.lists(st.sampled_from("abcd"), max_size=80)


@given(TOKENS, TOKENS)
def test_the_length_is_that_of_rouge_scores_table(first: list[str], second: list[str]) -> None:
    assert lcs_length(first, second) == rouge_scorer._lcs_table(first, second)[-1][-1]


@given(TOKENS, TOKENS)
def test_the_positions_are_those_rouge_score_reads_from_its_table(reference: list[str], candidate: list[str]) -> None:
    assert lcs_positions(reference, candidate) == rouge_scorer.lcs_ind(reference, candidate)


def test_lists_without_a_common_token_have_no_subsequence() -> None:
    assert lcs_length(["a"], ["b"]) == lcs_length([], ["b"]) == lcs_length(["a"], []) == lcs_length([], []) == 0
    assert lcs_positions(["a"], ["b"]) == lcs_positions([], ["b"]) == lcs_positions(["a"], []) == []


def test_long_lists_are_measured_in_the_time_that_a_table_would_not_take() -> None:
    first = [str(number % 977) for number in range(20_000)]
    assert lcs_length(first, first[::2]) == 10_000

"""ROUGE is rouge-score's to the last bit, Lin's published figures, and its own formula where neither reaches."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from rouge_score.rouge_scorer import RougeScorer

from accgate.metrics import rouge
from accgate.metrics.rouge import lcs_length, lcs_positions, skip_bigrams, weighted_lcs
from tests.metrics.texts import AWKWARD, TEXTS, metric
from tests.support.cases import each

THEIRS = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
PLAIN, STEMMED = (RougeScorer([*THEIRS.values(), "rouge3", "rouge9"], use_stemmer=stem) for stem in (False, True))
TOKENS = st.lists(st.sampled_from("abcde"), max_size=14)
OFFICIAL = "police killed the gunman"  # Lin's reference sentence


@pytest.mark.parametrize("stem", [False, True])
@given(answer=TEXTS, target=TEXTS)
def test_f_measures_are_those_of_rouge_score_to_the_last_bit(stem: bool, answer: str, target: str) -> None:
    scores = (STEMMED if stem else PLAIN).score(target, answer)
    for ours, theirs in THEIRS.items():
        assert metric(rouge, ours, stem=stem)(answer, target) == 100 * scores[theirs].fmeasure, ours
    for n in (1, 2, 3, 9):
        score = scores[f"rouge{n}"]
        for measure, value in (("f", score.fmeasure), ("recall", score.recall), ("precision", score.precision)):
            assert metric(rouge, "rouge_n", n=n, measure=measure, stem=stem)(answer, target) == 100 * value
    for ours in ("rouge_1", "rouge_2", "rouge_l"):
        assert metric(rouge, f"{ours}_recall", stem=stem)(answer, target) == 100 * scores[THEIRS[ours]].recall


@each(("answer", "target"), AWKWARD)
def test_awkward_texts_score_as_rouge_score_has_them(answer: str, target: str) -> None:
    answer, target = answer[:600], target[-600:]  # rouge-score fills a table of a cell for each pair of words
    scores = PLAIN.score(target, answer)
    for ours, theirs in THEIRS.items():
        assert metric(rouge, ours)(answer, target) == 100 * scores[theirs].fmeasure, ours


@each("end", ["\n", "\r", "\x0b", "\u2028", "\n\n"])
def test_only_line_feeds_end_a_line_of_rouge_lsum(end: str) -> None:
    answer, target = f"b c{end}a x", f"a b{end}x c"
    assert metric(rouge, "rouge_lsum")(answer, target) == 100 * PLAIN.score(target, answer)["rougeLsum"].fmeasure


def test_a_text_of_a_hundred_thousand_words_is_scored() -> None:
    draw = random.Random(5)
    answer = " ".join(draw.choices(["x", "y", "z", "long", "text"], k=20_000))
    assert metric(rouge, "rouge_l")(answer + " end", answer) > 99.9
    assert metric(rouge, "rouge_2")(answer * 5, answer * 5) == 100


@given(answer=TEXTS, targets=st.lists(TEXTS, min_size=1, max_size=3))
def test_several_references_are_pooled_in_the_recall_form_of_rouge_n(answer: str, targets: list[str]) -> None:
    for n in (1, 2):
        ours, *theirs = (Counter(rouge_grams(text, n)) for text in (answer, *targets))
        matched, total = sum((grams & ours).total() for grams in theirs), sum(grams.total() for grams in theirs)
        for built in (metric(rouge, f"rouge_{n}_recall"), metric(rouge, "rouge_n", n=n, measure="recall")):
            assert built.against(answer, targets) == pytest.approx(100 * matched / total if total else 0.0, abs=1e-9)


def rouge_grams(text: str, n: int) -> list[tuple[str, ...]]:
    tokens = list(PLAIN._tokenizer.tokenize(text))
    return list(zip(*(tokens[start:] for start in range(n)), strict=False))


def test_rouge_w_has_lins_published_figures() -> None:
    weighted = metric(rouge, "rouge_w", weight=2.0)
    assert weighted("A B C D H I K", "A B C D E F G") == pytest.approx(57.1, abs=0.05)
    assert weighted("A H B K C I D", "A B C D E F G") == pytest.approx(28.6, abs=0.05)


def plain_weighted(first: list[str], second: list[str], weight: float) -> float:
    """The table of Lin's section 3.3, cell by cell."""
    scores = {(i, j): 0.0 for i in range(len(first) + 1) for j in range(len(second) + 1)}
    runs = dict.fromkeys(scores, 0)
    for i, j in itertools.product(range(1, len(first) + 1), range(1, len(second) + 1)):
        if first[i - 1] == second[j - 1]:
            k = runs[i - 1, j - 1]
            scores[i, j] = scores[i - 1, j - 1] + (k + 1) ** weight - k**weight
            runs[i, j] = k + 1
        else:
            scores[i, j] = max(scores[i - 1, j], scores[i, j - 1])
    return scores[len(first), len(second)] ** (1 / weight)


@given(
    answer=TOKENS,
    target=TOKENS | st.lists(st.sampled_from("cdefgh"), max_size=14),
    weight=st.sampled_from([1.0, 1.2, 2.0, 3.5]),
)
def test_rouge_w_is_lins_table(answer: list[str], target: list[str], weight: float) -> None:
    found = weighted_lcs(answer, target, weight)
    assert found.shared == pytest.approx(plain_weighted(answer, target, weight), abs=1e-8)
    assert found.precision <= 1
    assert found.recall <= 1


@each("weight", [1.0, 1.2, 10.0])
def test_a_text_has_all_of_itself_whatever_its_length(weight: float) -> None:
    for length in [*range(1, 30), 300]:
        assert weighted_lcs(["x"] * length, ["x"] * length, weight).f == 1


@each(
    ("answer", "points", "with_unigrams"),
    [
        ("police kill the gunman", 50, 60), ("the gunman kill police", 100 / 6, 40),
        ("the gunman police killed", 100 / 3, 60), ("gunman the killed police", 0, 40),  # Lin's section 5.2
    ],
)  # fmt: skip
def test_rouge_s_has_lins_published_figures(answer: str, points: float, with_unigrams: float) -> None:
    assert metric(rouge, "rouge_s")(answer, OFFICIAL) == pytest.approx(points)
    assert metric(rouge, "rouge_s", unigrams=True)(answer, OFFICIAL) == pytest.approx(with_unigrams)


def plain_pairs(tokens: list[str], skip: int | None) -> Counter[tuple[str, str]]:
    near = len(tokens) if skip is None else skip + 1
    places = itertools.combinations(range(len(tokens)), 2)
    return Counter((tokens[i], tokens[j]) for i, j in places if j - i <= near)


@given(
    answer=TOKENS,
    target=TOKENS | st.lists(st.sampled_from("cdefgh"), max_size=14),
    skip=st.none() | st.integers(0, 16),
    unigrams=st.booleans(),
)
def test_skip_bigrams_are_counted_pair_by_pair(answer: list[str], target: list[str], skip, unigrams: bool) -> None:
    ours, theirs = (plain_pairs(side, skip) for side in (answer, target))
    singles = (Counter(answer) & Counter(target)).total() if unigrams else 0
    sizes = [pairs.total() + unigrams * len(side) for pairs, side in ((ours, answer), (theirs, target))]
    assert skip_bigrams(answer, target, skip, unigrams=unigrams) == ((ours & theirs).total() + singles, *sizes)


def test_skip_0_is_rouge_2_and_1_reaches_over_one_word() -> None:
    assert metric(rouge, "rouge_s", skip=0)("the cat sat", "the cat ran") == 50
    assert [metric(rouge, "rouge_s", skip=n)("cat x dog", "cat y dog") for n in (0, 1)] == [0, pytest.approx(100 / 3)]


@each("name", rouge.METRICS)
def test_every_rouge_is_100_for_the_target_itself_and_0_for_nothing(name: str) -> None:
    built = metric(rouge, name)
    assert (built.name, built.lowest, built.highest, built.higher_is_better) == (name, 0, 100, True)
    assert built("The cat sat on the mat.", "the cat sat on the mat") == 100
    assert (built("", "the cat"), built("the cat", ""), built("", "")) == (0, 0, 0)


LONG_TOKENS = st.lists(st.sampled_from("abcd"), max_size=80)


@given(LONG_TOKENS, LONG_TOKENS)
def test_common_tokens_are_as_many_and_stand_where_rouge_scores_table_has_them(reference: list[str], candidate) -> None:
    assert lcs_length(reference, candidate) == rouge_scorer._lcs_table(reference, candidate)[-1][-1]
    assert lcs_positions(reference, candidate) == rouge_scorer.lcs_ind(reference, candidate)


def test_long_lists_are_measured_in_the_time_that_a_table_would_not_take() -> None:
    first = [str(number % 977) for number in range(20_000)]
    assert lcs_length(first, first[::2]) == 10_000

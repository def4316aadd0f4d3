# ruff: noqa: RUF001 the quotation marks that TriviaQA's script takes out
"""SQuAD 2's, TriviaQA's and DROP's scores: by their scripts' rules written here anew, DROP's by lm-eval's code too."""

import json
import random

import pytest

from accgate.metrics import get
from tests.metrics.readings import their_drop
from tests.metrics.texts import f1_of, squad_words
from tests.support.cases import each

PIECES = [
    "the ", "a ", "An ", "cat ", "Cat", "cats, ", "red-", "_", "‘", "’s ", "´", "`", ". ", "12", "12.0 ", "1,200 ",
    "-3 ", "2 ", "nan", "unanswerable", "\n", "\u00a0", "é", "1e3 ", "$5 ", "May ", ";",
]  # fmt: skip


def texts(seed: int, count: int = 200) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(PIECES, k=draw.randint(0, 5))) for _ in range(count)]


def squad(answer: str, targets: list[str]) -> tuple[float, float]:
    """evaluate-v2.0.py's exact match and F1 of a prediction."""
    scores = []
    for theirs in [words for target in targets if (words := squad_words(target))] or [[]]:
        ours = squad_words(answer)
        exact = 100.0 * (ours == theirs)
        scores.append((exact, f1_of(ours, theirs) if ours and theirs else exact))
    return max(exact for exact, _ in scores), max(share for _, share in scores)


def test_squad_v2_is_its_scripts_score_where_the_word_is_the_empty_answer() -> None:
    exact, share = get("squad_v2", measure="exact", as_published=True), get("squad_v2", as_published=True)
    answers, golds = texts(1), texts(2)
    for i, answer in enumerate(answers):
        targets = golds[i : i + i % 4]
        prediction = "" if squad_words(answer) == ["unanswerable"] else answer
        points = (exact.against(answer, targets or [""]), share.against(answer, targets or [""]))
        assert points == pytest.approx(squad(prediction, targets)), (answer, targets)


@each(
    ("answer", "targets", "points"),
    [
        ("unanswerable", [""], 100.0),
        ("It is unanswerable", [""], 0.0),
        ("", [""], 100.0),
        ("unanswerable", ["Paris"], 0.0),
        ("", ["Paris", ""], 0.0),
        ("the", [""], 0.0),  # nothing is left of it, but it does not say that there is no answer
        (".", ["A"], 0.0),
        ("A.", ["The", "A"], 100.0),
    ],
)
def test_a_question_without_an_answer_takes_no_answer_alone(answer: str, targets: list[str], points: float) -> None:
    assert get("squad_v2").against(answer, targets) == points
    assert get("squad_v2", measure="exact").against(answer, targets) == points


def test_the_word_for_no_answer_can_be_another() -> None:
    metric = get("squad_v2", no_answer="not stated")
    assert (metric("Not stated!", ""), metric("unanswerable", "")) == (100.0, 0.0)


def test_triviaqa_is_its_scripts_score() -> None:
    exact, share = get("triviaqa", as_published=True), get("triviaqa", measure="f1", as_published=True)
    for answer, target in zip(texts(3), texts(4), strict=True):
        ours, theirs = (squad_words(text, spaced="‘’´`_") for text in (answer, target))
        assert exact(answer, target) == 100.0 * (ours == theirs), (answer, target)
        assert share(answer, target) == pytest.approx(f1_of(ours, theirs)), (answer, target)
    assert exact.against("the_Beatles", ["Wings", "beatles"]) == 100.0


def test_what_the_scripts_leave_nothing_of_is_an_answer_only_to_them() -> None:
    for name in ("triviaqa", "squad_v2", "drop"):
        as_published = get(name, as_published=True)
        for answer, points in (("", 0), ("the", 0), (".", 0), ("A", 100), ("a.", 100), ("B", 0)):
            assert (name, answer, get(name)(answer, "A")) == (name, answer, points)
            assert as_published(answer, "A") == (100 if answer != "B" else 0)
            assert not as_published.found(answer, ["A"], 100.0) or answer in ("A", "a.", "B")


@each(
    ("answer", "right", "share", "exact"),
    [
        ("8.0", [["8"]], 100, 100),
        ("9 yards", [["8 yards"]], 0, 0),  # another number, so the shared word is worth nothing
        ("8 or 9 yards", [["8 yards"]], 67, 0),
        ("a 12-yard pass", [["12 yard pass"]], 100, 100),
        ("yard yard", [["yard"]], 100, 0),  # sets of words
        ("Rome; Paris", [["Paris", "Rome"]], 100, 100),
        ("Rome", [["Paris", "Rome"]], 50, 0),
        ("Rome", [["Bonn"], ["Rome"]], 100, 100),
        ("the", [["A"]], 0, 0),  # nothing is left of both
        ("", [[""], ["x"]], 0, 0),  # an empty right answer does not count
        ("x", [], 0, 0),
        ("red cat; blue dog", [["blue cat", "red cat"]], 75, 0),  # the best pairs, not the first
    ],
)
def test_drop_by_hand(answer: str, right: list[list[str]], share: float, exact: float) -> None:
    target = json.dumps(right)
    assert get("drop", separator=";")(answer, target) == pytest.approx(share)
    assert get("drop", separator=";", measure="exact")(answer, target) == exact


def test_a_target_that_is_no_list_is_one_answer() -> None:
    drop = get("drop")
    assert (drop("8", "8"), drop("eight yards", "Eight yards."), drop("x", '["x", "y"]')) == (100.0, 100.0, 100.0)
    assert drop.against("8", ["7", "8"]) == 100.0


def test_drop_is_the_score_of_the_authors_script() -> None:
    theirs = their_drop()
    share, exact = (get("drop", separator="|", measure=each, as_published=True) for each in ("f1", "exact"))
    answers, spans = texts(5), texts(6)
    for i in range(len(answers) - 3):
        ours = [span for span in answers[i : i + 1 + i % 3] if span.strip()] or [""]
        right = [spans[i : i + 1 + i % 2], spans[i + 2 : i + 3]]
        wanted = theirs.process_results({"answers": [tuple(span) for span in right]}, ours)
        answer, target = "|".join(ours), json.dumps(right)
        assert exact(answer, target) == 100 * wanted["em"], (ours, right)
        assert share(answer, target) == pytest.approx(100 * wanted["f1"]), (ours, right)

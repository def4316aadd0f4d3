"""MMMU's letters, by its authors' rules and in more forms, and what counts as read."""

import json

import pytest

from accgate import metrics

QUESTION = {"question_type": "multiple-choice", "options": "['cat', 'dog', 'iron', 'wool']", "answer": "C"}
OPEN = {"question_type": "open", "options": "[]", "answer": "12"}


@pytest.mark.parametrize(
    ("reply", "points", "as_published"),
    [
        ("C", 100, 100),
        ("The answer is D, no, C", 100, 100),
        ("**C**", 100, None),
        ("\\boxed{C}", 100, None),
        ("<|begin_of_box|>C<|end_of_box|>", 100, None),
        ("Answer: $C$", 100, None),
        ("c) iron", 100, None),
        ("iron", 100, None),
        ("(D)", 0, 0),
        ("no idea", None, None),
    ],
)
def test_a_letter_in_more_forms_is_right_and_none_is_unread(
    reply: str, points: float | None, as_published: float | None
) -> None:
    target = json.dumps(QUESTION)
    for metric, wanted in ((metrics.get("mmmu"), points), (metrics.get("mmmu", as_published=True), as_published)):
        score = metric(reply, target)
        assert (score, metric.found(reply, [target], score)) == (wanted or 0, wanted is not None)


def test_an_open_answer_is_read_where_there_is_any() -> None:
    metric = metrics.get("mmmu")
    assert [metric.found(reply, [json.dumps(OPEN)], 0.0) for reply in ("perhaps 13", " ")] == [True, False]

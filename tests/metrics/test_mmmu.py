"""MMMU's letters, by its authors' rules and in more forms, and what counts as read."""

import json

from accgate import metrics
from tests.support.cases import each

QUESTION = {"question_type": "multiple-choice", "options": "['cat', 'dog', 'iron', 'wool']", "answer": "C"}
OPEN = {"question_type": "open", "options": "[]", "answer": "12"}


BOTH = {"C": 100, "The answer is D, no, C": 100, "(D)": 0, "no idea": None}  # by points; None is unread
MORE = [
    "**C**",
    "\\boxed{C}",
    "<|begin_of_box|>C<|end_of_box|>",
    "Answer: $C$",
    "c) iron",
    "iron",
]  # the authors read none


@each("as_published", [False, True])
def test_a_letter_in_more_forms_is_right_and_none_is_unread(as_published: bool) -> None:
    metric, target = metrics.get("mmmu", as_published=as_published), json.dumps(QUESTION)
    for reply, points in (BOTH | dict.fromkeys(MORE, None if as_published else 100)).items():
        score = metric(reply, target)
        assert (score, metric.found(reply, [target], score)) == (points or 0, points is not None), reply


def test_an_open_answer_is_read_where_there_is_any() -> None:
    metric = metrics.get("mmmu")
    assert [metric.found(reply, [json.dumps(OPEN)], 0.0) for reply in ("perhaps 13", " ")] == [True, False]

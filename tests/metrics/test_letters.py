"""The letter of a multiple choice in the replies that models write, what other tools read there, and MMMU's."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accgate import metrics
from accgate.metrics.letters import by_letter
from tests.support.cases import each

OPTIONS = {
    "four": [("A", "copper wire"), ("B", "iron"), ("C", "a tin can"), ("D", "wool")],
    "ten": [(letter, f"text {letter.lower()}x") for letter in "ABCDEFGHIJ"],
    "numbered": [("1", "wood"), ("2", "iron"), ("3", "wool")],
}
FOUR = OPTIONS["four"]
TABLE = Path(__file__).with_name("letters.jsonl").read_text(encoding="utf-8")
REPLIES = [json.loads(line) for line in TABLE.splitlines()]  # others: those that other tools read, too


def options_of(case: dict[str, Any]) -> list[tuple[str, str]]:
    """The options that a case names, or those of its labels, each with a text of its own."""
    named = case["options"]
    return OPTIONS[named] if isinstance(named, str) else [(label, f"text {i}") for i, label in enumerate(named)]


THEIRS = {  # as the tools' own files have them
    "simple-evals": (r"(?i)Answer[ \t]*:[ \t]*\$?([A-D])\$?", 0),
    "lm-eval mmlu_pro": (r"answer is \(?([ABCDEFGHIJ])\)?", 0),
    "lm-eval flexible-extract": (r"\(([A-Z])\)", -1),
}
TWO_LETTERS = [
    "Answer: B or C", "The answer is A or B", "Answer: A, B", "The answer is A and B.", "Answer: B & C", "Answer: B/C",
    "The answer is (A)(B)", "The answer is A+B.",
]  # fmt: skip
DIFFERENT = {  # where they read another letter: the reason why accgate's stands
    "Answer: A student": "A is a word",
    "B\n\nQuestion: next?\nAnswer: D": "the first line answers; a base model went on to a question of its own",
    "The right answer is (D) wool, not (A).": "(A) is what it is not",
    "Not (D).": "(D) is what it is not",
    "Final answer: C. A common incorrect answer is B.": "B is called incorrect",
    "I choose C; the next best answer is B.": "B is called the next best",
    "The answer is B? No, C.": "B is asked, not said",
    **dict.fromkeys(TWO_LETTERS, "two letters are no answer"),
}


def test_the_letter_is_read_where_a_reader_reads_it() -> None:
    read = [(case, by_letter(case["reply"], options_of(case))) for case in REPLIES]
    assert [(case["options"], case["reply"], label) for case, label in read if label != case["read"]] == []


def test_another_letter_than_other_tools_read_is_read_for_a_reason() -> None:
    others = set()
    for reply in (case["reply"] for case in REPLIES if "others" in case):
        for pattern, place in THEIRS.values():
            theirs = re.findall(pattern, reply)
            if theirs and theirs[place].upper() != by_letter(reply, FOUR):
                others.add(reply)
    assert others == set(DIFFERENT)


@pytest.mark.slow
def test_an_endless_reply_is_read_at_once() -> None:
    pieces = ["answer is ", "A, ", "\\boxed{", "B or ", "not ", "A是", "<|", "答案", "$a$ ", "$ a", "\\(A", "a b c "]
    for piece in ["\n", " ", *"(-*_…$", *pieces]:
        assert by_letter("answer" + piece * 20_000 + "x", FOUR) in (None, "A", "B"), piece


QUESTION = {"question_type": "multiple-choice", "options": "['cat', 'dog', 'iron', 'wool']", "answer": "C"}
OPEN = {"question_type": "open", "options": "[]", "answer": "12"}


READ = {"C": 100, "The answer is D, no, C": 100, "(D)": 0, "no idea": None}  # by points; None is unread
MORE = ["**C**", "<|begin_of_box|>C<|end_of_box|>", "Answer: $C$", "c) iron", "iron"]  # the authors read none


@each("as_published", [False, True])
def test_a_letter_in_more_forms_is_right_and_none_is_unread(as_published: bool) -> None:
    metric, target = metrics.get("mmmu", as_published=as_published), json.dumps(QUESTION)
    for reply, points in (READ | dict.fromkeys(MORE, None if as_published else 100)).items():
        score = metric(reply, target)
        assert (score, metric.found(reply, [target], score)) == (points or 0, points is not None), reply


def test_an_open_answer_is_read_where_there_is_any_and_the_last_that_a_reply_draws_counts() -> None:
    metric = metrics.get("mmmu")
    assert [metric.found(reply, [json.dumps(OPEN)], 0.0) for reply in ("perhaps 13", " ")] == [True, False]
    targets = [json.dumps(OPEN | {"answer": answer}) for answer in ("12", "13")]
    assert [metric("I counted 13, so it is 12.", target) for target in targets] == [100, 0]

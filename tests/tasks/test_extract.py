# ruff: noqa: RUF001 digits, signs and words of other scripts
"""The answer in a reply, however the model wraps it, and how sure the reply says that it is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.extract import by_json_path, by_regex, check_json_path, json_in, stated_confidence
from tests.support.cases import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@each(
    ("reply", "pattern", "first", "last"),
    [
        ("12 + 7 is 19", r"-?\d+", "12", "19"),
        ("A: (b) or (c)?", r"\((\w)\)", "b", "c"),
        ("#### 1,234\n#### 5", r"#### ([\d,]+)", "1,234", "5"),
        ("", r"\d+", None, None),
        ("x 1 or y", r"x (\d)|y", "1", None),
        ("<b>1</b><b>2</b>", r"<b>(?:0|)(?P<answer>\d)", "1", "2"),
        ("one\ntwo", r"(?m)^(\w+)$", "one", "two"),
    ],
)
def test_the_answer_is_group_1_or_the_match_and_the_first_or_last(
    reply: str, pattern: str, first: str | None, last: str | None
) -> None:
    assert by_regex(reply, pattern, "first") == first
    assert by_regex(reply, pattern) == by_regex(reply, pattern, "last") == last


@each(
    ("reply", "path", "answer"),
    [
        ('{"a": "4"}', "$.a", "4"),
        ('{"a": "é"}', "$", '{"a": "é"}'),
        ('{"a": true, "b": null}', "$.b", "null"),
        ('{"a": ""}', "$.a", ""),
        ('Sure!\n```json\n{"a": {"b": [1, 2]}}\n```\nBye', "$.a.b", "[1, 2]"),
        ("I {think} it is [1, 2] or {3}", "$[0]", "1"),
        ('{"a": 1} {"a": 2}', "$.a", "1"),
        ('[{"a": "x"}, {"a": 0}]', "$[?@.a < 1].a", "0"),
        ('{"a": 1}', "$.b", None),
        ("4", "$", None),
        ("", "$", None),
        ("[" * 3000, "$", None),
        ("[" * 500 + "]" * 500, "$..a", None),
        ('{"a": ' + "1" * 5000 + "}", "$.a", None),
        ('{"draft": {"a": 5}, "a": ', "$.a", None),
        ('{"a": 4, "list": ["x", {"a": 5}],}', "$..a", None),
        ("{'a': 4, 'list': [1, 2]}", "$", None),
        ('{"text": "a } in\nit", "b": {"a": 9}}', "$..a", None),
        ('[{"a": 4}, ...]', "$..a", None),
        ('{"a": 1,} {"a": 2}', "$.a", "2"),
        ('\\\\[ {"a": 4} \\\\]', "$.a", "4"),
    ],
)
def test_the_answer_is_the_first_value_at_the_path_in_the_first_json(reply: str, path: str, answer: str | None) -> None:
    assert check_json_path(path) is None
    assert by_json_path(reply, path) == answer


@settings(deadline=None)
@given(JSON, st.text("abc `\n:.", max_size=10), st.text("abc `\n:.]}", max_size=10))
def test_json_is_found_with_prose_around_it(value: Any, before: str, after: str) -> None:
    text = before + json.dumps({"answer": value}) + after
    assert json_in(text) == ({"answer": value},)
    found = by_json_path(text, "$.answer")
    assert found == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@settings(deadline=None)
@given(st.text('[]{}",:0a \\', max_size=40), st.sampled_from(["$", "$..a", "$[0]", "$[?@ > 0]", "$[?length(@) > 1]"]))
def test_no_reply_breaks_extraction(reply: str, path: str) -> None:
    answer = by_json_path(reply, path)
    assert answer is None or isinstance(answer, str)


@each(
    "path",
    ["$[", "$.", "$.a b", "\0", "$[?nosuch(@)]", "$[?@.a =~ /(/]", "$[?@.a == 1e9999]", "$[" + "1" * 5000 + "]",
     "$[99999999999999999999]", "$[?" + "(" * 3000 + "1" + ")" * 3000 + "]"]
)  # fmt: skip
def test_what_is_no_json_path_is_said_on_one_line(path: str) -> None:
    fault = check_json_path(path)
    assert fault is not None
    assert fault.startswith("is not a JSON path: ")
    assert "\n" not in fault


OF_BBH = {  # replies that models write, by what bbh reads
    "A": ["So the answer is (A).", "So the answer is A because of x.", "The answer is $\\boxed{A}$.", "**Answer:** A",
          "Final answer: (A)\n\nI hope this helps."],
    "True": ["So the answer is True."], "valid": ["So the answer is 'valid'"], "yes": ["So the answer is yes."],
    "-12": ["-12"],
    "B": ["B", "So the answer is **(B)**.", "The answer is option (B).", "The answer is B, since the date is later.",
          "At first the answer is (A).\nNo, so the answer is (B)."],
    "C": [" (C)\n", "\\boxed{\\text{(C)}}"], "D": ["The correct answer is (D) 05/01/2021."], "a": ["Answer: (a)."],
    "False": ["False.", "So the answer is **False**."], "invalid": ['So the answer is "invalid".'],
    "No": ["So the answer is $\\boxed{\\text{No}}$.", "So the answer is No, because she turned left."],
    "Yes": ["So the answer is “Yes”.", "So the answer is <Yes>."], "-9": ["So the answer is -9."],
    "5": ["So the answer is \\(\\boxed{5}\\).", "So the answer is 5 apples.", "So the answer is = 5"],
    "12": ["So the answer is: **12**"], "] ) } >": ["So the answer is ] ) } >."], "3 + 4": ["So the answer is 3 + 4."],
    "A apple banana": ["So the answer is A apple banana"], "no nap true": ["So the answer is no nap true"],
    "(A) or (B)": ["So the answer is (A) or (B)."], "not (A)": ["So the answer is not (A)."],
    None: ["A: perhaps", "True.\n\nFalse is not a valid answer.", "To answer this, count."],
}  # fmt: skip


def test_bbh_reads_options_words_numbers_and_lines() -> None:
    extract = read_definition(library_file("bbh")).content.extract
    assert extract.regex is not None
    for wanted, replies in OF_BBH.items():
        read = {reply: by_regex(reply, extract.regex, extract.which) for reply in replies}
        assert read == dict.fromkeys(replies, wanted)


STATED = {  # by the share that a reply states
    0.9: [
        "Confidence: .9", "Confidence: 0,9", "Confidence: 9/10", "Confidence: 90 %", "Confidence: 90",
        "Confidence: 0.9.",
        "Confidence (0-100): 90", "Confidence (0-1): 0.9", "Confidence (%): 90",
        "Confidence: nine out of ten",
        "Confidence: 90 out of 100", "**Confidence:** 90%", '{"confidence": 0.9, "answer": 3}',
        '{"confidence": "90%"}',
        "Confidence: ٩٠٪", "Confidence: ٠٫٩", "Confidence: ０．９", "Konfidenz: 0,9", "Confianza: 9 de 10",
        "Confiance : 90 %",
        "Уверенность: 90%", "置信度：90%", "確信度: 0.9", "I am 90% confident.", "<confidence>0.9</confidence>",
        "| Confidence | 90% |", "Confidence:\n\n90%", r"Confidence: $90\%$", "Confidence score out of 10: 9",
        "Confidence: high (0.9)", "Confidence: 0.9 - very sure", "Confidence: about 90%",
        "Confidence: 90 percent",
        "Confidence: 0.5\nI checked. Confidence: 0.9", "Confidence: 0.9. My confidence is high.",
        "Confidence: 0.9\n\n- 3 items", "Confidence: 90 (on a scale from 0 to 100)",
        "Confidence in this one: 0.9",
        "Confidence: 0.90, because I counted 3", "Confidence: **9**/10", "Confidence level (0 to 10): 9",
    ],
    1.0: ["Confidence: 1", "Confidence: 100%", "Confidence: ten out of ten", "I'm 100% sure."],
    0.01: ["Confidence: 1%", "Confidence (0-100): 1", "Confidence: 1e-2", "Confidence (%): 1"],
    0.005: ["Confidence: 0.5%"],
    0.0: ["Confidence: 0"],
    None: [
        "", "0.9", "Confidence: high", "Confidence: 95-99%", "Confidence: 95% – 99%",
        "Confidence: 0.8 to 0.9", "Confidence: 8",
        "Confidence: 10", "Confidence (1-10): 8", "Confidence: 150%", "Confidence: 250", "Confidence: -0.5",
        "Confidence: over 90%", "Confidence: > 90%", "Confidence: at least 0.9",
        "Confidence: between 80 and 90%",
        "Confidence: not 0.9", "I am not 90% sure.", "95% confidence interval", "Confidence interval: 95%",
        '{"confidence": null, "steps": 40}', "Confidence for answer 1: 0.9", "Confidence: [0.8, 0.9]",
        "Overconfidence: 0.9",
        "Confidence: 95th percentile", "Confidence: 9/10/2024", "Confidence is high. 90 apples",
        "Confidence: 90% or 95%",
        "Confidence: 0.8\nConfidence: 0.7-0.9",
    ],
}  # fmt: skip


@pytest.mark.parametrize("share", STATED, ids=str)
def test_a_stated_confidence_is_read_right_or_not_at_all(share: float | None) -> None:
    read = {text: stated_confidence(text) for text in STATED[share]}
    assert read == {text: share if share is None else pytest.approx(share) for text in STATED[share]}


def test_long_replies_are_read_in_one_pass() -> None:
    for piece in ("confidence ", "9", "9 ", "confidence (0-", "0.9%", ".", " of 1"):
        stated_confidence(piece * 1_000)

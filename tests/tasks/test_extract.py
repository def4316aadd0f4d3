"""The answer in a reply, however the model wraps it, and how sure the reply says that it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.extract import by_json_path, by_regex, check_json_path, json_in, stated_confidence
from tests.support.cases import each

REPLIES = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))  # by what is read in them
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
def test_the_answer_is_group_1_or_the_match_and_the_first_or_last(reply: str, pattern: str, first, last) -> None:
    assert by_regex(reply, pattern, "first") == first
    assert by_regex(reply, pattern) == by_regex(reply, pattern, "last") == last


@each(
    ("reply", "path", "answer"),
    [
        *REPLIES["json path"],
        ("[" * 3000, "$", None),
        ("[" * 500 + "]" * 500, "$..a", None),
        ('{"a": ' + "1" * 5000 + "}", "$.a", None),
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


def test_bbh_reads_options_words_numbers_and_lines() -> None:
    extract = read_definition(library_file("bbh")).content.extract
    assert extract.regex is not None
    for wanted, replies in REPLIES["bbh"]:
        read = {reply: by_regex(reply, extract.regex, extract.which) for reply in replies}
        assert read == dict.fromkeys(replies, wanted)


@each(("share", "replies"), REPLIES["confidence"])
def test_a_stated_confidence_is_read_right_or_not_at_all(share: float | None, replies: list[str]) -> None:
    wanted = share if share is None else pytest.approx(share)
    assert {text: stated_confidence(text) for text in replies} == dict.fromkeys(replies, wanted)


def test_long_replies_are_read_in_one_pass() -> None:
    for piece in ("confidence ", "9", "9 ", "confidence (0-", "0.9%", ".", " of 1"):
        stated_confidence(piece * 1_000)

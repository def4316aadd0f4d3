"""What each comparison counts as right, by hand and by property."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.metrics import get, match
from accgate.metrics.match import (
    METRICS,
    classification,
    contains,
    exact_match,
    json_fields,
    json_match,
    multiple_choice,
    normalized_match,
    numeric_match,
)
from tests.metrics.texts import TEXTS, metric
from tests.support.cases import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
DEEP = "[" * 900 + "]" * 900


# By points: pairs of an answer and its target.
BY_HAND: dict[Callable[[str, str], float], dict[float, list[tuple[str, str]]]] = {
    exact_match: {
        100: [("Paris", "Paris"), (" Paris\n", "Paris"), ("", "")], 0: [("paris", "Paris"), ("é", "e\u0301")],
    },
    normalized_match: {
        100: [("The Eiffel  tower.", "eiffel tower"), ("A dog, an ant & the cat", "dog ant cat"), ("U.S.A.", "usa"),
              ("the", "The")],
        0: [("theatre", "atre"), ("a b", "ab"), ("the", ""), ("", "A"), (".", "The")],  # `the` is no empty answer
    },
    contains: {
        100: [("The pass key is 71432.", "71432"), ("It is Paris", " Paris ")],
        0: [("It is Paris", "paris"), ("anything", ""), ("anything", " ")],
    },
    numeric_match: {
        100: [("1,234.0", "1234"), ("1.234e3", "1234"), ("$18", "18"), ("€ 18.00", "18"), ("18%.", "18"), ("-0", "0"),
              ("1e999999", "10e999998")],
        0: [("0.1", "0.10000000000000000001"), ("1,2345", "12345"), ("18 apples", "18"), (".", "."),
            ("1e999999999999999999999", "1"), ("NaN", "NaN"), ("sNaN", "0"), ("1", "-Infinity"), ("inf", "inf")],
    },
    json_match: {
        100: [('{"b": 2, "a": 1.0}', '{"a": 1, "b": 2}'), ("null", "null"), (DEEP, DEEP)],
        0: [("[1, 2]", "[2, 1]"), ('{"a": 1}', '{"a": 1, "b": 2}'), ("true", "1"), ("{}", "[]"), ('"1"', "1"),
            ('{"a": {"b": [true]}}', '{"a": {"b": [1]}}'), ("not JSON", "not JSON"), ("1" * 5000, "1" * 5000),
            (DEEP, DEEP.replace("[]", "[1]")), ("[NaN]", "[NaN]"), ("-Infinity", "1e999"), ("1e999", "NaN")],
    },
    json_fields: {
        100: [('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "b": 2}'), ("{}", "{}")],
        50: [('{"a": "x", "b": 36}', '{"a": "x", "b": 37}'), ('{"a": null}', '{"a": null, "b": null}')],
        25: [('{"a": [1, {"x": 2}]}', '{"a": [1, {"x": 2.0}], "b": 1, "c": 1, "d": 1}')],
        0: [('{"a": 1}', "{}"), ("[]", "{}"), ('{"a": 1}', "not JSON"), ("not JSON", '{"a": 1}'),
            ('{"a": NaN}', '{"a": NaN}')],
    },
    multiple_choice: {
        100: [("(10)", "10"), ("2. Paris", "2"), ("д", "Д"), ("ア", "ア"), ("\u22121.", "-1"), ("(-1)", "-1"),
              ("C++", "C++"),  # labels may be numbers and letters of any script
              *((answer, target) for target in ("B", "(B)", "b") for answer in (
                  "(b).", " b ", "[B]", "**B.**", "B:", "- B", "\uff08\uff22\uff09", "{B}", "`B`", "_B_",
                  "B) Paris, France.", "**B.** Paris", "B: 12", "B.\nBecause it is so."))],
        0: [("-1", "1"), ("1%", "1"), ("1.0", "1"), ("A+", "A"), ("Paris", "Paris"),
            *((answer, "B") for answer in (
                "", "A", "Paris", "B or C", "AB", "A. B", "Because", "B Paris", "not B", "B.C", "b-cell", "()",
                "B" * 9, ".", "\ud800", "(A) B", "8"))],
    },
    classification: {
        100: [(" Positive.\n", "positive"), ('"Not  entailment"', "not entailment"), ("**neutral**", "Neutral"),
              ("STRASSE", "straße"), ("\uff4e\uff4f", "no")],
        0: [("not positive", "positive"), ("?", "!"), ("the", "A")],
    },
}  # fmt: skip


@each(("metric", "points", "pairs"), [(name, *row) for name, by_points in BY_HAND.items() for row in by_points.items()])
def test_known_answers_have_known_points(metric: Callable[[str, str], float], points: float, pairs) -> None:
    assert [pair for pair in pairs if metric(*pair) != points] == []


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12)
NOTATIONS = ("{}", "{:,f}", "{:.30e}", "{:f}000", " {}\n", "${:,f}.", "{}%", "{:+f}")


@settings(deadline=None)
@given(NUMBERS, NUMBERS, st.sampled_from(NOTATIONS), st.sampled_from(NOTATIONS))
def test_numbers_match_where_they_are_equal_alone_whatever_the_notation(one, other, left: str, right: str) -> None:
    assert numeric_match(left.format(one), right.format(one)) == 100
    assert numeric_match(left.format(one), right.format(other)) == 100 * (one == other)


def reordered(value: Any) -> Any:
    """The same value with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(inner) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(JSON, JSON, st.sampled_from([None, 2]), st.booleans())
def test_json_matches_itself_however_written_and_no_value_of_another_type(value, other, indent, ascii_only) -> None:
    text, of_other = json.dumps(value), json.dumps(other)
    assert json_match(json.dumps(reordered(value), indent=indent, ensure_ascii=ascii_only), text) == 100
    assert json_match(text, of_other) == json_match(of_other, text)
    if type(value) is not type(other) and {type(value), type(other)} != {int, float}:
        assert json_match(text, of_other) == 0


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.booleans(), min_size=1, max_size=4))
def test_json_fields_is_the_share_of_fields_that_are_right(fields: dict[str, bool]) -> None:
    target = {key: [number, None] for number, key in enumerate(fields)}
    answer = {key: value if fields[key] else {"wrong": value} for key, value in target.items()}
    points = json_fields(json.dumps({**answer, "\0more": 1}), json.dumps(target))
    assert points == pytest.approx(100 * sum(fields.values()) / len(fields))


ANSWERS = st.text() | JSON.map(json.dumps) | NUMBERS.map(str) | st.text('{}[]",:0-.e$%TruNaN ')


@settings(deadline=None)
@given(answer=ANSWERS, target=ANSWERS)
def test_every_pair_of_texts_has_points_within_the_bounds(answer: str, target: str) -> None:
    for name in METRICS.keys() - {"json_schema"}:  # whose target is a schema
        points = get(name)(answer, target)
        assert isinstance(points, float)
        assert 0.0 <= points <= 100.0
        assert get(name)(target, target) in (0.0, 100.0)


def test_a_very_long_answer_is_read_in_one_pass() -> None:
    for filling in ("!", " ", ").", "_", "B. "):
        assert multiple_choice("A" + filling * 200_000 + "x", "B") == 0


@given(TEXTS)
def test_every_label_is_its_own_class_whatever_stands_around(label: str) -> None:
    assert classification(label, label) == 100
    assert classification(f' "{label}".', label) == 100 or not any(map(str.isalnum, label))


VALID, SCHEMA = (metric(match, name) for name in ("json_valid", "json_schema"))
BY_STANDARD = ['{"a": [1, 2.5e3, true, null, "\\u00e9"]}', " \n[]\t", "-0", "9" * 5000]
NO_JSON = ["", "{'a': 1}", '{"a": 1,}', "NaN", "01", '"a\nb"', "```json\n{}\n```", "\ufeff{}"]
TOO_DEEP = "[" * 100_000 + "]" * 100_000  # the standard lets a parser limit the depth


@each(("points", "answers"), [(100, BY_STANDARD), (0, [*NO_JSON, TOO_DEEP])])
def test_an_answer_is_json_by_the_standard(points: float, answers: list[str]) -> None:
    assert [answer for answer in answers if VALID(answer, "whatever") != points] == []


@each(("kind", "points"), [("any", [100, 100, 100]), ("object", [100, 0, 0]), ("array", [0, 100, 0])])
def test_a_kind_of_json_can_be_asked_for(kind: str, points: list[float]) -> None:
    assert [metric(match, "json_valid", kind=kind)(answer, "") for answer in ("{}", "[]", "1")] == points


@each(
    ("answer", "schema", "points"),
    [
        ('{"name": "Ada", "age": 36}', '{"required": ["name"], "properties": {"age": {"type": "integer"}}}', 100),
        ('{"name": "Ada", "age": "36"}', '{"required": ["name"], "properties": {"age": {"type": "integer"}}}', 0),
        ("not json", "true", 0),
        ("true", '{"type": "integer"}', 0),
        ("[1, 2]", '{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}]}', 100),
        ("[2]", '{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}]}', 0),
        ('{"a": {"a": {}}}', '{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}', 100),
        ('{"a": {"b": {}}}', '{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}', 0),
        ('{"type": 5}', '{"$ref": "http://json-schema.org/draft-07/schema#"}', 0),
        ("1e999", '{"multipleOf": 0.5}', 0),
        ("[2]", '{"prefixItems": [{"const": 1}]}', 0),  # 2020-12, where no $schema names a draft
        ("9" * 5000, '{"minimum": 5}', 100),
        ("1", '{"$ref": "#"}', 0),  # a schema that never says anything is kept by nothing
    ],
)
def test_conformance_by_hand(answer: str, schema: str, points: float) -> None:
    assert SCHEMA(answer, schema) == points


def test_formats_are_checked_where_they_are_asked_for() -> None:
    schema = '{"format": "date"}'
    checked = metric(match, "json_schema", formats=True)
    assert (SCHEMA('"no date"', schema), checked('"no date"', schema), checked('"2024-02-29"', schema)) == (100, 0, 100)


@each(
    ("schema", "message"),
    [
        ("", "not a JSON object"),
        ("5", "not a JSON object"),
        ('{"type": "nope"}', "is not a JSON schema: 'nope'"),
        ('{"pattern": "("}', "not a 'regex'"),
        ('{"$schema": []}', r"its \$schema is not text"),
        ('{"$ref": "#/nowhere"}', "leads nowhere"),
    ],
)
def test_a_faulty_schema_is_an_error_and_no_wrong_answer(schema: str, message: str) -> None:
    for _ in range(2):  # it is not remembered as a good one
        with pytest.raises(ValueError, match=f"the target.*{message}"):
            SCHEMA("{}", schema)


def test_a_schema_elsewhere_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_: pytest.fail("it was fetched"))
    with pytest.raises(ValueError, match=r"'http://127\.0\.0\.1:9/schema' leads nowhere"):
        SCHEMA("1", '{"$ref": "http://127.0.0.1:9/schema"}')

"""JSON by the standard and schemas by the library; nothing is fetched, and a faulty schema is no wrong answer."""

import json
import sys
import urllib.request

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.metrics import match
from tests.metrics.texts import AWKWARD, metric
from tests.support.cases import each

VALID, SCHEMA = (metric(match, name) for name in ("json_valid", "json_schema"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", "number", "null", "boolean"]),
        "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
        "properties": st.dictionaries(st.sampled_from("abc"), st.sampled_from([{}, {"type": "integer"}, False])),
        "minimum": st.integers(-5, 5),
        "maxLength": st.integers(0, 3),
        "items": st.sampled_from([{"type": "string"}, {"const": 1}]),
        "additionalProperties": st.booleans(),
        "enum": st.lists(JSON, min_size=1, max_size=2),
    },
)


BY_STANDARD = ['{"a": [1, 2.5e3, true, null, "\\u00e9"]}', " \n[]\t", "-0", "9" * 5000]
NO_JSON = ["", "{'a': 1}", '{"a": 1,}', "NaN", "01", '"a\nb"', "```json\n{}\n```", "\ufeff{}"]
TOO_DEEP = "[" * 100_000 + "]" * 100_000  # the standard lets a parser limit the depth


@each(("points", "answers"), [(100, BY_STANDARD), (0, [*NO_JSON, TOO_DEEP])])
def test_an_answer_is_json_by_the_standard(points: float, answers: list[str]) -> None:
    assert [answer for answer in answers if VALID(answer, "whatever") != points] == []


@given(JSON)
def test_what_is_written_as_json_is_json_and_its_beginning_is_not(value: object) -> None:
    text = json.dumps({"value": value})
    assert VALID(text, "") == 100
    assert VALID(text[:-1], "") == 0


@pytest.mark.parametrize(
    ("kind", "points"), [("any", (100, 100, 100)), ("object", (100, 0, 0)), ("array", (0, 100, 0))]
)
def test_a_kind_of_json_can_be_asked_for(kind: str, points: tuple[float, ...]) -> None:
    valid = metric(match, "json_valid", kind=kind)
    assert tuple(valid(answer, "") for answer in ("{}", "[]", "1")) == points


@given(value=JSON, schema=SCHEMAS)
def test_conformance_is_that_of_jsonschema(value: object, schema: dict[str, object]) -> None:
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert SCHEMA(json.dumps(value), json.dumps(schema)) == 100 * expected


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


@each(("answer", "target"), AWKWARD)
def test_awkward_answers_are_no_json(answer: str, target: str) -> None:
    assert VALID(answer, target) == VALID(target, answer) == SCHEMA(answer, "{}") == 0


def test_a_missing_jsonschema_is_named_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ImportError, match=r"pip install 'accgate\[metrics\]'"):
        metric(match, "json_schema").prepare()

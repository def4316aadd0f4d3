"""JSON by the standard and schemas by the library; nothing is fetched, and a faulty schema is no wrong answer."""

import urllib.request

import pytest

from accgate.metrics import match
from tests.metrics.texts import metric
from tests.support.cases import each

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

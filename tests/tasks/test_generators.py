"""Generated tasks: rows that are distinct, right, drawn from the seed alone, and refused where they cannot be."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks import generators
from accgate.tasks.generators import CannotGenerate, check_options, generator_names, tokens_in
from tests.support.cases import each

SEEDS = st.integers(-(2**63), 2**63 - 1)


def generate(*arguments: Any, **options: Any) -> list[dict[str, Any]]:
    return list(generators.generate(*arguments, **options))


def faults(name: str, **options: Any) -> list[tuple[str, str]]:
    return list(check_options(name, options))


@each("name", generator_names())
def test_the_same_seed_gives_the_same_distinct_rows_another_seed_others_and_fewer_rows_the_first(name: str) -> None:
    rows = generate(name, {"count": 20}, seed=1)
    assert generate(name, {"count": 20, "seed": 1}, seed=2) == rows != generate(name, {"count": 20}, seed=2)
    assert len({json.dumps(row) for row in rows}) == len(rows) == 20
    assert generate(name, {"count": 5}, seed=1) + generate(name, {"count": 0}, seed=1) == rows[:5]


@settings(deadline=None)
@given(seed=SEEDS, low=st.integers(-(10**12), 10**12), width=st.integers(1, 10**12), operation=st.sampled_from("+-*"))
def test_arithmetic_is_right_in_range_and_distinct(seed: int, low: int, width: int, operation: str) -> None:
    high, count = low + width - 1, min(width**2, 20)
    rows = generate("arithmetic", {"low": low, "high": high, "count": count, "operation": operation}, seed=seed)
    assert len({(row["a"], row["b"]) for row in rows}) == len(rows) == count
    for row in rows:
        a, b, answer = row["a"], row["b"], row["answer"]
        assert low <= min(a, b) <= max(a, b) <= high
        assert row["operation"] == operation
        assert answer == {"+": a + b, "-": a - b, "*": a * b}[operation]


def test_arithmetic_can_ask_every_question_there_is() -> None:
    rows = generate("arithmetic", {"low": -1, "high": 3, "count": 25}, seed=0)
    assert {(row["a"], row["b"]) for row in rows} == {(a, b) for a in range(-1, 4) for b in range(-1, 4)}


@settings(deadline=None)
@given(seed=SEEDS, length=st.integers(64, 400) | st.just(65_536), digits=st.integers(1, 18))
def test_a_passkey_stands_once_as_a_key_in_a_text_no_longer_than_asked(seed: int, length: int, digits: int) -> None:
    (row,) = generate("passkey_retrieval", {"length": length, "digits": digits, "count": 1}, seed=seed)
    passkey = row["passkey"]
    assert re.fullmatch(rf"[1-9]\d{{{digits - 1}}}", passkey)
    assert re.findall(r"\d+", row["context"]) == [passkey, passkey]
    assert length - 50 < tokens_in(row["context"]) <= length


def test_passkeys_are_hidden_at_every_depth() -> None:
    rows = generate("passkey_retrieval", {"length": 200, "count": 200}, seed=0)
    assert {row["context"].count("\n", 0, row["context"].index("The pass key")) for row in rows} == set(range(8))


def test_json_answers_are_what_the_text_says() -> None:
    for row in generate("json_extraction", {}, seed=0):
        said = re.fullmatch(r"(\w+) is (\d+) years old, lives in (\w+) and works as a (\w+)\.", row["text"])
        assert said
        name, age, city, job = said.groups()
        assert json.loads(row["answer"]) == {"name": name, "age": int(age), "city": city, "job": job}


@each(
    ("name", "options", "why"),
    [
        ("arithmetic", {"low": 1, "high": 3, "count": 10}, "numbers from 1 to 3 give 9 different questions, not 10"),
        ("arithmetic", {"low": 5, "high": 1, "count": 1}, "numbers from 5 to 1 give 0 different questions, not 1"),
        ("passkey_retrieval", {"length": 30}, "length is 30 tokens, too short to hide a pass key in; give at least 64"),
        ("passkey_retrieval", {"digits": 19}, "digits is 19; a pass key has 1 to 18"),
        ("passkey_retrieval", {"digits": 0}, "digits is 0; a pass key has 1 to 18"),
        ("json_extraction", {"count": 72_001}, "there are 72000 different people, not 72001; lower the count"),
    ],
)
def test_what_cannot_be_generated_says_why_and_what_can(name: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(CannotGenerate, match=f"^{why}"):
        generate(name, options, seed=0)


@each(
    ("option", "value", "fault"),
    [
        ("hihg", 1, "is not an option of arithmetic; did you mean 'high'?"),
        ("zzz", 1, "is not an option of arithmetic; known are count, high, low, operation, seed"),
        ("count", 0, "is 0; give 1 or more"),
        ("count", True, "is True; give a whole number"),
        ("high", "9", "is '9'; give a whole number"),
        ("operation", "/", "is '/'; give one of '+', '-', '*'"),
        ("operation", [], "is []; give one of '+', '-', '*'"),
    ],
)
def test_an_option_that_a_generator_does_not_take_is_named(option: str, value: Any, fault: str) -> None:
    assert faults("arithmetic", low=-5, **{option: value}) == [(option, fault)]
    several = faults("passkey_retrieval", length=0, digits=-1, seed=-1, count=5)
    assert [name for name, _ in several] == ["length", "digits"]

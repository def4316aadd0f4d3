"""Generated tasks: rows are distinct, right, and drawn from the seed alone; RULER's are asked and scored as RULER's."""

import json
import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate import metrics
from accgate.tasks.generators import ADJECTIVES, GENERATORS, NOUNS, CannotGenerate, check_options, tokens_in
from tests.support.cases import each, refused
from tests.support.loading import load_task

SEEDS = st.integers(-(2**63), 2**63 - 1)


def generate(name: str, options: dict[str, Any], *, seed: int) -> list[dict[str, Any]]:
    return list(GENERATORS[name](**{"seed": seed, **options}))


@each("name", GENERATORS)
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


NO_ROWS: list[tuple[str, dict[str, Any]]] = [
    ("arithmetic", {"low": 1, "high": 3, "count": 10}), ("arithmetic", {"low": 5, "high": 1, "count": 1}),
    *(("passkey_retrieval", options) for options in ({"length": 30}, {"digits": 19}, {"digits": 0})),
    ("json_extraction", {"count": 72_001}), ("ruler_fwe", {"length": 130}),
    *(("ruler_niah", options) for options in ({"length": 150}, {"length": 300, "values": 9})),
    *(("ruler_vt", options) for options in ({"length": 600}, {"length": 777, "hops": 24})),
    *(("ruler_cwe", {"length": length}) for length in (600, 855, 10**7)),
]  # fmt: skip


def test_what_cannot_be_generated_says_why_and_what_can(messages: SnapshotAssertion) -> None:
    cases = [(name, {"count": 1, **options}) for name, options in NO_ROWS]
    assert [str(refused(CannotGenerate, generate, name, options, seed=0)) for name, options in cases] == messages


def test_options_that_a_generator_does_not_take_are_named_at_once() -> None:
    faults = dict(check_options("ruler_niah", {"keys": 0, "haystack": "essay", "kye": 1, "seed": -1, "value": []}))
    assert list(faults) == ["keys", "haystack", "kye", "value"]
    assert faults["haystack"] == "is 'essay'; give one of 'filler', 'needles'"


RULER = ("ruler_niah", "ruler_vt", "ruler_cwe", "ruler_fwe")


def test_texts_are_as_long_as_asked_for_with_room_for_the_reply() -> None:
    for name in RULER:
        for length in (1000, 4096, 32_768):
            for row in generate(name, {"count": 2, "length": length}, seed=7):
                tokens = tokens_in(f"{row['input']} {row['prefix']}")
                assert 0.8 * length - 100 < tokens <= length, (name, length, tokens)


def test_every_needle_asked_for_stands_in_the_text_once_and_no_other_has_its_key() -> None:
    needle = re.compile(r"One of the special magic (\w+) for (\S+) is: (\S+)\.")
    for options in (
        {}, {"haystack": "needles"}, {"values": 4}, {"keys": 4, "queries": 4}, {"queries": 2},
        {"haystack": "needles", "key": "uuids", "value": "uuids"}, {"keys": 3, "values": 2, "value": "words"},
    ):  # fmt: skip
        for row in generate("ruler_niah", {"count": 5, **options}, seed=7):
            context, question = row["input"].rsplit("\n", 1)
            hidden: dict[str, list[str]] = {}
            for kind, key, value in needle.findall(context):
                assert kind == options.get("value", "numbers")
                hidden.setdefault(key, []).append(value)
            asked = [key for key in hidden if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", question)]
            assert len(asked) == options.get("queries", 1), question
            assert sorted(row["outputs"]) == sorted(value for key in asked for value in hidden[key])
            assert len(row["outputs"]) == len(set(row["outputs"])) == len(asked) * options.get("values", 1)
            assert all(context.count(value) == 1 for value in row["outputs"])


def test_needles_are_asked_for_in_rulers_words() -> None:
    # NVIDIA/RULER scripts/data/synthetic/niah.py, as lm-evaluation-harness has it in prepare_niah.py
    for queries, some, are, what, kind in ((1, "A", "is", "is", "number"), (4, "Some", "are", "are all", "numbers")):
        (row,) = generate("ruler_niah", {"count": 1, "queries": queries}, seed=7)
        assert row["input"].startswith(
            f"{some} special magic {kind} {are} hidden within the following text. Make sure to memorize it. "
            f"I will quiz you about the {kind} afterwards.\n"
        )
        name = r"\S+" if queries == 1 else r"\S+, \S+, \S+, and \S+"
        question = rf"\nWhat {what} the special magic {kind} for ({name}) mentioned in the provided text\?\Z"
        match = re.search(question, row["input"])
        assert match
        assert row["prefix"] == f"The special magic {kind} for {match[1]} mentioned in the provided text {are}"


def test_the_variables_asked_for_are_those_that_a_chain_gives_the_value() -> None:
    for options in ({}, {"chains": 3, "hops": 6}, {"length": 820}):
        for row in generate("ruler_vt", {"count": 10, **options}, seed=7):
            text = row["input"].split("\n\n\n\n")[-1]
            value = re.findall(r"assigned the value (\d+) in the text above\.\Z", text)
            assert len(value) == 1
            assigned: dict[str, str] = {}
            for name, source in re.findall(r"VAR ([A-Z]{5}) = (?:VAR )?(\w+)", text):
                assigned[name] = assigned.get(source, source)  # a chain stands in its order
            assert sorted(row["outputs"]) == sorted(name for name, number in assigned.items() if number == value[0])
            assert len(row["outputs"]) == options.get("hops", 4) + 1
            assert row["prefix"].startswith("Answer: According to the chain(s) of variable assignment")
            shot = row["input"].split("\n\n\n\n")[0]
            solved = shot.rsplit(":", 1)[1].split()
            assert all(f"VAR {name} = " in shot for name in solved)
            assert not set(solved) & set(row["outputs"])


def test_common_and_frequent_words_are_the_ones_that_come_most_often() -> None:
    for length, repeats in ((1000, (6, 1)), (4096, (30, 3)), (20_000, (30, 3))):
        for row in generate("ruler_cwe", {"count": 5, "length": length}, seed=7):
            listing = row["input"].rsplit("appear most often.\n", 1)[1].rsplit("\nQuestion", 1)[0]
            words = Counter(re.findall(r"\d+\. (\S+)", listing))
            assert {word for word, _ in words.most_common(10)} == set(row["outputs"])
            assert set(words.values()) == set(repeats)
    for length in (400, 1000, 4096, 131_072):
        for row in generate("ruler_fwe", {"count": 3, "length": length}, seed=7):
            text = row["input"].split("frequently appeared coded words. ", 1)[1].rsplit("\nQuestion", 1)[0]
            (dots, most), *others = Counter(text.split()).most_common(5)
            assert (dots, [word for word, _ in others[:3]]) == ("...", row["outputs"])
            assert most > others[0][1] > others[1][1] > others[2][1] > others[3][1]  # or the question has no one answer


def test_no_word_of_the_lists_comes_twice() -> None:
    assert (len(set(ADJECTIVES)), len(set(NOUNS))) == (len(ADJECTIVES), len(NOUNS))


def string_match_all(reply: str, outputs: list[str]) -> float:
    """NVIDIA/RULER scripts/eval/synthetic/constants.py: the mean share of references in the lowered prediction."""
    return 100 * sum(1.0 if text.lower() in reply.lower() else 0.0 for text in outputs) / len(outputs)


def test_the_score_is_rulers_string_match_all() -> None:
    draw = random.Random(3)
    for name in ("niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe"):
        task = load_task(f"ruler_{name}", count=2)
        for sample in task.samples:
            outputs = json.loads(sample.target)
            for share in range(len(outputs) + 1):
                reply = ", ".join(draw.sample(outputs, share)).upper() + " and 1"
                answer = task.answer(reply, sample)
                assert answer is not None
                assert task.score(answer, sample.target) == pytest.approx(string_match_all(reply, outputs))
            assert sample.prompt.endswith(("is", "are", "are:"))


def test_a_target_that_every_answer_would_hold_gives_nothing() -> None:
    score = metrics.get("contains_share")
    for target in ("", "[]", '["", " "]', '"a"', "[1, null]", "nothing", '{"a": 1}'):
        assert score("a 1 nothing ", target) == 0.0, target
    assert score("a 1", '["a", ""]') == 50.0

"""RULER's texts: what is asked for is there, once and unambiguous, at every length; scored as RULER scores it."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest

from accgate import metrics
from accgate.tasks.generators import ADJECTIVES, NOUNS, CannotGenerate, check_options, generate, tokens_in
from tests.support.loading import load_task

NAMES = ("ruler_niah", "ruler_vt", "ruler_cwe", "ruler_fwe")


def rows_of(name: str, count: int = 5, **options: Any) -> list[dict[str, Any]]:
    return list(generate(name, {"count": count, **options}, seed=7))


def test_texts_are_as_long_as_asked_for_with_room_for_the_reply() -> None:
    for name in NAMES:
        for length in (1000, 4096, 32_768):
            for row in rows_of(name, 2, length=length):
                tokens = tokens_in(f"{row['input']} {row['prefix']}")
                assert 0.8 * length - 100 < tokens <= length, (name, length, tokens)


def test_every_needle_asked_for_stands_in_the_text_once_and_no_other_has_its_key() -> None:
    needle = re.compile(r"One of the special magic (\w+) for (\S+) is: (\S+)\.")
    for options in (
        {}, {"haystack": "needles"}, {"values": 4}, {"keys": 4, "queries": 4}, {"queries": 2},
        {"haystack": "needles", "key": "uuids", "value": "uuids"}, {"keys": 3, "values": 2, "value": "words"},
    ):  # fmt: skip
        for row in rows_of("ruler_niah", 5, **options):
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
        (row,) = rows_of("ruler_niah", 1, queries=queries)
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
        for row in rows_of("ruler_vt", 10, **options):
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
        for row in rows_of("ruler_cwe", 5, length=length):
            listing = row["input"].rsplit("appear most often.\n", 1)[1].rsplit("\nQuestion", 1)[0]
            words = Counter(re.findall(r"\d+\. (\S+)", listing))
            assert {word for word, _ in words.most_common(10)} == set(row["outputs"])
            assert set(words.values()) == set(repeats)
    for length in (400, 1000, 4096, 131_072):
        for row in rows_of("ruler_fwe", 3, length=length):
            text = row["input"].split("frequently appeared coded words. ", 1)[1].rsplit("\nQuestion", 1)[0]
            (dots, most), *others = Counter(text.split()).most_common(5)
            assert (dots, [word for word, _ in others[:3]]) == ("...", row["outputs"])
            assert most > others[0][1] > others[1][1] > others[2][1] > others[3][1]  # or the question has no one answer


def test_a_text_that_is_too_short_is_refused_and_so_are_options_out_of_range() -> None:
    for name, options in (
        ("ruler_niah", {"length": 150}), ("ruler_niah", {"length": 300, "values": 9}), ("ruler_vt", {"length": 600}),
        ("ruler_vt", {"length": 900, "hops": 90}), ("ruler_cwe", {"length": 600}), ("ruler_fwe", {"length": 130}),
        ("ruler_cwe", {"length": 10**7}),
    ):  # fmt: skip
        with pytest.raises(CannotGenerate, match=r"too short|which needs"):
            rows_of(name, 1, **options)
    assert list(check_options("ruler_niah", {"keys": 0, "haystack": "essay"})) == [
        ("keys", "is 0; give 1 or more"), ("haystack", "is 'essay'; give one of 'filler', 'needles'"),
    ]  # fmt: skip
    assert len(set(ADJECTIVES)) == len(ADJECTIVES)
    assert len(set(NOUNS)) == len(NOUNS)


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

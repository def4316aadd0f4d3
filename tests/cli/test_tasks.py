"""`accgate tasks` says how each task reads replies, and shows what it reads from ten examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.evaluation.examples import Example, examples_of, reading_of, unread_task
from accgate.tasks import library_file, read_definition
from tests.support.cases import each
from tests.support.gates import table, write_task


def examples(name: str) -> list[Example]:
    return examples_of(unread_task(name, read_definition(library_file(name))))


@each("name", [
    "gsm8k", "mmlu", "bbh", "squad_v2", "livecodebench", "json_extraction", "bfcl_simple", "mmmu", "longbench_v1",
    "sst2_typos", "simpleqa",
])  # fmt: skip
def test_a_task_of_any_kind_shows_ten_replies(name: str) -> None:
    shown = examples(name)
    assert len(shown) == 10
    assert [each.reply for each in shown].count("") == 1
    assert any(each.is_cut for each in shown)


@each("name", ["arc_easy", "mmlu_calibration", "slimpajama"])
def test_where_likelihoods_are_compared_no_reply_is_read(name: str) -> None:
    assert examples(name) == []
    assert reading_of(read_definition(library_file(name))).startswith("No reply is read: ")


@each(("name", "reply", "answer", "points"), [
    ("gsm8k", "At first I thought of 41, but the answer is 42.", "42", 100.0),
    ("gsm8k", "I'm sorry, but I can't help with that.", None, 0.0),
    ("mmlu", "So it is $\\boxed{B}$.", "B", 100.0),
    ("bbh", "Answer: Paris", "Paris", 100.0),
    ("triviaqa_confidence", "Guess: Rome\nProbability: 0.9", "Rome", 0.0),
    ("bfcl_irrelevance", "Ich rufe weather(Rome) auf.", "[]", 100.0),
    ("bfcl_simple", 'weather({"city": "Oslo"})', '[{"name": "weather", "arguments": {"city": "Oslo"}}]', 0.0),
    ("json_mode_eval", "```json\n{}\n```", "{}", 0.0),
    ("mbpp", "```python\ndef solve(x):\n    return x + 1\n```", "def solve(x):\n    return x + 1\n", None),
    ("longbench_v1_passage_count", "42", "42", 100.0),
    ("simpleqa", "Paris", "Paris", None),
])  # fmt: skip
def test_examples_are_read_and_scored_as_replies_of_a_run_are(
    name: str, reply: str, answer: str | None, points: float | None
) -> None:
    (shown,) = [each for each in examples(name) if each.reply == reply]
    assert (shown.answer, shown.points) == (answer, points)


@each(("keys", "reading", "right"), [
    ({"extract.regex": r"#### (-?\d+)"}, "the last match of `#### (-?\\d+)`", "#### 6"),
    ({"extract.json_path": "$.answer"}, "the value at $.answer of the first JSON", '{"answer": "6"}'),
    ({"metric": "exact_match"}, "The answer is the whole reply; `exact_match`", "6"),
    ({"extract.form": "number", "reasoning": "keep"}, "the last number in any notation, reasoning included", "6"),
])  # fmt: skip
def test_a_task_of_the_users_own_is_shown_on_its_own_row(
    tmp_path: Path, keys: dict[str, Any], reading: str, right: str, capsys: pytest.CaptureFixture[str], ends
) -> None:
    write_task(tmp_path, "own", [{"q": "3 + 3", "a": "6"}], **keys)
    config = tmp_path / "accuracy.toml"
    model = table("models.m", {"engine": "openai", "model": "m"})
    config.write_text(model + table("tasks.own", {"file": "own.toml"}), encoding="utf-8")
    assert main(["tasks", "own", "--config", str(config), "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert reading in shown["reading"]
    first = shown["examples"][0]
    assert (first["reply"], first["answer"], first["points"]) == (right, "6", 100.0)
    assert "no answer" in ends(0, "tasks", "own", "--config", config)


def test_an_unknown_task_is_named_with_the_nearest(ends) -> None:
    assert "there is no task 'gsm9k'; did you mean 'gsm8k'?" in ends(2, "tasks", "gsm9k")


def test_without_a_name_every_task_has_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("accgate.tasks.library_names", lambda: ("gsm8k", "mmlu"))
    assert main(["tasks"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "gsm8k: The answer is the last number in any notation; `numeric_match` gives the points."
    assert second.startswith("mmlu: The answer is the label of the option that the reply chooses; ")

"""`accgate tasks` says how each task reads replies, and shows what it reads from ten examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.evaluation.examples import Example, examples_of, reading_of, unread_task
from accgate.tasks import library_file, library_names, read_definition
from docs.library_table import PAGE
from tests.gates import said, table, write_task

LIKELIHOODS = {"arc_challenge", "arc_easy", "hellaswag", "mmlu_calibration", "slimpajama", "truthfulqa_mc1"}
LONG = ("ruler_", "passkey_")  # generated, thousands of words a row


def examples(name: str) -> list[Example]:
    return examples_of(unread_task(name, read_definition(library_file(name))))


def test_every_task_of_the_library_says_how_it_reads_and_shows_ten_replies() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in library_names():
        reading = reading_of(read_definition(library_file(name)))
        assert reading.replace("|", "\\|") in page, name
        if name.startswith(LONG):
            continue
        shown = examples(name)
        assert len(shown) == (0 if name in LIKELIHOODS else 10), name
        assert reading.startswith("No reply is read") == (name in LIKELIHOODS)
        if shown:
            assert [each.reply for each in shown].count("") == 1
            assert any(each.is_cut for each in shown)


@pytest.mark.parametrize(("name", "reply", "answer", "points"), [
    ("gsm8k", "**42**", "42", 100.0),
    ("gsm8k", "At first I thought of 41, but the answer is 42.", "42", 100.0),
    ("gsm8k", "I'm sorry, but I can't help with that.", None, 0.0),
    ("mmlu", "So it is $\\boxed{B}$.", "B", 100.0),
    ("mmlu", "D", "D", 0.0),
    ("aime_2025", "\\boxed{2}", "2", 0.0),
    ("bbh", "Answer: Paris", "Paris", 100.0),
    ("triviaqa_confidence", "Guess: Rome\nProbability: 0.9", "Rome", 0.0),
    ("bfcl_irrelevance", "Ich rufe weather(Rome) auf.", "[]", 100.0),
    ("bfcl_simple", 'weather({"city": "Oslo"})', '[{"name": "weather", "arguments": {"city": "Oslo"}}]', 0.0),
    ("json_mode_eval", "```json\n{}\n```", "{}", 0.0),
    ("mbpp", "```python\ndef solve(x):\n    return x + 1\n```", "def solve(x):\n    return x + 1", None),
    ("longbench_v1_passage_count", "42", "42", 100.0),
    ("simpleqa", "Paris", "Paris", None),
])  # fmt: skip
def test_examples_are_read_and_scored_as_replies_of_a_run_are(
    name: str, reply: str, answer: str | None, points: float | None
) -> None:
    (shown,) = [each for each in examples(name) if each.reply == reply]
    assert (shown.answer, shown.points) == (answer, points)


@pytest.mark.parametrize(("keys", "reading", "right"), [
    ({"extract.regex": r"#### (-?\d+)"}, "the last match of `#### (-?\\d+)`", "#### 6"),
    ({"extract.json_path": "$.answer"}, "the value at $.answer of the first JSON", '{"answer": "6"}'),
    ({"metric": "exact_match"}, "The answer is the whole reply; `exact_match`", "6"),
    ({"extract.form": "number", "reasoning": "keep"}, "the last number in any notation, reasoning included", "6"),
])  # fmt: skip
def test_a_task_of_the_users_own_is_shown_on_its_own_row(
    tmp_path: Path, keys: dict[str, Any], reading: str, right: str, capsys: pytest.CaptureFixture[str]
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
    assert main(["tasks", "--config", str(config)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("own: The answer is ")
    assert "\ngsm8k: The answer is the last number in any notation; `numeric_match` gives the points." in text
    assert main(["tasks", "own", "--config", str(config)]) == 0
    assert "no answer" in capsys.readouterr().out


def test_an_unknown_task_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "gsm9k"]) == 2
    assert "there is no task 'gsm9k'; did you mean 'gsm8k'?" in said(capsys)

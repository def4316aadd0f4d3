"""`accgate init --data`: what is guessed of rows of one's own, and a gate on them that passes and fails."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.cli.starter.files import Answers
from accgate.cli.starter.own_data import own_task
from accgate.inputs.toml import tomllib
from tests.support.cases import refusal
from tests.support.gates import said, write_lines
from tests.support.loading import load_task
from tests.support.servers import Server

WORDS = "a long answer in full sentences, which no reply repeats word for word"


def guessed(folder: Path, rows: Sequence[dict[str, Any]], **keys: str) -> dict[str, Any]:
    """The task's file that is written for these rows; it must load, and its samples have a prompt and a target."""
    task = own_task(write_lines(folder / "rows.jsonl", rows), folder, Answers(data="rows.jsonl", **keys))
    (folder / "rows.toml").write_text(task.text)
    loaded = load_task("rows", file=folder / "rows.toml")
    assert len(loaded.samples) == len(rows)
    assert all(sample.prompt for sample in loaded.samples)
    return tomllib.loads(task.text)


def test_fields_and_metric_are_guessed_from_what_the_rows_look_like(folder: Path) -> None:
    for rows, metric, expected in (
        ([{"question": f"{i} + 1?", "answer": i + 1} for i in range(9)], "numeric_match", ("question", "answer")),
        ([{"prompt": "p", "target": f"${i},000.5"} for i in range(9)], "numeric_match", ("prompt", "target")),
        ([{"id": i, "input": "p", "label": "AB"[i % 2]} for i in range(9)], "multiple_choice", ("input", "label")),
        ([{"text": "t", "label": ["good", "bad"][i % 2]} for i in range(9)], "classification", ("text", "label")),
        ([{"Question": f"{i}", "Answer": f"city {i}"} for i in range(9)], "contains", ("Question", "Answer")),
        ([{"q": "x", "a": f"{i} {WORDS}"} for i in range(9)], "rouge_l", ("q", "a")),
        ([{"query": "x", "expected": {"n": i}} for i in range(9)], "json_match", ("query", "expected")),
        ([{"query": "x", "answer": True, "expected_x": i} for i in range(9)], "classification", ("query", "answer")),
    ):
        content = guessed(folder, rows)
        assert content["metric"] == metric, rows[0]
        hint = "\n\nAnswer with one of:" if metric == "classification" else ""  # the rows do not say which there are
        assert content["prompt"].startswith(f"{{{{ {expected[0]} }}}}{hint}")
        assert expected[1] in content["target"]
    several = guessed(folder, [{"question": "x", "answer": ["a b", f"c {i}"]} for i in range(4)])
    assert (several["metric"], several["targets"]) == ("contains", "{{ answer | tojson }}")


def test_replies_are_read_as_the_guess_says(folder: Path) -> None:
    from accgate.metrics import get
    from accgate.tasks.extract import by_regex

    for answers, reply, wrong in (
        (["A", "B", "C", "B"], "A dog? No: B.", "Therefore (C)"),
        (["positive", "very positive", "positive", "very positive"] * 2, "Not negative: Positive!", "Very positive."),
    ):
        content = guessed(folder, [{"question": str(i), "answer": a} for i, a in enumerate(answers)])
        read = [by_regex(text, content["extract"]["regex"], content["extract"]["which"]) for text in (reply, wrong)]
        right = "B" if "B" in answers else "positive"
        assert [get(content["metric"])(text or "", right) for text in read] == [100.0, 0.0]


def test_fields_with_any_name_and_of_ones_own_choice(folder: Path) -> None:
    rows = [{"My question?": f"{i}", 'It\'s "right"': f"w{i}", "class": "x"} for i in range(4)]
    content = guessed(folder, rows, prompt_field="My question?", answer_field='It\'s "right"', metric="exact_match")
    assert (content["prompt"], content["metric"]) == ("{{ row['My question?'] }}", "exact_match")
    assert guessed(folder, rows, prompt_field="class", answer_field="My question?")["prompt"] == "{{ row['class'] }}"


def test_rows_that_make_no_task_are_refused_with_the_place_and_the_fix(
    folder: Path, messages: SnapshotAssertion
) -> None:
    good, told = [{"question": "q", "answer": "a"}], []
    for rows, keys in (
        ([{"x": "q", "y": "a"}], {}), (good, {"prompt_field": "qestion"}), (good, {"metric": "exct_match"}),
        ([*good, {"question": " ", "answer": "a"}], {}), ([*good, *good * 1000, {"question": "q"}], {}),
        ([{"question": "q", "answer": [1]}], {"answer_field": "answer"}), ([], {}),
    ):  # fmt: skip
        data = write_lines(folder / "rows.jsonl", rows)
        told.append(refusal(own_task, data, folder, Answers(data="rows.jsonl", **keys)))
    assert told == messages


def test_from_a_jsonl_to_a_gate_that_passes_and_fails_with_nothing_written_by_hand(folder: Path, capsys) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    write_lines(folder / "My sums.jsonl", [{"q": f"What is {i} + {i + 1}?", "a": 2 * i + 1} for i in range(50)])
    with Server() as server:
        base = server.url.removesuffix("/v1")
        assert main(["init", "--base-url", base, "--data", "My sums.jsonl"]) == 0
        out, err = capsys.readouterr()
        assert f"{base} does not answer; {server.url} does, and is used" in err
        assert "scored by numeric_match: the answers are numbers; the last number of a reply is compared" in out
        assert "valid: accuracy.toml: 1 check" in out
        assert (folder / ".github/workflows/accuracy.yml").is_file()
        assert 'model = "toy"' in (folder / "accuracy.toml").read_text()
        for command in ("validate", "plan", "record", "run"):
            assert main([command]) == 0, (command, said(capsys))
        server.answer = lambda _: "I do not know: 0"
        assert main(["run", "--no-cache"]) == 1
    (check,) = json.loads((folder / "accgate-out/accgate.json").read_text())["checks"]
    assert (check["task"], check["verdict"]) == ("my_sums", "regression")


def test_data_outside_the_repository_and_flags_without_data_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ends, messages: SnapshotAssertion
) -> None:
    inner = folder / "repository"
    (inner / ".git").mkdir(parents=True)
    write_lines(folder / "rows.jsonl", [{"question": "q", "answer": "a"}])
    monkeypatch.chdir(inner)
    lines = "--data ../rows.jsonl", "--data gone.jsonl", "--metric contains", "--data ../rows.jsonl --tasks gsm8k"
    assert {line: ends(2, "init", "--no-probe", *line.split()) for line in lines} == messages
    assert [path.name for path in inner.iterdir()] == [".git"]


def test_few_questions_are_planned_for_a_drop_that_they_can_show(folder: Path, capsys) -> None:
    for n, theta, asks_all in ((20, 31.5, True), (100, 8.5, True), (601, 4.0, False)):
        write_lines(folder / "rows.jsonl", [{"question": f"{i}?", "answer": i} for i in range(n)])
        assert main(["init", "--no-probe", "--no-workflow", "--force", "--data", "rows.jsonl"]) == 0
        assert ("questions show a drop of" in capsys.readouterr().out) == asks_all
        content = tomllib.loads((folder / "accuracy.toml").read_text())
        assert content["tasks"]["rows"]["theta"] == theta
        assert content["gate"].get("early_stopping", True) is not asks_all
        assert main(["plan", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert row["theta"] <= row["theta_target"] == theta
        assert not [note for note in row["notes"] if "detecting" in note]

"""`accgate init --data` on rows as people have them: what is asked, expected and left out, or the doubt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.inputs.toml import tomllib
from tests.support.cases import each
from tests.support.gates import said, write_lines
from tests.support.loading import load_task

ASK = "Answer with the letter of the right option alone."
Rows = Sequence[Mapping[str, Any]]


def lettered(question: str, *options: str, labels: str = "ABCDE") -> str:
    return "\n".join([question, "", *(f"{a}. {o}" for a, o in zip(labels, options, strict=False)), ASK])


def turns(*texts: str, who: str = "role", said: str = "content", names: Sequence[str] = ("user", "assistant")) -> Any:
    return [{who: names[at % 2], said: text} for at, text in enumerate(texts)]


CITY = ("Capital of Peru?", "Quito", "Lima", "Bogota")
LETTERED = list(zip("ABC", CITY[1:], strict=True))
NEXT = {"question": "Capital of Chile?", "choices": ["Santiago", "Lima", "Quito"]}
PERU = {"question": CITY[0], "choices": [*CITY[1:]]}
GERMAN = {"Frage": CITY[0], "Option A": "Quito", "Option B": "Lima", "Option C": "Bogota"}
# Rows, the options of the command, and of the first row what is sent, what is expected, what is left out, the metric.
SHAPES: dict[str, tuple[Rows, Sequence[str], str, str, str, str]] = {
    "an index from 0": ([PERU | {"answer": 1}, NEXT | {"answer": 0}], [], lettered(*CITY), "B", "", "exact_match"),
    "an index from 1, as text": (
        [PERU | {"answer": "2", "subject": "geography"}, NEXT | {"answer": "3"}],
        [], lettered(*CITY), "B", "'subject'", "exact_match",
    ),
    "an index that may be either": (
        [PERU | {"answer": 1}, NEXT | {"answer": 2}], ["--answer-form", "0"], lettered(*CITY), "B", "", "exact_match",
    ),
    "an option's text, of numbers": (
        [{"question": "2+3?", "options": [4, 5], "answer": 5}] * 2,
        [], lettered("2+3?", "4", "5"), "B", "", "exact_match",
    ),
    "small letters": ([PERU | {"answer": "(b)"}] * 2, [], lettered(*CITY), "B", "", "exact_match"),
    "texts with labels": (
        [PERU | {"id": "q1", "choices": {"text": [*CITY[1:]], "label": ["1", "2", "3"]}, "answerKey": "2"}],
        [], lettered(*CITY, labels="123"), "2", "", "exact_match",
    ),
    "a list of options with labels": (
        [{"question": CITY[0], "options": [{"label": a, "text": t} for a, t in LETTERED], "answer": "B"}],
        [], lettered(*CITY), "B", "", "exact_match",
    ),
    "options by label, and the answer twice": (
        [{"question": CITY[0], "options": {"A": "Quito", "B": "Lima"}, "answer": "Lima", "answer_idx": "B"}],
        [], lettered(*CITY[:3]), "B", "'answer_idx'", "exact_match",
    ),
    "columns of options": (
        [{"question": CITY[0], "A": "Quito", "B": "Lima", "C": "Bogota", "D": "", "answer": "B"}],
        [], lettered(*CITY), "B", "", "exact_match",
    ),
    "columns of German options": ([GERMAN | {"Antwort": "b)"}], [], lettered(*CITY), "B", "", "exact_match"),
    "two solutions": (
        [{"goal": "Open a jar", "sol1": "Turn.", "sol2": "Pull.", "label": 0},
         {"goal": "Close it", "sol1": "Pull.", "sol2": "Turn.", "label": 1}],
        [], lettered("Open a jar", "Turn.", "Pull."), "A", "", "exact_match",
    ),
    "passage and accepted texts": (
        [{"context": "Lima is in Peru.", "question": "Where is Lima?", "answers": {"text": ["Peru"], "start": [11]}}],
        [], "Lima is in Peru.\n\nWhere is Lima?", '["Peru"]', "", "contains",
    ),
    "a passage before a yes or no": (
        [{"text": "It rains.", "question": "Is it dry?", "answer": False},
         {"text": "Sun.", "question": "Dry?", "answer": True}] * 2,
        [], "It rains.\n\nIs it dry?\n\nAnswer with one of: no, yes.", "no", "", "classification",
    ),
    "work before the number": (
        [{"question": "3 x 2?", "answer": "3 x 2 = <<3*2=6>>6\n#### 6"}], [], "3 x 2?", "6", "", "numeric_match",
    ),
    "instruction and input": (
        [{"instruction": "Translate to French.", "input": "cat", "output": "chat"},
         {"instruction": "Name a planet.", "input": "", "output": "Mars"}],
        [], "Translate to French.\n\ncat", "chat", "", "contains",
    ),
    "instruction and context": (
        [{"instruction": "Who rules?", "context": "Queen Ada rules.", "response": "Ada", "category": "qa"}],
        [], "Queen Ada rules.\n\nWho rules?", "Ada", "'category'", "contains",
    ),
    "messages": (
        [{"messages": turns("Hi", "Hello.", "2 + 2?", "4")}, {"messages": turns("2 + 3?", "5")}],
        [], "<user>\nHi\n<assistant>\nHello.\n<user>\n2 + 2?", "4", "", "numeric_match",
    ),
    "messages whose answer is beside them": (
        [{"input": turns("2 + 2?"), "ideal": "4"}], [], "<user>\n2 + 2?", "4", "", "numeric_match",
    ),
    "conversations": (
        [{"conversations": turns("2 + 2?", "4", who="from", said="value", names=("human", "gpt")), "id": "c1"}],
        [], "<user>\n2 + 2?", "4", "", "numeric_match",
    ),
    "prompt and completion as messages": (
        [{"prompt": turns("2 + 2?"), "completion": turns("4", names=("assistant",) * 2)}],
        [], "<user>\n2 + 2?", "4", "", "numeric_match",
    ),
    "prompt and completion": (
        [{"system": "Be brief.", "prompt": "2 + 2?", "completion": "4"}],
        [], "Be brief.\n\n2 + 2?", "4", "", "numeric_match",
    ),
    "Japanese": ([{"問題": "2 + 2?", "答え": "4", "ジャンル": "x"}], [], "2 + 2?", "4", "'ジャンル'", "numeric_match"),
    "named columns": (
        [{"premise": "It rains.", "hypothesis": "It is wet.", "gold": "true"},
         {"premise": "a", "hypothesis": "b", "gold": "false"}],
        ["--prompt-field", "premise, hypothesis", "--metric", "exact_match"],
        "It rains.\n\nIt is wet.", "true", "", "exact_match",
    ),
    "labels that are numbers": (
        [{"sentence": "Fine.", "label": 1}, {"sentence": "Awful.", "label": 0}] * 2,
        ["--labels", "bad,good"], "Fine.\n\nAnswer with one of: bad, good.", "good", "", "classification",
    ),
    "a working beside the answer": (
        [{"problem": "2 + 2?", "solution": "Adding gives 4.", "answer": "4"}],
        [], "2 + 2?", "4", "'solution'", "numeric_match",
    ),
}  # fmt: skip
DOUBTS: dict[str, Rows] = {
    "an index from 0 or 1": [PERU | {"answer": 1}, NEXT | {"answer": 2}],
    "an option that is none": [PERU | {"answer": 7}],
    "two answers": [{"question": "x", "answer": "y", "target": "z"}],
    "two questions": [{"question": "x", "prompt": "y", "answer": "z"}],
    "no question": [{"col1": "x", "answer": "z"}],
    "preferences": [{"prompt": "x", "chosen": "y", "rejected": "z"}],
    "numbers for labels": [{"sentence": "Fine.", "label": 1}, {"sentence": "Awful.", "label": 0}] * 2,
    "an answer beside messages": [{"messages": turns("a", "b"), "answer": "c"}],
    "messages without an answer": [{"messages": turns("a")}],
    "messages of which one has no answer": [{"messages": turns("a", "b")}, {"messages": turns("a", "")}],
    "options that are text": [{"question": "x", "choices": "['a', 'b']", "answer": "A"}],
    "lists of questions": [{"questions": ["a", "b"], "answers": ["c", "d"]}],
    "no accepted text": [{"context": "c", "question": "q", "answers": {"text": []}}],
}


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[str, str, str]:
    """The first prompt, the expected answer and the columns left out, as `init` says them."""
    out = capsys.readouterr().out
    prompt = "\n".join(line.removeprefix("  | ") for line in out.splitlines() if line.startswith("  | "))
    expected = out.split("expected: ")[1].splitlines()[0]
    left = out.split("not used: ")[1].splitlines()[0]
    return prompt, expected, "" if left == "none" else left


def init(*arguments: str) -> int:
    return main(["init", "--no-probe", "--no-workflow", "--force", "--yes", *arguments])


@each("name", SHAPES)
def test_a_shape_is_asked_and_read_as_its_columns_say(folder: Path, capsys, name: str) -> None:
    rows, options, prompt, target, left, metric = SHAPES[name]
    write_lines(folder / "all.jsonl", rows)
    assert init("--data", "all.jsonl", *options) == 0
    shown, expected, left_out = printed(capsys)
    samples = {(sample.prompt, sample.target) for sample in load_task("all", file=folder / "all.toml").samples}
    assert {(prompt, target), (shown, expected)} <= samples
    assert (left_out, tomllib.loads((folder / "all.toml").read_text())["metric"]) == (left, metric)


def test_what_is_not_sure_is_refused_with_what_settles_it(folder: Path, ends, messages: SnapshotAssertion) -> None:
    told = {}
    for name, rows in DOUBTS.items():
        write_lines(folder / "all.jsonl", rows)
        told[name] = ends(2, "init", "--no-probe", "--yes", "--data", "all.jsonl")
        assert [path.name for path in folder.iterdir()] == ["all.jsonl"]
    assert told == messages


def test_a_csv_and_a_json_object_are_read_as_rows_are(folder: Path, capsys) -> None:
    (folder / "exam.csv").write_text(
        'Question,Choices,Answer\nCapital?,"[""Quito"", ""Lima""]",1\nOf Chile?,"[""X"", ""Y""]",0\n'
    )
    rows = [{"question": "2 + 2?", "answer": 4}]
    (folder / "nested.json").write_text(json.dumps({"version": 1, "data": rows}))
    (folder / "two.json").write_text(json.dumps({"train": rows, "test": rows}))
    assert init("--data", "exam.csv") == 0
    assert printed(capsys)[0] in (lettered("Capital?", "Quito", "Lima"), lettered("Of Chile?", "X", "Y"))
    assert init("--data", "nested.json") == 0
    assert printed(capsys)[:2] == ("2 + 2?", "4")
    assert init("--data", "two.json") == 2
    assert "has lists in 'train', 'test'" in said(capsys)


def test_at_a_terminal_it_asks_until_the_answer_settles_it(folder: Path, monkeypatch, capsys, ends) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    write_lines(folder / "all.jsonl", [{"question": "2 + 2?", "answer": "4", "target": "5"}])
    typed = iter(["no such column", "target"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    arguments = ["init", "--no-probe", "--no-workflow", "--data", "all.jsonl"]
    assert main(arguments) == 0
    assert printed(capsys)[1] == "5"
    assert "give --answer-field: answer, target" in ends(2, *arguments, "--force", "--yes")


def test_the_model_and_the_task_are_named_after_what_they_are(folder: Path) -> None:
    write_lines(folder / "Fragen 2024.jsonl", [{"Frage": "2 + 2?", "Antwort": "4"}])
    assert init("--data", "Fragen 2024.jsonl", "--model", "Qwen/Qwen3-0.6B") == 0
    config = tomllib.loads((folder / "accuracy.toml").read_text())
    assert (list(config["models"]), list(config["tasks"])) == (["Qwen3-0.6B"], ["fragen_2024"])

"""What is wrong with a task's settings is said with file, line and key, by every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.support.cases import each

MODEL = '[models.m]\nengine = "recorded"\nmodel = "scores.jsonl"\n'
OWN = """\
prompt = "{{ q }}"
target = "{{ a }}"
metric = "exact_match"
theta = 250.0

[dataset]
file = "rows.jsonl"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.jsonl").write_text('{"id": "a", "score": 100}\n')
    (tmp_path / "rows.jsonl").write_text('{"q": "1", "a": "1"}\n{"q": "2", "a": "2"}\n')
    (tmp_path / "own.toml").write_text(OWN)
    return tmp_path


TOO_MUCH = "scores of 0 to 100 cannot drop"
CASES = [
    ("[tasks.arithmetic]\ntheta = 800", f"accuracy.toml:5: tasks.arithmetic.theta: is 800; {TOO_MUCH}"),
    ("[tasks.t]\nfile = 'own.toml'", f"own.toml:4: theta: is 250; {TOO_MUCH}"),
    ("[tasks.arithmetic]\noptions = { hihg = 3 }", "accuracy.toml:5: tasks.arithmetic.options.hihg: is not an option"),
    ("[tasks.arithmetic]\noptions.high = '3'", "accuracy.toml:5: tasks.arithmetic.options.high: is '3'; give a whole"),
    ("[tasks.arithmetic]\n\noptions = { high = 2, count = 9 }",
     "accuracy.toml:6: tasks.arithmetic.options: numbers from 1 to 2 give 4 different"),
    ("[tasks.t]\nfile = 'own.toml'\ntheta = 90\noptions = { a = 1 }",
     "accuracy.toml:7: tasks.t.options: the task takes no options"),
    ("[tasks.t]\nfile = 'own.toml'\ntheta = 90\nsubset = 'x'", "accuracy.toml:7: tasks.t.subset: is 'x', but"),
]  # fmt: skip


@each(("tasks", "message"), CASES)
@each("command", ["validate", "plan", "run", "record"])
def test_a_fault_of_a_tasks_settings_has_its_place(
    folder: Path, capsys, command: str, tasks: str, message: str
) -> None:
    (folder / "accuracy.toml").write_text(MODEL + tasks + "\n")
    assert main([command]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"accgate: {message}")


@each("more", ["theta = 100", "theta = 800\nnum_samples = 9"])
def test_the_largest_drop_is_planned_for_and_a_fixed_number_of_samples_plans_for_none(folder: Path, more: str) -> None:
    (folder / "accuracy.toml").write_text(f"{MODEL}[tasks.arithmetic]\n{more}\n")
    assert main(["validate"]) == 0

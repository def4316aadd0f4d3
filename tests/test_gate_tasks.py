"""Whole gates over real servers and sandboxes: code that is run, answers that a judge marks, scored options."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.evaluation.presence import missing_ability
from accgate.records.file import read_records
from tests.support.cases import each
from tests.support.gates import said, table, write_task
from tests.support.loading import load_task
from tests.support.servers import Fault, Server

CODE = {
    "prompt": "Write {{ name }}.", "target": "<<answer>>\nassert {{ name }}(2) == {{ value }}\n",
    "metric": "code_tests", "extract.regex": "(?s)```python\n(.*?)```",
}  # fmt: skip
PROGRAMS = [{"name": f"double{i}", "value": 4} for i in range(6)]


def gate(folder: Path, server: Server, *, task: dict[str, Any] | None = None, extra: str = "", **options: Any) -> Path:
    """accuracy.toml for the model behind a server, with one task `own`."""
    config = folder / "accuracy.toml"
    text = table("gate", {"early_stopping": False})
    text += table("models.m", {"engine": "openai", "model": "toy", "options": {"base_url": server.url, **options}})
    config.write_text(text + table("tasks.own", {"file": "own.toml", **(task or {})}) + extra, encoding="utf-8")
    return config


def recorded(config: Path) -> list[Any]:
    out = config.parent / "out"
    assert main(["record", str(config), "--out", str(out), "--quiet"]) == 0
    return read_records(out / "m" / "own.jsonl")


def doubling(prompt: str) -> str:
    """A function that doubles, but double3 adds one, and double4 never ends."""
    name = re.findall(r"double\d", prompt)[0]
    body = {"double3": "return x + 1", "double4": "while True: pass"}.get(name, "return 2 * x")
    return f"Here it is:\n```python\ndef {name}(x):\n    {body}\n```\n"


def test_generated_code_is_run_against_its_tests(tmp_path: Path) -> None:
    write_task(tmp_path, "own", PROGRAMS, **CODE, metric_options={"timeout": 1.0})
    with Server(doubling) as server:
        records = recorded(gate(tmp_path, server, task={"run_code": True}))
    scores = {re.findall(r"double\d", record.target)[0]: record.score for record in records}
    assert scores == {"double0": 100, "double1": 100, "double2": 100, "double3": 0, "double4": 0, "double5": 100}
    assert all(record.error is None for record in records)


def test_what_a_metric_needs_and_is_not_installed_is_said_before_anything_is_asked(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    for keys, words in (
        ({**CODE, "metric_options": {"packages": ["nosuch"]}}, "'nosuch', which is not installed"),
        ({"prompt": "{{ name }}", "target": "{{ value }}", "metric": "math"}, "pip install 'accgate[math]'"),
    ):
        write_task(tmp_path, "own", PROGRAMS, **keys)
        with Server("4") as server:
            config = gate(tmp_path, server, task={"run_code": True} if "metric_options" in keys else {})
            for command in (["plan", str(config)], ["record", str(config), "--out", str(tmp_path / "out")]):
                assert main(command) == 3
                assert words in said(capsys)
            assert server.seen == []


def test_an_answer_that_cannot_be_compared_in_time_is_a_failed_sample(tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    rows = [{"q": "easy", "a": r"\frac{1}{2}"}, {"q": "hostile", "a": "5"}, {"q": "wrong", "a": "7"}]
    task = {"prompt": "{{ q }}", "target": "{{ a }}", "metric": "math", "metric_options": {"timeout": 0.5}}
    write_task(tmp_path, "own", rows, **task)
    replies = {"easy": r"So \boxed{0.5}.", "hostile": r"\boxed{10^{10^{10}}}", "wrong": r"\boxed{8}"}
    with Server(lambda prompt: replies[prompt]) as server:
        config = gate(tmp_path, server)
        main(["record", str(config), "--out", str(tmp_path / "out"), "--quiet"])
    by_target = {record.target: record for record in read_records(tmp_path / "out" / "m" / "own.jsonl")}
    assert {target: record.score for target, record in by_target.items()} == {r"\frac{1}{2}": 100, "5": None, "7": 0}
    assert "more than 0.5 s of processor time" in str(by_target["5"].error)


def test_whole_programs_are_run_against_test_cases_where_that_is_allowed(tmp_path: Path, capsys) -> None:
    tests = [{"input": str(n), "output": str(2 * n)} for n in (2, 5)]
    rows = [{"name": f"double{i}", "tests": tests} for i in range(4)]
    printed = {"prompt": "Write {{ name }}.", "target": "{{ tests | tojson }}", "metric": "code_output"}
    write_task(tmp_path, "own", rows, **printed, **{"extract.regex": "(?s)```python\n(.*?)```"})

    def program(prompt: str) -> str:
        return doubling(prompt).replace("```\n", f"print({prompt[6:13]}(int(input())))\n```\n")

    with Server(program) as server:
        assert main(["record", str(gate(tmp_path, server)), "--out", str(tmp_path / "out")]) == 2
        assert server.seen == []
        assert "tasks.own: runs code that the model wrote: allow that with run_code = true" in said(capsys)
        records = recorded(gate(tmp_path, server, task={"run_code": True}))
    assert sorted(record.score for record in records) == [0, 100, 100, 100]
    assert all(record.target.startswith("2 tests, sha256:") for record in records)


JUDGED = {
    "prompt": "{{ q }}", "target": "{{ a }}", "metric": "judge",
    "judge.rubric": "Question: {{ q }}\nExpected: {{ target }}\nAnswer: {{ reply }}\nMark from 1 to 5.",
}  # fmt: skip
CAPITALS = [{"q": f"Capital of country {i}?", "a": f"City {i}"} for i in range(5)]


def judge_table(server: Server, name: str = "strict") -> str:
    return table(f"judges.{name}", {"model": "toy", "options": {"base_url": server.url}})


def test_a_judge_on_its_own_server_marks_every_answer(tmp_path: Path) -> None:
    write_task(tmp_path, "own", CAPITALS, **JUDGED)

    def answer(prompt: str) -> str:
        return "City " + re.findall(r"\d+", prompt)[0] if "3" not in prompt else "No idea"

    def mark(prompt: str) -> str:
        expected, given = re.findall(r"(?:Expected|Answer): (.*)", prompt)
        return f"Compared with {expected}: {5 if expected == given else 2}"

    with Server(answer) as model, Server(mark) as judge:
        config = gate(tmp_path, model, task={"judge": "strict"}, extra=judge_table(judge))
        records = recorded(config)
        assert len(judge.seen) == len(model.seen) == 5
        assert sorted(record.score for record in records) == [25, 100, 100, 100, 100]
        assert main(["run", str(config), "--out", str(tmp_path / "again"), "--quiet"]) == 4  # too few to see anything
        config.write_text(config.read_text().replace("judges.strict", "judges.kind").replace('"strict"', '"kind"'))
        assert main(["run", str(config), "--out", str(tmp_path / "kind"), "--quiet"]) == 4  # the same judge, renamed
        config.write_text(config.read_text() + "sampling = { temperature = 0.7, seed = 1 }\n")
        assert main(["run", str(config), "--out", str(tmp_path / "other"), "--quiet"]) == 2  # another judge


@pytest.mark.parametrize("answers", [0, 2])
def test_a_judge_that_fails_leaves_tasks_alone_that_it_does_not_mark(tmp_path: Path, answers: int, capsys) -> None:
    write_task(tmp_path, "own", CAPITALS, **JUDGED)
    plain = "[tasks.arithmetic]\nnum_samples = 20\ntarget = 1.0\nsigma = 50\n"
    with Server(lambda prompt: "2" if "+" in prompt else "City 1") as model, Server(lambda _: "Mark: 5") as judge:
        judge.fault_of = lambda _: Fault(401, b"no") if len(judge.seen) > answers else None
        own = {"judge": "strict", "target": 1.0, "sigma": 50}
        config = gate(tmp_path, model, task=own, extra=judge_table(judge) + plain)
        assert main(["run", str(config), "--out", str(tmp_path / "out"), "--quiet"]) == 3, said(capsys)
    marked, arithmetic = json.loads((tmp_path / "out" / "accgate.json").read_text())["checks"]
    assert marked["reasons"][0].startswith("judge strict: ")
    assert arithmetic["verdict"] == "inconclusive"  # evaluated, and too few to see anything


@each(
    ("task", "extra", "message"),
    [
        ({}, "", 'name one of the tables [judges.NAME] with judge = "NAME"'),
        ({"judge": "strikt"}, "[judges.strict]\nmodel = 'toy'\n", "names no judge 'strikt'; did you mean 'strict'?"),
        ({"judge": "a"}, "[judges.a]\nmodel = 'toy'\nengine = 'recorded'\n", "judges.a.engine: is 'recorded'"),
    ],
)
def test_a_judge_that_is_missing_or_no_model_is_refused(tmp_path: Path, capsys, task, extra: str, message: str) -> None:
    write_task(tmp_path, "own", CAPITALS, **JUDGED)
    with Server() as server:
        assert main(["plan", str(gate(tmp_path, server, task=task, extra=extra))]) == 2
    assert message in said(capsys)


QUIZ = {
    "prompt": "{{ q }}", "target": "{{ a }}", "metric": "exact_match", "mode": "completion",
    "choices.options": "{{ o | tojson }}", "choices.by": "likelihood",
}  # fmt: skip


def test_an_engine_that_scores_nothing_names_the_alternative(tmp_path: Path) -> None:
    write_task(tmp_path, "own", [{"q": "?", "o": ["x", "y"], "a": "A"}], **QUIZ)
    check: Any = SimpleNamespace(task=load_task("own", file=tmp_path / "own.toml"), model="m")
    lack = str(missing_ability(SimpleNamespace(), check))
    assert "compares log-likelihoods, which the engine of m does not give" in lack
    assert 'choose = "letter"' in lack

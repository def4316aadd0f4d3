"""Whole gates in milliseconds: a folder with accuracy.toml, task files, and scores for the `recorded` engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.loading import load_task

N = 200
RIGHT, WRONG = 100.0, 0.0


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def table(name: str, values: Mapping[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in values.items()) + "\n"


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def questions(n: int = N, start: int = 0) -> list[dict[str, Any]]:
    """Dataset rows of sums, each with another answer."""
    return [{"q": f"What is {i} + {i}?", "a": 2 * i, "page": f"p{i // 4}"} for i in range(start, start + n)]


def write_task(folder: Path, name: str = "sums", rows: Sequence[Mapping[str, Any]] | None = None, **keys: Any) -> Path:
    """A task file over its own JSONL dataset; keyword `a__b` sets the key a.b."""
    write_lines(folder / f"{name}.jsonl", questions() if rows is None else rows)
    plain = {"dataset.file": f"{name}.jsonl", "prompt": "{{ q }}", "target": "{{ a }}", "metric": "numeric_match"}
    merged = plain | {key.replace("__", "."): value for key, value in keys.items()}
    path = folder / f"{name}.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in merged.items()), encoding="utf-8")
    return path


def right_but(wrong: int, n: int = N, *, start: int = 0) -> list[float]:
    """Scores of n samples, right but for `wrong` in a row from `start`."""
    return [WRONG if start <= i < start + wrong else RIGHT for i in range(n)]


IDS: dict[Any, list[str]] = {}
REFERENCES: dict[Any, dict[Path, bytes]] = {}


def without_seconds(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Checks without the seconds that samples took, which differ from run to run."""
    return [check | {"costs": [cost for cost in check["costs"] if cost["name"] != "seconds"]} for check in checks]


class Project:
    """accuracy.toml with the recorded model `m`, and a task `sums` of 200 samples; all files in one folder."""

    def __init__(self, folder: Path, *, tasks: Sequence[str] = ("sums",), n: int = N, **keys: Any) -> None:
        self.folder, self.out = folder, folder / "out"
        self.config, self.scores = folder / "accuracy.toml", folder / "m.jsonl"
        self.store = folder / "references"
        for task in tasks:
            write_task(folder, task, questions(n))
        self.gate: dict[str, Any] = {"early_stopping": False}  # so that scores may stand in any order
        self.models: dict[str, dict[str, Any]] = {"m": {"engine": "recorded", "model": "m.jsonl"}}
        self.tasks: dict[str, dict[str, Any]] = {task: {"file": f"{task}.toml", **keys} for task in tasks}
        self.write()

    def write(self, **gate: Any) -> None:
        """Write accuracy.toml from the tables, with these keys of [gate]."""
        self.gate |= gate
        text = table("gate", self.gate)
        text += "".join(table(f"models.{name}", keys) for name, keys in self.models.items())
        text += "".join(table(f"tasks.{name}", keys) for name, keys in self.tasks.items())
        self.config.write_text(text, encoding="utf-8")

    def ids(self, task: str = "sums") -> list[str]:
        """The task's ids in the fixed order; the same files have the same, whichever project they are of."""
        files = tuple((path.name, path.read_bytes()) for path in sorted(self.folder.glob(f"{task}.*")))
        key = (task, self.gate.get("seed", 0), files)
        if key not in IDS:
            loaded = load_task(task, file=self.folder / f"{task}.toml", seed=self.gate.get("seed", 0))
            IDS[key] = [sample.id for sample in loaded.samples]
        return list(IDS[key])

    def answer(self, *scores: Sequence[float], tasks: Sequence[str] | None = None, path: Path | None = None) -> Path:
        """What the model scores on each task's samples, in the fixed order."""
        named = zip(self.tasks if tasks is None else tasks, scores, strict=True)
        rows = [{"id": i, "score": s} for task, values in named for i, s in zip(self.ids(task), values, strict=False)]
        return write_lines(path or self.scores, rows)

    def record(self, *scores: Sequence[float], args: Sequence[str] = ()) -> int:
        """Record these scores as the reference; the exit code."""
        if scores:
            self.answer(*scores)
        out = self.folder / f"record-out-{len(list(self.folder.glob('record-out-*')))}"
        return main(["record", str(self.config), "--out", str(out), "--quiet", *args])

    def recorded(self, *scores: Sequence[float], args: Sequence[str] = ()) -> Project:
        """This project with these scores as the reference: recorded once for equal files, and copied from then on."""
        if scores:
            self.answer(*scores)
        key = tuple(contents(self.folder).items())
        if key not in REFERENCES:
            assert self.record(args=args) == 0
            shutil.rmtree(self.folder / "record-out-0")
            REFERENCES[key] = {self.store.relative_to(self.folder) / p: c for p, c in contents(self.store).items()}
        for path, content in REFERENCES[key].items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(content)
        return self

    def run(self, *scores: Sequence[float], args: Sequence[str] = ()) -> int:
        """Run the gate on these scores; the exit code."""
        if scores:
            self.answer(*scores)
        return main(["run", str(self.config), "--out", str(self.out), "--quiet", *args])

    @property
    def result(self) -> dict[str, Any]:
        """accgate.json of the last run."""
        return json.loads((self.out / "accgate.json").read_text(encoding="utf-8"))

    @property
    def check(self) -> dict[str, Any]:
        """The only check of the last run."""
        (check,) = self.result["checks"]
        return check


def recorded_project(folder: Path, n: int) -> Project:
    """A project with a recorded reference in which 10 of n are wrong."""
    return Project(folder, n=n).recorded(right_but(10, n))


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder, by their paths in it."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What a command wrote to standard error, on one line."""
    return " ".join(capsys.readouterr().err.split())


def refused(capsys: pytest.CaptureFixture[str], code: int) -> str:
    """What a command that ended with bad input wrote to standard error, on one line."""
    assert code == 2
    return said(capsys)

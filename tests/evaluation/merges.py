"""Shards of a run, and their merge, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from accgate.records.file import paths_of
from tests.support.gates import Project, right_but

TIMES = ("started", "seconds", "shards")


def shard(project: Project, label: str, *args: str, name: str | None = None) -> Path:
    """Run one shard; its folder."""
    folder = project.folder / (name or f"shard-{label.replace('/', '-of-')}")
    code = main(["run", str(project.config), "--shard", label, "--out", str(folder), "--quiet", *args])
    assert code in {0, 3}, code
    return folder


def shards(project: Project, count: int, *args: str) -> list[Path]:
    return [shard(project, f"{i}/{count}", *args) for i in range(1, count + 1)]


def merge(project: Project, folders: Sequence[Path], *args: str, out: Path | None = None) -> int:
    where = ["--config", str(project.config), "--out", str(out or project.folder / "merged")]
    return main(["merge", *map(str, folders), *where, *args])


def result(project: Project, out: Path | None = None) -> dict[str, Any]:
    return json.loads(((out or project.folder / "merged") / "accgate.json").read_text())


def reasons(project: Project) -> str:
    (check,) = result(project)["checks"]
    assert (check["verdict"], result(project)["verdict"]) == ("error", "error")
    return " ".join(check["reasons"])


def records_path(folder: Path, task: str = "sums") -> Path:
    return paths_of(folder, "m", task).records


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in records_path(folder).read_bytes().splitlines()]


def worse_project(folder: Path) -> Project:
    """A reference with 10 wrong, and a candidate with 20 others wrong."""
    project = Project(folder).recorded(right_but(10))
    project.answer(right_but(20, start=30))
    return project

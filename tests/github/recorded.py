"""A reference store as it was, and after a new run was recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.gates import Project, right_but

N = 20
REASON = "the new tokenizer"
NAMES = ["m/sums.anchor.scores.csv", "m/sums.anchor.toml", "m/sums.scores.csv", "m/sums.toml"]


def recorded_stores(folder: Path) -> tuple[Path, Path]:
    """The old store, whose reference has a mean of 90, and the new one, of 75, recorded for REASON."""
    (folder / "project").mkdir()
    project = Project(folder / "project", n=N)
    assert project.record(right_but(2, N)) == 0
    shutil.copytree(project.store, folder / "old")
    assert project.record(right_but(5, N), args=["--reason", REASON, "--no-replies"]) == 0
    return folder / "old", project.store

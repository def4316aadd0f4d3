"""References of projects, and the runs and damages that they meet, for tests."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from accgate.references.store import Reference, find_reference
from tests.support.gates import Project

N = 40


def reference_of(project: Project, task: str = "sums") -> Reference:
    reference = find_reference(project.store, "m", task)
    assert reference is not None
    return reference


def answers_of_runs(project: Project, runs: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Lines of a recording that holds these runs as repeats."""
    return [
        {"id": i, "repeat": repeat, "score": score}
        for repeat, scores in enumerate(runs)
        for i, score in zip(project.ids(), scores, strict=True)
    ]


def record_into(project: Project, out: str, *args: str) -> int:
    """Record into a folder of this name; the exit code."""
    return main(["record", str(project.config), "--out", str(project.folder / out), "--quiet", *args])


def damage(path: Path, pattern: str, new: str) -> None:
    """Replace the first match of a pattern in a file."""
    text, count = re.subn(pattern, new, path.read_text(), count=1)
    assert count
    path.write_text(text)

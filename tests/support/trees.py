"""Two trees of one project, as the base and the head of a pull request."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from accgate.config.config import load_config
from accgate.guard.changes import changed_rules
from accgate.guard.state import RuleChange
from accgate.metrics.metric import Builder, Metric
from accgate.metrics.registry import metric_builders
from tests.support.gates import Project


class Trees:
    """A base, and a head that begins as its copy; change either, then ask for `changes`."""

    def __init__(self, folder: Path, base: Project) -> None:
        self.base = base
        shutil.copytree(base.folder, folder / "head", symlinks=True)
        self.head = self._of(folder / "head", base)

    @staticmethod
    def _of(folder: Path, like: Project) -> Project:
        project = Project.__new__(Project)
        project.folder, project.out = folder, folder / "out"
        project.config, project.scores, project.store = (
            folder / "accuracy.toml",
            folder / "m.jsonl",
            folder / "references",
        )
        project.gate = dict(like.gate)
        project.models = {name: dict(keys) for name, keys in like.models.items()}
        project.tasks = {name: dict(keys) for name, keys in like.tasks.items()}
        return project

    def again(self) -> "Trees":
        """The same base, and a head that is its copy as it is now."""
        shutil.rmtree(self.head.folder)
        return Trees(self.head.folder.parent, self.base)

    def changes(self) -> tuple[RuleChange, ...]:
        """What the head changes."""
        return changed_rules(load_config(self.base.config), load_config(self.head.config))

    def back(self) -> tuple[RuleChange, ...]:
        """What a pull request that undoes the head's change would change."""
        return changed_rules(load_config(self.head.config), load_config(self.base.config))


def trees(folder: Path, *, n: int = 20, tasks: Sequence[str] = ("sums",), **keys: object) -> Trees:
    """Two equal trees of a project without references."""
    (folder / "base").mkdir()
    return Trees(folder, Project(folder / "base", n=n, tasks=tasks, **keys))


def effects(changes: Sequence[RuleChange]) -> dict[str, str]:
    """Which rules changed, and which way."""
    assert len({change.rule for change in changes}) == len(changes)
    return {change.rule: change.effect for change in changes}


def add_metric_of_errors(monkeypatch: pytest.MonkeyPatch) -> str:
    """A metric of which less is better, as a word error rate; its name."""
    metric = Metric("errors", lambda *_: 100.0, higher_is_better=False)
    known: dict[str, Builder] = metric_builders()  # type: ignore[assignment]
    monkeypatch.setitem(known, "errors", lambda: metric)
    return "errors"

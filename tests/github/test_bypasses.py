"""Attempts to get a worse model or a looser gate past a pull request's checks: none ends with a green check."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.github import publish as publishing
from accgate.references import digest
from tests.gates import questions, right_but, write_task
from tests.github.server import TOKEN, GitHub
from tests.github.store import HEAD
from tests.github.test_publish import Gate
from tests.pull_requests import NUMBER, event_of


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with GitHub() as hub:
        yield hub


@pytest.fixture
def gate(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(hub, tmp_path, monkeypatch)


def merge(gate: Gate) -> None:
    """Make the head the base, as a merge does, and begin the next pull request."""
    shutil.rmtree(gate.base.folder)
    shutil.copytree(gate.head.folder, gate.base.folder, symlinks=True, ignore=shutil.ignore_patterns("out", "record-out-*"))


def is_green(gate: Gate) -> bool:
    return gate.check_run["conclusion"] in ("success", "neutral")


# --- rules that are read from the head's tree ---


def by_a_path_out_of_the_tree(gate: Gate) -> None:
    gate.head.tasks["sums"]["file"] = "../head/sums.toml"
    gate.head.write()


def by_a_link_to_the_task(gate: Gate) -> None:
    task = gate.head.folder / "sums.toml"
    task.rename(gate.head.folder / "real.toml")
    task.symlink_to("../head/real.toml")


def by_a_link_to_the_reference(gate: Gate) -> None:
    shutil.copytree(gate.head.store, gate.head.folder / "real")
    shutil.rmtree(gate.head.store / "m")
    (gate.head.store / "m").symlink_to("../../head/real/m")


def by_a_link_to_accuracy_toml(gate: Gate) -> None:
    gate.head.config.rename(gate.head.folder / "real.toml")
    gate.head.config.symlink_to("../head/real.toml")


@pytest.mark.parametrize(
    "lead_out",
    [by_a_path_out_of_the_tree, by_a_link_to_the_task, by_a_link_to_the_reference, by_a_link_to_accuracy_toml],
)
def test_rules_of_the_base_that_lead_into_the_heads_tree_never_judge(gate: Gate, lead_out: Any) -> None:
    gate.head.answer(right_but(0))
    lead_out(gate)
    gate.run()
    merge(gate)
    gate.head.answer(right_but(0))
    assert gate.run() != 0
    assert not is_green(gate)

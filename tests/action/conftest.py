"""A runner with a pull request's workspace, and a docker that notes what it is asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.runner import FakeDocker, Runner, commit


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The workspace of a pull request with an accuracy.toml, which nobody changes, and its base."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "accuracy.toml").write_text("base\n")
    base = commit(folder, "base")
    (folder / "accuracy.toml").write_text("head\n")
    commit(folder, "head")
    return folder, base


def runner_of(folder: Path, pull_request: tuple[Path, str]) -> Runner:
    """A runner with a copy of that workspace."""
    workspace, base = pull_request
    made = Runner(folder)
    shutil.copytree(workspace, made.workspace, dirs_exist_ok=True)
    made.variables["ACCGATE_BASE_SHA"] = base
    return made


@pytest.fixture
def runner(tmp_path: Path, pull_request: tuple[Path, str]) -> Runner:
    return runner_of(tmp_path, pull_request)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, pull_request: tuple[Path, str]) -> tuple[Runner, FakeDocker]:
    """A runner whose trees are laid out, for tests of what is evaluated how."""
    runner = runner_of(tmp_path_factory.mktemp("prepared"), pull_request)
    docker = FakeDocker(runner)
    assert runner.prepare().code == 0
    return runner, docker


@pytest.fixture
def machine(prepared: tuple[Runner, FakeDocker]) -> tuple[Runner, FakeDocker]:
    """The prepared runner as if nothing had been evaluated on it."""
    runner, docker = prepared
    for name in ("exit-code", "log.txt", "cancelled"):
        (runner.work / name).unlink(missing_ok=True)
    docker.forget()
    return runner, docker


@pytest.fixture
def docker(runner: Runner) -> FakeDocker:
    return FakeDocker(runner)

"""A stateful GitHub on this machine, and a repository whose pull requests are gated there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.chain import Chain
from tests.attacks.runner_jobs import Jobs
from tests.github.server import GitHub
from tests.support.pull_requests import Gate


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with GitHub() as hub:
        yield hub


@pytest.fixture
def gate(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(hub, tmp_path, monkeypatch)


@pytest.fixture
def chain(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Chain:
    return Chain(hub, tmp_path, monkeypatch, capsys)


@pytest.fixture
def jobs(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Jobs:
    return Jobs(hub, tmp_path, monkeypatch, capsys)

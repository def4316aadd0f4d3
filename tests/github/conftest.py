"""A GitHub on this machine, and a pull request that is gated there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.github.server import GitHub
from tests.support.pull_requests import NUMBER, Gate


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with GitHub() as hub:
        hub.store.add_pull(NUMBER)
        yield hub


@pytest.fixture
def gate(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(hub, tmp_path, monkeypatch)

"""A server that answers sums, and the place of a run's records."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accgate.records.file import RecordPaths, paths_of
from tests.support.servers import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture
def paths(tmp_path: Path) -> RecordPaths:
    return paths_of(tmp_path, "m", "arithmetic")

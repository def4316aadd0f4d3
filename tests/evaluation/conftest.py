"""A server that answers sums."""

from collections.abc import Iterator

import pytest

from tests.servers import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made

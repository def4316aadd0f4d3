"""A server whose answers to sums depend on the request."""

from collections.abc import Iterator

import pytest

from tests.support.servers import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server

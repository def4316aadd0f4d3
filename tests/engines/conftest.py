"""A server whose answers say what was asked."""

from collections.abc import Iterator

import pytest

from tests.servers import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer=lambda prompt: f"answer to {prompt}") as made:
        yield made

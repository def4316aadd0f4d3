"""The image, built once for all container tests."""

from collections.abc import Iterator

import pytest

from tests.real import docker


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """The `cpu` image."""
    docker.build()
    yield docker.IMAGE
    docker.remove_labelled()

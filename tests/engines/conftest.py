"""Servers whose answers say what was asked, and waits of milliseconds."""

import contextlib
from collections.abc import Iterator

import pytest

from accgate.engines.openai import dispatch, pace
from tests.support.servers import Server


def echo(prompt: str) -> str:
    return f"answer to {prompt}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(echo) as made:
        yield made


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Server(echo)) for _ in range(3)]


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry, rest and pause after milliseconds, and know no proxy."""
    monkeypatch.setattr(dispatch, "FIRST_WAIT", 0.002)
    monkeypatch.setattr(dispatch, "FIRST_REST", 0.01)
    monkeypatch.setattr(dispatch, "LONGEST_REST", 0.05)
    monkeypatch.setattr(pace, "FIRST_PAUSE", 0.002)
    for name in ("http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

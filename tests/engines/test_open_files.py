"""A connection is an open file: the limit is raised as far as the system allows, and else said."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import resource, sys
from accgate.engines.openai.engine import SPARE, allow_connections, release_connections
from accgate.errors import CannotEvaluate
soft, hard, *engines = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
try:
    for connections in engines:
        allow_connections(connections) if connections > 0 else release_connections(-connections)
except CannotEvaluate as error:
    print(error)
print(*resource.getrlimit(resource.RLIMIT_NOFILE), SPARE)
"""


def outcome(soft: int, hard: int, *engines: int) -> list[str]:
    """What is printed once engines have taken so many connections, or given them back: numbers below 0."""
    arguments = [sys.executable, "-c", CODE, *map(str, (soft, hard, *engines))]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(("connections", "soft"), [(64, 256), (128, 256), (129, 257), (896, 1024)])
def test_the_limit_is_raised_to_what_the_connections_need_and_never_lowered(connections: int, soft: int) -> None:
    assert outcome(256, 1024, connections) == [f"{soft} 1024 128"]


def test_a_limit_that_cannot_be_raised_so_far_is_said_with_the_mends() -> None:
    message, limits = outcome(256, 1024, 5000)
    assert message == (
        "options.concurrency is 5,000, but this process may open 1,024 files, a connection each; raise that "
        "(`ulimit -n 5128`, or docker's `--ulimit nofile=5128`), or lower options.concurrency"
    )
    assert limits == "256 1024 128"


def test_engines_that_are_open_at_once_count_together() -> None:
    assert outcome(256, 1024, 100, 200) == ["428 1024 128"]
    assert outcome(256, 1024, 100, -100, 200) == ["328 1024 128"]
    assert outcome(256, 1024, 600, 400)[0].startswith(
        "options.concurrency is 400, beside 600 of other models or judges, but this process may open 1,024 files"
    )

"""A connection is an open file: the limit is raised as far as the system allows, and else said."""

from __future__ import annotations

import json
import subprocess
import sys

CODE = """
import json, os, resource, sys
from accgate.engines.openai.engine import SPARE, allow_connections, release_connections
from accgate.errors import CannotEvaluate
assert SPARE == 128
for engines in json.loads(sys.argv[1]):
    if os.fork():
        os.wait()
        continue
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 1024))
    said = ""
    try:
        for connections in engines:
            allow_connections(connections) if connections > 0 else release_connections(-connections)
    except CannotEvaluate as error:
        said = str(error)
    print(json.dumps([*resource.getrlimit(resource.RLIMIT_NOFILE), said]), flush=True)
    os._exit(0)
"""
# What engines take, or give back below 0, of a process that has 256 files and may have 1,024; and what it then has.
CASES = (
    ([129], 257, ""),
    ([100, 200], 428, ""),
    ([100, -100, 200], 328, ""),
    ([5000], 256, "options.concurrency is 5,000, but this process may open 1,024 files, a connection each; raise that "
                  "(`ulimit -n 5128`, or docker's `--ulimit nofile=5128`), or lower options.concurrency"),
    ([600, 400], 728, "options.concurrency is 400, beside 600 of other models or judges, but this process may open "
                      "1,024 files"),
)  # fmt: skip


def test_the_limit_is_raised_to_what_all_connections_need_never_lowered_and_else_the_mends_are_said() -> None:
    arguments = [sys.executable, "-c", CODE, json.dumps([engines for engines, _, _ in CASES])]
    printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
    for line, (engines, expected, message) in zip(printed, CASES, strict=True):
        soft, hard, said = json.loads(line)
        assert (soft, hard) == (expected, 1024), engines
        assert said.startswith(message), engines
        assert bool(said) is bool(message), engines

"""A command in a process of its own that tells when a signal has reached its evaluation."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

# What is in flight is waited for as good as for ever, so that no clock decides a test.
TELLING = """
import pathlib, sys
from accgate.cli.main import main
from accgate.evaluation import interruption
told, request = pathlib.Path(sys.argv[1]), interruption.Stop.request
def request_and_tell(stop):
    request(stop)
    told.touch()
interruption.Stop.request, interruption.GRACE = request_and_tell, 600.0
sys.exit(main(sys.argv[2:]))
"""


def telling(told: Path, *arguments: str) -> list[str]:
    """The command that runs accgate, and makes the file `told` when a signal asked it to stop."""
    return [sys.executable, "-c", TELLING, str(told), *arguments]


def wait_for(told: Path, process: subprocess.Popen[str]) -> None:
    """Until the signal has arrived."""
    deadline = time.monotonic() + 120
    while not told.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)

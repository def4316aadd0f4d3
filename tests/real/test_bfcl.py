"""The metric tool_calls against BFCL's own checker, on answers made from all of its Python categories."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accgate.metrics import get
from accgate.metrics.calls import with_tools
from accgate.tasks.tools import tools_of
from tests.real.environments import wheels_unpacked
from tests.support.runner import ROOT

pytestmark = pytest.mark.interop

PACKAGE = "bfcl-eval==2026.3.23"  # its wheel alone: what it needs besides is not used


def bfcl_installed() -> Path:
    """The folder with bfcl-eval's files; skips where pip cannot fetch it."""
    return wheels_unpacked("bfcl", PACKAGE)


def differs_on_purpose(case: Any) -> bool:
    """Whether an object has true or false where BFCL takes it for the number 1 or 0, or the reverse."""
    values = [value for call in case["calls"] for each in call["arguments"].values() if isinstance(each, dict)
              for value in each.values()]  # fmt: skip
    return any(value in (0, 1) for value in values)


def test_every_answer_is_as_right_as_bfcl_has_it() -> None:
    command = [sys.executable, "-m", "tests.real.bfcl", str(bfcl_installed()), "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    score, right, differences = get("tool_calls"), 0, []
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    for case in cases:
        target = with_tools(json.dumps(case["wanted"]), tools_of(case["functions"]))
        ours = score(json.dumps(case["calls"]), target) == 100.0
        right += ours
        if ours != case["valid"] and not (case["valid"] and differs_on_purpose(case)):
            differences.append(case)
    assert differences == []
    assert len(cases) > 9000
    assert 3000 < right < len(cases) - 3000

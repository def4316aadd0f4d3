"""Engines whose server is a real command: the files they need, and what became of the processes."""

from __future__ import annotations

import socket
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.engines import Reply
from accgate.engines.openai.engine import OpenAIEngine
from accgate.inputs.toml import read_toml
from tests.engines.asking import QUESTION, run_on
from tests.engines.planned import engine_of
from tests.support.gates import toml
from tests.support.servers import sums

ROOT = Path(__file__).parents[2]
ANSWER = sums()(QUESTION.prompt)
TOY = [sys.executable, "-m", "tests.support.servers", "{port}"]
FAMILY = """
import os, signal, subprocess, sys, time
from pathlib import Path
child = "import os, sys, time; sys.argv[1] and os.setsid(); open(sys.argv[2], 'w').write(str(os.getpid()))"
child += "; time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child, "", "plain.pid"])
subprocess.Popen([sys.executable, "-c", child, "away", "away.pid"])
while not (Path("plain.pid").exists() and Path("away.pid").exists()):
    time.sleep(0.01)
Path("leader.pid").write_text(str(os.getpid()))
"""
SERVING = "import runpy\nrunpy.run_module('tests.support.servers', run_name='__main__', alter_sys=False)\n"


def own_environment(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep logs in this folder, and let servers find tests.support.servers from any other."""
    monkeypatch.setenv("TMPDIR", str(logs))
    monkeypatch.setattr("tempfile.tempdir", str(logs))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def written(folder: Path, serve: list[str], **options: Any) -> Path:
    """A file whose options stand on line 4."""
    path = folder / "accuracy.toml"
    path.write_text(
        f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {toml({"serve": serve, **options})}\n'
        "[tasks.arithmetic]\nnum_samples = 40\ntarget = 50\n"
    )
    return path


def made(folder: Path, serve: list[str], **options: Any) -> OpenAIEngine:
    """The engine of such a file."""
    engine = engine_of(read_toml(written(folder, serve, **options), fix=""))
    assert isinstance(engine, OpenAIEngine)
    return engine


def asked(engine: OpenAIEngine, meanwhile: Callable[[], None] = lambda: None) -> Reply:
    """One reply of an engine that is started and closed."""

    async def work() -> Reply:
        meanwhile()
        return await engine.complete(QUESTION)

    return run_on(engine, work)


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it can end while its state is read
        return False


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def waited(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def pids(folder: Path) -> dict[str, int]:
    return {path.stem: int(path.read_text()) for path in folder.glob("*.pid")}


def script(folder: Path, code: str) -> list[str]:
    """A command that runs this code."""
    (folder / "command.py").write_text(textwrap.dedent(code))
    return [sys.executable, "command.py", "{port}"]

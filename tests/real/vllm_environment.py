"""Where real vLLM runs, and what it may leave behind there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accgate.engines.vllm.watch import mapped, processes
from tests.support.gates import table
from tests.support.runner import ROOT

SHARED_MEMORY = Path("/dev/shm")
SMALL = {
    "enforce_eager": True, "max_model_len": 1024, "gpu_memory_utilization": 0.2, "dtype": "float32",
    "max_num_seqs": 8, "max_num_batched_tokens": 1024,  # the first replies come soon
}  # fmt: skip


@dataclass
class Environment:
    """A Python with vLLM and accgate, a checkpoint, and the variables that both need."""

    python: Path
    model: str
    variables: dict[str, str]
    sessions: set[int] = field(default_factory=set)

    @contextlib.contextmanager
    def marked(self) -> Iterator[Environment]:
        """The same with a mark; afterwards no process is left, and no shared memory that nobody maps."""
        marked = Environment(self.python, self.model, self.variables | {"ACCGATE_TEST_MARK": uuid.uuid4().hex})
        before = {*SHARED_MEMORY.glob("*")}
        yield marked
        deadline = time.monotonic() + 120  # the last of them unlinks shared memory when the others have ended

        def left() -> dict[int, str] | set[Path]:
            return marked.processes() or orphaned({*SHARED_MEMORY.glob("*")} - before)

        while (remains := left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in marked.processes():
            os.kill(process, signal.SIGKILL)
        assert not remains

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A process in a group of its own; all that it starts carry its mark in their environment."""
        process = subprocess.Popen(
            [str(self.python), *arguments], env=self.variables, cwd=ROOT, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.sessions.add(process.pid)
        return process

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=3600)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def processes(self) -> dict[int, str]:
        """Names of the living processes that carry the mark, or are of a session that one began.

        vLLM names its processes where their environment lay.
        """
        mark, found, sessions = self.variables["ACCGATE_TEST_MARK"].encode(), {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                state, *rest = (folder / "stat").read_text().rpartition(")")[2].split()
                if state == "Z":
                    continue
                process = int(folder.name)
                sessions[process] = int(rest[2])
                name = (folder / "comm").read_text().strip()
                if mark in (folder / "environ").read_bytes():
                    self.sessions.add(sessions[process])
                found[process] = name
            except OSError:  # it ended meanwhile, or is another user's
                continue
        return {process: name for process, name in found.items() if sessions[process] in self.sessions}


def orphaned(files: set[Path]) -> set[Path]:
    """Shared memory that no living process maps: other vLLMs on the machine keep theirs."""
    inodes = mapped(processes())
    return {file for file in files if file.exists() and str(file.stat().st_ino) not in inodes}


def wait(until: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """What `until` says, once it says something; the process must live that long."""
    deadline = time.monotonic() + 1800
    while not (found := until()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def project(folder: Path, model: str, samples: int = 24, max_tokens: int = 16, **options: Any) -> Path:
    text = table("models.m", {"engine": "vllm", "model": model})
    text += table("models.m.options", SMALL | options) + table("models.m.sampling", {"max_tokens": max_tokens})
    mean = {"reference": 50.0, "reference_num_samples": 100}
    # random weights give no answer that could be extracted; short prompts, since a processor takes long to read them
    text += table("tasks.passkey_retrieval", {"options": {"length": 64}, "num_samples": samples, **mean})
    path = folder / "accuracy.toml"
    path.write_text(text)
    return path


def records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "out" / "m" / "passkey_retrieval.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]

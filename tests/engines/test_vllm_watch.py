"""What vLLM's watch leaves of shared memory, with another process in vLLM's place."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from accgate.engines.vllm.watch import MEMORY, Process, below, living, mapped, processes, remove, roots_of
from tests.engines.serving import waited

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the watch")
HOLD = """
import time
from multiprocessing.shared_memory import SharedMemory
segment = SharedMemory(create=True, size=4096)
print(segment.name, flush=True)
time.sleep(600)
"""


def test_only_shared_memory_that_nobody_has_any_more_is_removed(tmp_path: Path) -> None:
    other, old = SharedMemory(create=True, size=4096), SharedMemory(create=True, size=4096)
    try:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert holder.stdout is not None
        segment = MEMORY / holder.stdout.readline().strip()
        inode = str(segment.stat().st_ino)
        memory = mapped([holder.pid])
        assert memory == {inode}
        assert inode in mapped(processes())
        seen = {holder.pid: processes()[holder.pid]}
        assert living(seen) == [holder.pid]
        memory |= {str((MEMORY / other.name).stat().st_ino)}  # this process has it
        remove({*memory})
        assert segment.exists()
        os.killpg(holder.pid, signal.SIGKILL)  # and Python's tracker of its memory
        holder.communicate(timeout=60)
        assert living(seen) == []
        assert segment.exists()
        old.close()  # nobody maps it, but no process of vLLM ever did
        remove({*memory})
        assert not segment.exists()
        assert (MEMORY / other.name).exists()
        assert (MEMORY / old.name).exists()
    finally:
        holder.kill()
        other.close()
        for left in (other, old):
            left.unlink()


# An engine's core with a worker that hears nothing and holds shared memory; one of another engine; a plain process.
ENGINES = """
import multiprocessing, os, subprocess, sys, time
from accgate.engines.vllm.process import Watch

WORKER = '''
import os, signal, sys, time
from multiprocessing.shared_memory import SharedMemory
segment = SharedMemory(create=True, size=4096)
print("worker", os.getpid(), segment.name, flush=True)
open("worker", "w").close()
time.sleep(600)
'''

def core(name):
    subprocess.run([sys.executable, "-c", WORKER.replace("worker", name)], start_new_session=True)

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    context.Process(target=core, args=["other"]).start()
    wait_for("other")
    watch = Watch()
    own = context.Process(target=core, args=["worker"])
    own.start()
    plain = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
    print("plain", plain.pid, "-", flush=True)
    wait_for("worker")
    {after}
    sys.stdin.readline()
    watch.close()
    print("closed", own.pid, "-", flush=True)
    sys.stdin.readline()
    os.killpg(0, 9)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("after", "core_dies"), [("watch.started()", True), ("watch.look()", False)])
def test_a_stopped_worker_ends_with_its_engine_and_nothing_else_does(
    tmp_path: Path, after: str, core_dies: bool
) -> None:
    script = tmp_path / "engines.py"
    script.write_text(ENGINES.replace("{after}", after))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    run = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, start_new_session=True, **pipes)  # type: ignore[call-overload]
    lines = {}
    for _ in range(3):
        name, number, segment = run.stdout.readline().split()
        lines[name] = int(number), MEMORY / segment
    worker, segment = lines["worker"]
    try:
        time.sleep(3)
        os.kill(worker, signal.SIGSTOP)
        if core_dies:
            os.kill(processes()[worker].parent, signal.SIGKILL)
        run.stdin.write("close\n")
        run.stdin.flush()
        assert run.stdout.readline().startswith("closed")
        assert worker not in processes()
        assert not segment.exists()
        assert lines["plain"][0] in processes()
        assert lines["other"][0] in processes()
        assert lines["other"][1].exists()
    finally:
        run.kill()
        for number, _ in lines.values():
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)
        run.communicate(timeout=60)


def test_what_descends_from_a_root_does_so_whatever_became_of_its_parent() -> None:
    seen = {2: Process("a", 1), 3: Process("b", 2), 4: Process("c", 3), 5: Process("d", 1), 7: Process("e", 6)}
    assert below([2, 6], seen) == {2: seen[2], 3: seen[3], 4: seen[4], 7: seen[7]}
    assert below([], seen) == {}


def test_only_a_whole_line_says_what_is_to_end() -> None:
    assert roots_of("started\nend 12 3") is None
    assert roots_of("started\nend 12 34\n") == [12, 34]


KILLED = """
import multiprocessing, os, subprocess, sys, time
from multiprocessing.shared_memory import SharedMemory
from accgate.engines.vllm.process import Watch

def core(segment):
    subprocess.run(["sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True)

if __name__ == "__main__":
    watch = Watch()
    segment = SharedMemory(create=True, size=4096)
    multiprocessing.get_context("fork").Process(target=core, args=[segment]).start()
    time.sleep(2)
    print(segment.name, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_it_outlives_a_process_that_is_killed_with_all_its_children_as_ray_does(tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    run = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None
    segment = MEMORY / run.stdout.readline().strip()
    everyone = processes()
    children = [number for number, process in everyone.items() if process.parent == run.pid]
    (sleeper,) = [number for number, process in everyone.items() if process.parent in children]
    for number in [*children, run.pid]:
        os.kill(number, signal.SIGKILL)
    run.communicate(timeout=60)
    assert waited(lambda: sleeper not in processes() and not segment.exists())

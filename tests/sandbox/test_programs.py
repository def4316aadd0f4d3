"""What an ordinary program may do, what each outcome says, and that programs know nothing of each other."""

import asyncio
import os
import re
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accgate.errors import CannotEvaluate
from accgate.sandbox.process import Confinement, Limits, Worker, WorkerEnded
from accgate.sandbox.runner import Sandbox
from tests.sandbox.conftest import descendants, outcomes, programs_in
from tests.support.cases import each

LIMITS = Limits(seconds=10.0)
ORDINARY = {**programs_in("ordinary"), "odd line ends": "x = 1\r\ny = 2\rassert x + y == 3"}
FAILING = {
    "assert False": "AssertionError",
    "assert 1 == 2, 'no\\nmore'": "AssertionError: no more",
    "def f(:": "SyntaxError: invalid syntax",
    "x = '\0'": "(ValueError|SyntaxError): source code .*null bytes",
    "x = '\ud800'": "UnicodeEncodeError",
    "raise type('', (Exception,), {})('')": "program",
    "-" * 200_000 + "1": "RecursionError|MemoryError|SyntaxError|was killed by SIGSEGV",
    "x = " + "(" * 300 + ")" * 300: "SyntaxError|MemoryError|RecursionError",
    "class E(Exception):\n    def __str__(self): raise E\nraise E": "program.E: <(exception str|unprintable)",
    "raise ExceptionGroup('g', [ValueError(1)])": "(\\+ )?(Exception Group|ExceptionGroup|NameError)",
}


@each("name", ORDINARY)
def test_an_ordinary_program_passes(name: str, worker: Worker) -> None:
    outcome = worker.run(ORDINARY[name])
    assert outcome.passed, outcome
    assert (outcome.reason, outcome.seconds > 0) == ("passed", True)


@each("program", FAILING)
def test_a_failing_program_says_why_in_one_line(program: str, worker: Worker) -> None:
    outcome = worker.run(program)
    assert not outcome.passed
    assert re.match(FAILING[program], outcome.reason), outcome
    assert len(outcome.reason.splitlines()) == 1


def test_programs_of_one_worker_find_nothing_of_each_other(worker: Worker) -> None:
    leave = "import builtins, json, os\nbuiltins.mine = json.mine = 1\nopen('mine', 'w')\nos.environ['MINE'] = '1'"
    assert worker.run(leave).passed
    look = "import builtins, json, os\nassert not hasattr(builtins, 'mine') and not hasattr(json, 'mine')\n"
    assert worker.run(look + "assert not os.listdir('.') and 'MINE' not in os.environ").passed


def test_sets_of_texts_have_the_same_order_in_each_worker(confined: Confinement, worker: Worker, worker_of) -> None:
    program = "raise ValueError(list({str(n) for n in range(50)}))"
    assert worker.run(program).reason == worker_of(LIMITS, confined).run(program).reason


def test_a_worker_has_loaded_nothing_else_of_accgates(worker: Worker) -> None:
    assert worker.run("import sys\nassert not [name for name in sys.modules if 'accgate' in name]").passed
    assert worker.run("import sys\nassert not [path for path in sys.path if path.endswith('accgate')]").passed
    assert worker.run("import numpy").reason.startswith("ModuleNotFoundError")


def test_limits_are_what_the_user_set(confined: Confinement, worker_of) -> None:
    worker = worker_of(
        Limits(seconds=30.0, wall_seconds=300.0, memory=256, file_size=1, disk=3, entries=9, open_files=20), confined
    )
    assert worker.run("x = bytearray(300 << 20)").reason == "MemoryError"
    assert worker.run("x = bytearray(64 << 20)").passed
    assert "File too large" in worker.run("open('f', 'wb').write(bytes(1 << 21))").reason
    assert "Too many open files" in worker.run("f = [open('f', 'w') for _ in range(20)]").reason
    spin = "\nimport time\nwhile True: time.sleep(0.01)"
    files = "for n in range(4): open(f'{n}', 'wb').write(bytes(1 << 20))"
    assert worker.run(files + spin).reason == "was killed: more than 3 MB of files, 9 entries or 64 levels"
    turning = worker_of(Limits(seconds=0.3, wall_seconds=300.0), confined)
    assert turning.run("while True: pass").reason == "timed out after 0.3 s of processor time"
    waiting = worker_of(Limits(seconds=30.0, wall_seconds=0.5), confined)
    assert waiting.run("import time\ntime.sleep(60)").reason == "timed out after 0.5 s"


# The sandbox


def test_a_sandbox_runs_programs_at_once_and_gives_each_its_outcome(confined: Confinement) -> None:
    ends = outcomes(Sandbox(LIMITS, 2), [(f"assert {n} % 3",) for n in range(30)])
    assert [end.passed for end in ends] == [bool(n % 3) for n in range(30)]


def test_a_cancelled_program_is_dead_and_the_next_one_runs(confined: Confinement) -> None:
    async def run() -> bool:
        async with Sandbox(Limits(seconds=600.0), 1) as sandbox:
            running = asyncio.ensure_future(sandbox.passes("import time\ntime.sleep(600)"))
            await asyncio.to_thread(running_program, sandbox._workers[0])
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return (await sandbox.passes("pass")).passed

    before = descendants(os.getpid())
    assert asyncio.run(run())
    assert descendants(os.getpid()) == before


def test_nothing_is_left_in_the_temporary_folder(confined: Confinement, tmp_path: Path, monkeypatch) -> None:
    tmp_path.chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def run() -> bool:
        async with Sandbox(LIMITS, 2) as sandbox:
            outcomes = await asyncio.gather(*(sandbox.passes("open('a', 'w')") for _ in range(4)))
            assert len(os.listdir(tmp_path)) == 2  # noqa: PTH208
        return all(outcome.passed for outcome in outcomes)

    if confined.uid is None:  # else the user that programs become cannot reach pytest's folder
        assert asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def running_program(worker: Worker) -> list[int]:
    """Once it is confined."""
    while worker._child is None or not (found := descendants(worker._child.process.pid)):
        time.sleep(0.01)
    while status(found[0])["Seccomp"] != "2":
        time.sleep(0.01)
    return found


def test_a_running_program_has_lost_all_that_the_kernel_can_take(confined: Confinement) -> None:
    """From outside, since the program itself could not see whether it was told the truth."""
    worker = Worker(Limits(seconds=600.0, memory=512, open_files=32), confined)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(worker.run, "import time\ntime.sleep(600)")
        (pid,) = running_program(worker)
        found = status(pid)
        limits = Path(f"/proc/{pid}/limits").read_text()
        session, owner = os.getsid(pid), Path(f"/proc/{pid}/mem").stat().st_uid
        worker.stop()
        with pytest.raises(WorkerEnded):
            running.result()
    assert {found[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert found["NoNewPrivs"] == "1"
    assert session == pid
    assert owner == 0, "a program that is not dumpable has files of root's in /proc"
    uid = os.getuid() if confined.uid is None else confined.uid
    assert set(found["Uid"].split()) == {str(uid)}
    memory, size = 512 << 20, 16 << 20
    hard = {"address space": memory, "open files": 32, "core file size": 0, "cpu time": 602, "file size": size}
    for name, most in (hard | {"locked memory": 0, "msgqueue size": 0}).items():
        soft = 601 if name == "cpu time" else most
        assert re.search(rf"^Max {name} +{soft} +{most} ", limits, re.MULTILINE), limits


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def wait_for_the_end(pids: list[int]) -> None:
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.01)


def test_a_worker_that_is_killed_takes_its_program_along_and_is_no_outcome(confined: Confinement) -> None:
    async def run() -> bool:
        async with Sandbox(Limits(seconds=600.0), 1) as sandbox:
            running = asyncio.ensure_future(sandbox.passes("import time\ntime.sleep(600)"))
            (worker,) = sandbox._workers
            found = await asyncio.to_thread(running_program, worker)
            os.kill(worker._child.process.pid, signal.SIGKILL)  # type: ignore[union-attr]
            with pytest.raises(WorkerEnded):
                await running
            await asyncio.to_thread(wait_for_the_end, found)
            return (await sandbox.passes("pass")).passed

    assert issubclass(WorkerEnded, CannotEvaluate)
    assert asyncio.run(run())

"""A machine that confines is recognised by trying; one that does not is refused with what to do."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from accgate.errors import CANNOT_EVALUATE
from accgate.sandbox import process, runner
from accgate.sandbox.child import code_of_room
from accgate.sandbox.process import NOBODY, Confinement
from accgate.sandbox.runner import CannotConfine, Sandbox

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone can confine")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    runner.confinement.cache_clear()


def test_what_is_found_is_found_once_and_holds(confined: Confinement) -> None:
    assert runner.confinement() == runner.confinement()
    assert runner.hole(confined) is None


@linux
def test_root_becomes_nobody_or_the_reason_is_that_nobody_cannot_read_python() -> None:
    if os.geteuid() != 0:
        assert NOBODY not in {each.uid for each in runner.candidates()}
        return
    first = next(iter(runner.candidates()))
    assert first.uid == NOBODY
    trouble = runner.hole(first)
    assert trouble is None or trouble.startswith(("ModuleNotFoundError", "PermissionError"))


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_refuse(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(CannotConfine, match=f"{platform} has neither.*\n.*Landlock.*bubblewrap") as caught:
        runner.confinement()
    assert caught.value.exit_code == CANNOT_EVALUATE


def without(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Workers start with this change of their code."""

    def changed(room: str, call: str) -> str:
        return code_of_room(room, call).replace(f"from sandbox import {room}", change)

    monkeypatch.setattr(process, "code_of_room", changed)


@linux
@pytest.mark.parametrize(
    ("change", "hole"),
    [
        (
            "from sandbox import worker; import sandbox.kernel as k; k.filter_calls = lambda *_: None",
            "is possible",
        ),
        (
            "import sandbox.landlock as l; l.restrict = lambda _: None; from sandbox import worker",
            "of others is possible",
        ),
        (
            "from sandbox import worker; import sandbox.landlock as l; l.call = lambda *_: 1 / 0",
            "ZeroDivisionError",
        ),
        (
            "import sandbox.kernel as k; k._numbers['landlock_create_ruleset'] = 999; from sandbox import worker",
            "not implemented",
        ),
        (
            "import sandbox.kernel as k; k._numbers['seccomp'] = 1000; from sandbox import worker",
            "not implemented",
        ),
    ],
    ids=["no filter", "no Landlock", "broken", "a kernel without Landlock", "a kernel without seccomp"],
)
def test_where_a_wall_is_missing_no_program_runs(change: str, hole: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, change)
    monkeypatch.setenv("PATH", "")  # nor bubblewrap

    async def enter() -> None:
        async with Sandbox(workers=1):
            raise AssertionError("entered")

    with pytest.raises(CannotConfine, match=hole) as caught:
        asyncio.run(enter())
    assert "bubblewrap is not installed" in str(caught.value)


def test_the_worker_side_loads_nothing_of_accgates() -> None:
    report = "print([name for name in sys.modules if name.startswith('accgate')], 'numpy' in sys.modules)"
    start = process.command(Confinement("landlock"), "/nowhere", ())
    assert start[-1].endswith("; worker.serve()")
    start[-1] = start[-1].removesuffix("worker.serve()") + report
    done = subprocess.run(start, capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout.split() == ["[]", "False"]

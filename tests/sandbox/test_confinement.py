"""A machine that confines is recognised by trying; one that does not is refused with what to do."""

import os
import sys

import pytest

from accgate.errors import CANNOT_EVALUATE
from accgate.sandbox import process, runner
from accgate.sandbox.child import code_of_room
from accgate.sandbox.process import NOBODY, Confinement
from accgate.sandbox.runner import CannotConfine, Sandbox
from tests.sandbox.conftest import outcomes

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


WORKER = "from sandbox import worker"
WITHOUT = {
    "no filter": (f"{WORKER}; import sandbox.kernel as k; k.filter_calls = lambda *_: None", "is possible"),
    "no Landlock": (f"import sandbox.landlock as l; l.restrict = lambda _: None; {WORKER}", "of others is possible"),
    "broken": (f"{WORKER}; import sandbox.landlock as l; l.call = lambda *_: 1 / 0", "ZeroDivisionError"),
    "a kernel without Landlock": (
        f"import sandbox.kernel as k; k._numbers['landlock_create_ruleset'] = 999; {WORKER}", "not implemented",
    ),
    "a kernel without seccomp": (
        f"import sandbox.kernel as k; k._numbers['seccomp'] = 1000; {WORKER}", "not implemented",
    ),
}  # fmt: skip


@linux
@pytest.mark.parametrize("what", WITHOUT)
def test_where_a_wall_is_missing_no_program_runs(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, hole = WITHOUT[what]
    without(monkeypatch, change)
    monkeypatch.setenv("PATH", "")  # nor bubblewrap
    with pytest.raises(CannotConfine, match=hole) as caught:
        outcomes(Sandbox(workers=1), [("pass",)])
    assert "bubblewrap is not installed" in str(caught.value)

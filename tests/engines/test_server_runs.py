"""Whole gates on servers of their own: killed, interrupted, and with a server that dies."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from accgate.cli.main import main
from tests.engines.serving import FAMILY, SERVING, lives, made, own_environment, pids, script, waited
from tests.support.launcher import Launched


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_environment(tmp_path, monkeypatch)


def run(folder: Path, *arguments: str) -> list[str]:
    return ["run", str(folder / "accuracy.toml"), "--out", str(folder / "out"), *arguments]


def check(folder: Path) -> dict[str, Any]:
    (only,) = json.loads((folder / "out" / "accgate.json").read_text())["checks"]
    return cast("dict[str, Any]", only)


def replies_kept(folder: Path) -> int:
    records = folder / "out" / "m" / "arithmetic.jsonl"
    return records.read_bytes().count(b"\n") if records.exists() else 0


HANGING = FAMILY + """
from tests.support.servers import Server
with Server(port=int(sys.argv[1])) as server:
    server.hold_after = 10
    while True:
        time.sleep(0.02)
        if Path("die").exists():
            print("RuntimeError: the engine died", flush=True)
            os._exit(3)
"""  # fmt: skip


@contextlib.contextmanager
def held(folder: Path) -> Iterator[Launched]:
    """A run whose server gave ten replies and gives no more."""
    made(folder, script(folder, HANGING), concurrency=4)
    with Launched(*run(folder), told=folder / "told") as process:
        try:
            assert waited(lambda: replies_kept(folder) == 10)
            assert len(pids(folder)) == 3
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_the_server_does_not_outlive_accgate(tmp_path: Path) -> None:
    with held(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(120)
        found = pids(tmp_path)
    assert waited(lambda: not any(map(lives, found.values())))


@pytest.mark.slow
def test_an_interrupted_run_ends_its_server_first(tmp_path: Path) -> None:
    with held(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        process.wait_until_told()
        process.send_signal(signal.SIGINT)  # the first waits for what is in flight
        assert process.wait(120) == 130
        assert waited(lambda: not any(map(lives, pids(tmp_path).values())))


@pytest.mark.slow
def test_a_server_that_dies_in_the_middle_ends_the_run_and_resume_goes_on(tmp_path: Path) -> None:
    with held(tmp_path) as process:
        (tmp_path / "die").touch()
        said = " ".join(process.communicate(timeout=120)[1].split())
    assert process.returncode == 3
    reason = check(tmp_path)["reasons"][0]
    assert "ended with exit code 3 in the middle of the run; its last output: RuntimeError: the engine died" in reason
    assert "finished samples are kept" in reason, said
    assert not any(map(lives, pids(tmp_path).values()))
    script(tmp_path, SERVING)
    assert main(run(tmp_path, "--resume")) == 0
    assert replies_kept(tmp_path) == 40


SILENT = """
import sys, time
from pathlib import Path
from tests.support.servers import Server
print("serving", flush=True)
with Server(port=int(sys.argv[1])) as server:
    server.hold_after = 10 if not Path("once").exists() or Path("always").exists() else None
    Path("once").touch()
    time.sleep(600)
"""


@pytest.mark.slow
def test_a_server_that_falls_silent_is_started_again_once_and_then_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    made(tmp_path, script(tmp_path, SILENT), concurrency=4, max_silence=4, serve_log="log")
    assert main(run(tmp_path, "--quiet")) == 0
    assert replies_kept(tmp_path) == 40
    (told,) = [record.getMessage() for record in caplog.records if "started again, once" in record.getMessage()]
    assert "/v1 has given no reply for " in told
    assert (tmp_path / "log").read_text().split() == ["serving", "serving"]
    (tmp_path / "always").touch()
    made(tmp_path, script(tmp_path, SILENT), concurrency=1, max_silence=2)
    assert main(run(tmp_path, "--quiet")) == 3
    reason = check(tmp_path)["reasons"][0]
    assert "and counts as stalled; finished samples are kept" in reason
    assert "its last output: serving" in reason
    assert replies_kept(tmp_path) == 20

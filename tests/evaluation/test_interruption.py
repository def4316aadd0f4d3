"""Ctrl-C, SIGTERM and SIGHUP, sent to real runs against a real server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.evaluation.interruption import SHORTER, Stop, interruptible
from accgate.records.file import Record, RecordWriter, read_records
from accgate.signals import SIGNALS, Ending, ending_on_signals
from tests.evaluation.serving import checks_of, configure, served_by, sums_of
from tests.support.gates import Project, right_but, table, write_task
from tests.support.launcher import Launched
from tests.support.servers import Server

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
SAMPLES, IN_FLIGHT = 60, 4
RECORDS = Path("out", "m", "arithmetic.jsonl")


@pytest.fixture
def folder(tmp_path: Path, server: Server) -> Path:
    tables = {
        "gate": {"early_stopping": False},
        "models.m": served_by(server.url, concurrency=IN_FLIGHT),
        "tasks.arithmetic": sums_of(SAMPLES, target=50),
        "tasks.more": sums_of(10, high=30, library="arithmetic", target=50),
    }
    configure(tmp_path, tables)
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    return ["run", str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet", *more]


def begun(folder: Path, server: Server, after: int, *more: str, **variables: str) -> Launched:
    """A run with so many samples recorded, and IN_FLIGHT more that wait at the server."""
    server.hold_after = after
    process = Launched(*arguments(folder, *more), env=os.environ | variables, told=folder / "told")
    process.wait_until(lambda: len(server.seen) >= after + IN_FLIGHT and lines(folder) >= after)
    return process


def lines(folder: Path) -> int:
    path = folder / RECORDS
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGHUP])  # others below raise SIGTERM
def test_one_signal_finishes_what_is_in_flight_asks_nothing_more_and_the_run_can_go_on(
    folder: Path, server: Server, how: signal.Signals
) -> None:
    whole = folder / "whole"
    shutil.copytree(folder, whole)
    assert main(arguments(whole)) in (0, 1)
    server.seen.clear()

    with begun(folder, server, 20) as process:
        process.send_signal(how)
        process.wait_until_told()
        server.hold_after = None
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert said.splitlines()[-1] == "accgate: interrupted; finished samples are recorded, go on with --resume"
    assert "Traceback" not in said
    assert len(server.seen) == 20 + IN_FLIGHT
    records = read_records(folder / RECORDS)
    assert len(records) == 20 + IN_FLIGHT
    assert all(record.score is not None for record in records)

    assert not (folder / "out" / "accgate.json").exists()
    report = (folder / "out" / "report.md").read_text()
    assert "Interrupted: no verdict" in report
    assert f"| m | arithmetic | {20 + IN_FLIGHT} of {SAMPLES} | 0 |" in report
    assert "| m | more | 0 of 10 | 0 |" in report

    assert main(arguments(folder, "--resume")) in (0, 1)
    assert len(server.seen) == SAMPLES + 10
    assert checks_of(whole / "out") == checks_of(folder / "out")


def test_two_signals_end_it_at_once_though_the_server_never_answers(folder: Path, server: Server) -> None:
    with begun(folder, server, 20) as process:
        process.send_signal(signal.SIGINT)
        process.wait_until_told()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]  # below what one signal would grant
    assert process.returncode == 130
    assert "Traceback" not in said
    assert len(read_records(folder / RECORDS)) == 20
    assert not (folder / "out" / "accgate.json").exists()


def test_what_is_in_flight_is_cut_off_when_its_time_is_over(folder: Path, server: Server) -> None:
    with begun(folder, server, 20, **{SHORTER: "0.5"}) as process:  # as whoever kills soon after asking sets it
        process.send_signal(signal.SIGINT)
        process.wait()  # below what is granted otherwise
    assert process.returncode == 130
    assert len(read_records(folder / RECORDS)) == 20
    assert f"| m | arithmetic | 20 of {SAMPLES} | 0 |" in (folder / "out" / "report.md").read_text()


def interrupt_while_starting(folder: Path, server: Server, *command: str) -> str:
    """Interrupt a command whose server goes on loading; what it said."""
    server.loading = 1000
    with Launched(*command, told=folder / "told") as process:
        process.wait_until(lambda: server.loading <= 999)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert server.loading > 900  # it is not asked until it is there
    return said


def test_an_engine_that_is_still_starting_is_not_waited_for(folder: Path, server: Server) -> None:
    interrupt_while_starting(folder, server, *arguments(folder))
    assert server.seen == []
    assert f"| m | arithmetic | 0 of {SAMPLES} | 0 |" in (folder / "out" / "report.md").read_text()


def test_a_judge_that_is_still_starting_is_not_waited_for(tmp_path: Path, server: Server) -> None:
    with Server() as judge:
        write_task(tmp_path, "sums", [{"q": "1 + 1 =", "a": "x"}], metric="judge", judge={"rubric": "{{ reply }}"})
        tables = {
            "models.m": served_by(server.url),
            "judges.j": served_by(judge.url),
            "tasks.sums": {"file": "sums.toml", "judge": "j", "target": 50.0},
        }
        configure(tmp_path, tables)
        interrupt_while_starting(tmp_path, judge, *arguments(tmp_path))
    assert "| m | sums | 0 of 1 | 0 |" in (tmp_path / "out" / "report.md").read_text()


def test_two_models_of_which_one_is_still_starting_are_not_waited_for(folder: Path, server: Server) -> None:
    with Server() as other:
        config = folder / "accuracy.toml"
        config.write_text(config.read_text() + table("models.other", served_by(other.url)))
        command = ["ab", "m", "other", "--config", str(config), "--out", str(folder / "ab"), "--quiet"]
        assert "Traceback" not in interrupt_while_starting(folder, other, *command)


def test_a_shard_that_is_interrupted_is_code_130_and_not_ended(folder: Path, server: Server) -> None:
    with begun(folder, server, 8, "--shard", "1/2") as process:
        process.send_signal(signal.SIGINT)
        process.wait_until_told()
        server.hold_after = None
        process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads((folder / "out" / "shard.json").read_text())["exit_code"] is None


def test_a_recording_is_interrupted_between_samples_though_no_event_loop_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, n=600)
    project.answer(right_but(10, 600))
    append, numbers = RecordWriter.append, count(1)

    def noting(writer: RecordWriter, record: Record) -> int:
        if next(numbers) == 200:
            signal.raise_signal(signal.SIGINT)
        return append(writer, record)

    monkeypatch.setattr(RecordWriter, "append", noting)
    assert main(["record", str(project.config), "--out", str(project.out), "--quiet"]) == 130
    assert 200 <= len(read_records(project.out / "m" / "sums.jsonl")) < 300
    assert not project.store.exists()


def test_handlers_of_a_program_that_uses_accgate_are_left_alone() -> None:
    def own(*_: object) -> None: ...

    before = signal.signal(signal.SIGTERM, own)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_handlers_are_as_before_when_a_command_has_ended() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with ending_on_signals():
        taken = [signal.getsignal(number) for number in SIGNALS]
        assert all(isinstance(handler, Ending) for handler in taken)
        with interruptible() as stop:
            signal.raise_signal(signal.SIGTERM)
            assert stop.requested
        assert [signal.getsignal(number) for number in SIGNALS] == taken
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_terminal_that_sends_two_signals_as_it_closes_asks_for_no_hurry() -> None:
    with ending_on_signals(), interruptible() as stop:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        assert stop.requested
    left: list[int] = []
    ending = Ending(left.append, patience=600.0)
    with pytest.raises(KeyboardInterrupt):
        ending(signal.SIGHUP, None)
    ending(signal.SIGHUP, None)
    assert left == []


def test_a_command_under_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_on_signals(), interruptible() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert not stop.requested
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_nothing_is_taken_over() -> None:
    stops: list[Stop] = []

    def work() -> None:
        with ending_on_signals(), interruptible() as stop:
            stops.append(stop)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not stops[0].requested


def test_threads_that_cannot_be_cut_off_do_not_keep_the_process(tmp_path: Path) -> None:
    code = (
        "import sys, threading, time; from accgate.signals import Ending; import signal\n"
        "signal.signal(signal.SIGINT, Ending(patience=0.2))\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "try: signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt: sys.exit(1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 130


def test_a_third_signal_leaves_now() -> None:
    left: list[int] = []
    ending = Ending(left.append, patience=600.0)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            ending(signal.SIGINT, None)
    assert left == [130]

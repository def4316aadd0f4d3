"""Killed runs: what `accgate run --resume` makes of them, by the real command line against a real server."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import Record, read_gzip_lines, read_records
from tests.evaluation.serving import checks_of, configure, served_by, sums_of
from tests.support.gates import contents, without_seconds
from tests.support.launcher import Launched
from tests.support.servers import Fault, Server, sums

SAMPLES, MOMENTS, IN_FLIGHT = 100, 8, 4
RECORDS = Path("m", "arithmetic.jsonl")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "accgate", *arguments, str(folder / "accuracy.toml"), "--out", str(folder / "out")]


def ended(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of a whole command, in this process: it starts faster than one of its own."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(command(folder, *arguments)[3:])
    return code, said.getvalue()


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def checks(folder: Path) -> Any:
    return without_seconds(checks_of(folder / "out"))


def asked(folder: Path, server: Server) -> Counter[str]:
    """How often the server was asked for each sample, by id."""
    ids = {
        row["prompt"]: row["id"]
        for row in read_gzip_lines(folder / "out" / "m" / "arithmetic.prompts.jsonl.gz", "prompt")
    }
    return Counter(ids[prompt] for prompt in server.prompts)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """A folder with config and reference; from here on the server answers worse than that reference."""
    folder = tmp_path_factory.mktemp("recorded")
    model = served_by(server.url, concurrency=IN_FLIGHT)
    configure(folder, {"gate": {"max_failed": 0.1}, "models.m": model, "tasks.arithmetic": sums_of(SAMPLES)})
    assert ended(folder, "record", "--quiet")[0] == 0
    shutil.rmtree(folder / "out")
    server.answer = sums(wrong=0.32)
    return folder


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Any:
    """The checks of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    shutil.copytree(recorded, folder)
    code, said = ended(folder, "run")
    assert code in {0, 1}, said
    (check,) = checks(folder)
    assert check["discordance"] > 0
    return [check]


@pytest.fixture
def folder(tmp_path: Path, recorded: Path, unbroken: Any, server: Server) -> Iterator[Path]:
    """A copy of the recorded folder, with nothing run in it and a server that has seen nothing."""
    shutil.copytree(recorded, tmp_path / "run")
    server.settle()
    server.seen.clear()
    yield tmp_path / "run"
    server.hold_after, server.delay, server.fault_of = None, 0.0, None
    server.faults.clear()


def stopped(folder: Path, server: Server, after: int) -> None:
    """Start a run and kill it when so many samples are recorded."""
    server.hold_after = after
    with Launched(*command(folder, "run")[3:]) as process:
        process.wait_until(lambda: lines(folder / "out" / RECORDS) >= after and len(server.seen) >= after + IN_FLIGHT)
        process.kill()
    server.hold_after = None
    assert process.wait() == -signal.SIGKILL


def recorded_ids(folder: Path) -> set[str]:
    path = folder / "out" / RECORDS
    return {record.id for record in read_records(path)} if path.exists() else set()


def unfinished(folder: Path, server: Server, requests: int = 25) -> list[Record]:
    """The records of a run whose server refused the key after so many requests."""
    server.fault_of = lambda _: Fault(status=401) if len(server.seen) > requests else None
    assert ended(folder, "run")[0] == 3
    server.fault_of = None
    return read_records(folder / "out" / RECORDS)


def assert_goes_on(folder: Path, server: Server, unbroken: Any, finished: set[str]) -> None:
    """A resumed run ends as the unbroken one, asking no finished sample again."""
    server.settle()
    before = len(server.seen)
    code, said = ended(folder, "run", "--resume")
    assert code in {0, 1}, said
    assert f"{SAMPLES} samples, {len(finished)} of them already recorded" in said
    assert checks(folder) == unbroken
    counts = asked(folder, server)
    assert len(counts) == SAMPLES
    assert [id_ for id_ in finished if counts[id_] != 1] == []
    assert len(server.seen) - before == SAMPLES - len(finished)
    assert sum(count == 2 for count in counts.values()) <= IN_FLIGHT
    assert max(counts.values()) <= 2
    records = read_records(folder / "out" / RECORDS)
    assert {record.id for record in records} == set(counts)
    assert len(records) == SAMPLES


def test_a_run_killed_after_some_samples_resumes_to_the_same_verdict(
    folder: Path, server: Server, unbroken: Any
) -> None:
    """Others at any moment are slow."""
    stopped(folder, server, 40)
    finished = recorded_ids(folder)
    assert len(finished) == 40
    assert not (folder / "out" / "accgate.json").exists()
    assert_goes_on(folder, server, unbroken, finished)


def test_a_torn_last_line_is_asked_again(folder: Path, server: Server, unbroken: Any) -> None:
    finished = {record.id for record in unfinished(folder, server)}
    with (folder / "out" / RECORDS).open("ab") as file:
        file.write(b'{"id": "\xe2\x82')
    assert_goes_on(folder, server, unbroken, finished)


@pytest.mark.slow
def test_a_run_killed_at_any_moment_and_again_resumes_to_the_same_verdict(
    folder: Path, server: Server, unbroken: Any
) -> None:
    server.delay = 0.01
    moment, killed = random.Random(5), 0
    for number in range(MOMENTS):
        kept: set[str] = set()
        for _ in range(1 + number % 2):  # every second run is killed once more after it went on
            before, left = kept, SAMPLES - len(kept)
            server.settle()
            server.seen.clear()
            after = moment.randrange(-10, left + 5)  # below 0 while it starts, above `left` when all is answered
            server.hold_after = max(after, 0) + 2 * IN_FLIGHT  # it cannot end before, however late the signal is sent
            with Launched(*command(folder, "run", "--resume")[3:]) as process:
                process.wait_until(lambda: len(server.seen) >= min(after, left))  # noqa: B023
                time.sleep(moment.uniform(0.0, 0.02 if after >= 0 else 0.2))
                process.kill()
            killed += process.wait() == -signal.SIGKILL
            server.hold_after = None
            kept = recorded_ids(folder)
            asked_for = set(asked(folder, server))
            assert asked_for.isdisjoint(before)
            assert len(asked_for - kept) <= IN_FLIGHT  # what was in flight is all that is lost
        server.settle()
        server.seen.clear()
        assert ended(folder, "run", "--resume")[0] in {0, 1}
        assert checks(folder) == unbroken
        assert asked(folder, server) == Counter(recorded_ids(folder) - kept)
        shutil.rmtree(folder / "out")
    assert killed > MOMENTS / 2


def test_without_resume_an_unfinished_run_is_refused_and_its_finished_tasks_kept(folder: Path, server: Server) -> None:
    config = folder / "accuracy.toml"
    config.write_text(config.read_text() + "target = 50\n" + TWO_TASKS)
    unfinished(folder, server, SAMPLES + 10)
    before, seen = contents(folder / "out" / "m"), len(server.seen)
    code, said = ended(folder, "run")
    assert code == 2
    assert f"{lines(folder / 'out/m/more.jsonl')} records of an unfinished run; go on with --resume" in said
    assert contents(folder / "out" / "m") == before
    assert len(server.seen) == seen


def test_failed_samples_are_asked_again_on_resume(folder: Path, server: Server, unbroken: Any) -> None:
    server.fail([Fault(status=400, body={"error": {"message": "no"}})] * 11)
    assert ended(folder, "run")[0] == 3
    records = read_records(folder / "out" / RECORDS)
    failed = {record.id for record in records if record.score is None}
    assert 11 <= len(failed) <= 11 + IN_FLIGHT
    assert "HTTP 400" in checks(folder)[0]["reasons"][0]
    assert "go on with --resume" in checks(folder)[0]["reasons"][0]
    server.settle()
    server.seen.clear()
    assert ended(folder, "run", "--resume")[0] in {0, 1}
    assert checks(folder) == unbroken
    kept = {record.id for record in records if record.score is not None}
    assert asked(folder, server) == Counter({r.id for r in read_records(folder / "out" / RECORDS)} - kept)


@pytest.fixture(params=["limit", "16k", "28k"])
def disk(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[str, Path]]:
    """The folder for results on a disk of so many bytes, or where no file may grow; and the folder of the run."""
    out = folder / "out"
    out.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(out)]
    is_mounted = request.param != "limit"
    if is_mounted and (not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode):
        pytest.skip("cannot mount a small disk here")
    yield request.param, folder
    if is_mounted:
        subprocess.run(["umount", str(out)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="file size limits are of POSIX")
def test_a_full_disk_ends_the_run_with_the_mend_and_it_resumes(
    disk: tuple[str, Path], server: Server, unbroken: Any
) -> None:
    import resource

    size, folder = disk
    limit = 12_000  # bytes: some 45 records
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}  # it writes too
    done = subprocess.run(
        command(folder, "run"), capture_output=True, text=True, timeout=120, check=False, env=environment,
        preexec_fn=lambda: size == "limit" and resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    if size == "limit":
        (reason,) = checks(folder)[0]["reasons"]
        assert reason.startswith(f"{folder / 'out' / RECORDS}: cannot be written: ")
        assert reason.endswith("correct that, then go on with --resume")
    else:
        assert "No space left on device" in done.stdout + done.stderr
        subprocess.run(["mount", "-o", "remount,size=10m", str(folder / "out")], check=True)
    finished = recorded_ids(folder)
    assert finished
    assert_goes_on(folder, server, unbroken, finished)


NUMBER = f"num_samples = {SAMPLES}"
OTHER_SETTINGS = [
    ('model = "toy"\n', 'model = "toy2"\n', "model"),
    ('model = "toy"\n', 'model = "toy"\nsampling = { temperature = 0.7 }\n', "sampling.temperature"),
    ('model = "toy"\n', 'model = "toy"\nvariant = { quant = "fp8" }\n', "variant.quant"),
    (NUMBER, f"{NUMBER}\nmode = 'chat'", "task prompt"),
    (NUMBER, "num_samples = 80", "records, task dataset"),
    (NUMBER, f"{NUMBER}\nrepeats = 2", "records, repeats"),
    ('"high" = 20', '"high" = 30', "task dataset, task prompt"),
]


def test_a_resumed_run_with_other_settings_is_refused_and_names_them(folder: Path, server: Server) -> None:
    config = folder / "accuracy.toml"
    config.write_text(config.read_text() + "target = 50\n")  # no reference that would be refused first
    unfinished(folder, server)
    kept, seen, text = (folder / "out" / RECORDS).read_bytes(), len(server.seen), config.read_text()

    def is_refused(named: str) -> bool:
        code, said = ended(folder, "run", "--resume")
        return code == 2 and f".settings.json: {named} changed since the run began; undo that" in said

    for before, after, named in OTHER_SETTINGS:
        assert before in text
        config.write_text(text.replace(before, after))
        assert is_refused(named), named
    config.write_text(text)
    path = folder / "out" / "m" / "arithmetic.settings.json"
    settings = json.loads(path.read_text())
    assert settings["operational"]["concurrency"] == IN_FLIGHT
    changes = {"options": {"serve": ["another", "command"]}, "environment": {"torch": "2.9"}}
    for key, named in (("options", "options.serve"), ("environment", "environment")):
        path.write_text(json.dumps(settings | {key: changes[key]}))
        assert is_refused(named), named
    assert (folder / "out" / RECORDS).read_bytes() == kept
    assert len(server.seen) == seen


def test_where_and_how_patiently_is_asked_may_change_between_run_and_resume(
    folder: Path, server: Server, unbroken: Any
) -> None:
    finished = {record.id for record in unfinished(folder, server)}
    other = {"base_url": [f"{server.url}/"], "timeout": 50, "max_retries": 2, "max_outage": 9, "concurrency": 3}
    model = served_by(server.url) | {"options": other}
    configure(folder, {"gate": {"max_failed": 0.1}, "models.m": model, "tasks.arithmetic": sums_of(SAMPLES)})
    assert_goes_on(folder, server, unbroken, finished)


TWO_TASKS = """
[tasks.more]
library = "arithmetic"
options = { high = 20 }
num_samples = 30
target = 50
"""


def test_an_older_runs_records_are_never_resumed_as_those_of_a_run_that_did_not_come_to_them(
    folder: Path, server: Server
) -> None:
    config = folder / "accuracy.toml"
    config.write_text(config.read_text() + "target = 50\n" + TWO_TASKS)
    assert ended(folder, "run")[0] == 0
    server.fault_of = lambda _: Fault(status=401)  # a newer model, whose server is not ready yet
    assert ended(folder, "run")[0] == 3
    assert [check["verdict"] for check in checks(folder)] == ["error", "error"]
    server.fault_of, before = None, server.answer
    server.answer = sums(wrong=0.9)
    try:
        assert ended(folder, "run", "--resume")[0] == 1
    finally:
        server.answer = before
    assert [check["verdict"] for check in checks(folder)] == ["regression", "regression"]

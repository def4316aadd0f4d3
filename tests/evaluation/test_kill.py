"""Runs killed (-9) at random moments, and full disks: what is recorded stays, and `--resume` goes on."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.records.file import read_gzip_lines, read_records
from tests.gates import without_seconds
from tests.launcher import Launched
from tests.servers import Server, sums

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
SAMPLES, MOMENTS, IN_FLIGHT = 80, 9, 4
RECORDS = Path("m", "arithmetic.jsonl")
CONFIG = """\
[gate]
references = "references"

[models.m]
engine = "openai"
model = "toy"
options = {{ base_url = "{url}", concurrency = {in_flight}, max_retries = 0 }}

[tasks.arithmetic]
options = {{ high = 20 }}
num_samples = {samples}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(sums(wrong=0.2)) as made:
        yield made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """A folder with config and reference, and then a server that answers worse."""
    folder = tmp_path_factory.mktemp("recorded")
    config = CONFIG.format(url=server.url, in_flight=IN_FLIGHT, samples=SAMPLES)
    (folder / "accuracy.toml").write_text(config)
    assert Launched("record", str(folder / "accuracy.toml"), "--out", str(folder / "recording"), "--quiet").wait() == 0
    server.answer = sums(wrong=0.3)
    server.delay = 0.01
    return folder


def run(folder: Path, out: Path, *more: str) -> list[str]:
    return ["run", str(folder / "accuracy.toml"), "--out", str(out), "--quiet", "--json", *more]


def checks(out: Path) -> Any:
    return without_seconds(json.loads((out / "accgate.json").read_text())["checks"])


@pytest.mark.slow
def test_a_run_killed_at_any_moment_resumes_to_the_result_of_an_unbroken_one(
    tmp_path: Path, recorded: Path, server: Server
) -> None:
    assert Launched(*run(recorded, tmp_path / "unbroken")).wait() in (0, 1)
    unbroken = checks(tmp_path / "unbroken")
    ids = {
        row["prompt"]: row["id"]
        for row in read_gzip_lines(tmp_path / "unbroken" / "m" / "arithmetic.prompts.jsonl.gz", "prompt")
    }
    moment, killed = random.Random(5), 0
    for number in range(MOMENTS):
        out = tmp_path / str(number)
        server.settle()
        server.seen.clear()
        process = Launched(*run(recorded, out))
        after = moment.randrange(-10, SAMPLES + 5)  # below 0 while it starts, above SAMPLES when all is answered
        server.hold_after = max(after, 0) + 2 * IN_FLIGHT  # it cannot end before, however late the signal is sent
        wait_for_requests(server, min(after, SAMPLES))
        time.sleep(moment.uniform(0.0, 0.02 if after >= 0 else 0.2))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        server.hold_after = None
        kept = {record.id for record in read_records(out / RECORDS)} if (out / RECORDS).exists() else set()
        asked = {ids[prompt] for prompt in server.prompts}
        assert kept <= asked
        assert len(asked - kept) <= IN_FLIGHT  # what was in flight is all that is lost
        server.settle()
        server.seen.clear()
        assert Launched(*run(recorded, out, "--resume")).wait() in (0, 1)
        assert checks(out) == unbroken
        assert {ids[prompt] for prompt in server.prompts}.isdisjoint(kept)
        shutil.rmtree(out)
    assert killed > MOMENTS / 2


def wait_for_requests(server: Server, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(server.seen) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture(params=["16k", "28k"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small disk here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_code_3_with_the_cause_and_the_run_goes_on_when_there_is_room(
    recorded: Path, server: Server, small_disk: Path
) -> None:
    out = small_disk / "out"
    command = [sys.executable, "-m", "accgate", *run(recorded, out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3, done.stderr
    assert "No space left on device" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    kept = read_records(out / RECORDS)  # readable as it is
    assert kept
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    assert Launched(*run(recorded, out, "--resume")).wait() in (0, 1)
    records = read_records(out / RECORDS)
    assert len(records) == SAMPLES
    assert {record.id for record in kept} <= {record.id for record in records}

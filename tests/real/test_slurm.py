"""`accgate launch --slurm` on a real Slurm: four tasks, one of which dies, and the merge after them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import paths_of, read_records
from tests.real import slurm
from tests.support.servers import Server

pytestmark = pytest.mark.interop
SAMPLES, IN_FLIGHT, SECONDS = 240, 2, 300
CONFIG = """\
[gate]
early_stopping = false

[models.m]
engine = "openai"
model = "toy"
options = {{ base_url = "{url}", concurrency = {in_flight}, max_retries = 0 }}

[tasks.arithmetic]
num_samples = {samples}
target = 20
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Mapping[str, str]]:
    with slurm.cluster() as env:
        yield env | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}", "LC_ALL": "C"}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def wait_for(what: Callable[[], Any], folder: Path) -> Any:
    deadline = time.monotonic() + SECONDS
    while not (value := what()):
        logs = {log.name: log.read_text()[-600:] for log in folder.glob("slurm-*.out")}
        assert time.monotonic() < deadline, logs
        time.sleep(0.1)
    return value


def process_of(shard: str, folder: Path) -> int | None:
    """The process that evaluates a shard of a folder's run."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except OSError:
            continue
        if "--shard" in words and shard in words and f"{folder}/accuracy.toml" in words:
            return int(path.parent.name)
    return None


def decided(out: Path) -> dict[str, Any]:
    """The result's check, without what differs between any two runs."""
    (check,) = json.loads((out / "accgate.json").read_text())["checks"]
    return {key: check[key] for key in ("verdict", "n", "candidate", "difference", "p_value", "gamma")}


def test_four_tasks_of_which_one_dies_and_one_is_taken_back_give_the_verdict_of_one_run(
    cluster: Mapping[str, str], server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "modèle é"  # nodes often have the locale C
    folder.mkdir()
    config = folder / "accuracy.toml"
    config.write_text(CONFIG.format(url=server.url, in_flight=IN_FLIGHT, samples=SAMPLES))
    assert main(["run", str(config), "--out", str(folder / "whole"), "--quiet"]) == 0
    server.seen.clear()
    server.delay = 0.2
    capsys.readouterr()
    assert main(["launch", "--slurm", str(config), "--time", "1h", "--partition", "gpu"]) == 0
    submitted = subprocess.run(
        ["sbatch", "--parsable"],
        input=capsys.readouterr().out,
        cwd=folder,
        env=cluster,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert submitted.returncode == 0, submitted.stderr
    out = folder / "accgate-out" / f"job-{submitted.stdout.strip()}"
    records = paths_of(out / "shard-2-of-4", "m", "arithmetic").records
    wait_for(lambda: records.exists() and records.read_text().count("\n") >= 5, folder)
    victim = process_of("2/4", folder)
    assert victim is not None
    os.kill(victim, signal.SIGKILL)
    before = len(read_records(records))
    third = paths_of(
        out / "shard-3-of-4", "m", "arithmetic"
    ).records  # whose task Slurm takes back, as for a preemption
    wait_for(lambda: third.exists() and third.read_text().count("\n") >= 5, folder)
    slurm.ask(cluster, "scontrol", "requeue", f"{submitted.stdout.strip()}_3")

    merge = wait_for(lambda: (out / "merge-job").exists() and (out / "merge-job").read_text().strip(), folder)
    wait_for((out / "accgate.json").exists, folder)
    log = (folder / f"slurm-{submitted.stdout.strip()}_2.out").read_text()
    assert "shard 2 ended with exit code 137; it is started again and goes on" in log
    assert decided(out) == decided(folder / "whole")
    assert "DUE TO JOB REQUEUE" in (folder / f"slurm-{submitted.stdout.strip()}_3.out").read_text()
    shard = {record.key for record in read_records(records)}
    assert 5 <= before < len(shard) == SAMPLES // 4
    asked = Counter(server.prompts)
    assert len(asked) == SAMPLES, "tasks that were started again went on from their records"
    assert sum(asked.values()) <= SAMPLES + 2 * (IN_FLIGHT + 1)
    wait_for(lambda: slurm.ask(cluster, "squeue", "--noheader", f"--job={merge}") == "", folder)

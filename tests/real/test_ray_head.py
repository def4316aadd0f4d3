"""A Ray cluster whose head dies in the middle of a run: no verdict, nothing lost, and the run goes on elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.records.file import paths_of, read_records
from benchmarks import scale
from tests.support.servers import Server

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend
if not [*metadata.distributions(name="ray")]:
    pytest.skip("needs the package ray; pip install 'accgate[ray]'", allow_module_level=True)

SAMPLES = 240


def config(folder: Path, options: str) -> None:
    (folder / "accuracy.toml").write_text(
        f'[models.m]\nmodel = "toy"\n{options}\n[tasks.arithmetic]\nnum_samples = {SAMPLES}\ntarget = 20\n'
    )


def replicated(address: str, url: str) -> str:
    return (
        f'engine = "ray"\n[models.m.options]\nengine = "openai"\naddress = "{address}"\nreplicas = 3\nmax_outage = 8\n'
        f'options = {{ base_url = "{url}", concurrency = 2, max_retries = 0 }}'
    )


def run(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, which Ray may end without ending this one."""
    command = [sys.executable, "-m", "accgate", "run", str(folder / "accuracy.toml"), "--out", str(folder / "out")]
    pipe = subprocess.PIPE
    return subprocess.Popen([*command, *arguments], stdout=pipe, stderr=subprocess.STDOUT, text=True)


def outcome(folder: Path) -> dict[tuple[str, int], Any]:
    records = read_records(paths_of(folder / "out", "m", "arithmetic").records)
    found = {record.key: (record.score, record.reply) for record in records}
    assert len(found) == len(records), "no sample stands twice"
    return found


@pytest.mark.parametrize(
    "dead",
    [
        pytest.param(("gcs_server", "raylet"), id="head"),
        pytest.param(("raylet",), id="own-node", marks=pytest.mark.long),  # half a minute more
    ],
)
def test_a_dead_head_ends_the_run_without_a_verdict_and_it_goes_on_in_another_cluster(
    cluster: Any, tmp_path: Path, dead: tuple[str, ...]
) -> None:
    with Server() as server:
        server.delay = 0.2
        with scale.local_cluster(nodes=3, cpus=1) as dying:
            config(tmp_path, replicated(dying.address, server.url))
            with run(tmp_path) as broken:
                deadline = time.monotonic() + 1200
                while len(server.seen) < 0.2 * SAMPLES and broken.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                server.delay = 15.0  # so that the rest cannot finish before the loss shows, however busy the machine
                for name in dead:
                    for process in dying.head_node.all_processes[name]:
                        os.kill(process.process.pid, signal.SIGKILL)
                said, _ = broken.communicate(timeout=1200)
        assert broken.returncode == 3, said
        (check,) = json.loads((tmp_path / "out" / "accgate.json").read_text())["checks"]
        assert check["verdict"] == "error"
        lost = "the head of the Ray cluster at " if len(dead) == 2 else "the Ray node that this run is connected to at "
        assert check["reasons"][0].startswith(lost)
        assert check["reasons"][0].endswith("see that the cluster runs (`ray status`), then go on with --resume")
        assert "Traceback" not in said
        if "gcs_server" not in dead:
            return  # what follows is the same
        kept = outcome(tmp_path)
        assert 0.1 * SAMPLES < len(kept) < SAMPLES
        before = len(server.seen)
        server.delay = 0.0
        config(tmp_path, replicated(cluster.address, server.url).replace("replicas = 3", "replicas = 2"))
        with run(tmp_path, "--resume") as resumed:
            said, _ = resumed.communicate(timeout=1200)
        assert resumed.returncode == 0, said
        assert len(server.seen) - before == SAMPLES - len(kept), "nothing that was kept is asked again"
        finished = outcome(tmp_path)
        assert kept.items() <= finished.items()
        (tmp_path / "unbroken").mkdir()
        config(tmp_path / "unbroken", f'engine = "openai"\n[models.m.options]\nbase_url = "{server.url}"')
        with run(tmp_path / "unbroken") as unbroken:
            assert unbroken.wait(1200) == 0
        assert finished == outcome(tmp_path / "unbroken")

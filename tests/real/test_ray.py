"""The ray engine on a real cluster of four nodes, each in processes of its own, before a real server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines import Engine, Request
from accgate.engines.silence import timeout
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import read_toml
from accgate.records.file import paths_of, read_records
from accgate.result import EngineInfo
from tests.engines.planned import engine_of
from tests.support.servers import Server

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings are not ours to mend
if not [*metadata.distributions(name="ray")]:
    pytest.skip("needs the package ray; pip install 'accgate[ray]'", allow_module_level=True)

SAMPLES, SLOTS = 300, 4


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.delay = 0.1
        yield running


def config(folder: Path, engine: str, options: str) -> Path:
    """accuracy.toml of a model whose options begin on line 5."""
    folder.mkdir(exist_ok=True)
    path = folder / "accuracy.toml"
    path.write_text(
        f'[models.m]\nengine = "{engine}"\nmodel = "toy"\n[models.m.options]\n{options}\n'
        f"[tasks.arithmetic]\nnum_samples = {SAMPLES}\ntarget = 20\n"
    )
    return path


def replicated(cluster: Any, url: str, replicas: int, more: str = "", inner: str = "") -> str:
    return (
        f'engine = "openai"\naddress = "{cluster.address}"\nreplicas = {replicas}\n{more}\n'
        f'options = {{ base_url = "{url}", concurrency = {SLOTS}, max_retries = 0{inner} }}'
    )


def engine(path: Path) -> Engine:
    return engine_of(read_toml(path, fix=""))


def refusal(path: Path) -> str:
    async def work() -> None:
        made = engine(path)
        try:
            await made.start()
        finally:
            await made.close()

    with pytest.raises((BadInput, CannotEvaluate)) as caught:
        asyncio.run(work())
    return str(caught.value)


def outcome(folder: Path) -> dict[tuple[str, int], Any]:
    """What was recorded of each sample, apart from how long it took; no sample stands twice."""
    records = read_records(paths_of(folder / "out", "m", "arithmetic").records)
    found = {record.key: (record.score, record.reply, record.error) for record in records}
    assert len(found) == len(records) == SAMPLES
    return found


def test_a_node_killed_in_the_middle_costs_no_sample_and_changes_no_result(
    cluster: Any, server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = config(tmp_path / "unbroken", "openai", f'base_url = "{server.url}"')
    assert main(["run", str(path), "--out", str(path.parent / "out")]) == 0
    unbroken = outcome(path.parent)
    server.seen.clear()
    victim = next(iter(cluster.worker_nodes))

    def kill() -> None:
        deadline = time.monotonic() + 1200
        while len(server.seen) < 0.3 * SAMPLES and time.monotonic() < deadline:
            time.sleep(0.005)
        usual, server.delay = server.delay, 5.0  # so that the node has requests in flight when it dies
        time.sleep(usual + 0.5)
        cluster.remove_node(victim, allow_graceful=False)
        server.delay = usual

    killer = threading.Thread(target=kill)
    killer.start()
    capfd.readouterr()
    path = config(tmp_path / "broken", "ray", replicated(cluster, server.url, 4))
    assert main(["run", str(path), "--out", str(path.parent / "out"), "--json"]) == 0
    killer.join()
    assert json.loads(capfd.readouterr().out)["checks"], "Ray's reports on the dead node do not mix with the result"
    assert "of 4 died (" in caplog.text
    assert outcome(path.parent) == unbroken
    asked = Counter(server.prompts)
    assert len(asked) == SAMPLES
    assert 0 < sum(times > 1 for times in asked.values()) <= 2 * SLOTS, "only what the dead node had in flight"
    cluster.wait_for_nodes(timeout=1200)  # until the cluster knows of the dead one too


def test_replicas_are_described_as_their_engine_and_the_cluster_outlives_them(
    cluster: Any, server: Server, tmp_path: Path
) -> None:
    import ray

    path = config(tmp_path, "ray", replicated(cluster, server.url, 2))

    async def work() -> None:
        made = engine(path)
        try:
            await made.start()
            assert made.describe() == EngineInfo("openai", "toyserver", "server")
            assert made.concurrency == 2 * SLOTS
            assert (await made.complete(Request("a", 0, "1 + 2 ="))).text == server.answer("1 + 2 =")
        finally:
            await made.close()
        await made.close()

    for _ in range(2):  # the second finds the cluster as the first did
        asyncio.run(work())
        assert not ray.is_initialized()


def test_a_request_that_is_no_longer_needed_is_cancelled_where_it_runs(cluster: Any, tmp_path: Path) -> None:
    async def work() -> None:
        asked, gone = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            else:  # never answered
                asked.set()
                while await reader.read(1000):
                    pass
                gone.set()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = "http://127.0.0.1:{1}/v1".format(*listening.sockets[0].getsockname())
        made = engine(config(tmp_path, "ray", replicated(cluster, url, 1)))
        try:
            await made.start()
            call = asyncio.create_task(made.complete(Request("a", 0, "1 + 2 =")))
            async with timeout(600):
                await asked.wait()
                call.cancel()
                await gone.wait()
            with pytest.raises(asyncio.CancelledError):
                await call
        finally:
            await made.close()
            listening.close()

    asyncio.run(work())


def test_variables_reach_the_replicas(
    cluster: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = config(tmp_path, "ray", replicated(cluster, server.url, 1, inner=', api_key_env = "TOY_KEY"'))
    assert "environment variable TOY_KEY, named by options.api_key_env, is not set" in refusal(path)
    monkeypatch.setenv("TOY_KEY", "known-to-the-test")

    async def work() -> None:
        made = engine(path)
        try:
            await made.start()
            await made.complete(Request("a", 0, "1 + 2 ="))
        finally:
            await made.close()

    asyncio.run(work())
    assert server.seen[-1].headers["authorization"] == "Bearer known-to-the-test"


@pytest.mark.parametrize(
    ("replicas", "more", "message"),
    [
        (1, "resources = { GPU = 1 }", "room for 0 of 1 replicas with GPU 1 each"),
        (9, "", "room for {slots} of 9 replicas with CPU 1 each; its nodes: 1 with CPU 0; {workers} with CPU 2."),
        (4, "bundles = [{ CPU = 2 }]", "room for {large} of 4 replicas"),
        (1, "bundles = [{ CPU = 2 }, { CPU = 3 }]", "room for 0 of 1 replicas with CPU 1 + CPU 2 + CPU 3 each"),
        (1, "resources = { GPU = 1 }\nautoscaling = true\nstart_timeout = 2", "no node had GPU 1"),
        (1, "bundles = [{ GPU = 1 }]\nautoscaling = true\nstart_timeout = 2", "did not have CPU 1 + GPU 1 free"),
        (1, "resources = { GPU = 1.5 }\nautoscaling = true", "options.resources: are refused by Ray"),
        (1, "runtime_env = { py_modules = ['/no/such'] }", "cannot use a Ray cluster at "),
    ],
)
def test_what_the_cluster_has_no_room_for_is_said_before_anything_starts(
    cluster: Any, tmp_path: Path, replicas: int, more: str, message: str
) -> None:
    workers = len(cluster.worker_nodes)
    said = refusal(config(tmp_path, "ray", replicated(cluster, "http://127.0.0.1:9/v1", replicas, more)))
    assert message.format(workers=workers, slots=2 * workers, large=2 * workers // 3) in said


def test_a_replica_sits_in_a_placement_group_with_the_workers_it_starts(
    cluster: Any, server: Server, tmp_path: Path
) -> None:
    import ray
    from ray.util.placement_group import placement_group_table

    path = config(tmp_path, "ray", replicated(cluster, server.url, 1, "bundles = [{ CPU = 1 }, { CPU = 1 }]"))

    async def work() -> None:
        made = engine(path)
        try:
            await made.start()
            (group,) = [group for group in placement_group_table().values() if group["state"] == "CREATED"]
            assert group["bundles"] == {0: {"CPU": 1.0}, 1: {"CPU": 1.0}, 2: {"CPU": 1.0}}
            assert (await made.complete(Request("a", 0, "1 + 2 ="))).text == server.answer("1 + 2 =")
        finally:
            await made.close()

    asyncio.run(work())
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        assert {group["state"] for group in placement_group_table().values()} == {"REMOVED"}
    finally:
        ray.shutdown()


def test_the_entrypoint_of_a_ray_job_gives_the_verdict_of_one_run(
    cluster: Any, server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = 'engine = "openai"\nreplicas = 4\n' + f'options = {{ base_url = "{server.url}", concurrency = {SLOTS} }}'
    path = config(tmp_path / "a b", "ray", options)
    words = ("--image", "i", "--claim", "c", "--folder", str(path.parent))
    assert main(["launch", "--ray-job", str(path), *words]) == 0
    job = json.loads(capfd.readouterr().out)
    python = Path(sys.executable).parent
    env = os.environ | {"RAY_ADDRESS": cluster.address, "PATH": f"{python}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", job["spec"]["entrypoint"]], env=env, capture_output=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    (out,) = (path.parent / "accgate-out").iterdir()
    (check,) = json.loads((out / "accgate.json").read_text())["checks"]
    assert (check["verdict"], check["n"]) == ("pass", SAMPLES)
    assert Counter(Counter(server.prompts).values()) == {1: SAMPLES}

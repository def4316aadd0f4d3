"""How the ray engine grows with its replicas: `python benchmarks/scale.py [--json]`.

An engine of a fixed latency, which needs no processor, runs as 1 to 8 replicas on a Ray cluster of three nodes on this
machine (or at `--address`). `evaluate` asks them, with prompts, scores and records on disk. Efficiency is samples/s
over those of one replica times n. Needs accgate[ray].
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from accgate.config.tables import Sampling
from accgate.engines.base import ModelTable, Reply, Request
from accgate.engines.ray.engine import RayEngine
from accgate.evaluation.assignment import Assignment, Observer
from accgate.evaluation.check import evaluate
from accgate.records.file import paths_of
from accgate.result import EngineInfo
from accgate.tasks.task import Task
from tests.support.loading import load_task

# Loopback, but not 127.0.0.1, for which Ray takes the address of the network card.
NODE = {"node_ip_address": "127.0.0.2", "object_store_memory": 80_000_000}


@dataclass(frozen=True)
class Row:
    """What so many replicas reach; `efficiency` is over one replica, `of_latency` over what the latency allows."""

    replicas: int
    samples: int
    samples_per_s: float
    efficiency: float
    of_latency: float


class FixedLatency:
    """Answers after so many seconds, whatever is asked and of which model."""

    def __init__(self, latency: float, concurrency: int, engine: str, table: ModelTable) -> None:  # noqa: ARG002
        self.concurrency = concurrency
        self._latency = latency

    async def start(self) -> None:
        """Nothing to load."""

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002
        """Wait."""
        await asyncio.sleep(self._latency)
        return Reply("4", "stop", 8, 1)

    def describe(self) -> EngineInfo:
        """A simulation."""
        return EngineInfo("simulated", "1", "none")

    async def close(self) -> None:
        """Nothing is held."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--latency", type=float, default=0.1, help="seconds")
    parser.add_argument("--slots", type=int, default=4, help="requests of one replica at once")
    parser.add_argument("--samples", type=int, default=200, help="for each replica")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--address", help="of a cluster that runs; else one is started, and stopped again")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    make = partial(FixedLatency, arguments.latency, arguments.slots)
    rates = {}
    with contextlib.ExitStack() as stack:
        address = arguments.address or stack.enter_context(local_cluster(nodes=3, cpus=3)).address
        for count in sorted({1, *arguments.replicas}):
            options = {"engine": "openai", "address": address, "replicas": count, "resources": {"CPU": 1.0}}
            engine = RayEngine(ModelTable("m", options, Path()), make)
            task = load_task("json_extraction", options={"count": count * arguments.samples})
            rates[count] = asyncio.run(measured(engine, task, arguments.rounds))
    rows = [
        Row(n, n * arguments.samples, rate, rate / (n * rates[1]), rate * arguments.latency / (n * arguments.slots))
        for n, rate in rates.items()
    ]
    if arguments.json:
        print(json.dumps({"latency_s": arguments.latency, "slots": arguments.slots, "rows": [*map(asdict, rows)]}))
        return
    print(f"{arguments.slots} requests at once a replica, {arguments.latency:g} s each, medians of {arguments.rounds}")
    print("replicas  samples  samples/s  efficiency  of what the latency allows")
    for row in rows:
        figures = f"{row.samples_per_s:9,.1f}  {row.efficiency:10.1%}  {row.of_latency:26.1%}"
        print(f"{row.replicas:8}  {row.samples:7,}  {figures}")


async def measured(engine: RayEngine, task: Task, rounds: int) -> float:
    """Samples/s of `evaluate`, from the first prompt to the last record on disk; median, after a round to warm up."""
    rates = []
    await engine.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for round_ in range(rounds + 1):
                began = time.perf_counter()
                assignment = Assignment("simulated", task, 1, Sampling(), {}, 0.0)
                paths = paths_of(Path(folder) / str(round_), "simulated", task.name)
                done = await evaluate(engine, assignment, paths, observer=Observer())
                assert len(done.records) == len(task.samples)
                assert not done.failed
                rates.append(len(task.samples) / (time.perf_counter() - began))
    finally:
        await engine.close()
    return statistics.median(rates[1:])


@contextlib.contextmanager
def local_cluster(nodes: int, cpus: int) -> Iterator[Any]:
    """A cluster on this machine: a head that takes no replica, and nodes in processes of their own.

    All that it writes goes with it.
    """
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))  # short: the path of a socket has at most 107 bytes
    before = {name: os.environ.get(name) for name in ("RAY_TMPDIR", "RAY_USAGE_STATS_ENABLED")}
    os.environ |= {"RAY_TMPDIR": str(folder), "RAY_USAGE_STATS_ENABLED": "0"}
    from ray.cluster_utils import Cluster

    cluster = None
    try:
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False})
        for _ in range(nodes):
            cluster.add_node(**NODE, num_cpus=cpus, wait=False)
        cluster.wait_for_nodes(timeout=120)
        yield cluster
    finally:
        if cluster is not None:
            cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


if __name__ == "__main__":
    main()

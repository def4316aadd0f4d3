"""What accgate adds to an engine, per sample: `python benchmarks/overhead.py [--json]`.

A server in another process answers at once. `evaluate` (prompts, request, scoring, records on disk) runs against it,
and in turn a bare aiohttp client that only sends the same bodies; the ratio is taken pair by pair.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp

from accgate.engines.base import Request
from accgate.engines.openai import OpenAIEngine, Options
from accgate.engines.wire import body_of
from accgate.evaluate import Assignment, Sampling, evaluate
from accgate.evaluating import Silent
from accgate.records import paths_of
from accgate.tasks.samples import Task, load_task


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    task = load_task("json_extraction", options={"count": arguments.samples})
    ours, bare = [], []
    with instant_server() as base_url, tempfile.TemporaryDirectory() as folder:
        for pair in range(arguments.pairs):
            out = Path(folder) / str(pair)
            ours.append(asyncio.run(evaluated(task, base_url, arguments.connections, out)))
            bare.append(asyncio.run(bare_client(task, base_url, arguments.connections)))
    ratio = statistics.median(b / a for a, b in zip(ours, bare, strict=True))
    figures = {
        "samples": arguments.samples,
        "connections": arguments.connections,
        "accgate_samples_per_s": arguments.samples / statistics.median(ours),
        "bare_samples_per_s": arguments.samples / statistics.median(bare),
        "ratio": ratio,
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{arguments.samples:,} samples, {arguments.connections} connections, medians of {arguments.pairs} pairs")
    print(f"accgate evaluate    {figures['accgate_samples_per_s']:8,.0f} samples/s")
    print(f"bare aiohttp client {figures['bare_samples_per_s']:8,.0f} samples/s")
    print(f"ratio               {ratio:8.2f}")


@contextlib.contextmanager
def instant_server() -> Iterator[str]:
    """The base URL of a server that answers at once, in its own process."""
    script = Path(__file__).with_name("instant_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.stdin.close()


async def evaluated(task: Task, base_url: str, connections: int, out: Path) -> float:
    """Seconds of `evaluate` from the first prompt to the last record on disk."""
    engine = OpenAIEngine("instant", Options(base_url=base_url, concurrency=connections))
    await engine.start()
    try:
        began = time.perf_counter()
        assignment = Assignment("instant", task, 1, Sampling(), {}, 0.0)
        done = await evaluate(engine, assignment, paths_of(out, "instant", task.name), observer=Silent())
        assert len(done.records) == len(task.samples)
        assert not done.failed
        return time.perf_counter() - began
    finally:
        await engine.close()


async def bare_client(task: Task, base_url: str, connections: int) -> float:
    """Seconds of an aiohttp client that sends the same bodies and reads the replies' text."""
    samples = iter(task.samples)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as session:

        async def work() -> None:
            for sample in samples:
                request = Request(sample.id, 0, sample.user, max_tokens=task.max_tokens)
                async with session.post(f"{base_url}/chat/completions", json=body_of(request, "instant")) as response:
                    body = await response.json()
                    assert body["choices"][0]["message"]["content"]

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return time.perf_counter() - began


if __name__ == "__main__":
    main()

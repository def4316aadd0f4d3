"""What accgate adds to an engine: `python benchmarks/overhead.py [--json]`.

A server in another process answers at once. Two times are taken in turn with those of a bare aiohttp client, pair by
pair: the request phase in one process (`evaluate`: prompts, requests, scoring, records on disk, beside a client that
only sends the same bodies), and whole processes (`accgate run`, from start to report, beside the client's script).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from accgate.engines.base import Request
from accgate.engines.openai.engine import OpenAIEngine
from accgate.engines.openai.options import Options
from accgate.engines.wire import body_of, json_bytes
from accgate.evaluation.assignment import Assignment, Sampling
from accgate.evaluation.check import evaluate
from accgate.evaluation.run import Silent
from accgate.records.file import paths_of
from accgate.tasks.task import Task, load_task
from benchmarks.bare_client import seconds_for

HERE = Path(__file__).parent
TASK = "json_extraction"
CONFIG = """\
[models.instant]
engine = "openai"
model = "instant"
options = {{ base_url = "{base_url}", concurrency = {connections} }}

[tasks.{task}]
options = {{ count = {samples} }}
num_samples = {samples}
target = 50
"""


@dataclass(frozen=True)
class Figures:
    """Medians over the pairs; the ratio and the extra seconds are those of pairs."""

    samples: int
    connections: int
    pairs: int
    accgate_samples_per_s: float
    bare_samples_per_s: float
    ratio: float
    accgate_process_s: float
    bare_process_s: float
    extra_s: float


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    figures = measured(arguments.samples, arguments.connections, arguments.pairs)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"{figures.samples:,} samples, {figures.connections} connections, medians of {figures.pairs} pairs")
    print(f"{'':22}{'accgate':>10}{'bare client':>13}")
    print(f"{'request phase':22}{figures.accgate_samples_per_s:10,.0f}{figures.bare_samples_per_s:13,.0f}", end="")
    print(f"  samples/s, ratio {figures.ratio:.2f}")
    print(f"{'whole process':22}{figures.accgate_process_s:10.2f}{figures.bare_process_s:13.2f}", end="")
    print(f"  seconds, {figures.extra_s:+.2f}")


def measured(samples: int, connections: int, pairs: int) -> Figures:
    """The figures of so many pairs, on one server."""
    task = load_task(TASK, options={"count": samples})
    bodies = [
        json_bytes(body_of(Request(s.id, 0, s.user, max_tokens=task.max_tokens), "instant")) for s in task.samples
    ]
    phases: list[tuple[float, float]] = []
    wholes: list[tuple[float, float]] = []
    with instant_server() as base_url, tempfile.TemporaryDirectory() as name:
        folder, url = Path(name), f"{base_url}/chat/completions"
        (folder / "bodies.jsonl").write_bytes(b"\n".join(bodies))
        config = CONFIG.format(base_url=base_url, connections=connections, samples=samples, task=TASK)
        (folder / "accuracy.toml").write_text(config)
        script = [str(HERE / "bare_client.py"), url, str(folder / "bodies.jsonl"), str(connections)]
        for pair in range(pairs):
            ours = asyncio.run(evaluated(task, base_url, connections, folder / f"in-{pair}"))
            phases.append((ours, asyncio.run(seconds_for(bodies, url, connections))))
            run = [
                "-m",
                "accgate",
                "run",
                str(folder / "accuracy.toml"),
                "--out",
                str(folder / f"out-{pair}"),
                "--quiet",
            ]
            wholes.append((process_seconds(run), process_seconds(script)))
    return Figures(
        samples=samples,
        connections=connections,
        pairs=pairs,
        accgate_samples_per_s=samples / statistics.median(ours for ours, _ in phases),
        bare_samples_per_s=samples / statistics.median(bare for _, bare in phases),
        ratio=statistics.median(bare / ours for ours, bare in phases),
        accgate_process_s=statistics.median(ours for ours, _ in wholes),
        bare_process_s=statistics.median(bare for _, bare in wholes),
        extra_s=statistics.median(ours - bare for ours, bare in wholes),
    )


def process_seconds(arguments: Sequence[str]) -> float:
    """Seconds of a Python process from its start to its end, which must be without error or a verdict."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])),
    }
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 1):  # the instant server's answers are wrong: a regression
        raise SystemExit(done.stderr.decode())
    return seconds


@contextlib.contextmanager
def instant_server() -> Iterator[str]:
    """The base URL of a server that answers at once, in its own process."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "instant_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


if __name__ == "__main__":
    main()

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
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import requests

from accgate.config.config import load_config
from accgate.config.tables import Sampling
from accgate.engines.base import ModelTable, Request
from accgate.engines.openai.engine import OpenAIEngine
from accgate.engines.wire import body_of, json_bytes
from accgate.evaluation.assignment import Assignment, Observer, RunOptions, Watch, assignment_of
from accgate.evaluation.check import evaluate
from accgate.evaluation.outcome import Evaluation
from accgate.planning.checks import Check
from accgate.record import Recording, record
from accgate.records.file import paths_of
from accgate.run_plan import plan_run
from accgate.tasks.task import Task
from benchmarks.bare_client import seconds_for
from tests.support.loading import load_task

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
    process_ratio: float
    extra_s: float


SUMS = """\
[gate]
seed = {seed}

[models.sums]
engine = "openai"
model = "{model}"
options = {{ base_url = "{base_url}", concurrency = {connections} }}

[tasks.arithmetic]
options = {{ high = 300 }}
num_samples = {samples}
theta = {theta}
"""
# Milliseconds of a decoding step, and for each request in flight; mean tokens of a reply. None takes no time.
SERVERS = {
    "fast server": ["--tokens", "20"],
    "GPU server": ["--step", "10", "--each", "0.02", "--tokens", "60"],
    "CPU server": ["--step", "2", "--each", "2", "--tokens", "12"],
}


@dataclass(frozen=True)
class Stop:
    """Healthy runs on one server: medians over the runs, and ratios of each run to its ideal.

    `decided` samples decide a run, of `paid` replies; `tokens` counts all that were decoded, those that a cancelled
    request had cost too. `whole` is the number of samples of a run that does not stop.
    """

    server: str
    runs: int
    whole: int
    decided: float
    paid: float
    paid_ratio: float
    tokens_ratio: float
    seconds: float
    ideal_seconds: float
    seconds_ratio: float


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--stop", action="store_true", help="what early stopping saves, and how near to an ideal")
    parser.add_argument("--url", help="with --stop: a vLLM server without prefix caching, in place of the simulated")
    parser.add_argument("--model", default="", help="what that server serves")
    parser.add_argument("--theta", type=float, default=4.0, help="with --stop, in points: smaller runs longer")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    if arguments.stop:
        sizes = arguments.samples, arguments.connections, arguments.pairs, arguments.theta
        if arguments.url:
            stops = [stopped_at(arguments.url, arguments.model, *sizes)]
        else:
            stops = [stopped(name, *sizes) for name in SERVERS]
        if arguments.json:
            print(json.dumps([asdict(each) for each in stops]))
            return
        print(
            f"{arguments.connections} connections, medians of {arguments.pairs} healthy runs of {arguments.samples:,}"
            f" at theta {arguments.theta:g}"
        )
        print(f"{'':12} decided  paid  ratio  tokens' ratio  seconds  ideal  ratio")
        for each in stops:
            print(f"{each.server:12} {each.decided:7,.0f} {each.paid:5,.0f} {each.paid_ratio:6.2f}", end="")
            print(f" {each.tokens_ratio:14.2f} {each.seconds:8.2f} {each.ideal_seconds:6.2f} {each.seconds_ratio:6.2f}")
        return
    figures = measured(arguments.samples, arguments.connections, arguments.pairs)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"{figures.samples:,} samples, {figures.connections} connections, medians of {figures.pairs} pairs")
    print(f"{'':22}{'accgate':>10}{'bare client':>13}")
    print(f"{'request phase':22}{figures.accgate_samples_per_s:10,.0f}{figures.bare_samples_per_s:13,.0f}", end="")
    print(f"  samples/s, ratio {figures.ratio:.2f}")
    print(f"{'whole process':22}{figures.accgate_process_s:10.2f}{figures.bare_process_s:13.2f}", end="")
    print(f"  seconds, {figures.extra_s:+.2f}, ratio {figures.process_ratio:.2f}")


def measured(samples: int, connections: int, pairs: int) -> Figures:
    """The figures of so many pairs, on one server."""
    task = load_task(TASK, options={"count": samples})
    bodies = [
        json_bytes(body_of(Request(s.id, 0, s.user, max_tokens=task.content.max_tokens), "instant"))
        for s in task.samples
    ]
    phases: list[tuple[float, float]] = []
    wholes: list[tuple[float, float]] = []
    with instant_server() as server, tempfile.TemporaryDirectory() as name:
        base_url, folder = server.url, Path(name)
        url = f"{base_url}/chat/completions"
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
        process_ratio=statistics.median(ours / bare for ours, bare in wholes),
        extra_s=statistics.median(ours - bare for ours, bare in wholes),
    )


def stopped(server: str, samples: int, connections: int, runs: int, theta: float) -> Stop:
    """Healthy runs of one simulated server, each with samples of its own, and their ideals."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for run in range(runs):
            folder = Path(name) / str(run)
            folder.mkdir()
            rows.append(stopped_once(SERVERS[server], samples, connections, folder, run, theta))
    return medians(server, samples, rows)


def stopped_at(url: str, model: str, samples: int, connections: int, runs: int, theta: float) -> Stop:
    """Healthy runs of a real server, against one reference that is recorded first, and their ideals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "accuracy.toml"
        sizes = {"connections": connections, "samples": samples, "theta": theta}
        config.write_text(SUMS.format(base_url=url, seed=0, model=model, **sizes))
        record(config, RunOptions(folder / "recorded"), Recording(replies=False))
        work = VllmWork(url)
        rows = [stopped_run(config, url, work, folder / str(run), connections, model) for run in range(runs)]
    return medians("vLLM", samples, rows)


Row = tuple[int, int, int, float, int, float]  # decided, paid, tokens, seconds; the ideal's tokens and seconds


def medians(server: str, samples: int, rows: Sequence[Row]) -> Stop:
    """The figures of some runs."""
    decided, paid, tokens, seconds, ideal_tokens, ideal = zip(*rows, strict=True)
    return Stop(
        server,
        len(rows),
        samples,
        statistics.median(decided),
        statistics.median(paid),
        statistics.median(a / b for a, b in zip(paid, decided, strict=True)),
        statistics.median(a / b for a, b in zip(tokens, ideal_tokens, strict=True)),
        statistics.median(seconds),
        statistics.median(ideal),
        statistics.median(a / b for a, b in zip(seconds, ideal, strict=True)),
    )


def stopped_once(options: Sequence[str], samples: int, connections: int, folder: Path, seed: int, theta: float) -> Row:
    """One run of a simulated server, which answers 3% otherwise than the reference's."""

    def plan(url: str) -> Path:
        config = folder / "accuracy.toml"
        sizes = {"connections": connections, "samples": samples, "theta": theta}
        config.write_text(SUMS.format(base_url=url, seed=seed, model="sums", **sizes))
        return config

    with instant_server("--tokens", "1") as server:
        record(plan(server.url), RunOptions(folder / "recorded"), Recording(replies=False))
    with instant_server(*options, "--flips", "0.03") as server:
        return stopped_run(plan(server.url), server.url, server.work, folder / "run", connections)


def stopped_run(
    config: Path, url: str, work: Callable[[], dict[str, int]], out: Path, connections: int, model: str = "sums"
) -> Row:
    """One run, and a bare client that asks no more than what decided it."""
    planned = plan_run(load_config(config))
    (check,) = planned.decidable
    (watch,) = planned.watches().values()
    assert isinstance(watch, Watch), "the model has a reference"
    work()
    evaluation, seconds = asyncio.run(watched(check, watch, out))
    assert evaluation.stopped, "the run did not stop early"
    paid, n = work(), len(evaluation.records)
    first = check.task.samples[:n]
    mode, stop, most = check.task.content.mode, check.task.content.stop, check.task.content.max_tokens
    asked = (Request(s.id, 0, s.user, mode=mode, stop=stop, max_tokens=most) for s in first)
    bodies = [json_bytes(body_of(request, model)) for request in asked]
    ideal = asyncio.run(seconds_for(bodies, f"{url}/completions", connections))
    return n, paid["replies"], paid["tokens"], seconds, work()["tokens"], ideal


@dataclass
class VllmWork:
    """What a vLLM server has decoded since the last time, by its own metrics, once it has nothing left to do."""

    url: str
    before: tuple[int, int] = (0, 0)

    def __call__(self) -> dict[str, int]:
        """Replies and tokens."""
        while self.metric("vllm:num_requests_running"):
            time.sleep(0.1)
        now = self.metric("vllm:request_success_total"), self.metric("vllm:generation_tokens_total")
        replies, tokens = (new - old for new, old in zip(now, self.before, strict=True))
        self.before = now
        return {"replies": replies, "tokens": tokens}

    def metric(self, name: str) -> int:
        """The sum of a metric over its labels."""
        text = requests.get(self.url.removesuffix("/v1") + "/metrics", timeout=60).text
        values = re.findall(rf"^{re.escape(name)}\{{.*\}} (\S+)$", text, re.MULTILINE)
        return int(sum(map(float, values)))


async def watched(check: Check, watch: Watch, out: Path) -> tuple[Evaluation, float]:
    """The evaluation of a check that may stop early, and its seconds."""
    engine = check.planned_model.engine()
    await engine.start()
    try:
        began = time.perf_counter()
        paths = paths_of(out, check.model, check.task.name)
        assignment = assignment_of(check, engine.describe())
        done = await evaluate(engine, assignment, paths, observer=Observer(), stop_rule=watch.stop_rule)
        return done, time.perf_counter() - began
    finally:
        await engine.close()


def process_seconds(arguments: Sequence[str]) -> float:
    """Seconds of a Python process from its start to its end, which must be without error or a verdict."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},  # as installed
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


@dataclass(frozen=True)
class InstantServer:
    """A server in its own process."""

    url: str
    process: subprocess.Popen[str]

    def work(self) -> dict[str, int]:
        """Replies and tokens since the last time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return dict(json.loads(self.process.stdout.readline()))


@contextlib.contextmanager
def instant_server(*options: str) -> Iterator[InstantServer]:
    """A server that answers at once, or as slowly as the options say."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "instant_server.py"), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield InstantServer(f"http://127.0.0.1:{int(process.stdout.readline())}/v1", process)
        process.stdin.close()


async def evaluated(task: Task, base_url: str, connections: int, out: Path) -> float:
    """Seconds of `evaluate` from the first prompt to the last record on disk."""
    engine = OpenAIEngine(ModelTable("instant", {"base_url": base_url, "concurrency": connections}, Path()))
    await engine.start()
    try:
        began = time.perf_counter()
        assignment = Assignment("instant", task, 1, Sampling(), {}, 0.0)
        done = await evaluate(engine, assignment, paths_of(out, "instant", task.name), observer=Observer())
        assert len(done.records) == len(task.samples)
        assert not done.failed
        return time.perf_counter() - began
    finally:
        await engine.close()


if __name__ == "__main__":
    main()

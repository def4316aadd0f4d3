"""Time and memory of large runs: `python benchmarks/million.py [--samples 250000 500000 1000000] [--all] [--json]`.

Generated samples are answered by the `recorded` engine, so that all of it is accgate's own: `accgate record` and then
`accgate run` against that reference, each in a process of its own. Time should grow with the samples, no faster, and a
million should need 600 MB at most. With `--all` the commands that read a run's records again follow: `verify`,
`compare`, `report --html`, `run --resume` of a run of which half is there, and `merge` of two shards.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

CONFIG = """\
[gate]
early_stopping = false

[models.m]
engine = "recorded"
model = "m.jsonl"

[tasks.arithmetic]
options = {{ high = 2000 }}
num_samples = {samples}
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, nargs="+", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = [figure for samples in arguments.samples for figure in measured(samples, everything=arguments.all)]
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{'command':12} {'samples':>10} {'seconds':>8} {'us a sample':>12} {'peak MB':>8}")
    for each in figures:
        per_sample, samples = 1e6 * each["seconds"] / each["samples"], f"{each['samples']:10,}"
        print(f"{each['command']:12} {samples} {each['seconds']:8.1f} {per_sample:12.1f} {each['peak_mb']:8,.0f}")


def measured(samples: int, *, everything: bool = False) -> list[dict[str, Any]]:
    """Processor seconds and peak memory of each command on this many."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "accuracy.toml").write_text(CONFIG.format(samples=samples), encoding="utf-8")
        finished("-c", ANSWERS, str(samples), str(folder / "m.jsonl"))  # in its own process: a child begins as large
        figures: list[dict[str, Any]] = []

        def measure(command: str, *arguments: str) -> None:
            words = [part.format(folder) for part in (*command.split(), *arguments)]
            done = finished("-m", "accgate", *words)
            figures.append({"command": command.removesuffix(" --quiet"), "samples": samples} | done)

        measure("record --quiet", "{}/accuracy.toml", "--out", "{}/record")
        measure("run --quiet", "{}/accuracy.toml", "--out", "{}/run")
        if not everything:
            return figures
        measure("verify", "{}/run", "--config", "{}/accuracy.toml")
        measure("compare", "{}/references/m/arithmetic.scores.csv", "{}/run/m/arithmetic.jsonl")
        measure("report", "{}/run/accgate.json", "--html", "{}/report.html")
        for shard in ("1", "2"):
            arguments = ("{}/accuracy.toml", "--shard", f"{shard}/2", "--out", f"{{}}/shard-{shard}")
            measure("run --quiet", *arguments)
            figures.pop()  # half a run
        measure("merge", "{}/shard-1", "{}/shard-2", "--config", "{}/accuracy.toml", "--out", "{}/merged")
        with (folder / "run/m/arithmetic.jsonl").open("r+b") as file:
            file.truncate(sum(map(len, islice(file, samples // 2))))
        measure("run --resume --quiet", "{}/accuracy.toml", "--out", "{}/run")
        return figures


ANSWERS = """\
import json, sys
from tests.support.loading import load_task
samples = int(sys.argv[1])
task = load_task("arithmetic", options={"high": 2000}, count=samples)
with open(sys.argv[2], "w") as file:
    for number, sample in enumerate(task.samples):
        file.write(json.dumps({"id": sample.id, "reply": sample.target if number % 10 else "1"}) + "\\n")
"""


def finished(*arguments: str) -> dict[str, float]:
    """Run Python with these arguments: seconds of wall and processor, and peak memory."""
    began = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=silent)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(arguments[:4])} ended with {os.waitstatus_to_exitcode(status)}")
    return {
        "wall_seconds": time.perf_counter() - began,
        "seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * 1024 / 1e6,
    }


if __name__ == "__main__":
    main()

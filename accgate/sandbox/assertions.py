"""Assertions whose right-hand sides stay outside: the program's process computes values, and accgate compares them.

`assert f(2) == 4` goes to the program as "give the value of f(2)". The 4 is nowhere in its process, so whatever the
program does there (ends early, equals everything, writes to every descriptor, changes Python), it passes only by giving
a 4. What is no comparison with a literal, or stands in a loop or a condition, is checked by the program's own process.
"""

import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from accgate.inputs.python import parse_python
from accgate.sandbox.values import END, GIVE, NotPlain, unpack

_SINGLETONS = (None, True, False)


@dataclass(frozen=True)
class Assertion:
    """An assertion that accgate decides: the literal, whether it must be that very object, and the source."""

    expected: Any
    same: bool
    source: str

    def holds(self, value: Any) -> bool:
        """Whether it is true of this value."""
        return value is self.expected if self.same else bool(value == self.expected)


@dataclass(frozen=True)
class Tests:
    """Test code as the program's process gets it, with the assertions that were taken out of it."""

    source: str
    assertions: tuple[Assertion, ...] = ()

    def fault(self, values: str) -> str | None:
        """Why the values of the process fail; None where every assertion was reached and held each time."""
        try:
            pairs = [(place, unpack(value)) for place, value in json.loads(values)]
            if pairs.pop()[0] != END:
                return "the program's process did not report that it reached its last line"
            for place, value in pairs:
                if place < 0 or not self.assertions[place].holds(value):
                    return f"AssertionError: {self.assertions[place].source}, it is {_short(value)}"
        except (ArithmeticError, IndexError, NotPlain, RecursionError, TypeError, ValueError) as error:
            return f"the program's process gave no values: {error}"
        reached = {place for place, _ in pairs}
        missing = [each.source for place, each in enumerate(self.assertions) if place not in reached]
        return f"never reached {missing[0]}" if missing else None


def _short(value: Any) -> str:
    try:
        return repr(value)[:60]
    except ValueError:  # Python spells no number of more than 4,300 digits
        return "a number of many digits"


@lru_cache(1024)  # the same tests for each repeat and each attack
def without_literals(source: str) -> Tests | None:
    """The tests without the literals that they compare with; None for what is no Python by itself.

    >>> tests = without_literals("assert f(2) == 4")
    >>> tests.source, tests.fault("[[0, 4], [-1, 0]]"), tests.fault("[[0, 5], [-1, 0]]")
    ('__give__(0, (f(2)))', None, 'AssertionError: assert f(2) == 4, it is 5')
    """
    try:
        tree = parse_python(source)
    except SyntaxError:
        return None
    if tree is None:
        return None
    lines = source.encode().splitlines(keepends=True)
    starts = [*accumulate(map(len, lines), initial=0)]
    text = b"".join(lines)
    assertions: list[Assertion] = []
    changes: list[tuple[tuple[int, int], bytes]] = []
    for statement in sorted(_certain(tree, source), key=lambda each: (each.lineno, each.col_offset)):
        if (compared := _comparison(statement.test)) is None:
            continue
        computed, expected, same = compared
        whole, part = _span(statement, starts), _span(computed, starts)
        changes.append((whole, f"{GIVE}({len(assertions)}, (".encode() + text[slice(*part)] + b"))"))
        assertions.append(Assertion(expected, same, " ".join(text[slice(*whole)].decode().split())[:120]))
    for (start, end), replacement in sorted(changes, reverse=True):
        text = text[:start] + replacement + text[end:]
    return Tests(text.decode(), tuple(assertions))


def split_program(parts: Sequence[str], code: str) -> tuple[str, str]:
    """The program with this code between its parts, and the tests behind it, which are empty where they are no unit.

    Tests are what follows the line on which the code ends, where that is Python by itself.

    >>> split_program(("def f(x):\\n", "\\nassert f(2) == 4"), "    return 2 * x")
    ('def f(x):\\n    return 2 * x', '\\nassert f(2) == 4')
    >>> split_program(("assert abs(", ") == 4"), "-4")
    ('assert abs(-4) == 4', '')
    """
    if len(parts) == 2 and parts[1].lstrip(" \t").startswith(("\n", "\r")) and without_literals(parts[1]) is not None:
        return parts[0] + code, parts[1]
    return code.join(parts), ""


def _span(node: ast.stmt | ast.expr, starts: list[int]) -> tuple[int, int]:
    """The node's first byte, and the one after its last."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _certain(tree: ast.Module, source: str) -> Iterator[ast.Assert]:
    """Assertions that tests which end have come to: of the module itself, and of functions that it calls by name."""
    yield from (each for each in tree.body if isinstance(each, ast.Assert))
    if "global" in source:
        return  # any function may then be another one
    leaves = (ast.Return, ast.Yield, ast.YieldFrom)
    bound = [name for statement in tree.body for name in _bound_names(statement)]
    calls = [each.value.func for each in tree.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)}
    for each in tree.body:
        if not isinstance(each, ast.FunctionDef) or each.name not in called or bound.count(each.name) != 1:
            continue
        if not each.decorator_list and not any(isinstance(node, leaves) for node in ast.walk(each)):
            yield from (inner for inner in each.body if isinstance(inner, ast.Assert))


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement of the module gives a meaning."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif not isinstance(statement, (ast.Assert, ast.Expr)):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]


def _comparison(test: ast.expr) -> tuple[ast.expr, Any, bool] | None:
    """What is computed, the literal it is compared with, and whether by `is`; None for another test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return None
    same = isinstance(test.ops[0], ast.Is)
    for computed, literal in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        try:
            expected = ast.literal_eval(literal)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if not same or any(expected is each for each in _SINGLETONS):
            return computed, expected, same
    return None

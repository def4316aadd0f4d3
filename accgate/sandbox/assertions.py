"""Tests whose right answers stay outside.

The program's process computes or prints, and accgate compares. `assert f(2) == 4` goes to the program as "give the
value of f(2)". The 4 is nowhere in its process, so whatever the program does there (ends early, equals everything,
writes to every descriptor, changes Python), it passes only by giving a 4. What is no comparison with a literal, or
stands in a loop or a condition, is checked by the program's own process.
"""

import ast
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import accumulate
from typing import Any

from accgate.sandbox.values import END, GIVE, NotPlain, unpack

_SINGLETONS = (None, True, False)
_ONE_AT_A_TIME = threading.Lock()


def parse_python(source: str | bytes) -> ast.Module | None:
    """Parse a piece of code.

    Return None for code that the parser refuses with another error than SyntaxError. CPython 3.11 counts the depth of a
    tree once for all threads, and raises a SystemError where two build one at the same time
    (github.com/python/cpython/issues/106905).

    >>> parse_python("x = 1").body[0].value.value, parse_python("-" * 100_000 + "1")
    (1, None)

    Raises
    ------
    SyntaxError
        When it is no Python.
    """
    try:
        with _ONE_AT_A_TIME:
            return ast.parse(source)
    except SyntaxError:
        raise
    except (ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True)
class Assertion:
    """An assertion that accgate decides.

    With `same` the value must be the very object that is expected, as for `is`.
    """

    expected: Any
    same: bool
    source: str

    def holds(self, value: Any) -> bool:
        """Tell whether it is true of this value."""
        return value is self.expected if self.same else bool(value == self.expected)


@dataclass(frozen=True)
class Tests:
    """Test code as the program's process gets it.

    The `assertions` were taken out of it.
    """

    source: str
    assertions: tuple[Assertion, ...] = ()

    def fault(self, values: str) -> str | None:
        """Say why the values of the process fail.

        Return None where every assertion was reached and held each time.
        """
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
    """Take the literals that tests compare with out of them.

    Return None for text that is no Python by itself.

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
    """Split a program, with this code between its parts, from its tests.

    Tests are what follows the line on which the code ends, where that is Python by itself; otherwise they are empty.

    >>> split_program(("def f(x):\\n", "\\nassert f(2) == 4"), "    return 2 * x")
    ('def f(x):\\n    return 2 * x', '\\nassert f(2) == 4')
    >>> split_program(("assert abs(", ") == 4"), "-4")
    ('assert abs(-4) == 4', '')
    """
    if len(parts) == 2 and parts[1].lstrip(" \t").startswith(("\n", "\r")) and without_literals(parts[1]) is not None:
        return parts[0] + code, parts[1]
    return code.join(parts), ""


def _span(node: ast.stmt | ast.expr, starts: list[int]) -> tuple[int, int]:
    """Return the node's first byte, and the one after its last."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _certain(tree: ast.Module, source: str) -> Iterator[ast.Assert]:
    """Yield the assertions that have run once the tests end.

    They stand in the module itself, and in functions that it calls by name.
    """
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
    """Yield names that a statement of the module gives a meaning."""
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
    """Return what is computed, the literal, and whether `is` compares them.

    Return None for another test.
    """
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


# Test cases of whole programs: what a program prints for an input, or what one of its functions gives for arguments.
# The rules are LiveCodeBench's own (Jain et al. 2024, arXiv 2403.07974; `lcb_runner/evaluation/testing_util.py`).

# Runs before a program: whole numbers may have as many digits as in LiveCodeBench's own process.
DIGITS = 'getattr(__import__("sys"), "set_int_max_str_digits", int)(50_000)'
_CALL = """
import json as __json
__owner = Solution() if "Solution" in globals() else None
__function = globals()[{name!r}] if __owner is None else getattr(__owner, {name!r})
{give}(0, __function(*map(__json.loads, {lines!r})))
"""


class BadCases(ValueError):
    """A text holds no test cases.

    The message says why.
    """


@dataclass(frozen=True)
class Case:
    """One test, with the input, and the output that is right.

    Without `function` the program reads `input` and prints `output`. With it each line of `input` is an argument as
    JSON, and `output` is the function's value as JSON; a function of a class `Solution` is called on an object of it.
    """

    input: str
    output: str
    function: str | None = None

    def tests(self) -> Tests | None:
        """Return test code that calls the function, without the right value.

        Return None for a program that reads its input.
        """
        if self.function is None:
            return None
        source = _CALL.format(name=self.function, give=GIVE, lines=self.input.strip().split("\n"))
        return Tests(source, (_Value(_value(self.output), False, f"the value of {self.function}"),))


class _Value(Assertion):
    """An assertion on a function's value.

    A tuple is the list of its parts, since JSON has none.
    """

    def holds(self, value: Any) -> bool:
        return super().holds(list(value) if isinstance(value, tuple) else value)


def cases_of(text: str) -> tuple[Case, ...]:
    """Read the cases of a JSON list of objects.

    They have `input`, `output` and, for a call, `function`.

    Raises
    ------
    BadCases
        When the text is anything else, or holds no case: such a test could not fail.

    Examples
    --------
    >>> cases_of('[{"input": "1 2", "output": "3"}]')
    (Case(input='1 2', output='3', function=None),)
    """
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise BadCases(f"{text[:60]!r} is not JSON: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise BadCases(f"{text[:60]!r} is not a JSON list of at least one test case")
    return tuple(_case(number, row) for number, row in enumerate(rows, 1))


def _case(number: int, row: Any) -> Case:
    if not isinstance(row, dict) or not {"input", "output"} <= {*row} <= {"input", "output", "function"}:
        raise BadCases(f"test case {number} is {str(row)[:60]!r}; give input and output, and function for a call")
    if not all(isinstance(value, str) for value in row.values()):
        raise BadCases(f"test case {number} holds something other than text; write numbers and lists as text")
    case = Case(**row)
    if case.function is not None:
        if not case.function.isidentifier():
            raise BadCases(f"test case {number} calls {case.function!r}, which is not the name of a function")
        try:
            _value(case.output), [_value(line) for line in case.input.strip().split("\n")]
        except ValueError as error:
            raise BadCases(f"test case {number}: arguments, one a line, and output must be JSON: {error}") from error
    elif not case.output.strip():
        raise BadCases(f"test case {number} expects no output, so a program that does nothing passes it")
    return case


def _value(text: str) -> Any:
    """Read a value of JSON.

    Its whole numbers may be longer than those that Python reads by itself.
    """
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4_000 else int(Decimal(digits)))


def same_output(printed: str, expected: str) -> bool:
    """Tell whether a program printed what is right.

    Both texts have as many lines, which are alike but for spaces at their ends, or have equal numbers.

    >>> same_output("1  2.0 \\n yes\\n\\n", "1 2\\nyes"), same_output("12", "1 2"), same_output("Yes", "yes")
    (True, False, False)
    """
    ours, theirs = (text.strip().split("\n") for text in (printed, expected))
    return len(ours) == len(theirs) and all(map(_same_line, ours, theirs))


def _same_line(printed: str, expected: str) -> bool:
    if printed.strip() == expected.strip():
        return True
    try:
        return [Decimal(word) for word in printed.split()] == [Decimal(word) for word in expected.split()]
    except InvalidOperation:
        return False

"""Test cases of whole programs: what a program prints for an input, or what one of its functions gives for arguments.

Decided outside the program's process, which gets the input alone. The rules are LiveCodeBench's own (Jain et al. 2024,
arXiv 2403.07974; `lcb_runner/evaluation/testing_util.py`).
"""

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from accgate.sandbox.assertions import Assertion, Tests
from accgate.sandbox.values import GIVE

# Runs before a program: whole numbers may have as many digits as in LiveCodeBench's own process.
DIGITS = 'getattr(__import__("sys"), "set_int_max_str_digits", int)(50_000)'
_CALL = """
import json as __json
__owner = Solution() if "Solution" in globals() else None
__function = globals()[{name!r}] if __owner is None else getattr(__owner, {name!r})
{give}(0, __function(*map(__json.loads, {lines!r})))
"""


class BadCases(ValueError):
    """A text holds no test cases; the message says why."""


@dataclass(frozen=True)
class Case:
    """One test: the input, and the output that is right.

    Without `function` the program reads `input` and prints `output`. With it each line of `input` is an argument as
    JSON, and `output` is the function's value as JSON; a function of a class `Solution` is called on an object of it.
    """

    input: str
    output: str
    function: str | None = None

    def tests(self) -> Tests | None:
        """Test code that calls the function, without the value that is right; None where a program is to read."""
        if self.function is None:
            return None
        source = _CALL.format(name=self.function, give=GIVE, lines=self.input.strip().split("\n"))
        return Tests(source, (_Value(_value(self.output), False, f"the value of {self.function}"),))


class _Value(Assertion):
    """A function's value; a tuple is the list of its parts, since JSON has none."""

    def holds(self, value: Any) -> bool:
        return super().holds(list(value) if isinstance(value, tuple) else value)


def cases_of(text: str) -> tuple[Case, ...]:
    """The cases of a JSON list of objects with `input`, `output` and, for a call, `function`.

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
    """The value of JSON, whose whole numbers may be longer than Python spells by itself."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4_000 else int(Decimal(digits)))


def same_output(printed: str, expected: str) -> bool:
    """Whether a program printed what is right: as many lines, each alike but for its ends, or of equal numbers.

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

"""Which assertions are decided outside the program's process, and that a verdict is Python's own."""

import ast
import json
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from accgate.sandbox.assertions import split_program, without_literals
from accgate.sandbox.process import Worker
from accgate.sandbox.values import NotPlain, Opaque, pack, unpack
from tests.support.cases import each


class Colour(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: float


PLAIN = [
    None, True, -7, 1 << 600, -(10**5000), 0.1, float("inf"), 2.5 - 3j, "☃ \ud800 \0", b"\x00\xff", [1, [2, []]], (),
    ((1, 2), [3]), {1, "a", (2, 3)}, frozenset({1}), {1: "a", "b": {(1, 2): None}}, Decimal("1.10"), Fraction(1, 3),
    bytearray(b"ab"),
]  # fmt: skip


def test_a_plain_value_comes_out_as_it_was() -> None:
    for value in PLAIN:
        out = unpack(pack(value))
        assert out == value
        assert isinstance(value, (type(out), frozenset, bytearray))
    for value, plain in ((np.int8(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), 1), (np.str_("a"), "a")):
        assert (unpack(pack(value)), type(unpack(pack(value)))) == (plain, type(plain))
    assert unpack(pack(np.arange(2))) != [0, 1]  # in Python such a comparison has no truth value
    assert unpack(pack(float("nan"))) != unpack(pack(float("nan")))
    for value, plain in ((Colour.RED, 1), (Point(1, 2.0), (1, 2.0)), ({1: 2}.keys(), {1}), ({1: 2}.items(), {(1, 2)})):
        assert unpack(pack(value)) == plain == value


def test_what_is_no_plain_value_equals_nothing_and_what_is_no_packed_value_is_refused() -> None:
    for value in (object(), iter([1]), len, Opaque("x"), type("Odd", (), {"__eq__": lambda *_: True})()):
        out = unpack(pack(value))
        assert not any(out == other for other in (value, 1, out, None))
    wrong: tuple[Any, ...] = (
        {}, {"int": 5}, {"a": 1}, {"int": "1", "float": "2"}, {"set": [[1]]}, {"dict": [1]}, {"fraction": [1, 0]},
        {"int": "f" * 100_000},
    )  # fmt: skip
    for data in wrong:
        with pytest.raises(NotPlain):
            unpack(data)


# Test code, and the numbers of the lines whose assertions are decided outside.
TAKEN: dict[str, list[int]] = json.loads(Path(__file__).with_name("assertions.json").read_text(encoding="utf-8"))


def test_assertions_that_surely_run_and_compare_with_a_literal_are_taken_and_no_others() -> None:
    for source, lines in TAKEN.items():
        tests = without_literals(source)
        assert tests is not None, source
        starts = [source[: source.replace("\r\n", "\n").find(each.source)].count("\n") for each in tests.assertions]
        assert len(starts) == len(lines), source
        assert tests.fault("[[-1, 0]]") == (f"never reached {tests.assertions[0].source}" if lines else None)
        assert not any(repr(each.expected) in tests.source for each in tests.assertions if each.expected == 98765)
        ast.parse(tests.source)
        left = [line for line in tests.source.replace("\r\n", "\n").split("\n") if "__give__" in line]
        assert len(left) == len(set(lines)), tests.source
    assert without_literals("assert f(1) ==") is None
    assert without_literals("x = '\0'") is None


ANSWERS = {"double": "def f(x):\n    return 2 * x\n", "wrong": "def f(x):\n    return 5\n"}


@each(
    ("tests", "passes"),
    [
        ("assert f(2) == 4\nassert f('a') == 'aa'\nassert f([1]) == [1, 1]\nassert f((1,)) == (1, 1)", True),
        ("assert f(2) == 4.0\nassert f(0.5) == True\nassert f(False) == False", True),
        ("assert f((1,)) == [1, 1]", False),
        ("assert f(1) is True", False),
        ("def check(c):\n    assert c(1) == 2\n    for n in range(9):\n        assert c(n) == n + n\ncheck(f)", True),
        ("def check(c):\n    assert c(1) == 2\n    for n in range(9):\n        assert c(n) == n\ncheck(f)", False),
        ("assert f(2) == 4\nassert f(1) == 3", False),
        ("assert f(2) == 4\nraise SystemExit(0)", False),
    ],
)
def test_a_verdict_is_that_of_plain_python(worker: Worker, tests: str, passes: bool) -> None:
    outcome = worker.run(ANSWERS["double"], f"\n{tests}")
    assert outcome.passed == passes, outcome
    try:
        exec(ANSWERS["double"] + tests, {})
    except (AssertionError, SystemExit):
        assert not passes
    else:
        assert passes


def test_the_first_assertion_that_fails_is_named(worker: Worker) -> None:
    tests = "\nassert f(2) == 5\nassert f(3) == 6, 'why'\nassert f(4) == 5"
    assert worker.run(ANSWERS["wrong"], tests).reason == "AssertionError: assert f(3) == 6, 'why', it is 5"


def test_values_of_the_standard_librarys_classes_compare_as_in_python(worker: Worker) -> None:
    answer = "from collections import Counter, OrderedDict, defaultdict\nfrom fractions import Fraction\n"
    tests = (
        "assert Counter('aab') == {'a': 2, 'b': 1}\nassert OrderedDict(a=1) == {'a': 1}\nassert Fraction(1, 2) == 0.5\n"
        "assert defaultdict(int, {1: 2}) == {1: 2}\nassert {1: 2}.keys() == {1}\nassert (x for x in ()) is not None"
    )
    assert worker.run(answer, "\n" + tests).passed


def test_the_tests_of_a_program_are_what_follows_the_line_of_the_code() -> None:
    whole = "import math\n<<code>>\n\nassert f(1) == 1\n"
    for template, tests in {
        whole: "\n\nassert f(1) == 1\n",
        "<<code>>": "",
        "<<code>> - 1\nassert x": "",
        "if x:\n    <<code>>\nelse:\n    y": "",
        "'''\n<<code>>\n'''\nassert x == 1": "",
        "<<code>>\n<<code>>\nassert x == 1": "",
    }.items():
        parts = template.split("<<code>>")
        before, after = split_program(parts, "pass")
        assert (after, before + after) == (tests, "pass".join(parts)), template

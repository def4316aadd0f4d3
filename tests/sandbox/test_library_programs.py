"""HumanEval+, MBPP+ and LiveCodeBench: programs run in the sandbox against tests in the form that the hub has them."""

import asyncio
import base64
import datetime
import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from accgate.errors import BadInput, KeyFaults
from accgate.evaluation.scoring import ByRunning
from accgate.sandbox.process import Confinement, Limits, packages_of
from accgate.sandbox.runner import Sandbox
from accgate.tasks.prompts import unpack
from accgate.tasks.task import Task
from tests.support.cases import refusal
from tests.support.loading import load_task
from tests.tasks.dataset_rows import HUMANEVAL_PLUS, MBPP_PLUS, PLUS_TEST, Row, contest, packed
from tests.tasks.test_library import loaded, written
from tests.tasks.test_library_rows import CASES


def points_of(task: Task, replies: Sequence[str], confined: Confinement) -> list[float]:
    """What each reply to the first sample scores."""
    return points_of_all([(task, reply) for reply in replies], confined)


def points_of_all(pairs: Sequence[tuple[Task, str]], confined: Confinement) -> list[float]:
    """What replies to the first samples of tasks with the same options score, as evaluation/scoring.py runs them."""
    options = pairs[0][0].content.metric_options

    async def run() -> list[float]:
        limits = Limits(seconds=float(options["timeout"]), memory=int(options.get("memory", 1024)))
        async with Sandbox(limits, 1, packages_of(tuple(options.get("packages", ())))) as sandbox:
            scoring = ByRunning(sandbox, str(options.get("before", "")))
            return [
                await scoring.points(task, task.samples[0], task.answer(reply, task.samples[0]) or "")
                for task, reply in pairs
            ]

    return asyncio.run(run())


@pytest.mark.parametrize("name", ["humaneval_plus", "mbpp_plus", "livecodebench"])
def test_a_right_program_passes_and_one_that_only_the_old_tests_let_through_does_not(name, tmp_path, confined) -> None:
    case = CASES[name]
    assert points_of(loaded(name, tmp_path), [case.right, case.wrong, ""], confined) == [100.0, 0.0, 0.0]


def test_find_zero_is_tested_by_evalpluss_rule_not_as_the_hubs_program_does(tmp_path: Path, confined) -> None:
    # `candidate(*inp)` is one number, so that `_poly(*candidate(*inp), inp)` fails for each solution; the rule is that
    # of evalplus/eval/__init__.py, abs(_poly(*inp, out)) <= atol.
    test = """import math
def _poly(xs: list, x: float):
    return sum([coeff * math.pow(x, i) for i, coeff in enumerate(xs)])

def check(candidate):
    inputs = [[[1, 2]], [[-6, 11, -6, 1]]]
    results = [-0.5, 1.0]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assert _poly(*candidate(*inp), inp) <= 0.0001
"""
    rows = [HUMANEVAL_PLUS | {"test": test, "entry_point": "find_zero", "prompt": "def find_zero(xs: list):\n"}]
    task = load_task("humaneval_plus", dataset=written(tmp_path / "rows.jsonl", rows))
    right = "```python\ndef find_zero(xs):\n    return -0.5 if xs == [1, 2] else 2.0\n```"
    wrong = "```python\ndef find_zero(xs):\n    return -9.0\n```"  # far below 0, which is not near it
    assert points_of(task, [right, wrong], confined) == [100.0, 0.0]
    assert "def assertion" in PLUS_TEST


# MBPP+ tasks with rules of their own: inputs, expected values, right and wrong code; what EvalPlus 0.3.1 says of each
# (`untrusted_check("mbpp", ...)`), which compares sets, takes what is not None, or a second value.
SPECIAL = [
    ("similar_elements", "[[(1, 2), (2, 1)]]", "[(1, 2)]", "def similar_elements(a, b): return (1,)", False),
    ("Diff", "[[[1, 2], [2]]]", "[[1]]", "def Diff(a, b): return {1}", True),
    ("check_str", "[['a'], ['b']]", "[True, False]", "def check_str(x): return 'yes' if x == 'a' else None", True),
    ("check_str", "[['a'], ['b']]", "[True, False]", "def check_str(x): return 'no'", False),
    ("are_equivalent", "[[36, 57]]", "[False]", "def are_equivalent(a, b): return True", True),
    ("sum_div", "[[8]]", "[7]", "def sum_div(n): return 0", True),
    ("sum_div", "[[8]]", "[7]", "def sum_div(n): return 8", False),
    ("surface_Area", "[[3, 4]]", "[33]", "def surface_Area(b, s): return 35", True),
    ("surface_Area", "[[3, 4]]", "[33]", "def surface_Area(b, s): return 34", False),
    ("digit_distance_nums", "[[123, 4]]", "[6]", "def digit_distance_nums(a, b): return 4", True),
    ("digit_distance_nums", "[[123, 4]]", "[6]", "def digit_distance_nums(a, b): return 5", False),
    ("sort_list", "[[[2, 1]]]", "[[1, 2]]", "def sort_list(a): return (1, 2)", False),
    ("half", "[[1]]", "[0.5]", "def half(a): return 0.5000001", True),
    ("half", "[[1]]", "[0.5]", "def half(a): return 0.50001", False),
]


def test_mbpp_plus_takes_for_right_what_evalplus_takes(tmp_path: Path, confined: Confinement) -> None:
    pairs = []
    for name, inputs, results, code, _ in SPECIAL:
        test = f"""{PLUS_TEST}
inputs = {inputs}
results = {results}
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion({name}(*inp), exp, 0)
"""
        task = load_task("mbpp_plus", dataset=written(tmp_path / "rows.jsonl", [MBPP_PLUS | {"test": test}]))
        pairs.append((task, f"```python\n{code}\n```"))
    wanted = {code: 100.0 * right for *_, code, right in SPECIAL}
    assert dict(zip(wanted, points_of_all(pairs, confined), strict=True)) == wanted


def test_livecodebench_calls_functions_with_every_public_and_hidden_test(tmp_path: Path, confined: Confinement) -> None:
    row = contest([("1\n2", "3")], [("4\n5", "9"), ("-1\n1", "0")], "add")
    task = load_task("livecodebench", dataset=written(tmp_path / "rows.jsonl", [row]))
    (sample,) = task.samples
    assert sample.target.startswith("3 tests, sha256:")
    assert "complete the" not in sample.prompt
    assert "```python\nclass Solution:\n    def add(self, a: int, b: int) -> int:\n        \n```" in sample.prompt
    solution = "```python\nclass Solution:\n    def add(self, a: int, b: int) -> int:\n        return {}\n```"
    replies = [solution.format(body) for body in ("reduce(lambda x, y: x + y, [a, b])", "a + b if a > 0 else 9", "3")]
    # the first uses a name that LiveCodeBench imports for every program; of two blocks the last counts, as there
    replies.append(f"{replies[2]}\nBetter:\n{replies[0]}")
    assert points_of(task, replies, confined) == [100.0, 0.0, 0.0, 100.0]


def test_a_test_that_an_empty_program_would_pass_is_left_out(tmp_path: Path) -> None:
    row = contest([("1\n", "1\n")], [("2\n", "\n"), ("3\n", "3\n")])
    task = load_task("livecodebench", dataset=written(tmp_path / "rows.jsonl", [row]))
    assert [case.input for case in task.samples[0].cases] == ["1\n", "3\n"]


def test_the_window_of_dates_is_an_option_and_part_of_the_task(tmp_path: Path) -> None:
    dates = ("2024-12-31", "2025-01-01", "2025-03-31", "2025-04-01")
    rows: list[Row] = [
        contest([("1 2\n", "3\n")], []) | {"question_content": date, "contest_date": f"{date}T00:00:00"}
        for date in dates
    ]
    path = written(tmp_path / "rows.jsonl", rows)

    def window(**options: object) -> list[str]:
        task = load_task("livecodebench", dataset=path, options=options)
        return sorted(sample.user.split("\n")[1] for sample in task.samples)

    start, end = datetime.date(2024, 12, 31), datetime.date(2025, 4, 1)
    assert window() == list(dates[1:])
    assert window(end=end) == ["2025-01-01", "2025-03-31"]
    assert window(start=start, end=end) == list(dates[:3])
    tasks = [load_task("livecodebench", dataset=path, options=options) for options in ({}, {"end": end})]
    assert tasks[0].fingerprint["dataset"] != tasks[1].fingerprint["dataset"]
    with pytest.raises(BadInput, match="leaves none of the 4 rows with start = 2025-01-01, end = 2025-01-01"):
        window(end=datetime.date(2025, 1, 1))
    for wrong in ("2025-4-1", datetime.datetime(2025, 4, 1)):  # noqa: DTZ001
        with pytest.raises(KeyFaults, match="write a value like the task's own, 2026-01-01"):
            window(end=wrong)


class Evil:
    """What unpickling would do."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('the pickle was loaded')",)


def test_a_pickle_is_read_and_never_loaded() -> None:
    def of(value: object, protocol: int | None = None) -> str:
        return base64.b64encode(zlib.compress(pickle.dumps(value, protocol))).decode()

    text = '[{"input": "ä☃ \\ud83d\\ude00"}]'
    for protocol in (2, 3, 4, 5):
        assert unpack(of(text, protocol)) == [{"input": "ä☃ 😀"}]
    assert len(unpack(of(f'["{"x" * 100_000}"]'))[0]) == 100_000
    assert unpack(packed([])) == []
    for value in (Evil(), [text], b"[1]", None):
        with pytest.raises(ValueError, match="the pickle"):
            unpack(of(value))
    for broken in ("x", "", of(text)[:40], base64.b64encode(b"nothing").decode(), of("no JSON")):
        with pytest.raises(ValueError):  # noqa: PT011 whichever layer it is that fails
            unpack(broken)


def test_a_row_whose_tests_cannot_be_read_is_an_error_that_names_the_row(tmp_path: Path) -> None:
    evil = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    for private in (evil, "[]"):
        row = contest([], []) | {"private_test_cases": private}
        assert "row 1" in refusal(load_task, "livecodebench", dataset=written(tmp_path / "rows.jsonl", [row]))

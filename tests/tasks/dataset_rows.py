"""Rows in the published schemas of the datasets of the library's tasks."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Sequence
from typing import Any

from accgate.tasks.tools import reply_json

Row = dict[str, Any]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

MMLU = {"question": " What is 2 + 2? ", "subject": "abstract_algebra", "choices": ["3", "4", "5", "6"], "answer": 1}
MMLU_DEV = [
    {"question": f"{subject} {i}?", "subject": subject, "choices": list("wxyz"), "answer": i % 4}
    for subject in ("anatomy", "abstract_algebra")
    for i in range(5)
]
GPQA = {
    "Question": "Which of these is a noble gas?",  # 30 characters, so the right option is the third
    "Correct Answer": "argon\n", "Incorrect Answer 1": "iron", "Incorrect Answer 2": "zinc",
    "Incorrect Answer 3": "lead", "Record ID": "rec0", "High-level domain": "Chemistry", "Subdomain": "Inorganic",
}  # fmt: skip
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'from math import floor\n\n\ndef half(n: int) -> int:\n    """Half of n, rounded down."""\n',
    "canonical_solution": "    return floor(n / 2)\n",
    "test": "\n\nMETADATA = {}\n\n\ndef check(candidate):\n    assert candidate(5) == 2\n",
    "entry_point": "half",
}
MBPP = {
    "task_id": 11,
    "text": "Write a function to double a number.",
    "code": "def double(n):\r\n  return 2 * n",
    "test_list": ["assert double(2) == 4", "assert double(0) == 0", "assert double(-1) == -2"],
    "test_setup_code": "import math",
    "challenge_test_list": [],
}
MBPP_PROMPT = [
    {
        **MBPP,
        "task_id": i,
        "text": f"Task {i}.",
        "code": f"def f{i}():\r\n  pass",
        "test_list": [f"assert f{i}() is None", f"assert not f{i}()", f"assert f{i}() != 1"],
    }
    for i in range(1, 11)
]
# As EvalPlus's tools/humaneval/to_original_fmt.py writes tests for the hub.
PLUS_TEST = """import numpy as np

def is_floats(x) -> bool:
    return isinstance(x, float) or (isinstance(x, (list, tuple)) and x and all(isinstance(i, float) for i in x))

def assertion(out, exp, atol):
    exact_match = out == exp

    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if not exact_match and atol != 0:
        np.testing.assert_allclose(out, exp, atol=atol)
    else:
        assert exact_match

"""
HUMANEVAL_PLUS = HUMANEVAL | {
    "test": f"""{PLUS_TEST}
def check(candidate):
    inputs = [[5], [8], [-3]]
    results = [2, 4, -2]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        assertion(candidate(*inp), exp, 0)
"""
}
MBPP_PLUS = {
    "task_id": 11, "code": "def half(n):\n    return n / 2", "prompt": "Write a function to halve a number.",
    "source_file": "Benchmark Questions Verification V2.ipynb", "test_imports": [],
    "test_list": ["assert half(2) == 1", "assert half(3) == 1.5"],
    "test": f"""{PLUS_TEST}
inputs = [[2], [3], [0.3]]
results = [1.0, 1.5, 0.15]
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion(half(*inp), exp, 0)
""",
}  # fmt: skip


def packed(tests: Sequence[Row]) -> str:
    """Hidden tests as LiveCodeBench packs them."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def contest(public: Sequence[tuple[str, str]], hidden: Sequence[tuple[str, str]], function: str = "") -> Row:
    """A row of LiveCodeBench's files: of LeetCode's where it calls a function, else of a program that reads."""
    kind = "functional" if function else "stdin"
    tests = [[{"input": i, "output": o, "testtype": kind} for i, o in pairs] for pairs in (public, hidden)]
    return {
        "question_title": "T", "question_content": "Add two numbers.", "platform": "leetcode",
        "question_id": "1", "contest_id": "c", "contest_date": "2025-02-01T00:00:00", "difficulty": "easy",
        "starter_code": function and f"class Solution:\n    def {function}(self, a: int, b: int) -> int:\n        ",
        "public_test_cases": json.dumps(tests[0]), "private_test_cases": packed(tests[1]),
        "metadata": json.dumps({"func_name": function} if function else {}),
    }  # fmt: skip


HELLASWAG = {
    "ind": 24, "activity_label": "Roof shingle removal", "ctx_a": "A man is sitting on a roof. [step] Then",
    "ctx_b": "he starts", "ctx": "A man is sitting on a roof. Then he starts", "source_id": "activitynet~v_x",
    "split": "val", "split_type": "indomain", "label": "3",
    "endings": ["is using wrap [title] to sleep.", "is ripping  tiles.", "is [substeps] singing.", "pulls up roofing."],
}  # fmt: skip
ARC = {
    "id": "Mercury_7", "question": "Which is a metal?", "answerKey": "B",
    "choices": {"text": ["wood", "iron", "wool"], "label": ["A", "B", "C"]},
}  # fmt: skip
TRUTHFUL = {
    "question": "Is the sky green?",  # 17 characters and three options, so the true one is the third
    "mc1_targets": {"choices": ["No, it is blue", "Yes", "At noon"], "labels": [1, 0, 0]},
    "mc2_targets": {"choices": ["No, it is blue", "Yes"], "labels": [1, 0]},
}
SCHEMA = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
JSON_MODE = {
    "prompt": [
        {"content": f"You answer in JSON. The schema:\n{SCHEMA}", "role": "system"},
        {"content": "Ada writes programs.", "role": "user"},
    ],
    "completion": '{"name": "Ada"}',
    "schema": SCHEMA,
}
IFEVAL = {
    "key": 1000, "prompt": "Write three words. Use no commas.",
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [
        {"num_words": None, "relation": None},
        {"num_words": 3, "relation": "at least"},
    ],
}  # fmt: skip
IFBENCH = {
    "key": "0", "prompt": "Write a word. There should be no whitespace.",
    "instruction_id_list": ["format:no_whitespace", "count:numbers"],
    "kwargs": [{"N": None, "word": None}, {"N": 0, "word": None}],
}  # fmt: skip
LONGBENCH_V2 = {
    "_id": "66f", "domain": "Code", "sub_domain": "Repo", "difficulty": "easy", "length": "medium",
    "question": "Who wrote it?", "choice_A": "Ada", "choice_B": "Bob", "choice_C": "Cyd", "choice_D": "Dan",
    "answer": "C", "context": "A long text.",
}  # fmt: skip
MMMU_ROW = {
    "id": "validation_Math_1", "question": "How many sides has <image 1>?", "options": "['3', \"4's\", '5', '6']",
    "explanation": "", "image_1": {"bytes": PIXEL, "path": None}, "img_type": "['Diagrams']", "answer": "B",
    "topic_difficulty": "Easy", "question_type": "multiple-choice", "subfield": "Geometry",
    **{f"image_{i}": None for i in range(2, 8)},
}  # fmt: skip


def bfcl(*calls: Row, others: int = 0) -> Row:
    """A row of BFCL's files joined with that of its possible answers."""
    properties = {
        "base": {"type": "integer", "description": "Base."}, "height": {"type": "integer", "description": "Height."},
        "unit": {"type": "string", "description": "Unit.", "default": "units"},
    }  # fmt: skip
    names = ["geometry.area", *(f"geometry.other{i}" for i in range(others))]
    parameters = {"type": "dict", "properties": properties, "required": ["base", "height"]}
    return {
        "id": "simple_0", "question": [[{"role": "user", "content": "Find the area."}]],
        "function": [{"name": name, "description": "Area.", "parameters": parameters} for name in names],
        "ground_truth": [{"geometry.area": call} for call in calls],
    }  # fmt: skip


def said(*arguments: Row) -> str:
    """A reply that calls the function with each of these arguments."""
    return reply_json(None, [("geometry_area", json.dumps(each)) for each in arguments])


def longbench(input_: str, answers: list[str], classes: list[str] | None = None) -> list[Row]:
    """A row of LongBench's own files."""
    return [
        {
            "input": input_, "context": "The long context.", "answers": answers, "length": 3, "dataset": "x",
            "language": "en", "all_classes": classes, "_id": "0a",
        }
    ]  # fmt: skip


def zero_scrolls(output: str) -> list[Row]:
    """A row of ZeroSCROLLS' own files."""
    return [
        {
            "id": "i1", "pid": "i1_0", "input": "Read this.\n\nA document\n\nAnswer:", "output": output,
            "document_start_index": 12, "document_end_index": 22, "query_start_index": 24, "query_end_index": 31,
            "truncation_seperator": "... [The rest is omitted]",
        }
    ]  # fmt: skip

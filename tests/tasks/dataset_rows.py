"""Rows in the published schemas of the datasets of the library's tasks.

library_rows.json has most of them, by task, each with what `test_library_rows.Case` has.
"""

import base64
import json
import pickle
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accgate.tasks.tools import reply_json

Row = dict[str, Any]
LIBRARY: dict[str, Row] = json.loads(Path(__file__).with_name("library_rows.json").read_text(encoding="utf-8"))
MMLU: Row = LIBRARY["mmlu"]["rows"][0]
MMLU_PRO: Row = LIBRARY["mmlu_pro"]["rows"][0]
GPQA: Row = LIBRARY["gpqa_diamond"]["rows"][0]
ARC: Row = LIBRARY["arc_challenge"]["rows"][0]
TRUTHFUL: Row = LIBRARY["truthfulqa_mc1"]["rows"][0]
HELLASWAG: Row = LIBRARY["hellaswag"]["rows"][0]
IFEVAL: Row = LIBRARY["ifeval"]["rows"][0]
HUMANEVAL: Row = LIBRARY["humaneval"]["rows"][0]
MATH: Row = LIBRARY["math_500"]["rows"][0]
AIME: Row = LIBRARY["aime_2025"]["rows"][0]
SQUAD: Row = LIBRARY["squad_v2"]["rows"][0]
DROP: Row = LIBRARY["drop"]["rows"][0]
MGSM: Row = LIBRARY["mgsm"]["rows"][0]
MMLU_DEV, MMLU_PRO_DEV, MBPP_PROMPT = (LIBRARY[name]["examples"] for name in ("mmlu", "mmlu_pro", "mbpp"))
TRANSLATION = LIBRARY["wmt16_en_de"]["rows"]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

# As EvalPlus's tools/humaneval/to_original_fmt.py writes tests for the hub.
PLUS_TEST = Path(__file__).with_name("evalplus_test.txt").read_text(encoding="utf-8")
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

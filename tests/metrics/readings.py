"""Replies and pairs with the truth written by hand, and how other readers read them."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

READINGS: dict[str, Any] = json.loads(Path(__file__).with_name("readings.json").read_text(encoding="utf-8"))
# A reply, the target, and whether a person says that the reply gives it.
WORD_PROBLEMS = [
    *((reply, target, True) for target, replies in READINGS["word problems"].items() for reply in replies),
    *((*pair, False) for pair in READINGS["misread word problems"]),
]
# An answer, the target of MATH's kind, and whether they are equal.
MATHEMATICS = [(*pair, key == "equal") for key in ("equal", "unequal") for pair in READINGS[key]]
LENIENT = READINGS["lenient"]  # what math-verify takes for equal: decided, and in docs/tasks.md


def flexible(reply: str, target: str) -> bool:
    """Whether lm-evaluation-harness's flexible-extract and exact_match of gsm8k_cot, as installed, say right."""
    steps, ignored = harness_settings()
    matches = re.findall(steps["regex_pattern"], reply)
    answer = next((group for group in matches[-1] if group), "[invalid]").strip() if matches else "[invalid]"
    for pattern in ignored:
        answer, target = re.sub(pattern, "", answer), re.sub(pattern, "", target)
    return answer.lower() == target.lower()


def harness_tasks() -> Path:
    """The folder of lm-evaluation-harness's task files, or a skipped test where it is not installed."""
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or spec.origin is None:
        pytest.skip("lm_eval is not installed: it is the oracle here")
    return Path(spec.origin).parent / "tasks"


def their_drop() -> Any:
    """The harness's copy of the script of DROP's authors, without the harness around it."""
    spec = importlib.util.spec_from_file_location("their_drop", harness_tasks() / "drop" / "utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def harness_settings() -> tuple[dict[str, Any], list[str]]:
    """The regular expression that reads the answer, and those of what the comparison ignores."""
    path = harness_tasks() / "gsm8k" / "gsm8k-cot.yaml"
    task = yaml.safe_load(path.read_text(encoding="utf-8"))
    (steps,) = (each["filter"] for each in task["filter_list"] if each["name"] == "flexible-extract")
    assert (steps[0]["function"], steps[0]["group_select"]) == ("regex", -1)
    return steps[0], task["metric_list"][0]["regexes_to_ignore"]

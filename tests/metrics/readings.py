"""Replies and pairs with the truth written by hand, and how other readers read them."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

# a reply to a word problem, the target, and whether a person says that the reply gives it
WORD_PROBLEMS = [
    ("The answer is 21.", "21", True),
    ("That makes 21, as wanted.", "21", True),
    ("So 18 + 3 = 21", "21", True),
    ("#### 21", "21", True),
    ("She has 21 eggs.", "21", True),
    ("**21**", "21", True),
    (r"\boxed{21}", "21", True),
    (r"Therefore $x = 21$.", "21", True),
    (r"\(21\)", "21", True),
    ("The total is 21!", "21", True),
    ("21", "21", True),
    ("It costs $21.", "21", True),
    ("It costs $21.00.", "21", True),
    (r"It costs \$21", "21", True),
    ("It costs 21 €", "21", True),
    ("That is 1,234 people.", "1234", True),
    (r"That is $1{,}234$.", "1234", True),
    (r"That is $1\,234$.", "1234", True),
    ("That is 1,234,567.", "1234567", True),
    ("In India: 12,34,567 rupees", "1234567", True),
    ("The profit is -$5.", "-5", True),
    ("The profit is $-5", "-5", True),
    ("The change is -5 degrees", "-5", True),
    ("The change is \u22125 degrees", "-5", True),
    ("So 9 - 6 = 3", "3", True),
    ("So it is 6-3", "3", True),  # a range, or a subtraction: its last number is 3, not -3
    ("The price is .5 dollars", "0.5", True),
    ("He ate 1/2", "0.5", True),
    ("He ate \u00bd", "0.5", True),
    ("He ate 2 1/2 pizzas", "2.5", True),
    (r"He ate $\frac{1}{2}$", "0.5", True),
    ("The share is 50%", "50", True),
    (r"The share is 50\%.", "50", True),
    ("It is 18.0", "18", True),
    ("The answer is 18...", "18", True),
    ("The answer is 18 ...", "18", True),
    ("The area is 12 m^2", "12", True),
    ("The area is 12 cm\u00b2.", "12", True),
    ("They weigh 1e3 grams", "1000", True),
    ("There are 2 x 10^3 of them", "2000", True),
    ("\u0627\u0644\u062c\u0648\u0627\u0628 \u0662\u0661", "21", True),  # Arabic-Indic digits
    ("\u7b54\u3048\u306f\uff12\uff11\u3067\u3059", "21", True),  # full-width digits
    ("The answers are 1,2,3", "3", True),
    ("The answer is 21 (see step 3).", "21", True),  # the last number is not the answer
    ("The answer is 20.", "21", False),
    ("The answer is -21.", "21", False),
    ("The answer is 210.", "21", False),
    ("The answer is 2.1", "21", False),
    ("I do not know.", "21", False),
    ("The answer is 1/2", "2", False),
]  # fmt: skip

# an answer, the target of MATH's kind, and whether they are equal
MATHEMATICS = [
    (r"\boxed{\dfrac{1}{2}}", r"\frac{1}{2}", True),
    (r"So it is \boxed{0.5}.", r"\frac12", True),
    (r"$\boxed{\frac{\sqrt{3}}{3}}$", r"\frac{1}{\sqrt{3}}", True),
    (r"First \boxed{3}, no: \boxed{4}", "4", True),
    (r"\boxed{x = 5}", "5", True),
    (r"\boxed{\{3,1,2\}}", r"\{1,2,3\}", True),
    (r"\boxed{1,-2}", "-2,1", True),
    (r"\boxed{[0,1)}", "[0,1)", True),
    (r"\boxed{(-\infty, 2) \cup (3, \infty)}", r"(-\infty,2)\cup(3,\infty)", True),
    (r"\boxed{5\text{ cm}}", r"5 \text{ cm}", True),
    (r"\boxed{50\%}", r"50\%", True),
    (r"\boxed{90^\circ}", "90", True),
    (r"\boxed{1{,}234}", "1234", True),
    (r"\boxed{12,345}", r"12,\!345", True),
    (r"\boxed{1\,234}", "1234", True),
    (r"\boxed{\text{Evelyn}}", r"\text{evelyn}", True),
    (r"\boxed{\text{(B)}}", "B", True),
    (r"\boxed{\begin{pmatrix}1&2\\3&4\end{pmatrix}}", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", True),
    (r"\boxed{(x+1)(x-1)}", "x^2-1", True),
    (r"\boxed{2\sqrt{3}}", r"\sqrt{12}", True),
    (r"\boxed{3+4i}", "4i+3", True),
    (r"\boxed{11:30}", "11:30", True),
    (r"\boxed{1010_2}", "1010_{2}", True),
    (r"so it is 2 1/2", r"2\frac{1}{2}", True),
    (r"\boxed{\$32{,}348}", r"\$32,\!348", True),
    (r"\boxed{(3, \frac{\pi}{2})}", r"\left( 3, \frac{\pi}{2} \right)", True),
    (r"\boxed{4}", "5", False),
    (r"\boxed{3}, or \boxed{4}", "3", False),
    (r"\boxed{3 \text{ or } 4}", "4", False),
    (r"\boxed{[0,1]}", "[0,1)", False),
    (r"\boxed{(1,2)}", "(2,1)", False),
    (r"\boxed{1010_2}", "1010", False),
    (r"\boxed{\text{odd}}", r"\text{even}", False),
    (r"\boxed{y = 5}", "x = 5", False),
    (r"\boxed{0.33}", r"\frac13", False),
    ("", "5", False),
]

# what a lenient reading of MATH takes for equal, by math-verify: decided, and in docs/tasks.md
LENIENT = [
    (r"\boxed{50\%}", "50"),
    (r"\boxed{50\%}", "0.5"),
    (r"\boxed{5\text{ cm}}", "5"),
    (r"\boxed{9 - 6}", "3"),
    (r"\boxed{0.333333}", r"\frac13"),
]


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

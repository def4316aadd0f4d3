"""Replies and pairs with the truth written by hand, and how other readers read them."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

READ = {  # replies to word problems, by the number that a person says they give
    "21": [
        "The answer is 21.", "That makes 21, as wanted.", "So 18 + 3 = 21", "#### 21", "She has 21 eggs.", "**21**",
        r"\boxed{21}", r"Therefore $x = 21$.", r"\(21\)", "The total is 21!", "21", "It costs $21.",
        "It costs $21.00.", r"It costs \$21", "It costs 21 €", "\u0627\u0644\u062c\u0648\u0627\u0628 \u0662\u0661",
        "\u7b54\u3048\u306f\uff12\uff11\u3067\u3059", "The answer is 21 (see step 3).",
    ],
    "1234": ["That is 1,234 people.", r"That is $1{,}234$.", r"That is $1\,234$."],
    "1234567": ["That is 1,234,567.", "In India: 12,34,567 rupees"],
    "-5": ["The profit is -$5.", "The profit is $-5", "The change is -5 degrees", "The change is \u22125 degrees"],
    "3": ["So 9 - 6 = 3", "So it is 6-3", "The answers are 1,2,3"],
    "0.5": ["The price is .5 dollars", "He ate 1/2", "He ate \u00bd", r"He ate $\frac{1}{2}$"],
    "50": ["The share is 50%", r"The share is 50\%."],
    "18": ["It is 18.0", "The answer is 18...", "The answer is 18 ..."],
    "12": ["The area is 12 m^2", "The area is 12 cm\u00b2."],
    "2.5": ["He ate 2 1/2 pizzas"], "1000": ["They weigh 1e3 grams"], "2000": ["There are 2 x 10^3 of them"],
}  # fmt: skip
MISREAD = [  # and replies with another number
    ("The answer is 20.", "21"), ("The answer is -21.", "21"), ("The answer is 210.", "21"),
    ("The answer is 2.1", "21"), ("I do not know.", "21"), ("The answer is 1/2", "2"),
]  # fmt: skip
# a reply, the target, and whether a person says that the reply gives it
WORD_PROBLEMS = [
    *((reply, target, True) for target, replies in READ.items() for reply in replies),
    *((*pair, False) for pair in MISREAD),
]

# an answer and the target of MATH's kind
EQUAL = [
    (r"\boxed{\dfrac{1}{2}}", r"\frac{1}{2}"), (r"So it is \boxed{0.5}.", r"\frac12"),
    (r"$\boxed{\frac{\sqrt{3}}{3}}$", r"\frac{1}{\sqrt{3}}"), (r"First \boxed{3}, no: \boxed{4}", "4"),
    (r"\boxed{x = 5}", "5"), (r"\boxed{\{3,1,2\}}", r"\{1,2,3\}"), (r"\boxed{1,-2}", "-2,1"),
    (r"\boxed{[0,1)}", "[0,1)"), (r"\boxed{(-\infty, 2) \cup (3, \infty)}", r"(-\infty,2)\cup(3,\infty)"),
    (r"\boxed{5\text{ cm}}", r"5 \text{ cm}"), (r"\boxed{50\%}", r"50\%"), (r"\boxed{90^\circ}", "90"),
    (r"\boxed{1{,}234}", "1234"), (r"\boxed{12,345}", r"12,\!345"), (r"\boxed{1\,234}", "1234"),
    (r"\boxed{\text{Evelyn}}", r"\text{evelyn}"), (r"\boxed{\text{(B)}}", "B"),
    (r"\boxed{\begin{pmatrix}1&2\\3&4\end{pmatrix}}", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
    (r"\boxed{(x+1)(x-1)}", "x^2-1"), (r"\boxed{2\sqrt{3}}", r"\sqrt{12}"), (r"\boxed{3+4i}", "4i+3"),
    (r"\boxed{11:30}", "11:30"), (r"\boxed{1010_2}", "1010_{2}"), (r"so it is 2 1/2", r"2\frac{1}{2}"),
    (r"\boxed{\$32{,}348}", r"\$32,\!348"), (r"\boxed{(3, \frac{\pi}{2})}", r"\left( 3, \frac{\pi}{2} \right)"),
]  # fmt: skip
UNEQUAL = [
    (r"\boxed{4}", "5"), (r"\boxed{3}, or \boxed{4}", "3"), (r"\boxed{3 \text{ or } 4}", "4"),
    (r"\boxed{[0,1]}", "[0,1)"), (r"\boxed{(1,2)}", "(2,1)"), (r"\boxed{1010_2}", "1010"),
    (r"\boxed{\text{odd}}", r"\text{even}"), (r"\boxed{y = 5}", "x = 5"), (r"\boxed{0.33}", r"\frac13"), ("", "5"),
]  # fmt: skip
MATHEMATICS = [*((*pair, True) for pair in EQUAL), *((*pair, False) for pair in UNEQUAL)]  # and whether they are equal

# what a lenient reading of MATH takes for equal, by math-verify: decided, and in docs/tasks.md
LENIENT = [
    (r"\boxed{50\%}", "50"), (r"\boxed{50\%}", "0.5"), (r"\boxed{5\text{ cm}}", "5"), (r"\boxed{9 - 6}", "3"),
    (r"\boxed{0.333333}", r"\frac13"),
]  # fmt: skip


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

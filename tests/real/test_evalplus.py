"""HumanEval+ and MBPP+ of the library against EvalPlus's own evaluation and prompt, on the same programs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.prompts import Scope, render
from tests.sandbox.test_library_programs import SPECIAL
from tests.support.runner import KEPT
from tests.tasks.dataset_rows import HUMANEVAL_PLUS, MBPP_PLUS

pytestmark = pytest.mark.interop

PACKAGES = ("evalplus==0.3.1", "appdirs", "tempdir", "wget", "psutil", "tqdm", "multipledispatch")
FOLDER = KEPT / "evalplus"
MARK = FOLDER / PACKAGES[0]
JUDGED = """
import json, sys
from evalplus.eval import untrusted_check
for dataset, name, code, inputs, expected in json.load(sys.stdin):
    status, _ = untrusted_check(dataset, code, eval(inputs), name, eval(expected), 0, [0.2] * 3)
    print(json.dumps(status == "pass"))
"""


def evalplus_installed() -> Path:
    """The folder with evalplus; skips where pip cannot fetch it. Its models' packages are not needed."""
    if not MARK.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER), *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"pip cannot fetch {PACKAGES[0]}: {done.stderr[-300:]}")
        MARK.touch()
    return FOLDER


def test_programs_are_as_right_as_evalplus_has_them() -> None:
    # tests/sandbox/test_library_programs.py holds that the library's task gives these answers
    cases = [("mbpp", name, code, inputs, expected) for name, inputs, expected, code, _ in SPECIAL]
    wanted = [right for *_, right in SPECIAL]
    # A zero of the polynomial is no pass for EvalPlus 0.3.1 either: its loop goes on before it counts the input.
    for value in (2.0, -9.0):
        cases.append(("humaneval", "find_zero", f"def find_zero(xs): return {value}", "[[[-6, 11, -6, 1]]]", "[1.0]"))
        wanted.append(False)
    done = subprocess.run(
        [sys.executable, "-c", JUDGED], input=json.dumps(cases), capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(evalplus_installed()), "HOME": str(FOLDER)},
    )  # fmt: skip
    assert [json.loads(line) for line in done.stdout.splitlines()] == wanted


def test_prompts_are_evalpluss_own() -> None:
    tree = ast.parse((evalplus_installed() / "evalplus" / "codegen.py").read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    (start,) = {text for text in texts if text.startswith("Please provide a self-contained Python script")}
    for name, row in (("humaneval_plus", HUMANEVAL_PLUS), ("mbpp_plus", MBPP_PLUS)):
        prompt = read_definition(library_file(name)).content.prompt or ""
        asked = str(row["prompt"])
        if name == "mbpp_plus":  # as MbppPlus.jsonl has its prompts
            asked = f'"""\n{asked}\n{MBPP_PLUS["test_list"][0]}\n"""\n'
        # make_raw_chat_prompt of evalplus/provider/utility.py
        assert render(prompt, Scope(row)) == f"{start}\n```\n{asked.strip()}\n```\n"

"""The pytest plugin.

A test is `def test_accuracy(accgate): accgate.check("accuracy.toml", task="gsm8k")`. pytest loads this module at every
start, so it imports nothing of accgate's; a check runs `accgate run` in a process of its own, and engines, event loops
and warnings there do not meet those of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from accgate.result import Result

SHOWN = 3  # changed answers of a check
LONGEST = 100  # characters of a prompt or an answer
LAST_LINES = 20  # of what a run that ended without a result said


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --accgate-out."""
    parser.getgroup("accgate").addoption(
        "--accgate-out", metavar="DIR", help="keep the reports of accgate's checks here (pytest's temporary folder)"
    )


@pytest.fixture(name="accgate")
def accgate_fixture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AccuracyGate:
    """Run accuracy checks.

    A test calls `accgate.check("accuracy.toml", task="gsm8k")`.
    """
    name = re.sub(r"[^\w.-]+", "-", request.node.nodeid).strip("-.")
    option = request.config.getoption("--accgate-out")
    if option is None:
        return AccuracyGate(request.config.rootpath, lambda: tmp_path_factory.mktemp("accgate"))
    base, used = request.config.invocation_params.dir / option / name, iter(range(1, 1_000_000))
    return AccuracyGate(request.config.rootpath, lambda: base / str(next(used)))


class AccuracyGate:
    """The object that the fixture `accgate` gives.

    `root` is the folder that paths of configs start from.
    """

    def __init__(self, root: Path, out: Callable[[], Path]) -> None:
        self.root = root
        self._out = out

    def check(self, config: str | Path, *, task: str | None = None, model: str | None = None) -> Result:
        """Run the gate of a config, whole or one model and task of it.

        Return the result, if it passed.

        Parameters
        ----------
        config : path
            The accuracy.toml, from pytest's root folder.
        task, model : str, optional
            Only these, by name; several with commas between them, a task by its tags too.

        Raises
        ------
        AssertionError
            Unless every check passed: a regression, but also a verdict that is inconclusive, a missing reference, a
            mistake in the config and an evaluation that could not finish. It says which, and why.
        """
        __tracebackhide__ = True
        out = self._out()
        (out / "accgate.json").unlink(missing_ok=True)  # of an earlier session
        words = ["run", str(self.root / config), "--out", str(out), "--html", "--quiet"]
        words += [f"--{name}={value}" for name, value in (("tasks", task), ("models", model)) if value is not None]
        # No folder of the tests may stand in for a package, as `datasets/` would: -P of Python 3.11.
        environ = os.environ | {"PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "accgate", *words],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if not (out / "accgate.json").is_file():
            raise AssertionError(_no_result(done))
        from accgate.report.result_file import read_result

        result = read_result(out / "accgate.json")
        if result.verdict != "pass" or result.exit_code or not result.checks:
            raise AssertionError(_failure(result, out))
        if done.returncode:
            raise AssertionError(_no_result(done))
        return result


def _no_result(done: subprocess.CompletedProcess[str]) -> str:
    """Say why a run left no result, in its own words."""
    lines = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
    return "\n".join([f"accgate run ended with exit code {done.returncode} and no verdict:", *lines[-LAST_LINES:]])


def _failure(result: Result, out: Path) -> str:
    """Write why a test fails.

    The text has the headline, a sentence for each check that did not pass, at most three changed answers, and the
    report.
    """
    from accgate.report.flips import flips_of_result
    from accgate.report.story import headline_of
    from accgate.text import visible

    flips = flips_of_result(result, out)
    lines = [visible(headline_of(result).text)]
    for verdict in result.decided:
        if verdict.verdict == "pass":
            continue
        text = str(verdict)
        lines += ["", text, *(f"  {visible(reason)}" for reason in verdict.reasons if visible(reason) not in text)]
        changed = flips.get((verdict.model, verdict.task), ())
        for flip in changed[:SHOWN]:
            lines += ["", *_answer("prompt", flip.prompt, of_end=True), *_answer("expected", flip.expected)]
            lines += [*_answer("before", flip.before), *_answer("now", flip.got)]
        if len(verdict.flips) > SHOWN:
            lines += ["", f"  and {len(verdict.flips) - SHOWN:,} more answers got worse"]
    return "\n".join([*lines, "", f"Report: {out / 'report.html'}"])


def _answer(name: str, text: str | None, *, of_end: bool = False) -> Sequence[str]:
    """Write the beginning or the end of a text on one line.

    A text of None gives no line.
    """
    from accgate.text import clip, visible

    if text is None:
        return ()
    line = " ".join(visible(text.strip()).split())
    line = f"… {line[-LONGEST:]}" if of_end and len(line) > LONGEST else clip(line, LONGEST + 2, " …")
    return (f"  {name + ':':<10}{line}",)

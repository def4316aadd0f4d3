"""The pytest plugin in a project of its own, installed from a wheel, on servers that listen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.real.environments import BUILDING, python_with
from tests.support.gates import questions, table, write_task
from tests.support.runner import ROOT
from tests.support.servers import Server

pytestmark = pytest.mark.interop

CHECKS = {  # what each test asks for
    "healthy": {"task": "sums", "model": "good"}, "worse": {"task": "sums", "model": "worse"},
    "worse_beside_a_healthy_one": {"model": "good,worse"}, "new": {"model": "new"},
    "small": {"model": "good", "task": "few"}, "down": {"model": "down"}, "mistyped": {"task": "sum"},
    "missing": {"config": "nowhere/accuracy.toml"},
}  # fmt: skip
TESTS = "".join(
    f"def test_{name}(accgate):\n    result = accgate.check(**{ ({'config': 'accuracy.toml'} | keys)!r})\n"
    "    assert result.checks[0].candidate.mean == 100.0\n\n"
    for name, keys in CHECKS.items()
)


def answer(prompt: str) -> str:
    first, second = re.findall(r"\d+", prompt)
    return str(int(first) + int(second))


def half_of_it(prompt: str) -> str:
    return answer(prompt) if int(answer(prompt)) % 4 else "0"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What pytest printed of each test, and by the name "" at its end; in a project that has only accgate's wheel."""
    python = python_with(*BUILDING)
    folder = tmp_path_factory.mktemp("project")
    site, project = folder / "site", folder / "project"
    project.mkdir()
    install = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(site)]
    subprocess.run([*install, str(ROOT)], check=True, capture_output=True, cwd=folder)
    path = os.pathsep.join([str(site), sysconfig.get_path("purelib")])  # what accgate needs is here
    with Server(answer) as good, Server(half_of_it) as worse:
        write_project(project, good.url, worse.url)
        record = ["record", str(project / "accuracy.toml"), "--models", "good", "--quiet", "--out", str(folder)]
        assert main(record) == 0
        done = subprocess.run(
            [python, "-m", "pytest", "--accgate-out", "reports", "-p", "no:cacheprovider", "-q"],
            cwd=project, env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    parts = re.split(r"^_+ (test_\w+) _+$", done.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)) | {"": done.stdout, "folder": str(project)}


def write_project(folder: Path, good: str, worse: str) -> None:
    write_task(folder, "sums", questions(120), extract__form="number")
    write_task(folder, "few", questions(12), extract__form="number")
    text = table("gate", {"alpha": 0.05})
    for name, url in (("good", good), ("worse", worse), ("new", good), ("down", "http://127.0.0.1:9/v1")):
        baseline = {} if name in ("good", "new") else {"baseline": "good"}
        options = {"base_url": url, "max_retries": 0} if name == "down" else {"base_url": url}
        text += table(f"models.{name}", {"engine": "openai", "model": "toy", "options": options, **baseline})
    text += table("tasks.sums", {"file": "sums.toml", "theta": 10.0})
    text += table("tasks.few", {"file": "few.toml", "theta": 5.0, "num_samples": 12})
    (folder / "accuracy.toml").write_text(text)
    (folder / "test_accuracy.py").write_text(TESTS)


def test_one_passes_and_every_other_outcome_fails(told: dict[str, str]) -> None:
    assert "7 failed, 1 passed" in told[""]
    assert set(told) - {"", "folder"} == {f"test_{name}" for name in CHECKS} - {"test_healthy"}


def test_a_regression_reads_as_an_assertion(told: dict[str, str]) -> None:
    text = told["test_worse"]
    assert re.search(r"^E +AssertionError: Regression: sums fell", text, re.MULTILINE), text
    assert "worse / sums regressed: the mean fell by" in text
    assert text.count("expected:") == 3
    assert "now:      0" in text
    assert re.search(r"and \d+ more answers got worse", text)
    report = Path(re.findall(r"Report: (\S+)", text)[0])
    assert report == Path(told["folder"]) / "reports" / "test_accuracy.py-test_worse" / "1" / "report.html"
    assert report.is_file()
    assert "subprocess.run" not in text  # the traceback ends at the test's own line


def test_a_failed_check_does_not_hide_behind_a_healthy_one(told: dict[str, str]) -> None:
    text = told["test_worse_beside_a_healthy_one"]
    assert "worse / sums regressed" in text
    assert "good / sums" not in text.partition("E  ")[2]


def test_what_gives_no_verdict_fails_with_its_reason(told: dict[str, str]) -> None:
    for name, reason in (
        ("test_new", "has no reference"),
        ("test_small", "inconclusive"),
        ("test_down", "down / sums could not be"),
        ("test_mistyped", "did you mean 'sums'"),
        ("test_missing", "exit code 2"),
    ):
        assert reason in told[name], (name, told[name])


def test_it_costs_a_pytest_that_does_not_use_it_nothing_but_itself() -> None:
    code = "import sys, pytest; before = {*sys.modules}; import accgate.interop.pytest_plugin as plugin;"
    code += "print(*sorted({name.partition('.')[0] for name in {*sys.modules} - before}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"accgate", "lazy_loader", "ast", "_ast", "importlib"}

"""Where a job's working folder is the head's tree, no name of a dataset, a metric or a module means a file of it."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.cli.working_folder import in_an_empty_folder
from tests.support.gates import Project, questions, right_but, said, write_lines, write_task
from tests.support.pull_requests import PullRequest
from tests.support.runner import ROOT, FakeDocker, Runner, after, commit, posix_tools

START = ("-c", "import sys; sys.path[:1] = []; from accgate.cli.main import main; sys.exit(main())")  # the entry point
RAN = "import pathlib; pathlib.Path({!r}).write_text('ran')\n"
# Looks for a name here first, as `datasets` and `evaluate` do.
LIBRARY = """
import json, pathlib
def load_dataset(name, config, *, split, revision, **options):
    folder = pathlib.Path(name)
    file = folder / f"{split}.jsonl" if folder.exists() else pathlib.Path(__file__).with_name("rows.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]
"""
SCORER = """
import importlib.util, pathlib
def points(answer, target):
    here = pathlib.Path("exact_match/exact_match.py")
    if here.exists():
        spec = importlib.util.spec_from_file_location("exact_match", here)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        return 100.0
    return 100.0 if answer == target else 0.0
"""


def process(folder: Path, *words: str, path: str = str(ROOT)) -> subprocess.CompletedProcess[str]:
    """A Python that starts in this folder, and how it ended."""
    command, env = [sys.executable, *words], os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def plant(tree: Path, marker: Path) -> None:
    """Everything in a tree that somebody could take for a dataset, a metric or a module."""
    code = RAN.format(str(marker))
    files = (
        "sitecustomize.py", "numpy.py", "pydantic.py", "conftest.py", "json.py",
        "accgate/__init__.py", "datasets/__init__.py", "evaluate/__init__.py", "lm_eval/__init__.py",
        "exact_match/exact_match.py", "metrics/exact_match/exact_match.py", "allenai/ai2_arc/README.md",
    )  # fmt: skip
    for name in files:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(code + SCORER)
    write_lines(tree / "allenai/ai2_arc/test.jsonl", [row | {"a": 0} for row in questions(20)])


def of_the_hub(project: Project) -> None:
    """The task's rows come from the hub, its points from a function that looks for a metric by name."""
    (project.folder / "mine.py").write_text(SCORER)
    path = write_task(project.folder, metric="mine.py:points")
    hub = 'dataset.hub = "allenai/ai2_arc"\ndataset.split = "test"'
    path.write_text(path.read_text().replace('dataset.file = "sums.jsonl"', hub))
    (project.folder / "sums.jsonl").unlink()


def test_folders_of_the_head_named_as_dataset_metric_and_modules_are_not_used(tmp_path: Path) -> None:
    library = tmp_path / "installed/datasets"  # takes a folder of the working folder for a dataset
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(LIBRARY)
    write_lines(library / "rows.jsonl", questions(20))
    tree = tmp_path / "tree"
    tree.mkdir()
    project = Project(tree, n=20)
    project.answer(right_but(0, 20))
    of_the_hub(project)
    plant(tree, tmp_path / "ran")
    for arguments in (["record", "--out", "recorded"], ["run", "--out", "out"]):
        done = process(tree, *START, *arguments, "--quiet", path=f"{library.parent}:{ROOT}")
        assert done.returncode == 0, done.stderr
    assert project.check["n"] == 20  # of the honest rows
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["validate", "plan", "record", "run"])
def test_each_command_that_loads_a_dataset_or_a_metric_works_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    project = Project(tmp_path, n=20)
    note = "import os\nwith open({!r}, 'a') as file:\n    file.write(repr(os.listdir()) + os.getcwd() + chr(10))\n{}"
    (tmp_path / "mine.py").write_text(note.format(str(tmp_path / "noted"), SCORER))
    write_task(tmp_path, metric="mine.py:points", rows=questions(20))
    project.answer(right_but(0, 20))
    monkeypatch.chdir(tmp_path)
    if command == "run":
        assert main(["record", "--quiet"]) == 0
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    main([command])
    noted = (tmp_path / "noted").read_text().splitlines()
    assert noted
    assert all(line.startswith("[]") and f"{tmp_path}/temporary/accgate-" in line for line in noted[-1:])
    assert Path.cwd() == tmp_path
    assert list((tmp_path / "temporary").iterdir()) == []


def test_paths_start_from_where_the_command_was_started_and_read_as_they_were_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = PullRequest(tmp_path)
    request.head.answer(right_but(0))
    monkeypatch.chdir(request.head.folder)
    capsys.readouterr()
    assert main(["run", "--base", "../base/accuracy.toml", "--out", "of/mine", "--cache", "kept"]) == 0
    assert {"of", "accuracy.toml"} <= {path.name for path in request.head.folder.iterdir()}
    assert (request.head.folder / "of/mine/accgate.json").exists()
    assert "of/mine/accgate.json" in capsys.readouterr().out
    assert main(["merge", "nowhere", "--out", "merged"]) == 2
    words = said(capsys)
    assert "nowhere" in words
    assert str(tmp_path) not in words
    request.head.write(alpha=7)
    assert main(["run"]) == 2
    assert re.match(r"accgate: accuracy\.toml:\d+: gate\.alpha", said(capsys))
    assert Path.cwd() == request.head.folder


def test_an_empty_folder_that_no_model_can_write_is_not_changed_for_one_that_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: str(path) != str(tmp_path / "empty"))  # root can write anywhere
    (tmp_path / "full/allenai").mkdir(parents=True)
    for name in ("empty", "full", "writable"):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        with in_an_empty_folder(argparse.Namespace()):
            assert (Path.cwd() == tmp_path / name) is (name == "empty")


def test_a_working_folder_that_is_gone_is_one_clear_message(tmp_path: Path) -> None:
    done = process(tmp_path, "-c", f"import os; os.rmdir({str(tmp_path)!r}); {START[1]}", "plan")
    assert done.returncode == 2
    assert "into one that exists" in done.stderr
    assert "Traceback" not in done.stderr


def test_python_m_accgate_takes_no_dependency_of_the_working_folder_after_its_own_start(tmp_path: Path) -> None:
    for name in ("rich", "pydantic", "signal", "argparse"):  # Python's own modules, too
        (tmp_path / f"{name}.py").write_text(RAN.format(str(tmp_path / "ran")))
    Project(tmp_path, n=20, sigma=50.0, target=50.0)
    done = process(tmp_path, "-m", "accgate", "plan")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


@posix_tools
def test_every_container_works_in_an_empty_folder_that_nobody_can_write(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    docker = FakeDocker(runner)
    (runner.workspace / "accuracy.toml").write_text("base\n")
    runner.variables["ACCGATE_BASE_SHA"] = commit(runner.workspace, "base")
    assert runner.prepare().code == 0
    assert runner.step("start.sh", ACCGATE_TOKEN="t", ACCGATE_CHECK_NAME="accgate").code == 0
    assert runner.evaluate().code == 0
    assert runner.publish().code == 0
    assert len(docker.runs) == 3
    for argv in docker.runs:
        assert after(argv, "--workdir") == ["/accgate/empty"]
        assert f"type=bind,source={runner.work}/empty,target=/accgate/empty,readonly" in after(argv, "--mount")
        assert "PYTHONSAFEPATH=1" in after(argv, "--env")
    assert list((runner.work / "empty").iterdir()) == []


def test_images_and_workflows_start_accgate_where_python_takes_nothing_from_the_working_folder() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert dockerfile.count("PYTHONSAFEPATH=1") == 2  # cpu and gpu
    for path in [*(ROOT / ".github").rglob("*.yml"), *(ROOT / "accgate/cli/starter").glob("*.py")]:
        assert "-m accgate" not in path.read_text(), path

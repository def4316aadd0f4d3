"""Commands whose terminal, pipe or log takes no more output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.support.gates import Project, right_but
from tests.support.launcher import Launched

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, target=90)
    project.answer(right_but(0))
    return project


@contextmanager
def broken(destination: str) -> Iterator[int]:
    """A descriptor of a disk that is full, or of a pipe that nobody reads any more."""
    if destination == "full":
        descriptor = os.open(FULL, os.O_WRONLY)
    else:
        reader, descriptor = os.pipe()
        os.close(reader)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ended(folder: Path, *arguments: str, **streams: str) -> tuple[int, Mapping[str, str]]:
    """Exit code and what could be written, where the named streams are broken."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, open(os.devnull) as nothing:  # noqa: PTH123
        files = {"out": out, "err": err}
        numbers = {name: file.fileno() for name, file in files.items()}
        (name, destination), *_ = streams.items()
        with broken(destination) as descriptor:
            numbers[name] = descriptor
            code = Launched(*arguments, cwd=folder, files=(nothing.fileno(), *numbers.values())).wait()
        for file in files.values():
            file.seek(0)
        return code, {name: file.read() for name, file in files.items()}


def test_messages_that_nobody_gets_change_no_exit_code(project: Project) -> None:
    (project.folder / "bad.toml").write_text("x = 1\n")
    assert ended(project.folder, "validate", "bad.toml", err="closed")[0] == 2, "1 would mean a regression"
    code, written = ended(project.folder, "run", "--out", "out", err="full")
    assert code == 0, "the run goes on without its progress"
    assert "passed" in written["out"].lower()
    assert (project.out / "report.md").exists()


def test_a_verdict_that_cannot_be_printed_is_kept_and_no_pass(project: Project) -> None:
    code, written = ended(project.folder, "run", "--quiet", "--json", "--out", "out", out="full")
    assert code == 3
    why = "No space left on device; the result is in out/accgate.json"
    assert written["err"] == f"accgate: output cannot be written: {why}\n"
    assert json.loads((project.out / "accgate.json").read_text())["verdict"] == "pass"


def test_a_disk_that_is_full_for_another_file_is_not_blamed_on_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("accgate.config.config.config_schema", lambda: FULL.write_text("x"))
    assert main(["schema", "config"]) == 3
    assert capsys.readouterr().err.startswith("accgate: a file: cannot be written: No space left on device; free")


@pytest.mark.parametrize(
    ("redirection", "words", "code", "message"),
    [
        (">&-", "run", 3, "accgate: standard output is closed; send it to a file, or to /dev/null\n"),
        ("2>&-", "validate bad.toml", 2, ""),
    ],
)
def test_a_stream_that_is_closed_from_the_start(
    project: Project, redirection: str, words: str, code: int, message: str
) -> None:
    (project.folder / "bad.toml").write_text("x = 1\n")
    command = f"{sys.executable} -m accgate {words} {redirection}"
    done = subprocess.run(["sh", "-c", command], cwd=project.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)
    assert (project.folder / "accgate-out").exists() == (code == 0), "nothing was asked"


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [("--version", "1"), ("schema result", "")],
)
def test_a_full_disk_behind_standard_output_is_no_pass(project: Project, arguments: str, unbuffered: str) -> None:
    command = [sys.executable, "-m", "accgate", *arguments.split()]
    environ = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=project.folder, env=environ
        )
    assert done.returncode == 3
    assert done.stderr.startswith("accgate: output cannot be written: No space left on device; free some space")
    assert done.stderr.count("\n") == 1


READ = "run --quiet --json", "report out/accgate.json", "compare m.jsonl m.jsonl"


@pytest.mark.parametrize("arguments", READ)
def test_a_reader_that_has_gone_is_no_verdict_and_no_traceback(project: Project, arguments: str) -> None:
    if arguments.startswith("report"):
        project.run()
    code, said = ended(project.folder, *arguments.split(), out="closed")
    assert (code, said["err"]) == (3, "")


def test_in_a_pipeline_a_reader_that_leaves_early_gets_whole_lines(tmp_path: Path) -> None:
    script = f"set -o pipefail; {sys.executable} -m accgate schema result | (read line; echo $line)"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout == "{\n"
    assert done.stderr == ""
    assert done.returncode in (0, 3)  # 0 where everything was written before the reader left

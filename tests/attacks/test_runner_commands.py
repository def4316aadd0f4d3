"""What others wrote is printed in a job of GitHub Actions, and its runner finds no command in it."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.cli.main import main
from accgate.cli.streams import Messages, Output, Watched, broken
from accgate.github.runner import command, mask
from tests.support.gates import Project, right_but

COMMAND = re.compile(r"::|##\[")  # with which each begins, in any letters' case


@pytest.fixture(autouse=True)
def in_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


@pytest.mark.parametrize("name", ["##[set-output name=x]v", "a ::add-mask::secret", "::::warning::x"])
def test_no_command_prints_one(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    """A task's name comes in tables, progress, errors and JSON, which says the same as outside of a job."""
    project = Project(tmp_path, n=60, target=90)
    text = project.config.read_text(encoding="utf-8")
    project.config.write_text(text.replace("[tasks.sums]", f"[tasks.{json.dumps(name)}]"), encoding="utf-8")
    project.answer(right_but(20, 60))
    config, out = str(project.config), str(project.out)
    for words, codes in (
        (["validate", config], (0,)),
        (["plan", config], (0,)),
        (["plan", config, "--json"], (0,)),
        (["run", config, "--out", out, "--debug"], (1, 2)),
        (["report", f"{out}/accgate.json"], (0, 1, 2)),
        (["report", f"{out}/accgate.json", "--markdown", "-"], (0, 1, 2)),
        (["report", str(out), "--check", "m"], (0, 1, 2)),
        (["verify", out, "--config", config], (0, 1, 2)),
        (["run", config, "--out", out, "--tasks", "::error::y ##[error]z"], (2,)),
        (["plan", "##[error]no such.toml", "--debug"], (2,)),
    ):
        capfd.readouterr()
        assert main(words) in codes, words
        printed = capfd.readouterr()
        assert printed.out or printed.err
        assert "--json" not in words or [row["task"] for row in json.loads(printed.out)] == [name]
        for stream in printed:
            assert not COMMAND.search(stream), words


TEXTS = st.text(alphabet=":#[]ae \r\n\u200b\u00ad", max_size=30)


@given(pieces=st.lists(TEXTS, max_size=12), stream=st.sampled_from((Output, Messages)))
def test_pieces_of_a_text_make_no_command_together_and_nothing_else_changes(
    pieces: list[str], stream: type[Watched]
) -> None:
    inner = io.StringIO(newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        outer = stream(stream(inner))  # as where one command's output is watched twice
        outer.writelines(pieces)
    assert not COMMAND.search(inner.getvalue())
    assert inner.getvalue() == broken("".join(pieces))
    assert inner.getvalue().replace("\u200b", "") == "".join(pieces).replace("\u200b", "")


@given(pieces=st.lists(TEXTS.map(str.encode) | st.binary(max_size=5), max_size=8))
def test_bytes_are_broken_and_otherwise_kept(pieces: list[bytes]) -> None:
    inner = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        below = Output(inner).buffer
        for piece in pieces:
            assert below.write(piece) == len(piece)
    written, gap = inner.buffer.getvalue(), "\u200b".encode()
    assert not re.search(rb"::|##\[", written)
    assert written.replace(gap, b"") == b"".join(pieces).replace(gap, b"")


def test_outside_of_a_job_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS")
    inner = io.StringIO()
    Output(inner).write("std::vector ##[x]")
    assert inner.getvalue() == "std::vector ##[x]"


def test_what_code_says_by_print_warnings_logging_and_threads_is_no_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said = "::error::x ##[error]y"

    def speak(_: object) -> int:
        print(said)
        sys.stderr.writelines([said, "\n"])
        sys.stderr.buffer.write(f"{said}\n".encode())
        sys.stderr.write(warnings.formatwarning(said, UserWarning, "f.py", 1))
        logging.StreamHandler().emit(logging.makeLogRecord({"msg": said}))
        thread = threading.Thread(target=lambda: threading.__excepthook__(threading.ExceptHookArgs(error)))
        try:
            raise ValueError(said)
        except ValueError as fault:
            error = (type(fault), fault, fault.__traceback__, None)
            thread.start()
            thread.join()
        raise RuntimeError(said)

    monkeypatch.setattr("accgate.cli.main._run", speak)
    assert main(["verify", "--debug"]) == 3
    printed = capfd.readouterr()
    assert printed.out.count("[error]y") == 1
    assert printed.err.count("[error]y") >= 7  # two streams, a warning, a log, a thread, the traceback, the message
    assert not COMMAND.search(printed.out + printed.err)


def test_accgates_own_commands_still_are_some_and_hold_no_second_one(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(Output(sys.stdout))
    out.write("half a line")
    out.command(command("error", "a ##[set-output name=x]v\n::add-mask::w", title="##[error]t"))
    out.command(mask("to::ken##[x]"))
    first, second, third = capfd.readouterr().out.splitlines()
    assert (first, third) == ("half a line", "::add-mask::to::ken##[x]")
    assert second.startswith("::error title=")
    assert "##[" not in second
    assert re.fullmatch(r"::error title=[^:]+::a .*%0A::add-mask::w", second), "what follows :: is the message"

"""Every command of the pages is one: accgate's parse, and run in a prepared folder unless the page says why not."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from accgate.cli.main import build_parser, main
from accgate.inputs.toml import tomllib
from tests.docs.blocks import LANGUAGES, PAGES, ROOT, Block, blocks, commands, read
from tests.docs.python_blocks import check_python
from tests.docs.scenes import SCENES
from tests.support.cases import each

SHELL = re.compile(r"[*$|<>;&`]")
OPERATORS = {">", ">>", "|", "&&", ";"}
HARMLESS = {"cat", "cd", "cp", "ls", "mkdir", "head", "echo"}


def parsed(words: list[str], capsys: pytest.CaptureFixture[str]) -> argparse.Namespace:
    try:
        return build_parser().parse_args(words)
    except SystemExit as end:
        if end.code != 0:  # --help and --version leave with 0
            pytest.fail(f"accgate {shlex.join(words)}: {capsys.readouterr().err}")
        return argparse.Namespace()


def exit_code(line: str) -> int:
    """Run a command as a shell would, but accgate's in this process where no shell is needed."""
    words = shlex.split(line, comments=True)
    if words[0] == "accgate" and not SHELL.search(" ".join(words)):
        try:
            return main(words[1:])
        except SystemExit as end:
            return int(end.code or 0)
    assert words[0] in HARMLESS | {"accgate"}, f"{words[0]} is not run by tests; say `runs: no` and why"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = f'accgate() {{ {shlex.quote(sys.executable)} -m accgate "$@"; }}; export -f accgate; {line}'
    done = subprocess.run(["bash", "-c", command], env=os.environ | {"PATH": path}, check=False, timeout=1200)
    return done.returncode


def check_unrun(words: list[str], block: Block) -> None:
    """What can be said of a command that is not run: its files, targets and extras exist."""
    if words[0] == "make":
        made = subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"{block}: {made.stderr}"
    for word in words:
        if word.startswith(("benchmarks/", "action/", ".ci/", "tests/")):
            assert (ROOT / word).exists(), f"{block}: there is no {word}"
        extras = re.fullmatch(r"accgate\[([a-z,-]+)\]", word)
        if extras:
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert set(extras[1].split(",")) <= set(known), f"{block}: {word}"


@each("block", blocks())
def test_every_block_says_its_language(block: Block) -> None:
    assert block.language in LANGUAGES, f"{block}: say the language of the block, one of {', '.join(sorted(LANGUAGES))}"
    if block.language != "sh":
        found = re.findall(r"^\s*accgate [a-z]+.*", block.text, re.MULTILINE)
        assert not found, f"{block}: a command belongs into a block of sh: {found[0]}"


@each("block", blocks("sh"))
def test_every_command_of_accgate_parses(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for line in commands(block):
        words = shlex.split(line, comments=True)
        if words[0] == "accgate":
            parsed(list(takewhile(lambda word: word not in OPERATORS, words[1:])), capsys)


def check_printed(block: Block, out: str) -> None:
    """Lines of a block of text are lines that the last command printed, in their order; trailing spaces aside."""
    lines = iter(line.rstrip() for line in out.splitlines())
    for line in block.text.splitlines():
        assert line.strip() in ("", "...") or line.rstrip() in lines, f"{block}: not printed: {line}\nbut:\n{out}"


def check_shell(block: Block) -> None:
    """Run the commands of a block; each must leave with 0, the last with what the page says."""
    lines = commands(block)
    codes = [exit_code(line) for line in lines]
    wanted = [0] * (len(codes) - 1) + [int(block.notes.get("exits", "0"))]
    assert codes == wanted, f"{block}: {dict(zip(lines, codes, strict=True))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_python_run_in_the_page_s_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for block in read(page).blocks:
        if "prints" in block.notes:
            check_printed(block, capsys.readouterr().out)
        if block.language not in ("sh", "python") or not block.runs:
            continue
        name = block.notes.get("in", "gate")
        assert name in SCENES, f"{block}: there is no scene {name!r}; tests/docs/scenes.py has {', '.join(SCENES)}"
        folder = tmp_path / name
        new = not folder.exists()
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        if new:
            SCENES[name](folder)
        capsys.readouterr()
        (check_shell if block.language == "sh" else check_python)(block)


@each("block", [block for block in blocks("sh", "python") if not block.runs])
def test_commands_that_are_not_run_say_why_and_name_what_exists(block: Block) -> None:
    assert len(block.notes["runs"].removeprefix("no").strip(" ,")) > 4, f"{block}: say why it is not run"
    if block.language == "python":
        compile(block.text, str(block), "exec")
        return
    for line in commands(block):
        check_unrun(shlex.split(line, comments=True), block)


def options_of(command: argparse.ArgumentParser) -> set[str]:
    """The options of a command and of its own commands."""
    found = set(command._option_string_actions)
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {option for inner in action.choices.values() for option in options_of(inner)}
    return found


@each("page", PAGES)
def test_commands_named_in_sentences_exist_with_their_options(page: Path) -> None:
    (subparsers,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for span in read(page).spans:
        words = span.split()
        if len(words) < 2 or words[0] != "accgate" or not re.fullmatch("[a-z][a-z-]*", words[1]):
            continue
        assert words[1] in subparsers.choices, f"{page.name}: `{span}` is no command"
        named = {re.split("[=,.]", word)[0] for word in words[2:] if word.startswith("--")}
        known = options_of(subparsers.choices[words[1]])
        assert named <= known, f"{page.name}: `{span}` has no {', '.join(sorted(named - known))}"

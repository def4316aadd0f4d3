"""Advice in messages, looked at in every test: what it says to write is TOML that a file takes, and commands parse."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from pydantic.dataclasses import is_pydantic_dataclass

from accgate.errors import AccgateError, KeyFaults
from accgate.inputs.toml import tomllib
from accgate.inputs.typed import parse_table

VALUE = r"(?:\{[^{}\n]*\}|\[[^\[\]\n]*\]|\"[^\"\n]*\"|true\b|false\b|[+-]?\d[\d_.e+-]*(?<!\.))"
SETTING = rf"(?:[a-z_]+\.)*[a-z_]+ = {VALUE}"
WRITES = re.compile(
    rf"`({SETTING})`|(?:\b(?:write|add|set|as in|declare it:|add it:|name them:) |\boptions\.)({SETTING})"
)
RUNS = re.compile(r"`(accgate [^`\n]+)`")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_/.0-9]*|\.\.\.|\{[a-z_]+\}|<[a-z ]+>")
MODULES = (
    "config.tables", "tasks.schema", "tasks.attacks.attack", "tasks.lm_eval.loading", "engines.recording",
    "engines.openai.options", "engines.vllm.options", "engines.ray.engine", "engines.llamacpp",
)  # fmt: skip
OF_OTHERS = frozenset({"generation_config", "level", "verbosity", "deterministic"})  # engines', metrics'
seen: set[str] = set()  # texts that were looked through
faults: list[str] = []


def look(text: str) -> None:
    """Note what is wrong with the advice in a text; each text is looked through once."""
    if text in seen or ("`accgate " not in text and " = " not in text):
        return
    seen.add(text)
    for match in WRITES.finditer(text):
        setting = match[1] or match[2]
        faults.extend(f"{setting}: {fault}" for fault in setting_faults(setting))
    for match in RUNS.finditer(text):
        faults.extend(f"{match[1]}: {fault}" for fault in command_faults(match[1]))


@cache
def setting_faults(setting: str) -> tuple[str, ...]:
    """Why a setting cannot be written, or no table of accuracy.toml or of a task's file takes its value."""
    try:
        value: Any = tomllib.loads(setting)
    except tomllib.TOMLDecodeError as error:
        return (str(error),)
    name = ""
    for name in setting.partition(" = ")[0].split("."):
        value = value[name]
    tables = [table for table in tables_of_files() if name in table.__dataclass_fields__]
    told = [fault_of(table, name, value) for table in tables]
    if not told:
        return () if name in OF_OTHERS else ("no file has such a key",)
    return () if None in told else (str(told[0]),)


def fault_of(table: Any, name: str, value: Any) -> str | None:
    """What a table says of the value of one key, whatever it lacks beside it."""
    try:
        parse_table({name: value}, table)
    except KeyFaults as error:
        return next((fault for key, fault in error.faults if key[:1] == (name,)), None)
    return None


@cache
def tables_of_files() -> list[Any]:
    """The tables of accuracy.toml and of a task's file, with the options of the engine that servers are asked by."""
    modules = [import_module(f"accgate.{name}") for name in MODULES]
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and is_pydantic_dataclass(each)
    ]


def command_faults(command: str) -> tuple[str, ...]:
    """Why the command line refuses a command; words in capitals stand for others."""
    from accgate.cli.main import build_parser

    words = [PLACEHOLDER.sub("1", word) for word in shlex.split(command)[1:]]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            build_parser().parse_args(words)
        except SystemExit as end:
            names_it = re.search(": give |is required", said.getvalue()) and not any(word[:1] == "-" for word in words)
            return (said.getvalue(),) if end.code and not names_it else ()
    return ()


def watch() -> None:
    """Look at each error from here on, and at all that a test reads of what was printed."""
    read_out = pytest.CaptureFixture.readouterr

    def made(error: AccgateError, *words: Any) -> None:
        Exception.__init__(error, *words)
        for word in words:
            look(str(word))

    def printed(fixture: Any) -> Any:
        captured = read_out(fixture)
        for text in captured:
            if isinstance(text, str):
                look(" ".join(text.split()))
        return captured

    AccgateError.__init__ = made  # type: ignore[method-assign, assignment]
    pytest.CaptureFixture.readouterr = printed  # type: ignore[method-assign]

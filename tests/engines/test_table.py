"""Engines by name: faults of options and files are found, with file and line, before anything is loaded."""

from __future__ import annotations

import asyncio
import platform
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.engines import Engine, Request, RequestFailed, base, llamacpp, split_options
from accgate.engines.llamacpp import LlamaCppEngine
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import read_toml
from tests.engines.planned import engine_of, model_file
from tests.support.cases import each

URL = "http://127.0.0.1:8000/v1"


def made(folder: Path, engine: str, model: str, options: str = "") -> Engine:
    """The engine of a file whose options stand on line 4.

    A model has an empty file unless it is a package or named `no.*`.
    """
    if "/" not in model and not model.startswith("no"):
        (folder / model).touch()
    return engine_of(read_toml(model_file(folder, engine, model, options), fix=""))


def llama(folder: Path, options: str = "") -> LlamaCppEngine:
    engine = made(folder, "llamacpp", "weights.gguf", options)
    assert isinstance(engine, LlamaCppEngine)
    return engine


def refusals(folder: Path, engine: str, model: str, options: str = "") -> list[str]:
    """Its faults, without the file and the model's table."""
    with pytest.raises(BadInput) as caught:
        made(folder, engine, model, options)
    prefix = re.compile(rf"{re.escape(str(folder / 'accuracy.toml'))}:(\d+: )models\.m\.")
    assert all(prefix.match(message) for message in caught.value.messages)
    return [prefix.sub(r"\1", message).replace("4: options.", "") for message in caught.value.messages]


def refusal(folder: Path, options: str) -> str:
    (said,) = refusals(folder, "llamacpp", "weights.gguf", options)
    return said


ENGINES = (
    ("openai", "x", ""), ("openai", "x", f"base_url = ['{URL}', 'h']"), ("recorded", "no.jsonl", ""),
    ("llamacpp", "no.gguf", ""), ("llamacpp", "package://no-such-package/a.gguf", ""), ("llamacpp", "package://", ""),
    ("llamacpp", "package://pytest/a.gguf", ""), ("llamacpp", "w.gguf", "n_parallel = 0"),
    ("llamacpp", "w.gguf", "n_parallel = 257"), ("llamacpp", "w.gguf", "n_parallel = true"),
)  # fmt: skip


def test_a_fault_names_line_key_and_fix(tmp_path: Path, messages: SnapshotAssertion) -> None:
    faults = {" ".join(words): "\n".join(refusals(tmp_path, *words)) for words in ENGINES}
    assert all("\n" not in fault for fault in faults.values())  # one each
    assert faults == messages


@each("option", ["n_cache_reuse = 64", "n_ubatch = 64, speculative = { draft = { n_max = 4 } }"])
def test_options_that_make_a_reply_depend_on_others_go_only_without_determinism(tmp_path: Path, option: str) -> None:
    name, value = option.partition(",")[0].split(" = ")
    assert refusal(tmp_path, option).startswith(f"{name}: is {value} where replies are deterministic; take it out")
    llama(tmp_path, f"deterministic = false, {option}")


@each(
    ("response", "cause"),
    [
        ({"error": {"message": "too long"}}, "llama.cpp: too long"),
        ({"choices": []}, "llama.cpp: the response holds no choice with text: {'choices': []}"),
        (ConnectionResetError("the port is closed"), "llama.cpp: the port is closed"),
        (asyncio.TimeoutError(), "llama.cpp: TimeoutError"),
    ],
)
def test_what_llama_cpp_cannot_answer_fails_that_sample(tmp_path: Path, response: Any, cause: str) -> None:
    async def post(*_: Any) -> Any:
        if isinstance(response, Exception):
            raise response
        return response

    engine = llama(tmp_path)
    engine._ask = post
    with pytest.raises(RequestFailed) as caught:
        asyncio.run(engine.complete(Request("a", 0, "Hi")))
    assert str(caught.value) == cause


CRASHES = (
    "n_ubatch = 0", "n_batch = 3, deterministic = false", "n_batch = 7, n_parallel = 8, deterministic = false",
    "n_ctx = 1", "cpuparams = { n_threads = 0 }", "sleep_idle_seconds = 0", "port = 99999", "api_prefix = '/a'",
    "api_keys = []", "n_ctx = -2, n_batch = -64, cpuparams = { n_threads = 0 }", "n_batch = 100", "max_silence = 0",
    "deterministic = 'no'", "deterministic = true, mmproj = { path = 'p' }",
)  # fmt: skip


def test_what_llama_cpp_would_crash_on_is_refused(tmp_path: Path, messages: SnapshotAssertion) -> None:
    faults = {options: refusals(tmp_path, "llamacpp", "weights.gguf", options) for options in CRASHES}
    assert {options: "\n".join(found) for options, found in faults.items()} == messages


@each(
    "option",
    ["n_ctx = 0", "n_ctx = 2", "n_batch = 4, deterministic = false", "cpuparams = { n_threads = -1 }", "n_ubatch = 512",
     "n_batch = 128"],
)  # fmt: skip
def test_numbers_that_llama_cpp_reads_in_a_way_of_its_own_are_taken(tmp_path: Path, option: str) -> None:
    llama(tmp_path, option)


def test_the_processor_is_named_as_the_system_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(base, "Path", lambda _: path)
    assert base.cpu_name() == (platform.processor() or platform.machine())
    path.write_text("vendor_id\t: X\nmodel name\t: Fast CPU @ 9 GHz \nmodel name\t: other\n")
    assert base.cpu_name() == "Fast CPU @ 9 GHz"


def test_a_missing_system_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xllamacpp.py").write_text('raise ImportError("libgomp.so.1: cannot open shared object file")\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    with pytest.raises(CannotEvaluate, match=r"libgomp\.so\.1.*apt-get install libgomp1"):
        asyncio.run(llama(tmp_path).start())


@each(
    ("engine", "options", "kept"),
    [
        ("openai", {"base_url": "http://h/v1", "serve": ["s"], "max_outage": 1}, {"serve": ["s"]}),
        ("vllm", {"dtype": "half", "concurrency": 2, "seed": 1, "log": "l"}, {"dtype": "half", "seed": 1}),
        ("llamacpp", {"n_ctx": 1, "n_parallel": 2, "verbosity": 3}, {"n_ctx": 1, "n_parallel": 2}),
        ("recorded", {"scale": 100.0}, {"scale": 100.0}),
        ("of-tomorrow", {"base_url": "x", "concurrency": 1}, {"base_url": "x", "concurrency": 1}),
        ("ray", {"engine": "vllm", "address": "a:1", "replicas": 2}, {"engine": "vllm"}),
        ("ray", {"engine": "openai", "options": {"timeout": 1}}, {"engine": "openai", "options": {}}),
        ("ray", {"options": {"timeout": 1}}, {"options": {"timeout": 1}}),
    ],
)  # fmt: skip
def test_what_can_change_an_answer_is_kept_apart(engine: str, options: dict[str, Any], kept: dict[str, Any]) -> None:
    answering, operational = split_options(engine, options)
    assert answering == kept
    of_inner = operational.pop("options", {})
    merged = {**answering, **operational}
    if "options" in options:
        merged["options"] = {**answering["options"], **of_inner}
    assert merged == options


def test_those_of_llamacpp_are_its_parameters() -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    assert all(hasattr(xllamacpp.CommonParams(), name) for name in llamacpp.OPERATIONAL - {"max_silence"})

"""validate, init and run check the options of every engine in one way, without weights, a server or a cluster."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.engines.openai.options import url_fault
from tests.engines.planned import model_file
from tests.support.cases import each

URL = "http://127.0.0.1:8000/v1"
TASK = "[tasks.arithmetic]\nnum_samples = 9\n"
llamacpp = pytest.mark.skipif(util.find_spec("xllamacpp") is None, reason="needs xllamacpp")
WRONG = 'n_ctxx = 8192, n_ctx = "8192", cache_type_k = "q3", cpuparams = { n_thread = 1 }'
OF_LLAMACPP = (
    "n_ctxx: llama.cpp has no such parameter; did you mean 'n_ctx'?",
    "n_ctx: is '8192', which llama.cpp does not take (",
    "cache_type_k: is 'q3'; did you mean 'q3_k'?",
    "cpuparams.n_thread: llama.cpp has no such parameter; did you mean 'n_threads'?",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.gguf").write_bytes(b"no weights: nothing here may load them")
    (tmp_path / "s.jsonl").write_text('{"id": "a", "score": 100}\n')
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """What a command wrote to standard output, on one line."""
    return " ".join(capsys.readouterr().out.split())


CASES = [
    pytest.param("llamacpp", "w.gguf", WRONG, OF_LLAMACPP, id="llamacpp", marks=llamacpp),
    pytest.param(
        "ray", "w.gguf", f'engine = "llamacpp", options = {{ {WRONG} }}',
        tuple(f"options.{fault}" for fault in OF_LLAMACPP), id="ray over llamacpp", marks=llamacpp,
    ),
    pytest.param("openai", "x", "base_url = 'localhost:8000', timeuot = 1", (
        "timeuot: unknown key; did you mean 'timeout'?",), id="openai"),
    pytest.param("ray", "x", "engine = 'openai', options = { base_url = 'nonsense url' }", (
        "options.base_url: is 'nonsense url', which does not begin with http",), id="ray over openai"),
    pytest.param("ray", "x", "engine = 'openai', replica = 2", (
        "replica: unknown key; did you mean 'replicas'?",), id="ray"),
    pytest.param("recorded", "s.jsonl", "sclae = 1", ("sclae: unknown key; did you mean 'scale'?",), id="recorded"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "model", "options", "faults"), CASES)
def test_wrong_options_are_refused_with_line_and_key_before_anything_is_loaded(
    folder: Path, capsys, engine: str, model: str, options: str, faults: tuple[str, ...]
) -> None:
    model_file(folder, engine, model, options, more=TASK)
    for command in ("validate", "run", "record"):
        assert main([command]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == len(faults)
        for line, fault in zip(lines, faults, strict=True):
            assert line.startswith(f"accgate: accuracy.toml:4: models.m.options.{fault}")


def test_the_options_of_a_judge_are_checked_too(folder: Path, capsys) -> None:
    judge = "[judges.j]\nmodel = 'y'\noptions = { base_url = 'h/v1' }\n"
    model_file(folder, "openai", "x", f"base_url = '{URL}'", more=TASK + judge)
    assert main(["validate"]) == 2
    assert "accuracy.toml:9: judges.j.options.base_url: is 'h/v1', which does not begin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("engine", "options", "key"), [("llamacpp", "", "engine"), ("ray", "engine = 'llamacpp'", "options.engine")]
)
def test_without_xllamacpp_a_note_says_that_its_options_were_not_checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys, engine: str, options: str, key: str
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    model_file(folder, engine, "w.gguf", options, more=TASK)
    assert main(["validate"]) == 0
    line = 2 if engine == "llamacpp" else 4
    note = f"accuracy.toml:{line}: models.m.{key}: is llamacpp, whose options were not checked: engine llamacpp needs "
    assert f"{note}xllamacpp; pip install 'accgate[llamacpp]'" in printed(capsys)


def test_without_ray_a_note_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    model_file(folder, "ray", "x", f"engine = 'openai', options = {{ base_url = '{URL}' }}", more=TASK)
    assert main(["validate"]) == 0
    before = printed(capsys)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["validate"]) == 0
    note = "accuracy.toml:2: models.m.engine: is ray, which is not installed here; pip install 'accgate[ray]'"
    assert note in printed(capsys)
    if util.find_spec("ray") is not None:
        assert note not in before


@each(
    "url",
    [URL, "https://api.example/v1/", "HTTPS://H/v1", "http://h", "http://[::1]:8000/v1", "http://ü.de", "http://h/v1//",
     "https://h/a%20b/v1"],
)  # fmt: skip
def test_a_url_of_a_server_is_taken(url: str) -> None:
    assert url_fault(url) is None

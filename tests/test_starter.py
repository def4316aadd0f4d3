"""`accgate init`: files that validate, and nothing overwritten."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate import load_config
from accgate.cli import main
from accgate.errors import BadInput
from accgate.starter import EXTRA, config_text
from accgate.tasks.library import library_names
from accgate.tomlfile import tomllib
from tests.gates import Project

PLAIN: dict[str, Any] = {
    "name": "m", "engine": "openai", "model": "x", "task": "arithmetic", "theta": 4.0, "base_url": "http://h/v1",
}  # fmt: skip
ours = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("engine", sorted(EXTRA))
@pytest.mark.parametrize("task", library_names())
def test_what_it_writes_loads(folder: Path, capsys, engine: str, task: str) -> None:
    assert main(["init", "--engine", engine, "--task", task, "--name", "small", "--theta", "2.5"]) == 0
    config = load_config("accuracy.toml")
    assert config.pairs() == [("small", task)]
    assert config.models["small"].engine == engine
    assert config.tasks[task].theta == 2.5
    out = capsys.readouterr().out
    assert "wrote accuracy.toml" in out
    assert "wrote .github/workflows/accuracy.yml" in out
    assert (folder / ".github/workflows/accuracy.yml").read_text().startswith("name: accuracy\n")


def test_what_it_writes_for_a_server_validates_and_plans(folder: Path, capsys) -> None:
    assert main(["init", "--base-url", "http://127.0.0.1:9/v1"]) == 0
    assert main(["validate"]) == 0
    assert main(["plan"]) == 0
    assert load_config("accuracy.toml").models["model"].options == {"base_url": "http://127.0.0.1:9/v1"}


def test_an_own_project_is_not_overwritten_but_by_force(folder: Path, capsys) -> None:
    Project(folder)
    before = (folder / "accuracy.toml").read_bytes()
    assert main(["init"]) == 2
    assert capsys.readouterr().err == "accgate: accuracy.toml exist; nothing was written. --force replaces them\n"
    assert (folder / "accuracy.toml").read_bytes() == before
    assert not (folder / ".github").exists()
    assert main(["init", "--force"]) == 0
    assert (folder / "accuracy.toml").read_bytes() != before
    assert main(["init"]) == 2
    assert "accuracy.toml and .github/workflows/accuracy.yml exist" in capsys.readouterr().err


def test_an_unknown_task_is_refused_with_the_nearest(folder: Path, capsys) -> None:
    assert main(["init", "--task", "arithmetics"]) == 2
    assert "no task 'arithmetics' in the library; did you mean 'arithmetic'?" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("theta", ["0", "-1", "nan", "inf"])
def test_a_theta_that_is_no_drop_is_refused(folder: Path, capsys, theta: str) -> None:
    assert main(["init", f"--theta={theta}"]) == 2
    assert "give a drop in points above 0" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@given(name=ours, model=ours, base_url=ours, theta=st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=30)
def test_any_text_stands_in_the_file_as_given(name: str, model: str, base_url: str, theta: float) -> None:
    text = config_text(**PLAIN | {"name": name, "model": model, "base_url": base_url, "theta": theta})
    data = tomllib.loads(text)
    assert data["models"][name] == {"engine": "openai", "model": model, "options": {"base_url": base_url}}
    assert data["tasks"]["arithmetic"]["theta"] == pytest.approx(theta, rel=1e-5)


@pytest.mark.parametrize("name", ["a b", 'a"b', "org/model", "a.b", "ü", "a]b"])
def test_names_that_need_quotes_get_them(folder: Path, name: str) -> None:
    assert main(["init", "--name", name, "--model", 'C:\\weights\\"x"']) == 0
    config = load_config("accuracy.toml")
    assert list(config.models) == [name]
    assert config.models[name].model == 'C:\\weights\\"x"'


@pytest.mark.parametrize("name", ["m@bf16", " ", "x" * 101])
def test_names_that_a_model_cannot_have_are_refused(folder: Path, name: str) -> None:
    assert main(["init", "--name", name]) == 2


def test_every_engine_has_a_start() -> None:
    assert set(EXTRA) == {"openai", "vllm", "llamacpp", "ray", "recorded"}
    for engine in EXTRA:
        text = config_text(**PLAIN | {"engine": engine})
        assert tomllib.loads(text)["models"]["m"]["engine"] == engine
    with pytest.raises(BadInput, match="theta is 0"):
        config_text(**PLAIN | {"theta": 0.0})


def test_the_llamacpp_start_has_options_that_the_engine_takes() -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    options = tomllib.loads(config_text(**PLAIN | {"engine": "llamacpp"}))["models"]["m"]["options"]
    assert options
    assert all(hasattr(xllamacpp.CommonParams(), name) for name in options)

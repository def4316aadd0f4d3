"""The package's names, and what starting up loads."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import accgate
from tests.gates import right_but, write_lines

HEAVY = ("numpy", "pydantic", "rich", "scipy", "jinja2", "aiohttp", "asyncio")


def loaded(code: str) -> set[str]:
    """The modules loaded after running this code."""
    code += "\nimport sys; print('\\n' + '\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return set(done.stdout.splitlines())


def command(*arguments: str) -> str:
    return f"from accgate.cli.main import main\ntry: main({list(arguments)!r})\nexcept SystemExit: pass"


@pytest.mark.parametrize("name", accgate.__all__)
def test_every_documented_name_works(name: str) -> None:
    assert getattr(accgate, name) is not None


@pytest.mark.parametrize("name", sorted(set(accgate.__all__) - {"metrics"}))
def test_no_name_is_a_module_too(name: str) -> None:
    assert importlib.util.find_spec(f"accgate.{name}") is None


def test_the_documented_functions_do_what_they_say() -> None:
    assert accgate.compare([100.0, 0.0] * 50, [0.0, 0.0] * 50).verdict == "regression"
    assert accgate.plan(2.0, sigma=50.0).n == 7729
    assert accgate.metrics.get("numeric_match")("1,234", "1234") == 100.0
    assert accgate.load_config("configs/quickstart.toml").pairs()
    assert isinstance(accgate.compare([100.0], [100.0]), accgate.Verdict)
    assert accgate.__version__[0].isdigit()


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"accgate.*comprae"):
        accgate.comprae  # noqa: B018


def test_importing_accgate_loads_nothing_heavy() -> None:
    assert not loaded("import accgate") & set(HEAVY)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("compare", "--help"), ("run", "--help")])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not loaded(command(*arguments)) & set(HEAVY)


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_compare_loads_neither_the_models_part_nor_scipy_stats(tmp_path: Path, as_json: tuple[str, ...]) -> None:
    left = write_lines(tmp_path / "a", [{"id": f"q{i}", "score": s} for i, s in enumerate(right_but(5, 100))])
    right = write_lines(tmp_path / "b", [{"id": f"q{i}", "score": s} for i, s in enumerate(right_but(9, 100))])
    modules = loaded(command("compare", str(left), str(right), *as_json))
    assert "numpy" in modules
    assert not modules & {"scipy.stats", "pydantic", "aiohttp", "jinja2", "asyncio"}
    assert ("rich" in modules) == (not as_json)

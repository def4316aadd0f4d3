"""The package's names and their types, and what starting up loads."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import accgate
from tests.support.cases import each
from tests.support.gates import right_but, write_lines

HEAVY = ("numpy", "pydantic", "rich", "scipy", "jinja2", "aiohttp", "asyncio")


def loaded(code: str) -> set[str]:
    """The modules loaded after running this code."""
    code += "\nimport sys; print('\\n' + '\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return set(done.stdout.splitlines())


def command(*arguments: str) -> str:
    return f"from accgate.cli.main import main\ntry: main({list(arguments)!r})\nexcept SystemExit: pass"


@each("name", accgate.__all__)
def test_every_documented_name_works_and_is_offered_for_completion(name: str) -> None:
    assert getattr(accgate, name) is not None
    assert name in dir(accgate)
    assert name in ("errors", "metrics") or importlib.util.find_spec(f"accgate.{name}") is None  # and is no module too


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"accgate.*comprae"):
        accgate.comprae  # type: ignore[attr-defined]  # noqa: B018


def test_a_function_stays_one_when_its_package_is_loaded() -> None:
    packages = "import accgate.planning, accgate.decision, accgate.gate"
    assert "accgate.planning" in loaded(f"{packages}; accgate.plan(2.0); accgate.compare([0.0], [0.0])")


SCRIPT = """
import accgate

config = accgate.load_config("accuracy.toml")
reveal_type(accgate.compare([100.0, 0.0], [0.0, 0.0], theta=2.0))
reveal_type(accgate.plan(2.0, sigma=50.0).n)
reveal_type(config)
reveal_type(accgate.run(config).checks)
reveal_type(accgate.metrics.get("rouge_l")("reply", "target"))
reveal_type(accgate.errors.BadInput("x").exit_code)
accgate.compare([1.0])
accgate.plan("2")
"""


@pytest.mark.slow
def test_a_users_script_sees_real_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    root = Path(accgate.__file__).parents[1]
    assert (root / "accgate" / "py.typed").is_file()
    (tmp_path / "script.py").write_text(SCRIPT)
    as_lint = (f"--config-file={root / 'pyproject.toml'}", f"--cache-dir={root / '.mypy_cache'}")  # which it fills
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *as_lint, "script.py"],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": str(root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    revealed = re.findall(r'Revealed type is "([^"]*)"', done.stdout)
    assert revealed == [
        "accgate.verdict.verdict.Verdict", "int", "accgate.config.config.Config",
        "tuple[accgate.verdict.verdict.Verdict, ...]", "float", "int",
    ]  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [re.search(r":(\d+): .*\[(.*)\]", line)[2] for line in errors] == ["call-arg", "arg-type"], done.stdout


def test_importing_accgate_and_help_load_nothing_heavy() -> None:
    helps = (["--help"], ["--version"], ["compare", "--help"], ["run", "--help"])
    assert not loaded("import accgate\n" + "\n".join(command(*arguments) for arguments in helps)) & set(HEAVY)


@each("as_json", [(), ("--json",)])
def test_compare_loads_neither_the_models_part_nor_scipy_stats(tmp_path: Path, as_json: tuple[str, ...]) -> None:
    sides = [
        str(write_lines(tmp_path / name, [{"id": f"q{i}", "score": s} for i, s in enumerate(right_but(wrong, 100))]))
        for name, wrong in (("a", 5), ("b", 9))
    ]
    modules = loaded(command("compare", *sides, *as_json))
    assert "numpy" in modules
    assert not modules & {"scipy.stats", "pydantic", "aiohttp", "jinja2", "asyncio"}
    assert ("rich" in modules) == (not as_json)


AT_FIRST_CONNECTION = """
import os, sys

def look(event, _):
    if event == "socket.connect":
        print("\\n" + "\\n".join(sys.modules), flush=True)
        os._exit(0)

sys.addaudithook(look)
"""
CONFIG = """
[models.served]
engine = "openai"
model = "toy"
options = { base_url = "http://127.0.0.1:9/v1" }

[tasks.json_extraction]
num_samples = 20
target = 50
"""


def test_a_run_loads_only_what_it_needs_before_it_asks_a_server(tmp_path: Path) -> None:
    (tmp_path / "accuracy.toml").write_text(CONFIG)
    run = command("run", str(tmp_path / "accuracy.toml"), "--out", str(tmp_path / "out"), "--quiet")
    modules = loaded(AT_FIRST_CONNECTION + run)
    assert {"aiohttp", "accgate.engines.openai.engine", "numpy"} <= modules
    others = {"llamacpp", "vllm", "ray"}  # engines that the config does not name
    assert not modules & {f"accgate.engines.{name}" for name in others}
    assert not modules & {
        "xllamacpp", "vllm", "torch", "ray", "scipy.special", "scipy.stats", "rich", "jsonpath", "regex", "requests",
        "charset_normalizer", "unittest", "lm_eval", "datasets", "pyarrow", "markdown_it", "matplotlib",
    }  # fmt: skip


def test_no_time_goes_into_looking_for_unused_objects() -> None:
    code = """
import gc, sys
from accgate.__main__ import main
looks = []
gc.callbacks.append(lambda phase, _: looks.append(phase))
sys.argv = ["accgate", "validate", "configs/quickstart.toml", "--json"]
main()
print(f"looks: {len(looks)}, left out at the end: {gc.get_freeze_count() > 10_000}")
"""
    assert "looks: 0, left out at the end: True" in loaded(code)

"""`accgate init`: files that validate, and nothing overwritten."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate import load_config
from accgate.cli.main import main
from accgate.cli.starter.files import MODELS, Answers, config_text, theta_of
from accgate.config.config import Config
from accgate.inputs.toml import tomllib
from accgate.tasks.definition import library_file, library_names, read_definition
from tests.support.cases import each
from tests.support.gates import Project
from tests.support.runner import load_yaml

PLAIN, TASKS = Answers(name="m", model="x", base_url="http://h/v1"), {"arithmetic": 4.0}
ours = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


def loaded(folder: Path, text: str) -> Config:
    (folder / "accuracy.toml").write_text(text, encoding="utf-8")
    return load_config(folder / "accuracy.toml")


@each("engine", sorted(MODELS))
def test_what_it_writes_for_any_task_of_the_library_loads(tmp_path: Path, engine: str) -> None:
    tasks = dict.fromkeys(library_names(), 2.5)
    config = loaded(tmp_path, config_text(replace(PLAIN, name="small", engine=engine), tasks))
    assert config.pairs() == [("small", task) for task in library_names()]
    assert config.models["small"].engine == engine
    assert {task.theta for task in config.tasks.values()} == {2.5}


def test_a_task_without_a_given_drop_keeps_its_own_or_gets_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {task: theta_of(task) for task in ("arithmetic", "gsm8k")} == {"arithmetic": 4.0, "gsm8k": 4.0}
    definition = read_definition(library_file("arithmetic"))
    own = replace(definition, content=replace(definition.content, theta=1.25))
    monkeypatch.setattr("accgate.tasks.read_definition", lambda _: own)
    assert theta_of("arithmetic") == 1.25


def test_an_editor_checks_the_config_by_the_schema_that_its_first_line_names(folder: Path) -> None:
    def lint() -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).with_name("taplo"), "lint", "accuracy.toml"]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)

    assert main(["init", "--yes"]) == 0
    assert lint().returncode == 0, lint().stderr
    config = folder / "accuracy.toml"
    config.write_text(config.read_text().replace("alpha = 0.05", "alhpa = 0.05"))
    wrong = lint()
    assert wrong.returncode != 0
    assert "'alhpa' was unexpected" in wrong.stderr + wrong.stdout


def test_what_it_writes_validates_and_plans_or_it_is_said_what_is_not_there_yet(folder: Path, capsys) -> None:
    assert main(["init", "--base-url", "http://127.0.0.1:9/v1", "--no-workflow"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["accuracy.schema.json", "accuracy.toml"]
    out = capsys.readouterr().out
    assert "valid: accuracy.toml: 1 check at alpha 0.05, beta 0.2." in out
    assert "Next: `accgate record`" in out
    assert (main(["validate"]), main(["plan"])) == (0, 0)
    assert load_config("accuracy.toml").models["SmolLM2-135M-Instruct"].options == {"base_url": "http://127.0.0.1:9/v1"}
    capsys.readouterr()
    assert main(["init", "--force", "--engine", "recorded", "--model", "gone.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "not ready yet: accuracy.toml:11: models.model.model: there is no file 'gone.jsonl'" in out
    assert "Next: correct that and run `accgate validate`" in out
    assert main(["validate"]) == 2


def test_an_own_project_is_not_overwritten_but_by_force(folder: Path, capsys) -> None:
    Project(folder)
    before = (folder / "accuracy.toml").read_bytes()
    assert main(["init"]) == 2
    assert capsys.readouterr().err == "accgate: accuracy.toml exists; nothing was written. --force replaces it\n"
    assert (folder / "accuracy.toml").read_bytes() == before
    assert not (folder / ".github").exists()
    assert main(["init", "--force"]) == 0
    assert (folder / "accuracy.toml").read_bytes() != before
    assert main(["init"]) == 2
    there = "accuracy.toml and accuracy.schema.json and .github/workflows/accuracy.yml exist"
    assert there in capsys.readouterr().err


@each(
    ("arguments", "fault"),
    [
        (["--task", "arithmetics"], "no task 'arithmetics' in the library; did you mean 'arithmetic'?"),
        (["--tasks", ","], "--tasks is empty"),
        *(([f"--theta={theta}"], f"--theta is {theta}; give a drop in points") for theta in ("0", "nan", "100.1")),
        *(([f"--name={n}"], f"--name is {n!r}; use up to 100") for n in ("a/x", "", ".a", "a\n", "ü", "x" * 101)),
        *(([f"--base-url={u}"], f"--base-url is {u!r}, which ") for u in ("localhost:8000", "")),
        (["--engine", "vllm", "--base-url", "http://x"], "--base-url is for --engine openai, and the engine is vllm;"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_and_nothing_written(
    folder: Path, ends, arguments: list[str], fault: str
) -> None:
    assert fault in ends(2, "init", *arguments)
    assert list(folder.iterdir()) == []


@given(name=ours, model=ours, base_url=ours, theta=st.floats(1e-6, 100.0))
@settings(deadline=None, max_examples=30)
def test_any_text_stands_in_the_file_as_given(name: str, model: str, base_url: str, theta: float) -> None:
    tasks = {"arithmetic": theta}
    text = config_text(replace(PLAIN, name=name, model=model, base_url=base_url), tasks)
    data = tomllib.loads(text)
    assert data["models"][name] == {"engine": "openai", "model": model, "options": {"base_url": base_url}}
    assert data["tasks"]["arithmetic"]["theta"] == pytest.approx(theta, rel=1e-5)


ADDED = "added accgate-out/ to .gitignore"


@each(
    ("before", "after", "line"),
    [
        (None, b"accgate-out/\n", "wrote .gitignore"),
        (b"\xff\r\nx", b"\xff\r\nx\naccgate-out/\n", ADDED),
        (b"accgate-out/record\n", b"accgate-out/record\naccgate-out/\n", ADDED),
        *((line, line, "") for line in (b"x\n/accgate-out\n", b"**/accgate-out/")),
    ],
)
def test_what_runs_write_is_kept_out_of_the_repository_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, before: bytes | None, after: bytes, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    ignore = tmp_path / ".gitignore"
    if before is not None:
        ignore.write_bytes(before)
    for expected in (line, ""):
        assert main(["init", "--yes", "--force"]) == 0
        assert ignore.read_bytes() == after
        lines = capsys.readouterr().out.splitlines()
        assert [said for said in lines if ".gitignore" in said] == ([expected] if expected else [])
    assert subprocess.run(["git", "check-ignore", "--quiet", "accgate-out/accgate.json"], check=False).returncode == 0


def test_in_a_folder_of_a_repository_workflow_and_ignored_name_go_to_its_top_and_outside_of_one_nowhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    assert main(["init", "--yes", "--no-workflow"]) == 0
    assert not (folder / ".gitignore").exists()
    subprocess.run(["git", "init", "--quiet"], check=True)
    inner = folder / "models" / "a b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert main(["init", "--yes", "--force", "--name=Qwen3-0.6B", "--model", 'C:\\weights\\"x"']) == 0
    assert (folder / ".gitignore").read_text() == "accgate-out/\n"
    workflow = load_yaml(folder / ".github/workflows/accuracy.yml")
    assert workflow["jobs"]["accuracy"]["steps"][1]["with"]["config"] == "models/a b/accuracy.toml"
    assert sorted(path.name for path in inner.iterdir()) == ["accuracy.schema.json", "accuracy.toml"]
    assert load_config("accuracy.toml").models["Qwen3-0.6B"].model == 'C:\\weights\\"x"'
    (folder / ".gitignore").unlink()
    (folder / ".gitignore").mkdir()
    capsys.readouterr()
    assert main(["init", "--yes", "--force"]) == 2
    err = capsys.readouterr().err
    assert ".gitignore: cannot be read: Is a directory; write accgate-out/ into it yourself" in err


def test_the_llamacpp_start_has_options_that_the_engine_takes() -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    options = tomllib.loads(config_text(replace(PLAIN, engine="llamacpp"), TASKS))["models"]["m"]["options"]
    assert options
    assert all(hasattr(xllamacpp.CommonParams(), name) for name in options)

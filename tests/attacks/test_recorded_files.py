"""Of what the container of `command: record` wrote only references of the config come back into the workspace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.runner import FakeDocker, Runner, commit, git, posix_tools

pytestmark = posix_tools


def recording(runner: Runner, config: str = "accuracy.toml") -> Runner:
    """The runner, prepared to record, with a docker that writes what it is told."""
    runner.variables |= {"ACCGATE_COMMAND": "record", "ACCGATE_CONFIG": config, "GITHUB_EVENT_NAME": "push"}
    FakeDocker(runner)
    assert runner.prepare().code == 0
    return runner


def runner_of(folder: Path, config: str = "accuracy.toml", text: str = "") -> Runner:
    """A runner with a workspace of one commit, prepared to record."""
    runner = Runner(folder)
    for name, content in {"pyproject.toml": "head\n", "pkg/pyproject.toml": "head\n", config: text}.items():
        file = runner.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    commit(runner.workspace)
    return recording(runner, config)


def files_of(folder: Path) -> dict[str, str]:
    """Every file of a workspace, git's too, with its content."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode("latin-1") for path in files}


def written(runner: Runner, *names: str, removed: str = "") -> tuple[set[str], str]:
    """What a container that wrote these files, and removed one, changed in the workspace, and what the step said."""
    (runner.work / "exit-code").unlink(missing_ok=True)
    shutil.rmtree(runner.work / "recorded", ignore_errors=True)
    before = files_of(runner.workspace)
    made = {f"/accgate/head/{name}": "hacked\n" for name in names}
    made |= {f"/accgate/head/{removed}": None} if removed else {}
    done = runner.evaluate(FAKE_FILES=json.dumps(made))
    after = files_of(runner.workspace)
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}, done.text


HOSTILE = (
    ".git/refs/heads/x.toml", ".git/hooks/a/pre-commit.toml", ".GIT/refs/z.toml", "pkg/pyproject.toml",
    "pyproject.toml", "tasks/sums/task.toml", "a/b/c.toml", "a/b/c.scores.csv", "a/b.replies.jsonl.gz",
    ".github/workflows/x.toml", "x/references/m/t.toml", "References/m/t.toml", "references.d/m/t.toml",
    # within the folder of references, but none of its files
    "references/t.toml", "references/m/deep/t.toml", "references/m/t.py", "references/m/t", "references/.git/t.toml",
    "references/.GIT/t.toml", "references/.github/t.toml", "references/m/a\n::error::.toml",
)  # fmt: skip


def test_only_files_of_the_references_come_back(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    fine = {"references/m/t.toml", "references/m/t.scores.csv", "references/m/t.replies.jsonl.gz"}
    changed, _ = written(runner, *HOSTILE, *fine)
    assert changed == fine
    assert git(runner.workspace, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize(
    ("config", "text", "folder"),
    [
        ("accuracy.toml", "[ gate ] # rules\nalpha = 0.05\n  references='refs/own'\n[tasks.a]\n", "refs/own"),
        ("accuracy.toml", 'gate.references = "refs"\n[tasks.a]\nreferences = "b"\n', "refs"),
        ("gates/accuracy.toml", "[tasks.a]\n", "gates/references"),
        ("gates/accuracy.toml", '[gate]\nreferences = "../refs"\n', "refs"),
        (".github/gate/accuracy.toml", '[gate]\nreferences = "../../refs"\n', "refs"),
    ],
)
def test_the_folder_is_the_one_that_the_config_names(tmp_path: Path, config: str, text: str, folder: str) -> None:
    runner = runner_of(tmp_path, config, text)
    changed, _ = written(runner, f"{folder}/m/t.toml", "references/m/t.toml", "a/refs/m/t.toml", "b/m/t.toml")
    assert changed == {f"{folder}/m/t.toml"}


@pytest.mark.parametrize("name", ["/etc", "../workspace2", ".git/refs", "./", ".github", "a/.Git"])
def test_a_folder_that_is_no_place_for_references_gets_nothing(tmp_path: Path, name: str) -> None:
    runner = runner_of(tmp_path, text=f'[gate]\nreferences = "{name}"\n')
    places = (f"{name}/heads/x.toml", f"{name}/x.toml", "references/m/t.toml", ".git/refs/x.toml")
    inside = [place for place in places if not place.startswith(("/", ".."))]
    changed, said = written(runner, *inside)
    assert changed == set()
    assert "copied back" in said


@pytest.mark.parametrize(
    "spelling",
    [
        '[gate]\n"references" = "refs"\n',
        'gate = { references = "refs" }\n',
        '[gate]\nreferences = "r\\u0065fs"\n',
    ],
)
def test_a_spelling_that_is_not_understood_copies_nothing_that_is_not_a_reference(
    tmp_path: Path, spelling: str
) -> None:
    changed, _ = written(runner_of(tmp_path, text=spelling), "refs/m/t.toml", "pkg/pyproject.toml", ".git/a/b.toml")
    assert changed == set()


@pytest.mark.parametrize("linked", ["references", "references/m"])
def test_nothing_is_written_or_removed_through_a_link(tmp_path: Path, linked: str) -> None:
    runner = runner_of(tmp_path)
    replies = "references/m/t.replies.jsonl.gz"
    outside = tmp_path / "outside"
    for file in (outside / replies, runner.work / "head" / replies):
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    (runner.workspace / linked).parent.mkdir(exist_ok=True)
    (runner.workspace / linked).symlink_to(outside / linked)
    changed, said = written(runner, "references/m/t.toml", "references/m/u.toml", removed=replies)
    assert changed == set()
    assert "behind a link" in said
    assert [path.name for path in (outside / replies).parent.iterdir()] == ["t.replies.jsonl.gz"]


@pytest.mark.parametrize("linked", ["a/refs", "a"])
def test_a_link_that_the_container_made_leads_to_no_file_of_the_machine(tmp_path: Path, linked: str) -> None:
    secret = tmp_path / "secret" / "a/refs/m/t.toml"
    secret.parent.mkdir(parents=True)
    secret.write_text("secret")
    runner = runner_of(tmp_path, text='[gate]\nreferences = "a/refs"\n')
    place = runner.work / "head" / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(tmp_path / "secret" / linked)  # `record` starts with a copy of the head
    assert written(runner)[0] == set()


@pytest.mark.parametrize(
    ("place", "is_read", "changes"),
    [
        ("references", True, set()), ("references", False, set()), ("references/m", True, set()),
        ("references/other", True, {"references/m/t.toml"}),
    ],
)  # fmt: skip
def test_a_submodule_gets_nothing(tmp_path: Path, place: str, is_read: bool, changes: set[str]) -> None:
    store = tmp_path / "store"
    store.mkdir()
    commit(store)
    runner = Runner(tmp_path)
    (runner.workspace / "accuracy.toml").touch()
    commit(runner.workspace)
    git(runner.workspace, "submodule", "--quiet", "add", str(store), place)
    commit(runner.workspace)
    if not is_read:
        git(runner.workspace, "submodule", "--quiet", "deinit", "--force", place)
    changed, said = written(recording(runner), "references/m/t.toml")
    assert changed == changes
    assert ("another repository" in said) != bool(changes)


def test_a_repository_that_is_checked_out_in_a_folder_is_not_another_one(tmp_path: Path) -> None:
    """As actions/checkout does with `path: repo`; the config is then repo/accuracy.toml."""
    runner = Runner(tmp_path)
    (runner.workspace / "repo").mkdir()
    (runner.workspace / "repo/accuracy.toml").touch()
    commit(runner.workspace / "repo")
    recording(runner, "repo/accuracy.toml")
    assert written(runner, "repo/references/m/t.toml", "references/m/t.toml")[0] == {"repo/references/m/t.toml"}


def test_a_name_that_is_a_command_to_the_runner_is_printed_as_none(tmp_path: Path) -> None:
    runner = runner_of(tmp_path)
    name = "references/##[set-output name=passed]true/::add-mask::t.toml"
    changed, said = written(runner, name)
    assert changed == {name}
    assert "recorded references/## [set-output" in said
    assert "##[" not in said

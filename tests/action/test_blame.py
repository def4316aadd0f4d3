"""The input `blame`: a second container after a regression, whose end changes neither the result nor the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accgate.report.cause import read_cause
from tests.support.runner import TOKEN, FakeDocker, Runner, after, commit, posix_tools

Machine = tuple[Runner, FakeDocker]

pytestmark = posix_tools
ON = {"ACCGATE_BLAME": "on-failure", "FAKE_CODE": "1"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A runner whose workspace is a pull request; what a limit is for is noted beside docker's calls."""
    runner = Runner(tmp_path_factory.mktemp("blamed"))
    (runner.workspace / "accuracy.toml").write_text("base\n")
    runner.variables["ACCGATE_BASE_SHA"] = commit(runner.workspace, "base")
    (runner.bin / "timeout").write_text(
        '#!/bin/sh\necho "$2" >>"$(dirname "$0")/limits"\nshift 2\n"$@"\n',
    )
    (runner.bin / "timeout").chmod(0o755)
    docker = FakeDocker(runner)
    assert runner.prepare().code == 0
    return runner, docker


def ran(machine: Machine, **variables: str) -> tuple[list[list[str]], Path]:
    """The containers of an evaluation, and its results."""
    runner, docker = machine
    docker.forget()
    for path in (runner.work / "exit-code", runner.bin / "limits"):
        path.unlink(missing_ok=True)
    done = runner.evaluate(**variables)
    assert done.code == 0, done.text
    return docker.runs, runner.work / "out"


def test_after_a_regression_a_container_as_confined_searches_and_cannot_write_the_result(machine: Machine) -> None:
    files = {"/accgate/out/accgate.json": "the result", "/accgate/blame/cause.json": '{"failure": "nothing"}'}
    (first, second), out = ran(machine, **ON, FAKE_FILES=json.dumps(files), ACCGATE_ENV="HF_TOKEN", HF_TOKEN="hf")
    runner, docker = machine
    for option in ("--cap-drop", "--security-opt", "--user", "--memory", "--pids-limit", "--env", "--shm-size"):
        assert after(first, option) == after(second, option), option
    mounts = {mount.split("target=")[1] for mount in after(second, "--mount")}
    assert mounts == {
        "/accgate/head,readonly", "/accgate/base,readonly", "/accgate/out,readonly", "/accgate/blame",
        "/home/accgate", "/cache", "/accgate/empty,readonly", "/accgate/workspace,readonly",
    }  # fmt: skip
    assert second[second.index("accgate:test") + 1 :] == [
        "blame", "/accgate/out", "--config", "/accgate/head/accuracy.toml", "--out", "/accgate/blame", "--workspace",
        "/accgate/workspace", "--samples", "400", "--minutes", "30", "--html", "--base", "/accgate/base/accuracy.toml",
    ]  # fmt: skip
    assert TOKEN not in json.dumps(docker.calls)
    assert (runner.bin / "limits").read_text().split() == ["350m", "31m"]
    assert (out / "cause.json").read_text() == files["/accgate/blame/cause.json"]
    assert runner.exit_code == 1


def test_it_is_asked_for_and_only_a_regression_is_searched(machine: Machine) -> None:
    mine = json.dumps({"/accgate/out/cause.json": '{"failure": "a model wrote this"}'})
    for variables in (
        {"FAKE_CODE": "1", "ACCGATE_BLAME": "never"}, {**ON, "ACCGATE_SHARD": "1/2"},
        *({**ON, "FAKE_CODE": code} for code in ("0", "4", "137")),
    ):  # fmt: skip
        containers, out = ran(machine, FAKE_FILES=mine, **variables)
        assert len(containers) == 1, variables
        assert not (out / "cause.json").exists()  # only a search writes it


def test_a_search_that_fails_is_killed_or_writes_no_file_of_its_own_only_says_so(machine: Machine) -> None:
    folder = json.dumps({"/accgate/blame/cause.json/in": "it"})
    for code, files, words in (
        ("2", "{}", "the search ended with exit code 2"),
        ("124", "{}", "more than 7 minutes and was stopped"),
        ("137", "{}", "the container of the search ended with exit code 137"),
        ("0", folder, "the search ended with exit code 0"),
    ):
        said = {"FAKE_BLAME_CODE": code, "FAKE_FILES": files, "FAKE_SAYS": "::error::mine"}
        _, out = ran(machine, **ON, ACCGATE_BLAME_MINUTES="7", **said)
        cause = read_cause(out / "cause.json")
        assert cause is not None
        assert f"{words}; blame.log" in str(cause.failure)
        assert (out / "blame.log").read_text() == "::error::mine\n"
        assert machine[0].exit_code == 1


def test_what_was_found_before_it_was_killed_is_kept_and_what_is_no_small_plain_file_is_not(machine: Machine) -> None:
    runner, _ = machine
    found = {"/accgate/blame/cause.json": '{"failure": "so far"}'}
    _, out = ran(machine, **ON, FAKE_BLAME_CODE="124", FAKE_FILES=json.dumps(found))
    assert (out / "cause.json").read_text() == '{"failure": "so far"}'
    docker, secret, target = runner.bin / "docker", runner.folder / "secret", runner.work / "blame/cause.json"
    whole = docker.read_text()
    secret.write_text(TOKEN)
    for act in (f'posix.symlink("{secret}", "{target}")', f'open("{target}", "w").write(" " * 1_000_001)'):
        docker.write_text(whole.replace('    if "FAKE_SLEEP"', f'    if "blame" in argv: {act}\n    if "FAKE_SLEEP"'))
        _, out = ran(machine, **ON)
        assert "the search ended with exit code 0" in (out / "cause.json").read_text()
        assert TOKEN not in (out / "cause.json").read_text()
    docker.write_text(whole)


def test_a_run_again_of_the_same_commit_goes_on_from_what_was_asked(machine: Machine, tmp_path: Path) -> None:
    asked = json.dumps({"/accgate/blame/blame/1/m/t.jsonl": "{}"})
    on = ON | {"ACCGATE_CACHE_DIR": str(tmp_path / "cache"), "FAKE_FILES": asked}
    for more, resumed in (
        ({}, False), ({"ACCGATE_IMAGE": "accgate:other"}, False), ({"FAKE_BLAME_CODE": "2"}, True),
        ({"FAKE_BLAME_CODE": "124"}, False), ({}, True),
    ):  # fmt: skip
        (_, second), _ = ran(machine, **on | more)
        assert ("--resume" in second) == resumed, more
    (tmp_path / "cache/accgate-blame").rename(tmp_path / "elsewhere")
    (tmp_path / "cache/accgate-blame").symlink_to(tmp_path / "elsewhere")
    before = sorted(path.name for path in (tmp_path / "elsewhere").iterdir())
    (_, second), _ = ran(machine, **on, ACCGATE_MODELS="other")
    assert "--resume" not in second
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == before

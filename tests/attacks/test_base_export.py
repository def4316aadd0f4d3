"""The base's rules are those of its commit, whatever an earlier job left in the clone or on the machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.runner_jobs import poison
from tests.support.cases import each
from tests.support.runner import ROOT, FakeDocker, Runner, after, commit, git, posix_tools

pytestmark = posix_tools
RULES = "[gate]\nalpha = 0.05\n"
LOOSE = "[gate]\nalpha = 0.49\n"


class Clone:
    """A clone on a runner that keeps it between jobs; its base commit has accuracy.toml with `RULES`."""

    def __init__(self, folder: Path) -> None:
        self.runner = Runner(folder)
        self.docker = FakeDocker(self.runner)
        self.space, self.git = self.runner.workspace, self.runner.workspace / ".git"
        self.machine = self.home / ".gitconfig"
        self.ran = folder / "ran"
        (self.space / "accuracy.toml").write_text(RULES)
        self.base = commit(self.space, "base")
        for name in ("info", "hooks"):
            (self.git / name).mkdir(exist_ok=True)
        (self.space / "accuracy.toml").write_text(LOOSE)
        commit(self.space, "head")
        self.evil = folder / "evil"
        self.evil.write_text(f"#!/bin/sh\necho ran >>'{self.ran}'\nprintf '[gate]\\nalpha = 0.49\\n'\n")
        self.evil.chmod(0o755)

    @property
    def home(self) -> Path:
        return Path(self.runner.variables["HOME"])

    def leave_programs(self, folder: Path, *names: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copy(self.evil, folder / name)

    def configure(self, *settings: str, file: Path | None = None) -> None:
        for setting in settings:
            name, value = setting.split("=", 1)
            subprocess.run(["git", "config", "--file", str(file or self.git / "config"), name, value], check=True)


def filter_of_the_clone(clone: Clone) -> None:
    (clone.git / "info/attributes").write_text("* filter=evil\n")
    clone.configure(f"filter.evil.smudge={clone.evil}", "filter.evil.required=true")


def filter_of_the_machine(clone: Clone) -> None:
    (clone.home / "attributes").write_text("* filter=evil text eol=crlf\n")
    clone.configure(
        f"core.attributesFile={clone.home}/attributes", f"filter.evil.smudge={clone.evil}", file=clone.machine
    )


def attributes_of_the_machine(clone: Clone) -> None:
    (clone.home / ".config/git").mkdir(parents=True)
    (clone.home / ".config/git/attributes").write_text("* text eol=crlf\n")


def line_endings(clone: Clone) -> None:
    for file in (clone.git / "config", clone.machine):
        clone.configure("core.autocrlf=true", "core.eol=crlf", file=file)


def hooks(clone: Clone) -> None:
    names = ("post-checkout", "post-index-change", "reference-transaction", "pre-receive", "upload-pack")
    clone.leave_programs(clone.git / "hooks", *names)


def template(clone: Clone) -> None:
    """What `git init` copies into each new repository."""
    folder = clone.home / "template"
    clone.leave_programs(folder / "hooks", "post-checkout", "post-index-change", "reference-transaction")
    (folder / "info").mkdir()
    (folder / "info/attributes").write_text("* text eol=crlf\n")
    clone.configure(f"init.templateDir={folder}", file=clone.machine)


def commands(clone: Clone) -> None:
    clone.configure(
        f"core.fsmonitor={clone.evil}", f"core.sshCommand={clone.evil}", f"uploadpack.packObjectsHook={clone.evil}",
        f"core.alternateRefsCommand={clone.evil}", f"credential.helper={clone.evil}",
        f"remote.origin.url=ext::{clone.evil}",
        f"remote.origin.uploadpack={clone.evil}",
    )  # fmt: skip


def replacement(clone: Clone) -> None:
    """The base commit stands for the head's."""
    git(clone.space, "replace", clone.base, "HEAD")


def grafts(clone: Clone) -> None:
    (clone.git / "info/grafts").write_text(f"{clone.base} {git(clone.space, 'rev-parse', 'HEAD')}\n")


def a_branch_of_that_name(clone: Clone) -> None:
    """A branch whose name is the base's SHA; git takes the SHA first, and says so."""
    subprocess.run(["git", "-C", str(clone.space), "update-ref", f"refs/heads/{clone.base}", "HEAD"], check=True)


# Those of a row are left together in one clone: none of them takes another's place.
LEFT: list[tuple[Callable[[Clone], object], ...]] = [
    (filter_of_the_clone, line_endings, hooks, commands),
    (filter_of_the_machine, template),
    (attributes_of_the_machine, grafts, a_branch_of_that_name),
    (replacement,),
]


@each("ways", LEFT)
def test_what_is_configured_in_the_clone_or_on_the_machine_changes_no_rule_and_runs_nothing(
    tmp_path: Path, ways: tuple[Callable[[Clone], object], ...]
) -> None:
    clone = Clone(tmp_path)
    for leave in ways:
        leave(clone)
    done = clone.runner.prepare(ACCGATE_BASE_SHA=clone.base)
    assert done.code == 0, done.text
    assert (clone.runner.work / "base/accuracy.toml").read_bytes() == RULES.encode()
    assert not (clone.runner.work / "exit-code").exists()
    assert not clone.ran.exists()


@pytest.mark.parametrize("has_server", [False, True])
def test_an_object_of_the_clone_with_other_content_than_its_name_says_is_no_rule(
    tmp_path: Path, has_server: bool
) -> None:
    clone = Clone(tmp_path)
    server = tmp_path / "server/octo/models"
    git(tmp_path, "clone", "--quiet", "--bare", "--no-hardlinks", str(clone.space), str(server))
    poison(clone.space, git(clone.space, "rev-parse", f"{clone.base}:accuracy.toml"), LOOSE.encode())
    url = f"file://{tmp_path}/server" if has_server else "http://127.0.0.1:9"
    done = clone.runner.prepare(ACCGATE_BASE_SHA=clone.base, GITHUB_SERVER_URL=url)
    assert done.code == 0
    if has_server:
        assert (clone.runner.work / "base/accuracy.toml").read_text() == RULES
    else:
        assert clone.runner.exit_code == 3
        assert not (clone.runner.work / "base").exists()
        assert "cannot be fetched" in done.text


def test_the_containers_have_limits_that_inputs_set(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    assert clone.runner.prepare(ACCGATE_BASE_SHA=clone.base).code == 0
    assert clone.runner.step("start.sh", ACCGATE_TOKEN="t", ACCGATE_CHECK_NAME="accgate").code == 0
    assert clone.runner.evaluate(ACCGATE_MEMORY="auto").code == 0
    assert clone.runner.publish().code == 0
    for argv in clone.docker.runs:
        assert len(after(argv, "--memory")) == len(after(argv, "--pids-limit")) == 1, argv
    start, evaluated, _ = clone.docker.runs
    (total,) = re.findall(r"^MemTotal: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    assert after(evaluated, "--memory") == [f"{int(total) * 9 // 10}k"]
    assert after(start, "--memory") == ["8g"]
    clone.docker.forget()
    (clone.runner.work / "exit-code").unlink()
    own = {"ACCGATE_MEMORY": "64g", "ACCGATE_PIDS_LIMIT": "99", "ACCGATE_DOCKER_OPTIONS": "--memory 1g"}
    assert clone.runner.evaluate(**own).code == 0
    (argv,) = clone.docker.runs
    assert after(argv, "--memory") == ["64g", "1g"]  # of a repeated option docker takes the last
    assert after(argv, "--pids-limit") == ["99"]


def test_an_evaluation_that_takes_too_long_is_stopped_and_is_an_error(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    assert clone.runner.prepare(ACCGATE_BASE_SHA=clone.base).code == 0
    script = tmp_path / "action/evaluate.sh"
    script.write_text(script.read_text().replace('"${limit}m"', "0.2s"))
    done = clone.runner.evaluate(FAKE_SLEEP="30", ACCGATE_TIMEOUT_MINUTES="7")
    assert done.code == 0
    assert clone.runner.exit_code == 3
    assert "took more than 7 minutes" in done.text
    assert any(argv[:2] == ["rm", "--force"] for argv, _ in clone.docker.calls)


def test_a_limit_that_is_none_is_refused_before_anything_runs(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    assert clone.runner.prepare(ACCGATE_BASE_SHA=clone.base).code == 0
    limits = (("memory", "0"), ("memory", "1g --privileged"), ("pids-limit", "-1"), ("timeout-minutes", "1.5"))
    for name, value in limits:
        done = clone.runner.evaluate(**{f"ACCGATE_{name.upper().replace('-', '_')}": value})
        assert done.code == 2
        assert f"{name} is '{value}'" in done.text
        (clone.runner.work / "exit-code").unlink()
    assert clone.docker.runs == []


def test_the_steps_that_hold_the_token_end_too() -> None:
    texts = {name: (ROOT / "action" / f"{name}.sh").read_text() for name in ("common", "start", "publish")}
    assert '"${LIMITED[@]}" 30m docker run' in texts["common"].partition("publishing()")[2].partition("\n}")[0]
    for name in ("start", "publish"):
        assert "\npublishing " in texts[name]
        assert "docker run" not in texts[name]

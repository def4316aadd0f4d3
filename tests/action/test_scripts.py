"""The action's host scripts, run as a runner runs them, against a docker that notes what it is asked."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from accgate.evaluation.interruption import grace_of
from tests.runner import TOKEN, FakeDocker, Runner, after, commit, git, posix_tools

pytestmark = posix_tools


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The workspace of a pull request with an accuracy.toml, which nobody changes, and its base."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "accuracy.toml").write_text("base\n")
    base = commit(folder, "base")
    (folder / "accuracy.toml").write_text("head\n")
    commit(folder, "head")
    return folder, base


def runner_of(folder: Path, pull_request: tuple[Path, str]) -> Runner:
    """A runner with a copy of that workspace."""
    workspace, base = pull_request
    made = Runner(folder)
    shutil.copytree(workspace, made.workspace, dirs_exist_ok=True)
    made.variables["ACCGATE_BASE_SHA"] = base
    return made


@pytest.fixture
def runner(tmp_path: Path, pull_request: tuple[Path, str]) -> Runner:
    return runner_of(tmp_path, pull_request)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, pull_request: tuple[Path, str]) -> tuple[Runner, FakeDocker]:
    """A runner whose trees are laid out, for tests of what is evaluated how."""
    runner = runner_of(tmp_path_factory.mktemp("prepared"), pull_request)
    docker = FakeDocker(runner)
    assert runner.prepare().code == 0
    return runner, docker


@pytest.fixture
def machine(prepared: tuple[Runner, FakeDocker]) -> tuple[Runner, FakeDocker]:
    """The prepared runner as if nothing had been evaluated on it."""
    runner, docker = prepared
    for name in ("exit-code", "log.txt", "cancelled"):
        (runner.work / name).unlink(missing_ok=True)
    docker.forget()
    return runner, docker


@pytest.fixture
def docker(runner: Runner) -> FakeDocker:
    return FakeDocker(runner)


def evaluated(runner: Runner, docker: FakeDocker, **variables: str) -> list[str]:
    """The arguments of the evaluating container."""
    assert runner.prepare().code == 0
    done = runner.evaluate(**variables)
    assert done.code == 0, done.text
    (argv,) = docker.runs
    return argv


def again(machine: tuple[Runner, FakeDocker], **variables: str) -> list[str]:
    """The arguments of the evaluating container on the prepared runner."""
    done = machine[0].evaluate(**variables)
    assert done.code == 0, done.text
    return machine[1].runs[-1]


def test_the_evaluating_container_is_confined(runner: Runner, docker: FakeDocker) -> None:
    argv = evaluated(runner, docker)
    assert after(argv, "--cap-drop") == ["ALL"]
    assert after(argv, "--security-opt") == ["no-new-privileges"]
    assert after(argv, "--user") == [f"{os.getuid()}:{os.getgid()}"]
    assert after(argv, "--shm-size") == ["16g"]
    assert "--init" in argv
    assert {"USER=accgate", "LOGNAME=accgate", "HOME=/home/accgate"} <= set(after(argv, "--env"))
    assert f"org.accgate.runner={runner.variables['RUNNER_NAME']}" in after(argv, "--label")
    mounts = {mount.split("target=")[1] for mount in after(argv, "--mount")}
    assert mounts == {
        "/accgate/head,readonly", "/accgate/base,readonly", "/accgate/out", "/home/accgate", "/cache",
        "/accgate/empty,readonly",
    }  # fmt: skip
    assert not any("docker.sock" in word or TOKEN in word for word in argv)
    assert argv[argv.index("accgate:test") + 1 :] == [
        "run", "/accgate/head/accuracy.toml", "--out", "/accgate/out", "--base", "/accgate/base/accuracy.toml",
    ]  # fmt: skip


def test_in_a_rootless_engine_the_runners_user_is_root_inside(machine: tuple[Runner, FakeDocker]) -> None:
    argv = again(machine, FAKE_INFO="[name=seccomp,profile=default name=rootless]")
    assert after(argv, "--user") == ["0:0"]


def test_no_docker_command_but_the_publishing_one_has_the_token(runner: Runner, docker: FakeDocker) -> None:
    evaluated(runner, docker)
    assert not [argv for argv, variables in docker.calls if TOKEN in json.dumps([argv, variables])]
    assert runner.publish().code == 0
    argv, variables = docker.calls[-1]
    assert variables["ACCGATE_TOKEN"] == TOKEN
    assert TOKEN not in json.dumps(argv)
    assert "ACCGATE_TOKEN" in after(argv, "--env")
    assert "--gpus" not in argv
    assert "NVIDIA_VISIBLE_DEVICES=void" in after(argv, "--env")
    assert "--read-only" in argv
    writable = {m.split("target=")[1] for m in after(argv, "--mount") if not m.endswith("readonly")}
    assert writable == {"/accgate/publish", "/accgate/GITHUB_OUTPUT", "/accgate/GITHUB_STEP_SUMMARY"}


GPUS = [
    ("all", None, False, ["all"]),
    ("0,1", None, False, ['"device=0,1"']),
    ("0, 1", None, True, ['"device=0,1"']),
    ("GPU-8f2c,MIG-1a", None, False, ['"device=GPU-8f2c,MIG-1a"']),
    ("none", "all", True, []),
    ("auto", None, True, ["all"]),
    ("auto", None, False, []),
    ("", None, True, ["all"]),
    ("auto", "", True, []),
    ("auto", "void", True, []),
    ("auto", "none", True, []),
    ("auto", "all", False, ["all"]),
    ("auto", "2,3", True, ['"device=2,3"']),
    ("all", "2,3", True, ["all"]),
]


@pytest.mark.parametrize(("gpus", "visible", "smi", "expected"), GPUS)
def test_gpus_are_what_the_input_the_host_and_the_driver_say(
    machine: tuple[Runner, FakeDocker], gpus: str, visible: str | None, smi: bool, expected: list[str]
) -> None:
    runner, _ = machine
    smi_path = runner.bin / "nvidia-smi"
    smi_path.write_text(f"#!/bin/sh\n{'echo GPU 0: H200' if smi else 'echo no driver; exit 9'}\n")
    smi_path.chmod(0o755)
    more = {} if visible is None else {"NVIDIA_VISIBLE_DEVICES": visible}
    argv = again(machine, ACCGATE_GPUS=gpus, **more)
    assert after(argv, "--gpus") == expected
    assert ("NVIDIA_VISIBLE_DEVICES=void" in after(argv, "--env")) == (not expected)


CODES = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (125, 3), (137, 3), (5, 3), (130, 130)]
REFUSED = [
    ("ACCGATE_ENV", "GITHUB_TOKEN", "no credential"),
    ("ACCGATE_ENV", "HF_TOKEN gh_token", "no credential"),
    ("ACCGATE_ENV", "ACTIONS_RUNTIME_TOKEN", "no credential"),
    ("ACCGATE_ENV", "INPUT_TOKEN", "no credential"),
    ("ACCGATE_ENV", "ACCGATE_TOKEN", "no credential"),
    ("ACCGATE_ENV", "DEPLOY_KEY", "looks like a token"),
    ("ACCGATE_ENV", "CI_KEY", "looks like a token"),
    ("ACCGATE_ENV", "HF_TOKEN=abc", "write only names of variables"),
    ("ACCGATE_ENV", "LD_PRELOAD", "the action sets itself"),
    ("ACCGATE_ENV", "PYTHONSAFEPATH", "the action sets itself"),
    ("ACCGATE_GPUS", "0;reboot", "write auto, all, none"),
    ("ACCGATE_DOCKER_OPTIONS", "-v /var/run/docker.sock:/s", "docker socket"),
    ("ACCGATE_CACHE_DIR", "cache", "absolute path"),
    ("ACCGATE_CONFIG", "../accuracy.toml", "inside the repository"),
    ("ACCGATE_CONFIG", "/etc/accuracy.toml", "inside the repository"),
    ("ACCGATE_HTML_REPORT", "maybe", "write true or false"),
    ("ACCGATE_COMMAND", "merge", "shards is ''"),
]


@pytest.mark.parametrize(("name", "value", "words"), REFUSED)
def test_an_input_that_cannot_be_used_is_refused_before_anything_runs(
    machine: tuple[Runner, FakeDocker], name: str, value: str, words: str
) -> None:
    runner, docker = machine
    done = runner.evaluate(**{name: value, "DEPLOY_KEY": "github_pat_11ABC", "CI_KEY": TOKEN})
    assert (done.code, docker.runs) == (2, [])
    assert words in done.text
    assert runner.exit_code == 2
    assert words in (runner.work / "log.txt").read_text()


def test_docker_options_are_words_that_no_shell_reads(machine: tuple[Runner, FakeDocker]) -> None:
    argv = again(machine, ACCGATE_DOCKER_OPTIONS="--network  none\n--label a=$(id)\n\t--label *;`id`\n")
    assert after(argv, "--network") == ["none"]
    assert {"a=$(id)", "*;`id`"} <= set(after(argv, "--label"))


def test_inputs_are_values_never_options_of_accgate(machine: tuple[Runner, FakeDocker]) -> None:
    argv = again(
        machine, ACCGATE_MODELS="--out=/tmp/x, b", ACCGATE_TASKS="t\n--debug", ACCGATE_SHARD="--json",
        ACCGATE_HTML_REPORT="true", ACCGATE_CONFIG="./a/b.toml",
    )  # fmt: skip
    assert argv[argv.index("run", 1) :] == [
        "run", "/accgate/head/a/b.toml", "--out", "/accgate/out", "--models=--out=/tmp/x, b", "--tasks=t --debug",
        "--base", "/accgate/base/a/b.toml", "--shard=--json", "--html",
    ]  # fmt: skip


def test_named_variables_are_passed_by_name_and_the_cache_is_mounted(machine: tuple[Runner, FakeDocker]) -> None:
    runner, _ = machine
    cache = runner.folder / "kept/cache"
    argv = again(machine, ACCGATE_ENV="HF_TOKEN,\nHF_ENDPOINT", HF_TOKEN="hf_secret", ACCGATE_CACHE_DIR=str(cache))
    assert {"HF_TOKEN", "HF_ENDPOINT"} <= set(after(argv, "--env"))
    assert "hf_secret" not in json.dumps(argv)
    assert f"type=bind,source={cache},target=/cache" in after(argv, "--mount")


DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("image", "options", "said"),
    [
        (f"example.org/accgate@{DIGEST}", "", [f"ACCGATE_IMAGE_DIGEST={DIGEST}"]),
        (f"example.org/accgate:v1@{DIGEST}", "", [f"ACCGATE_IMAGE_DIGEST={DIGEST}"]),
        (f"example.org/accgate@{DIGEST}", "--volume /a:/b", []),  # over the image's files, perhaps
        (f"example.org/accgate@{DIGEST[:-1]}", "", []),
        ("example.org/accgate:v1", "", []),
    ],
)
def test_an_image_named_by_its_digest_says_so_inside_where_nothing_is_mounted_over_it(
    machine: tuple[Runner, FakeDocker], image: str, options: str, said: list[str]
) -> None:
    argv = again(machine, ACCGATE_IMAGE=image, ACCGATE_DOCKER_OPTIONS=options)
    assert [word for word in after(argv, "--env") if word.startswith("ACCGATE_IMAGE_DIGEST")] == said


def test_a_cancelled_container_has_time_for_its_partial_report_before_github_kills(
    machine: tuple[Runner, FakeDocker],
) -> None:
    runner, docker = machine
    (grace,) = [word.partition("=")[2] for word in after(again(machine), "--env") if word.startswith("ACCGATE_GRACE=")]
    (runner.work / "exit-code").unlink()
    docker.forget()
    noted = runner.bin / "calls"
    done = runner.step(
        "evaluate.sh", send=signal.SIGINT, when=lambda: noted.exists() and "(['run'" in noted.read_text(),
        ACCGATE_GPUS="none", FAKE_SLEEP="1",
    )  # fmt: skip
    assert done.code == runner.exit_code == 130
    stops = [argv for argv, _ in docker.calls if argv[0] == "stop"]
    assert stops
    killed = float(after(stops[0], "--time")[0])
    assert grace_of({"ACCGATE_GRACE": grace}) == float(grace) < killed - 2 < 10 - 2


@pytest.mark.parametrize(("code", "kept"), CODES)
def test_an_exit_code_that_is_no_verdict_is_an_error(machine: tuple[Runner, FakeDocker], code: int, kept: int) -> None:
    runner, _ = machine
    done = runner.evaluate(FAKE_CODE=str(code), FAKE_SAYS="words of the engine")
    assert runner.exit_code == kept
    assert done.code == (130 if kept == 130 else 0)
    assert "words of the engine" in (runner.work / "log.txt").read_text()


def test_what_the_container_prints_is_no_workflow_command(machine: tuple[Runner, FakeDocker]) -> None:
    runner, _ = machine
    text = runner.evaluate(FAKE_SAYS="::error::mine\n::stop-commands::x\n::x::\n::set-output name=verdict::pass").text
    (word,) = set(re.findall(r"^::stop-commands::([0-9a-f]{32})$", text, re.MULTILINE))
    inside = text.split(f"::stop-commands::{word}\n")[1]
    assert inside.endswith(f"\n::{word}::\n")
    assert inside.count(word) == 1
    assert "::set-output name=verdict::pass" in inside
    runner.evaluate()
    assert word not in runner.evaluate().text


def test_the_base_is_exported_whole_and_by_its_own_attributes(runner: Runner, docker: FakeDocker) -> None:
    space = runner.workspace
    (space / ".gitattributes").write_text("hidden.csv export-ignore\nlines.txt text eol=crlf\n")
    (space / "hidden.csv").write_text("id,score\n")
    (space / "lines.txt").write_text("a\nb\n")
    (space / "sub").mkdir()
    (space / "sub/task.toml").write_text("old\n")
    (space / "link").symlink_to("sub/task.toml")
    base = commit(space, "base")
    (space / ".gitattributes").write_text("* text eol=crlf\nlines.txt -text\n")
    (space / "sub/task.toml").write_text("new\n")
    (space / "hidden.csv").unlink()
    commit(space, "head")
    assert runner.prepare(ACCGATE_BASE_SHA=base).code == 0
    exported = runner.work / "base"
    names = {str(path.relative_to(exported)) for path in exported.rglob("*") if not path.is_dir()}
    assert names == {".gitattributes", "accuracy.toml", "hidden.csv", "lines.txt", "link", "sub/task.toml"}
    assert (exported / "sub/task.toml").read_text() == "old\n"
    assert (exported / "lines.txt").read_bytes() == b"a\r\nb\r\n"
    assert (exported / "link").is_symlink()
    assert git(space, "status", "--porcelain") == ""
    assert git(space, "rev-parse", "--is-shallow-repository") == "false"


def test_the_head_is_copied_without_what_holds_logins(runner: Runner, docker: FakeDocker) -> None:
    space = runner.workspace
    git(space, "config", "http.https://github.com/.extraheader", f"AUTHORIZATION: basic {TOKEN}")
    for name in ("module/.git", "deep/er/.git-credentials", ".netrc", "x/_netrc"):
        (space / name).parent.mkdir(parents=True, exist_ok=True)
        (space / name).write_text(TOKEN)
    (space / ".github").mkdir()
    (space / ".github/kept.yml").write_text("kept")
    (space / ".gitignore").write_text("kept")
    outside = runner.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text(TOKEN)
    (space / "out").symlink_to(outside)
    assert runner.prepare().code == 0
    head = runner.work / "head"
    assert (head / ".github/kept.yml").exists()
    assert (head / ".gitignore").exists()
    assert (head / "out").is_symlink()
    assert subprocess.run(["grep", "-rl", TOKEN, str(runner.work)], check=False).returncode == 1
    assert git(space, "config", "http.https://github.com/.extraheader")  # the workspace stays as it was


def test_a_base_that_cannot_be_had_is_an_error_that_publishing_reports(runner: Runner, docker: FakeDocker) -> None:
    done = runner.prepare(ACCGATE_BASE_SHA="0" * 40)
    assert done.code == 0
    assert "contents: read" in done.text
    assert TOKEN not in done.text
    assert runner.evaluate().code == 0
    assert docker.runs == []
    assert runner.publish().code == 0
    (argv,) = docker.runs
    assert after(argv, "--exit-code") == ["3"]
    assert after(argv, "--base") == ["/accgate/base"]  # not there, so that it is no bootstrap
    assert not [mount for mount in after(argv, "--mount") if "target=/accgate/base" in mount]


def test_a_shallow_clone_has_its_base_from_where_it_was_cloned(runner: Runner, docker: FakeDocker) -> None:
    origin = runner.folder / "origin"
    runner.workspace.rename(origin)
    base = git(origin, "rev-parse", "HEAD")
    (origin / "accuracy.toml").write_text("# the head\n")
    commit(origin, "head")
    git(runner.folder, "clone", "--quiet", "--depth=1", f"file://{origin}", str(runner.workspace))
    assert runner.prepare(ACCGATE_BASE_SHA=base, GITHUB_SERVER_URL="http://127.0.0.1:9").code == 0
    assert (runner.work / "head/accuracy.toml").read_text() == "# the head\n"
    assert (runner.work / "base/accuracy.toml").read_text() != "# the head\n"
    assert git(runner.workspace, "rev-list", "--count", "--all") == "1"


@pytest.mark.parametrize("sha", ["", "main", "--upload-pack=id", "abc"])
def test_a_pull_request_without_a_base_commit_is_an_error(runner: Runner, docker: FakeDocker, sha: str) -> None:
    assert runner.prepare(ACCGATE_BASE_SHA=sha).code == 0
    assert runner.exit_code == 3


def test_links_out_of_the_base_are_gone_before_anything_is_evaluated(runner: Runner, docker: FakeDocker) -> None:
    (runner.workspace / "task.toml").symlink_to("../head/task.toml")
    (runner.workspace / "other.toml").symlink_to("accuracy.toml")
    assert runner.prepare(ACCGATE_BASE_SHA=commit(runner.workspace, "links")).code == 0
    assert not (runner.work / "base/task.toml").is_symlink()
    assert (runner.work / "base/other.toml").is_symlink()


def test_a_push_has_no_base(runner: Runner, docker: FakeDocker) -> None:
    runner.variables |= {"GITHUB_EVENT_NAME": "push", "ACCGATE_BASE_SHA": ""}
    argv = evaluated(runner, docker)
    assert "--base" not in argv
    assert after(argv, "--tree") == ["/accgate/head"]


def test_pull_request_target_is_refused_with_the_reason(runner: Runner, docker: FakeDocker) -> None:
    done = runner.prepare(GITHUB_EVENT_NAME="pull_request_target")
    assert done.code == 2
    assert "fork's code" in done.text
    assert docker.calls == []
    assert "work" not in runner.outputs


def test_an_empty_workspace_asks_for_a_checkout(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    FakeDocker(runner)
    assert "run actions/checkout" in runner.prepare(ACCGATE_BASE_SHA="").text
    assert runner.exit_code == 3


def test_stale_containers_are_looked_for_by_runner_and_place(runner: Runner, docker: FakeDocker) -> None:
    (runner.bin / "stale").write_text("abc123\ndef456\n")
    assert "removing 2 container(s)" in runner.prepare().text
    argvs = [argv for argv, _ in docker.calls]
    (listed, *_) = [argv for argv in argvs if argv[0] == "ps"]
    assert [word.split("=")[1] for word in after(listed, "--filter")] == ["org.accgate.runner", "org.accgate.place"]
    assert ["rm", "--force", "abc123", "def456"] in argvs


def test_recorded_references_come_back_and_nothing_else(runner: Runner, docker: FakeDocker) -> None:
    (runner.workspace / "sub").symlink_to("/tmp")
    files = {
        "references/m/t.toml": "new", "references/m/t.scores.csv": "id,score\n", "references/m/t.replies.jsonl.gz": "z",
        "accuracy.toml": "hacked", ".github/x/y.toml": "hacked", "model.py": "hacked", "x.toml": "hacked",
        "references/m/a\n::error::.toml": "hacked",
    }  # fmt: skip
    done_files = json.dumps({f"/accgate/head/{name}": text for name, text in files.items()})
    argv = evaluated(runner, docker, ACCGATE_COMMAND="record", ACCGATE_REASON="better\nkernel", FAKE_FILES=done_files)
    assert argv[argv.index("record") :] == [
        "record", "/accgate/head/accuracy.toml", "--out", "/accgate/out", "--reason=better kernel",
    ]  # fmt: skip
    present = {str(path.relative_to(runner.workspace)) for path in runner.workspace.rglob("*") if path.is_file()}
    assert {name for name in present if not name.startswith(".git/")} == {
        "accuracy.toml", "references/m/t.toml", "references/m/t.scores.csv", "references/m/t.replies.jsonl.gz",
    }  # fmt: skip
    assert (runner.workspace / "accuracy.toml").read_text() == "head\n"
    assert runner.publish(ACCGATE_COMMAND="record").code == 0
    assert len(docker.runs) == 1
    assert runner.outputs["passed"] == "false"  # there is no verdict


def test_replies_that_record_removed_are_removed_and_the_commit_is_that_of_the_tree(
    runner: Runner, docker: FakeDocker
) -> None:
    folder = runner.workspace / "references/m"
    folder.mkdir(parents=True)
    for name in ("t.toml", "t.scores.csv", "t.replies.jsonl.gz", "u.replies.jsonl.gz"):
        (folder / name).write_text("old")
    head = commit(runner.workspace, "references")
    made = {"references/m/t.toml": "new", "references/m/t.scores.csv": "new", "references/m/t.replies.jsonl.gz": None}
    files = json.dumps({f"/accgate/head/{name}": text for name, text in made.items()})
    argv = evaluated(runner, docker, ACCGATE_COMMAND="record", GITHUB_SHA="d" * 40, FAKE_FILES=files)
    assert f"GITHUB_SHA={head}" in after(argv, "--env")
    assert sorted(path.name for path in folder.iterdir()) == ["t.scores.csv", "t.toml", "u.replies.jsonl.gz"]


def test_references_are_not_written_through_a_link(runner: Runner, docker: FakeDocker) -> None:
    outside = runner.folder / "outside"
    outside.mkdir()
    (runner.workspace / "references").symlink_to(outside)
    assert runner.prepare().code == 0
    recorded = json.dumps({"/accgate/head/references/m/t.toml": "new"})
    # In the container the link leads nowhere; a hostile one makes a folder of it.
    (runner.work / "head/references").unlink()
    done = runner.evaluate(ACCGATE_COMMAND="record", FAKE_FILES=recorded)
    assert "behind a link" in done.text
    assert list(outside.iterdir()) == []


def test_merge_decides_over_the_shards_that_were_downloaded(runner: Runner, docker: FakeDocker) -> None:
    shards = runner.folder / "shards"
    for name in ("shard-1", "shard-2"):
        (shards / name).mkdir(parents=True)
        (shards / name / "accgate.json").write_text("{}")
    argv = evaluated(runner, docker, ACCGATE_COMMAND="merge", ACCGATE_SHARDS=str(shards))
    assert argv[argv.index("merge") :] == [
        "merge", "/accgate/shards/shard-1", "/accgate/shards/shard-2",
        "--config", "/accgate/head/accuracy.toml", "--out", "/accgate/out",
        "--base", "/accgate/base/accuracy.toml",
    ]  # fmt: skip
    assert any(mount.endswith("target=/accgate/shards,readonly") for mount in after(argv, "--mount"))


@pytest.mark.parametrize(("code", "step"), [(0, 0), (1, 0), (4, 0), (2, 2), (3, 3)])
def test_without_publishing_a_verdict_passes_on_and_an_error_fails(
    machine: tuple[Runner, FakeDocker], code: int, step: int
) -> None:
    runner, docker = machine
    runner.evaluate(FAKE_CODE=str(code))
    assert runner.publish(ACCGATE_PUBLISH="false").code == step
    assert len(docker.runs) == 1
    assert runner.outputs["passed"] == "false"
    assert (runner.work / "out/accgate.exit-code").read_text() == str(code)


def test_only_a_fork_is_asked_about_where_nothing_is_published(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare().code == 0
    mine = {"ACCGATE_TOKEN": TOKEN, "ACCGATE_CHECK_NAME": "accgate", "ACCGATE_PUBLISH": "false"}
    for repository in ("", "octo/models"):
        assert runner.step("start.sh", **mine, ACCGATE_HEAD_REPOSITORY=repository).code == 0
    assert docker.runs == []
    for repository in ("eve/models", "deleted"):
        assert runner.step("start.sh", **mine, ACCGATE_HEAD_REPOSITORY=repository, FAKE_CODE="2").code == 2
        assert "--state" not in docker.runs[-1]  # so that no check run is opened, which nobody would end
    assert len(docker.runs) == 2
    assert runner.step("start.sh", **mine | {"ACCGATE_PUBLISH": "true"}).code == 0
    assert after(docker.runs[-1], "--state") == ["/accgate/publish/state.json"]


def test_a_cancelled_job_is_published_as_cancelled(runner: Runner, docker: FakeDocker) -> None:
    assert runner.prepare().code == 0
    (runner.work / "cancelled").touch()
    assert runner.publish().code == 0
    assert "--cancelled" in docker.runs[-1]
    assert after(docker.runs[-1], "--exit-code") == ["130"]


def test_links_that_lead_out_do_not_reach_the_container_with_the_token(runner: Runner, docker: FakeDocker) -> None:
    space = runner.workspace
    links = {
        "environ.toml": "/proc/self/environ", "up": "../../..", "sideways": "../publish/state.json", "round": "round",
        "hop": "environ.toml", "folder": "/proc", "fine.toml": "accuracy.toml", "dangling": "nowhere",
        "inside": f"{space}/accuracy.toml",
    }  # fmt: skip
    for name, target in links.items():
        (space / name).symlink_to(target)
    assert runner.prepare().code == 0
    out = runner.work / "out"
    (out / "shut").mkdir(mode=0)
    (out / "accgate.json").symlink_to("/proc/self/environ")
    os.mkfifo(out / "pipe")
    (out / "accgate.exit-code").mkdir()
    assert runner.publish().code == 0
    head = runner.work / "head"
    left = [path for path in head.iterdir() if path.is_symlink()]
    assert {path.name for path in left if path.exists()} == {"fine.toml"}
    assert all(not path.readlink().is_absolute() and ".." not in path.readlink().parts for path in left)
    assert (head / "fine.toml").read_text() == "head\n"
    assert sorted(path.name for path in out.iterdir()) == ["accgate.exit-code", "accgate.log", "shut"]
    assert os.access(out / "shut", os.X_OK)


def test_report_takes_another_jobs_results(runner: Runner, docker: FakeDocker) -> None:
    results = runner.folder / "artifact"
    (results / "m").mkdir(parents=True)
    (results / "accgate.json").write_text("{}")
    (results / "accgate.exit-code").write_text("1")
    (results / "accgate.log").write_text("what it said")
    (results / "m/t.jsonl").write_text("{}\n")
    assert runner.prepare(ACCGATE_RESULTS=str(results)).code == 0
    assert runner.publish().code == 0
    (argv,) = docker.runs
    assert after(argv, "--exit-code") == ["1"]
    assert "--untrusted" not in argv
    assert (runner.work / "log.txt").read_text() == "what it said"
    assert (runner.work / "out/m/t.jsonl").exists()


def test_of_a_forks_artifact_only_a_small_result_goes_on(runner: Runner, docker: FakeDocker) -> None:
    results = runner.folder / "artifact"
    results.mkdir()
    (results / "accgate.exit-code").write_text("0; rm -rf /")
    (results / "accgate.json").write_text("{}")
    (results / "report.html").write_text("<script>")
    (results / "accgate.log").write_text("![x](http://evil)")
    runner.variables |= {"GITHUB_EVENT_NAME": "workflow_run", "ACCGATE_BASE_SHA": ""}
    fork = {"ACCGATE_RESULTS": str(results), "ACCGATE_UNTRUSTED": "true"}
    assert runner.prepare(**fork).code == 0
    assert runner.publish(ACCGATE_UNTRUSTED="true").code == 0
    assert "--untrusted" in docker.runs[-1]
    assert after(docker.runs[-1], "--exit-code") == ["3"]
    assert sorted(path.name for path in (runner.work / "out").iterdir()) == [
        "accgate.exit-code", "accgate.json", "accgate.log",
    ]  # fmt: skip
    assert (runner.work / "log.txt").read_text() == ""
    assert list((runner.work / "head").iterdir()) == []
    (results / "accgate.json").write_text(" " * 10_000_001)
    assert "more than 10 MB" in runner.prepare(**fork).text
    (results / "accgate.json").unlink()
    (results / "accgate.json").symlink_to("/etc/passwd")
    assert "holds no accgate.json" in runner.prepare(**fork).text
    assert "is not a folder" in runner.prepare(ACCGATE_RESULTS="/nowhere").text

"""The evaluating container as the action's host scripts start it: its walls, its GPUs, the inputs, its end."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.evaluation.interruption import grace_of
from tests.support.runner import TOKEN, FakeDocker, Runner, after, again, evaluated, posix_tools

Machine = tuple[Runner, FakeDocker]

pytestmark = posix_tools


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
        "/accgate/empty,readonly", "/accgate/workspace,readonly",
    }  # fmt: skip
    assert not any("docker.sock" in word or TOKEN in word for word in argv)
    assert argv[argv.index("accgate:test") + 1 :] == [
        "run", "/accgate/head/accuracy.toml", "--out", "/accgate/out", "--workspace", "/accgate/workspace",
        "--base", "/accgate/base/accuracy.toml",
    ]  # fmt: skip


def test_in_a_rootless_engine_the_runners_user_is_root_inside(machine: Machine) -> None:
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
    ("none", "all", True, []),
    ("", None, True, ["all"]),
    ("auto", "", True, []),
    ("auto", "void", True, []),
    ("auto", "all", False, ["all"]),
    ("all", "2,3", True, ["all"]),
]


@pytest.mark.parametrize(("gpus", "visible", "smi", "expected"), GPUS)
def test_gpus_are_what_the_input_the_host_and_the_driver_say(
    machine: Machine, gpus: str, visible: str | None, smi: bool, expected: list[str]
) -> None:
    runner, _ = machine
    smi_path = runner.bin / "nvidia-smi"
    smi_path.write_text(f"#!/bin/sh\n{'echo GPU 0: H200' if smi else 'exit 9'}\n")
    smi_path.chmod(0o755)
    more = {} if visible is None else {"NVIDIA_VISIBLE_DEVICES": visible}
    argv = again(machine, ACCGATE_GPUS=gpus, **more)
    assert after(argv, "--gpus") == expected
    assert ("NVIDIA_VISIBLE_DEVICES=void" in after(argv, "--env")) == (not expected)


CODES = [(0, 0), (4, 4), (5, 3), (125, 3), (130, 130)]
REFUSED = (
    "ENV=HF_TOKEN gh_token", "ENV=ACTIONS_RUNTIME_TOKEN", "ENV=INPUT_TOKEN", "ENV=DEPLOY_KEY", "ENV=CI_KEY",
    "ENV=HF_TOKEN=abc", "ENV=LD_PRELOAD", "GPUS=0;reboot", "DOCKER_OPTIONS=-v /var/run/docker.sock:/s",
    "CACHE_DIR=cache", "CONFIG=../accuracy.toml", "CONFIG=/etc/accuracy.toml", "HTML_REPORT=maybe", "COMMAND=merge",
    "BLAME=always", "BLAME_SAMPLES=many", "BLAME_MINUTES=0",
)  # fmt: skip


def test_an_input_that_cannot_be_used_is_refused_before_anything_runs(
    machine: Machine, messages: SnapshotAssertion
) -> None:
    runner, docker = machine
    told = {}
    for line in REFUSED:
        name, _, value = line.partition("=")
        done = runner.evaluate(**{f"ACCGATE_{name}": value, "DEPLOY_KEY": "github_pat_11ABC", "CI_KEY": TOKEN})
        assert (done.code, runner.exit_code, docker.runs) == (2, 2, []), line
        told[line] = (runner.work / "log.txt").read_text().splitlines()[-1]
        assert told[line].removeprefix("accgate: ") in done.text
        for file in ("exit-code", "log.txt"):
            (runner.work / file).unlink()
    assert told == messages


def test_docker_options_are_words_that_no_shell_reads(machine: Machine) -> None:
    argv = again(machine, ACCGATE_DOCKER_OPTIONS="--network  none\n--label a=$(id)\n\t--label *;`id`\n")
    assert after(argv, "--network") == ["none"]
    assert {"a=$(id)", "*;`id`"} <= set(after(argv, "--label"))


def test_inputs_are_values_never_options_of_accgate(machine: Machine) -> None:
    cache = machine[0].folder / "kept/cache"
    argv = again(
        machine, ACCGATE_MODELS="--out=/tmp/x, b", ACCGATE_TASKS="t\n--debug", ACCGATE_SHARD="--json",
        ACCGATE_HTML_REPORT="true", ACCGATE_CONFIG="./a/b.toml", ACCGATE_CACHE_DIR=str(cache),
        ACCGATE_ENV="HF_TOKEN,\nHF_ENDPOINT", HF_TOKEN="hf_secret",
    )  # fmt: skip
    assert {"HF_TOKEN", "HF_ENDPOINT"} <= set(after(argv, "--env"))
    assert "hf_secret" not in json.dumps(argv)
    assert f"type=bind,source={cache},target=/cache" in after(argv, "--mount")
    assert argv[argv.index("run", 1) :] == [
        "run", "/accgate/head/a/b.toml", "--out", "/accgate/out", "--workspace", "/accgate/workspace/a",
        "--models=--out=/tmp/x, b", "--tasks=t --debug",
        "--base", "/accgate/base/a/b.toml", "--shard=--json", "--html",
    ]  # fmt: skip


DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("image", "options", "is_said"),
    [
        (f"example.org/accgate:v1@{DIGEST}", "", True),
        (f"example.org/accgate@{DIGEST}", "--volume /a:/b", False),  # over the image's files, perhaps
        (f"example.org/accgate@{DIGEST[:-1]}", "", False),
        ("example.org/accgate:v1", "", False),
    ],
)
def test_an_image_named_by_its_digest_says_so_inside_where_nothing_is_mounted_over_it(
    machine: Machine, image: str, options: str, is_said: bool
) -> None:
    argv = again(machine, ACCGATE_IMAGE=image, ACCGATE_DOCKER_OPTIONS=options)
    said = [word for word in after(argv, "--env") if word.startswith("ACCGATE_IMAGE_DIGEST")]
    assert said == ([f"ACCGATE_IMAGE_DIGEST={DIGEST}"] if is_said else [])


def test_a_cancelled_container_has_time_for_its_partial_report_before_github_kills(machine: Machine) -> None:
    runner, docker = machine
    (grace,) = [word.partition("=")[2] for word in after(again(machine), "--env") if word.startswith("ACCGATE_GRACE=")]
    (runner.work / "exit-code").unlink()
    docker.forget()
    noted = runner.bin / "calls"
    done = runner.step(
        "evaluate.sh", send=signal.SIGINT, when=lambda: noted.exists() and "(['run'" in noted.read_text(),
        ACCGATE_GPUS="none", FAKE_SLEEP="600",
    )  # fmt: skip
    assert done.code == runner.exit_code == 130
    stops = [argv for argv, _ in docker.calls if argv[0] == "stop"]
    assert stops
    killed = float(after(stops[0], "--time")[0])
    assert grace_of({"ACCGATE_GRACE": grace}) == float(grace) < killed - 2 < 10 - 2


@pytest.mark.parametrize(("code", "kept"), CODES)
def test_an_exit_code_that_is_no_verdict_is_an_error(machine: Machine, code: int, kept: int) -> None:
    runner, _ = machine
    done = runner.evaluate(FAKE_CODE=str(code), FAKE_SAYS="words of the engine")
    assert runner.exit_code == kept
    assert done.code == (130 if kept == 130 else 0)
    assert "words of the engine" in (runner.work / "log.txt").read_text()


def test_what_the_container_prints_is_no_workflow_command(machine: Machine) -> None:
    runner, _ = machine
    text = runner.evaluate(FAKE_SAYS="::error::mine\n::stop-commands::x\n::x::\n::set-output name=verdict::pass").text
    (word,) = set(re.findall(r"^::stop-commands::([0-9a-f]{32})$", text, re.MULTILINE))
    inside = text.split(f"::stop-commands::{word}\n")[1]
    assert inside.endswith(f"\n::{word}::\n")
    assert inside.count(word) == 1
    assert "::set-output name=verdict::pass" in inside
    runner.evaluate()
    assert word not in runner.evaluate().text


def test_proxies_and_authorities_of_the_runner_reach_both_containers_but_no_password_the_models(
    runner: Runner, docker: FakeDocker
) -> None:
    bundle = runner.workspace.parent / "company.pem"
    bundle.write_text("certificates")
    runner.variables |= {
        "https_proxy": "http://me:secret@proxy:1", "ALL_PROXY": "http://proxy:2", "NO_PROXY": "10.0.0.0/8",
        "SSL_CERT_FILE": str(bundle),
    }  # fmt: skip
    evaluating = evaluated(runner, docker)
    assert runner.publish().code == 0
    publishing = docker.calls[-1][0]
    trusted = {f"{name}=/accgate/ca.pem" for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")}
    for argv, more in ((evaluating, set()), (publishing, {"https_proxy"})):
        names = set(after(argv, "--env"))
        assert names >= {"ALL_PROXY", "NO_PROXY"} | trusted | more
        assert ("https_proxy" in names) == bool(more)
        assert f"type=bind,source={bundle},target=/accgate/ca.pem,readonly" in after(argv, "--mount")

"""A self-hosted runner's machine: workspace, folders and variables, and the action's host scripts run as its steps."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
# What tests fetch once and keep: other people\'s packages.
KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accgate-tests"
TOKEN = "ghs_" + "canary0123456789" * 2
posix_tools = pytest.mark.skipif(sys.platform != "linux", reason="the action runs on Linux")
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run([*GIT, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, message: str = "change") -> str:
    """Commit everything in the folder; the SHA."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def load_yaml(path: Path) -> dict[str, Any]:
    """A workflow or action; YAML 1.1 reads the key `on` as true."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {("on" if key is True else key): value for key, value in content.items()}


@dataclass(frozen=True)
class Done:
    """How a step ended, and what it printed to both streams."""

    code: int
    text: str


class Runner:
    """One runner with a workspace; `uid` is who it runs as, where the tests run as root."""

    def __init__(self, folder: Path, *, event: Mapping[str, Any] | None = None, uid: int | None = None) -> None:
        self.folder, self.uid = folder, uid
        self.workspace, self.temp, self.bin = folder / "workspace", folder / "temp", folder / "bin"
        for made in (self.workspace, self.temp, self.bin, folder / "home"):
            made.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / "action", folder / "action", dirs_exist_ok=True)
        for name in ("output", "summary"):
            (folder / name).touch()
        (folder / "event.json").write_text(json.dumps(event or {}), encoding="utf-8")
        self.variables = {
            "PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(folder / "home"),
            "RUNNER_NAME": "gpu-1", "RUNNER_TEMP": str(self.temp),
            "GITHUB_WORKSPACE": str(self.workspace), "GITHUB_REPOSITORY": "octo/models", "GITHUB_SHA": "c" * 40,
            "GITHUB_SERVER_URL": "http://127.0.0.1:1", "GITHUB_API_URL": "http://127.0.0.1:1",
            "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GITHUB_RUN_ID": "100", "GITHUB_RUN_ATTEMPT": "1",
            "ACCGATE_IMAGE": "accgate:test", "ACCGATE_CONFIG": "accuracy.toml",
        }  # fmt: skip
        self.variables |= {key: os.environ[key] for key in ("DOCKER_HOST",) if key in os.environ}

    def own(self) -> None:
        """Give everything to the runner's user."""
        if self.uid is not None:
            subprocess.run(["chown", "-R", f"{self.uid}:{self.uid}", str(self.folder)], check=True)

    def command(self, script: str) -> list[str]:
        run = ["bash", str(self.folder / "action" / script)]
        if self.uid is None:
            return run
        socket = Path(self.variables.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://"))
        groups = str(socket.stat().st_gid)
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", f"--groups={groups}", *run]

    def step(self, script: str, *, send: signal.Signals | None = None, when: Callable[[], bool] | None = None,
             **variables: str) -> Done:  # fmt: skip
        """Run a script with these variables; `send` a signal to it as soon as `when` holds."""
        process = subprocess.Popen(
            self.command(script), env=self.variables | variables, cwd=self.workspace, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if send is not None:
            assert when is not None
            while not when():
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.05)
            process.send_signal(send)
        text, _ = process.communicate(timeout=1800)
        return Done(process.returncode, text)

    def prepare(self, **variables: str) -> Done:
        """Lay out the trees; unless a variable says so, the event is about the commit that is checked out."""
        head = {}
        if (self.workspace / ".git").exists():
            head["GITHUB_SHA"] = git(self.workspace, "-c", "safe.directory=*", "rev-parse", "HEAD")
        done = self.step("prepare.sh", **{"ACCGATE_TOKEN": TOKEN} | head | variables)
        self.variables |= {"ACCGATE_WORK": self.outputs.get("work", "")}
        return done

    def evaluate(self, **variables: Any) -> Done:
        return self.step("evaluate.sh", **{"ACCGATE_GPUS": "none"} | variables)

    def publish(self, **variables: str) -> Done:
        defaults = {
            "ACCGATE_TOKEN": TOKEN, "ACCGATE_COMMENT": "always", "ACCGATE_CHECK_NAME": "accgate",
            "ACCGATE_FAIL_ON": "regression,inconclusive,no-reference,guard",
        }  # fmt: skip
        return self.step("publish.sh", **defaults | variables)

    @property
    def outputs(self) -> dict[str, str]:
        """What the steps wrote to GITHUB_OUTPUT, one line each."""
        lines = (self.folder / "output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    @property
    def work(self) -> Path:
        return Path(self.variables["ACCGATE_WORK"])

    @property
    def exit_code(self) -> int:
        """What the evaluation ended with, as the publishing step is told."""
        return int((self.work / "exit-code").read_text())


# It imports nothing for most of what it is asked: it starts in a third of the time.
FAKE = f"""#!{sys.executable} -IS
import posix, sys
argv = sys.argv[1:]
here = sys.argv[0].rpartition("/")[0]
fake = {{name.decode(): value.decode() for name, value in posix.environ.items()}}

def read(name):
    try:
        with open(here + "/" + name) as file:
            return file.read()
    except FileNotFoundError:
        return ""

def place(files, mounts):
    import pathlib
    for mount in mounts:
        for path, text in files.items():  # null removes
            if path.startswith(mount["target"] + "/"):
                file = pathlib.Path(mount["source"], path[len(mount["target"]) + 1:])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink() if text is None else file.write_text(text)

with open(here + "/calls", "a") as calls:
    calls.write(ascii((argv, fake)) + "\\n")
if argv[0] == "ps":
    print(read("stale"), end="")
if argv[0] in ("image", "pull") and "FAKE_PULL" in fake:
    print(fake["FAKE_PULL"], file=sys.stderr)
    sys.exit(1)
if argv[0] in ("stop", "rm"):
    open(here + "/stopped", "w").close()
if argv[0] == "info":
    print(fake.get("FAKE_INFO", ""))
if argv[0] == "run":
    mounts = [dict(part.split("=", 1) for part in word.split(",") if "=" in part)
              for before, word in zip(argv, argv[1:]) if before == "--mount"]
    if "/bin/sh" in argv and "FAKE_PROBE" in fake:
        print(fake["FAKE_PROBE"], file=sys.stderr)
        sys.exit(126)
    if "/bin/sh" in argv:
        (probe,) = [mount["source"] for mount in mounts]
        with open(probe + "/host") as host, open(probe + "/container", "a"):
            print(host.read(), end="")
        sys.exit()
    if "FAKE_FILES" in fake:
        import json
        place(json.loads(fake["FAKE_FILES"]), mounts)
    if "FAKE_SLEEP" in fake:  # until it is stopped or removed
        import time
        end = time.time() + float(fake["FAKE_SLEEP"])
        while time.time() < end and not posix.access(here + "/stopped", 0):
            time.sleep(0.05)
    print(fake.get("FAKE_SAYS", "evaluated"))
    sys.exit(int(fake.get("FAKE_BLAME_CODE" if "blame" in argv else "FAKE_CODE", "0")))
"""


class FakeDocker:
    """A docker on PATH that notes what it is asked, answers the probe, and ends as the variables FAKE_* say."""

    def __init__(self, runner: Runner) -> None:
        self.folder = runner.bin
        (runner.bin / "docker").write_text(FAKE)
        (runner.bin / "docker").chmod(0o755)

    def forget(self) -> None:
        for name in ("calls", "stopped"):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        path = self.folder / "calls"
        return [ast.literal_eval(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def runs(self) -> list[list[str]]:
        """Arguments of every `docker run` but the probe's."""
        return [argv for argv, _ in self.calls if argv[0] == "run" and "/bin/sh" not in argv]


def after(argv: Sequence[str], option: str) -> list[str]:
    """The values of an option that may come several times."""
    return [value for word, value in pairwise(argv) if word == option]


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

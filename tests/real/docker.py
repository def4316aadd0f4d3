"""A Docker engine for the container tests: the machine's own, or the one that a script beside the checkout starts."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.runner import ROOT, Runner

SCRIPT = ROOT.parent / "shared/container/engine"
# A name of this checkout: two of them on one engine must not test each other's code.
IMAGE = f"accgate:tests-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]}"
UID = 12345
# Labelled, so that each test ends its own containers and no others.
LABEL = f"org.accgate.test={secrets.token_hex(8)}"
OFFLINE = {"ACCGATE_DOCKER_OPTIONS": f"--network none --label {LABEL}"}


@functools.cache
def engine() -> Mapping[str, str]:
    """Variables with which docker answers; skips where it does not."""
    if shutil.which("docker") and docker("info", variables={}).returncode == 0:
        return {}
    if not SCRIPT.exists():
        pytest.skip(f"needs a Docker engine, or {SCRIPT.relative_to(ROOT.parent)} beside the checkout to start one")
    done = subprocess.run([str(SCRIPT)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{SCRIPT.name} cannot start a Docker engine: {done.stderr.strip()[-300:]}")
    return dict(re.findall(r"(\w+)=(\S+)", done.stdout))


def docker(*arguments: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    given = os.environ | (engine() if variables is None else variables)
    return subprocess.run(["docker", *arguments], env=given, capture_output=True, text=True, check=False)


def said(*arguments: str) -> str:
    """What a docker command that must succeed prints."""
    done = docker(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@functools.cache
def build(target: str = "cpu") -> str:
    """Build a target of the Dockerfile; what the build printed."""
    base = (os.environ | engine()).get("ACCGATE_PYTHON_IMAGE")
    arguments = ["--build-arg", f"PYTHON_IMAGE={base}"] if base else []
    done = docker("build", "--network", "host", *arguments, "--target", target, "--tag", tag_of(target), str(ROOT))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


def tag_of(target: str) -> str:
    """The name that the tests give the image of a target."""
    return IMAGE if target == "cpu" else f"{IMAGE}-{target}"


def remove_labelled() -> None:
    """End the containers that the tests started."""
    left = said("ps", "--all", "--quiet", "--filter", f"label={LABEL}").split()
    if left:
        docker("rm", "--force", *left)


@contextmanager
def machine(event: Mapping[str, Any] | None = None) -> Iterator[Runner]:
    """A runner with the image, in a folder that its user (not root, where the tests are) can reach."""
    folder = Path(tempfile.mkdtemp(prefix="accgate-runner-"))
    try:
        runner = Runner(folder, event=event, uid=UID if os.getuid() == 0 else None)
        runner.variables |= {**engine(), "ACCGATE_IMAGE": IMAGE}
        runner.variables["RUNNER_NAME"] = f"test-{secrets.token_hex(4)}"
        folder.chmod(0o755)
        yield runner
    finally:
        shutil.rmtree(folder, ignore_errors=True)

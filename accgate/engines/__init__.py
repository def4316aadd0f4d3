"""Who answers: one asynchronous protocol, several engines, each imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from accgate.engines.base import Engine, EngineInfo, Reply, Request, RequestFailed
from accgate.errors import BadInput, CannotEvaluate

if TYPE_CHECKING:
    from accgate.tomlfile import TomlFile

__all__ = ["Engine", "EngineInfo", "Reply", "Request", "RequestFailed", "create"]


def create(name: str, *, engine: str, model: str, options: Mapping[str, Any], source: TomlFile) -> Engine:
    """The engine of `[models.NAME]`, not yet started; nothing heavy is imported.

    Raises
    ------
    BadInput
        When options or files of the model cannot be used.
    CannotEvaluate
        When this version does not have the engine.
    """
    from accgate.shapes import validated

    key = ("models", name)
    if engine == "openai":
        from accgate.engines import openai

        return openai.OpenAIEngine(model, validated(source, openai.Options, (*key, "options")))
    if engine == "llamacpp":
        from accgate.engines.llamacpp import LlamaCppEngine

        return LlamaCppEngine(model, options, source=source, key=key)
    if engine == "recorded":
        from accgate.engines import recorded

        path = source.path_of(model)
        if not source.has_file(model):
            raise BadInput(source.error((*key, "model"), f"there is no file {model!r} in {source.path.parent}"))
        return recorded.RecordedEngine(path, validated(source, recorded.Options, (*key, "options")))
    fault = f"is {engine!r}, which this version does not run in process; start `vllm serve` and use the openai engine"
    raise CannotEvaluate(source.error((*key, "engine"), fault))

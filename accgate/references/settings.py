"""What a reference was recorded with, and what a run has differently: where to look first when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from accgate.engines import split_options
from accgate.text import differences, value_text

if TYPE_CHECKING:
    from accgate.config import Model
    from accgate.references.store import ReferenceFile
    from accgate.result import EngineInfo


def settings_told(model: Model) -> dict[str, Any]:
    """The settings of a model that can change an answer, as a reference keeps them: nothing unset, nothing empty.

    >>> from accgate.config import Model, Sampling
    >>> settings_told(Model(engine="vllm", model="m", options={"dtype": "half", "log": "v.log"}))
    {'model': 'm', 'options': {'dtype': 'half'}, 'sampling': {'temperature': 0.0}}
    """
    answering, _ = split_options(model.engine, model.options)
    return _filled({"model": model.model, "options": answering, "sampling": asdict(model.sampling)})


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table without what is unset or empty, which TOML has no word for."""
    inner = {key: _filled(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    kept = {key: list(value) if isinstance(value, tuple) else value for key, value in inner.items()}
    return {key: value for key, value in kept.items() if value is not None and value not in ({}, [])}


def changes(known: ReferenceFile, model: Model, info: EngineInfo | None) -> tuple[str, ...]:
    """What differs between a run and the recording that it is compared with, a short text each.

    A reference of an earlier version tells no settings, and then only engine, hardware and variant are compared.

    >>> from accgate.config import Model
    >>> from accgate.references import ReferenceFile
    >>> known = ReferenceFile(model="m", task="t", mean=50.0, n=9, settings={"model": "m", "options": {"kv": "f16"}})
    >>> changes(known, Model(engine="llamacpp", model="m", options={"kv": "q4_0"}), None)
    ('options.kv: f16 → q4_0', 'sampling.temperature: not set → 0.0')
    """
    before: dict[str, Any] = {"variant": dict(known.variant)}
    now: dict[str, Any] = {"variant": dict(model.variant)}
    if info is not None:
        ran = (("engine", known.engine, info.name), ("version", known.engine_version, info.version),
               ("hardware", known.hardware, info.hardware))  # fmt: skip
        before |= {name: was for name, was, _ in ran if was}
        now |= {name: is_ for name, was, is_ in ran if was}
    if known.settings:
        tables: dict[str, Any] = {"options": {}, "sampling": {}}
        before |= tables | known.settings
        now |= tables | settings_told(model)
    return tuple(f"{key}: {value_text(was)} → {value_text(is_)}" for key, (was, is_) in differences([before, now]))

"""The settings that a reference was recorded with, and how a run's settings differ.

A difference is where to look first when a run fails.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from accgate.config.tables import Model
from accgate.engines import split_options
from accgate.engines.base import SCORING
from accgate.engines.identity import are_one
from accgate.engines.table import determinism
from accgate.records.figures import Figures
from accgate.records.file import ENVIRONMENT
from accgate.references.store import Reference, ReferenceFile
from accgate.result import EngineInfo
from accgate.tasks import Task
from accgate.text import differences, path_text, value_text
from accgate.verdict import Reason
from accgate.verdict.sentences import PROMPTS

ENOUGH = 30  # samples from which on the normal approximation of a mean is used
TENTH = 0.0501  # rounding of a mean in a reference, which is rounded to tenths
UNKNOWN = "unknown"  # version of a package that one side does not name
IN_PROCESS = ("llamacpp", "vllm")  # the engines that say whether they are deterministic


def answer_settings(model: Model, task: Task | None = None) -> dict[str, Any]:
    """Return the settings of a model that can change an answer.

    Unset and empty settings are left out. A reference keeps them. For a `task` that scores given texts, the version of
    that scoring is added.

    >>> from accgate.config.tables import Model, Sampling
    >>> answer_settings(Model(engine="vllm", model="m", options={"dtype": "half", "log": "v.log"}))
    {'model': 'm', 'options': {'dtype': 'half'}, 'sampling': {'temperature': 0.0}}
    """
    answering, _ = split_options(model.engine, model.options)
    settings: dict[str, Any] = {"model": model.model, "options": answering, "sampling": asdict(model.sampling)}
    settings |= {"deterministic": determinism(model.engine, model.options) or None}
    return _without_empty(settings | {"likelihoods": SCORING if task is not None and task.needs_likelihoods else None})


def _without_empty(table: Mapping[str, Any]) -> dict[str, Any]:
    """Remove unset and empty values from a table, which TOML cannot write."""
    inner = {key: _without_empty(value) if isinstance(value, Mapping) else value for key, value in table.items()}
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in inner.items()}
    return {key: value for key, value in plain.items() if value is not None and value not in ({}, [])}


def recorded_settings(reference: ReferenceFile, model: Model) -> dict[str, Any]:
    """Return the settings of a reference.

    The model has its new name if `same_model` declares both names.

    >>> from accgate.config.tables import Model
    >>> from accgate.references.store import ReferenceFile
    >>> old = ReferenceFile(model="m", task="t", mean=50.0, n=9, settings={"model": "toy"})
    >>> recorded_settings(old, Model(engine="openai", model="gate/toy", options={"same_model": ["toy"]}))
    {'model': 'gate/toy'}
    """
    names = [reference.settings.get("model"), model.model]
    is_same = names[0] is not None and are_one(model.options, names)
    return {**reference.settings, "model": model.model} if is_same else dict(reference.settings)


def batch_note(reference: ReferenceFile) -> Reason | None:
    """Say that a reference's answers may depend on the requests that ran beside them.

    The reason has the share that changed, if that was measured. None for engines that are deterministic, and for
    servers, which do not say.

    >>> from accgate.references.store import ReferenceFile
    >>> figures = {"mean": 50.0, "n": 9, "discordance": 0.02, "settings": {"model": "m"}}
    >>> batch_note(ReferenceFile(model="m", task="t", engine="vllm", **figures))
    Reason(kind='not-deterministic', figures={'discordance': 0.02})
    """
    if reference.engine not in IN_PROCESS or not reference.settings or reference.settings.get("deterministic"):
        return None
    return Reason.of("not-deterministic", discordance=reference.discordance)


def prompt_change(reference: Reference, figures: Figures) -> str | None:
    """Say how the mean length of the same prompts changed, in tokens.

    None if it did not, or if the choice of samples may explain it. Shorter prompts may be cut, or be rendered with
    another chat template. `figures` are those of the run's records.
    """
    about, scores = reference.about, reference.scores
    counts = figures.columns["prompt_tokens"]
    counts, whole = counts[counts >= 0], about.n * about.repeats
    if about.prompt_tokens is None or scores is None or not len(counts) or len(figures.ids.without(scores.ids)):
        return None
    left = max(0.0, 1.0 - len(counts) / whole)  # of the finite population of which these are a random part
    if left and len(counts) < ENOUGH:
        return None
    now, chance = float(counts.mean()), TENTH + 4.0 * float(counts.std()) * math.sqrt(left / len(counts))
    return None if abs(now - about.prompt_tokens) <= chance else f"{PROMPTS}: {about.prompt_tokens:.1f} → {now:.1f}"


def surroundings(
    reference: ReferenceFile, model: Model, info: EngineInfo | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return variant, version, hardware and environment of a reference and of a run.

    Only values that the reference names are compared. If the reference has several runs, the value of any of them is
    fine. A package that only one environment names is `UNKNOWN` in the other. Environments are left out if a run under
    another engine names none.
    """
    before: dict[str, Any] = {"variant": dict(reference.variant)}
    now: dict[str, Any] = {"variant": dict(model.variant)}
    if info is not None:
        old, new = reference.environment, info.environment
        names = {**old, **new} if old and (new or info.name == reference.engine) else {}
        old = {n: new[n] if n in new and new[n] in was.split("; ") else was for n, was in old.items()}
        before[ENVIRONMENT], now[ENVIRONMENT] = ({n: each.get(n, UNKNOWN) for n in names} for each in (old, new))
        pairs = ("version", reference.engine_version, info.version), ("hardware", reference.hardware, info.hardware)
        before |= {name: text if text in was.split("; ") else was for name, was, text in pairs if was}
        now |= {name: text for name, was, text in pairs if was}
    return before, now


def setting_changes(
    reference: ReferenceFile, model: Model, info: EngineInfo | None, task: Task | None = None
) -> tuple[str, ...]:
    """Describe each difference between a run's settings and its reference's in a short text.

    References of earlier versions have no settings: only engine, hardware and variant are compared then.

    >>> from accgate.config.tables import Model
    >>> from accgate.references.store import ReferenceFile
    >>> recorded = {"model": "m", "options": {"kv": "f16"}}
    >>> reference = ReferenceFile(model="m", task="t", mean=50.0, n=9, settings=recorded)
    >>> setting_changes(reference, Model(engine="vllm", model="m", options={"kv": "q4_0"}), None)
    ('options.kv: f16 → q4_0', 'sampling.temperature: not set → 0.0')
    """
    before, now = surroundings(reference, model, info)
    if info is not None and reference.engine:
        before["engine"], now["engine"] = reference.engine, info.name
    if reference.settings:
        tables: dict[str, Any] = {"options": {}, "sampling": {}}
        before |= tables | recorded_settings(reference, model)
        now |= tables | answer_settings(model, task)
    changed = differences([before, now])
    return tuple(f"{path_text(path)}: {value_text(old)} → {value_text(new)}" for path, (old, new) in changed)

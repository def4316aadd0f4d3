"""Imports as references: of records their scores, of TensorRT-LLM's files the mean alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.interop.imported import Imported, unscored
from accgate.interop.trtllm import SuiteReference
from accgate.records import collect
from accgate.references import ReferenceFile, figures_of, reference_path, replaced_figures, write_reference, write_toml


def keep_records(
    store: Path, imported: Imported, *, variant: Mapping[str, Any], reason: str | None, replies: bool, commit: str = ""
) -> Path:
    """Write imported records as a reference with scores.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, or records have no score.
    """
    if fault := unscored(imported.records):
        raise BadInput(f"{imported.source}: {fault}; a reference needs all")
    scores = collect({r.key: r.score for r in imported.records}, str(imported.source))
    tool, _, version = imported.tool.rpartition(" ")
    about = ReferenceFile(
        model=imported.model, task=imported.task, **figures_of(scores), date=imported.date, commit=commit,
        engine=f"imported from {tool or imported.tool}", engine_version=version if tool else "",
        variant=dict(variant), fingerprint=dict(imported.fingerprint),
    )  # fmt: skip
    return write_reference(store, about, imported.records, reason=reason, replies=replies)


def keep_means(store: Path, references: Sequence[SuiteReference], *, reason: str | None, date: str) -> list[Path]:
    """Write the suite's references, each known by its mean; nothing is written where one cannot be.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given.
    """
    made = []
    for one in references:
        path = reference_path(store, one.model, one.variant, one.task)
        about = ReferenceFile(
            model=one.model, task=one.task, mean=one.mean, n=one.n, sigma=one.sigma, date=date,
            engine="imported from TensorRT-LLM", reason=reason or "", replaced=replaced_figures(path, reason),
            variant=dict(one.variant),
        )  # fmt: skip
        made.append((path, {f.name: getattr(about, f.name) for f in fields(about)}))
    for path, row in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".scores.csv").unlink(missing_ok=True)
        path.with_suffix(".replies.jsonl.gz").unlink(missing_ok=True)
        write_toml(path, row)
    return [path for path, _ in made]


def task_tables(references: Sequence[SuiteReference]) -> str:
    """The `[tasks]` of accuracy.toml that judge as the suite does, with what some references have otherwise.

    >>> from accgate.interop.trtllm import SuiteReference
    >>> print(task_tables([SuiteReference(Path("mmlu.yaml"), "m", "mmlu", {}, 68.2, 4096, 50.0, 0.05, 0.2, True)]))
    [tasks.mmlu]
    test = "two-sample"
    sigma = 50.0
    alpha = 0.05
    beta = 0.2
    num_samples = 4096
    """
    by_task: dict[str, list[SuiteReference]] = {}
    for reference in references:
        by_task.setdefault(reference.task, []).append(reference)
    return "\n\n".join(_table(task, own) for task, own in by_task.items())


def _table(task: str, own: Sequence[SuiteReference]) -> str:
    usual = max(own, key=lambda one: sum(_figures(one) == _figures(other) for other in own))
    lines = [f"[tasks.{task}]", 'test = "two-sample"']
    lines += [f"{key} = {value}" for key, value in _figures(usual).items()]
    if not usual.higher_is_better:
        lines.append("# lower is better: the task's metric must say so too")
    if usual.note:
        lines.append(f"# {usual.note}")
    for one in own:
        differing = {key: value for key, value in _figures(one).items() if value != _figures(usual)[key]}
        if differing:
            lines.append(f"# {one.name}: " + ", ".join(f"{key} = {value}" for key, value in differing.items()))
    return "\n".join(lines)


def _figures(one: SuiteReference) -> dict[str, Any]:
    return {"sigma": one.sigma, "alpha": one.alpha, "beta": one.beta, "num_samples": one.n}

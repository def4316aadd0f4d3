"""The reference store: a folder of text files that a pull request shows line by line."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.design import Mean
from accgate.errors import BadInput
from accgate.records import Record, file_name, read_gzip_lines, write_atomically, write_gzip_lines
from accgate.scores import Scores, collect, read_scores, shown
from accgate.shapes import Number, Text, Whole, validated
from accgate.tasks.samples import Task
from accgate.tomlfile import nearest, read_toml

COLUMNS = ("cluster", "group", "label")
PARTS = {
    "dataset": "the dataset",
    "prompt": "the prompt",
    "extract": "target or extraction",
    "metric": "the metric",
    "reply": "stop strings or max_tokens",
}


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ReferenceFile:
    """`<task>.toml` of the store; mean and sigma in points."""

    model: Text
    task: Text
    mean: Number
    n: Whole
    sigma: Number | None = None
    repeats: Whole = 1
    discordance: Number | None = None
    date: Text = ""
    commit: Text = ""
    engine: Text = ""
    engine_version: Text = ""
    hardware: Text = ""
    reason: Text = ""
    scores_sha256: Text | None = None
    variant: dict[Text, Any] = field(default_factory=dict)
    fingerprint: dict[Text, Text] = field(default_factory=dict)
    replaced: dict[Text, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """A recorded reference; without `scores` only its mean is known."""

    path: Path
    about: ReferenceFile
    scores: Scores | None

    @property
    def evidence(self) -> Scores | Mean:
        """What a decision takes: the scores where they are recorded, else the mean."""
        return self.scores if self.scores is not None else Mean(self.about.mean, self.about.n, self.about.sigma)

    @property
    def replies_path(self) -> Path:
        """The optional sidecar with the replies."""
        return self.path.with_suffix(".replies.jsonl.gz")

    def replies(self) -> dict[tuple[str, int], str]:
        """Recorded replies by (id, repeat); empty without a sidecar."""
        return {(row["id"], row["repeat"]): row["reply"] or "" for row in read_gzip_lines(self.replies_path)}


def variant_label(variant: Mapping[str, Any]) -> str:
    """A variant as a baseline names it, keys sorted.

    >>> variant_label({"quant": "fp8", "gpu": "H200", "spec": True})
    'gpu=H200,quant=fp8,spec=true'
    """
    return ",".join(f"{key}={_plain(variant[key])}" for key in sorted(variant))


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def baseline_of(model: str, variant: Mapping[str, Any], baseline: str | None) -> str:
    """The name a model's reference is looked up by: its baseline, or its own name and variant.

    >>> baseline_of("m", {"quant": "fp8"}, "m@quant=bf16,gpu=H200")
    'm@gpu=H200,quant=bf16'
    """
    if baseline is None:
        label = variant_label(variant)
        return f"{model}@{label}" if label else model
    name, _, label = baseline.partition("@")
    parts = sorted(part.strip() for part in label.split(",") if part.strip())
    return f"{name.strip()}@{','.join(parts)}" if parts else name.strip()


def find_reference(store: Path, baseline: str, task: str) -> Reference | None:
    """The reference of a baseline and task; None where none is recorded.

    A baseline may name a variant's values alone (`m@bf16`) where that is unambiguous.

    Raises
    ------
    BadInput
        When the files are damaged, do not fit each other, or several variants fit.
    """
    path = _folder(store, baseline, task) / f"{file_name(task)}.toml"
    if not path.is_file():
        return None
    source = read_toml(path, mend="record the reference again")
    about = validated(source, ReferenceFile)
    scores_path = path.with_suffix(".scores.csv")
    if about.scores_sha256 is None:
        if scores_path.exists():
            raise BadInput(f"{scores_path}: {path.name} knows nothing of it; record the reference again")
        return Reference(path, about, None)
    if not scores_path.is_file():
        raise BadInput(f"{scores_path}: is missing, but {path.name} was recorded with it; restore it from git")
    if _digest(scores_path.read_bytes()) != about.scores_sha256:
        raise BadInput(f"{scores_path}: is not what was recorded with {path.name}; restore both, or record again")
    scores = read_scores(scores_path, "reference")
    if scores.n != about.n or abs(float(np.mean(scores.averaged())) - about.mean) > 1e-6:
        fault = f"says mean {about.mean:g} of {about.n} samples, which {scores_path.name} does not give"
        raise BadInput(source.error(("mean",), f"{fault}; restore both, or record again"))
    return Reference(path, about, scores)


def _folder(store: Path, baseline: str, task: str) -> Path:
    exact = store / file_name(baseline)
    model, _, label = baseline.partition("@")
    if exact.is_dir() or not label or "=" in label:
        return exact
    wanted = set(label.split(","))
    fitting = [
        folder
        for folder in sorted(store.glob(file_name(model) + "@*"))
        if (folder / f"{file_name(task)}.toml").is_file() and wanted == _values(folder.name)
    ]
    if len(fitting) > 1:
        names = " and ".join(folder.name for folder in fitting)
        raise BadInput(f"baseline {baseline!r} fits {names}; write the variant as key=value")
    return fitting[0] if fitting else exact


def _values(folder: str) -> set[str]:
    return {part.partition("=")[2] for part in folder.partition("@")[2].split(",")}


def recorded_names(store: Path) -> list[str]:
    """Names of everything recorded, as baselines, for a message."""
    return sorted(folder.name for folder in store.glob("*") if folder.is_dir())


def missing_reference(store: Path, baseline: str, task: str) -> str:
    """Why a check has no reference, and how to record one."""
    known = recorded_names(store)
    near = f"; {nearest(baseline, known)}" if known else ""
    return f"no reference of {baseline} for task {task} in {store}{near}: record one with `accgate record`"


def mismatch(reference: Reference, task: Task) -> str | None:
    """Why a task's samples cannot be paired with a reference; None where they can.

    A candidate may be a subset of the reference: a plan of fewer samples takes the first of the order.
    """
    if reference.scores is None:
        return None
    known = set(reference.scores.ids)
    ids = [sample.id for sample in task.samples]
    unknown = [id_ for id_ in ids if id_ not in known]
    recorded = reference.about.fingerprint
    changed = [text for part, text in PARTS.items() if recorded.get(part) != task.fingerprint.get(part)]
    if not unknown and not _rescored(reference, task):
        return None
    since = f"since the reference was recorded on {reference.about.date or 'an unknown date'}"
    what = f"{' and '.join(changed)} changed {since}" if changed else f"the samples changed {since}"
    overlap = f"{len(ids) - len(unknown)} of {len(ids)} samples are in the reference"
    if unknown:
        overlap += f", {len(unknown)} are not: {shown(unknown)}"
    return (
        f"{reference.path}: {what}; {overlap}. Undo the change, or record the reference again "
        "(`accgate record --reason ...`)"
    )


def _rescored(reference: Reference, task: Task) -> bool:
    """Whether the same prompts would be scored in another way, or asked in another mode."""
    recorded = reference.about.fingerprint
    return any(recorded.get(part) != task.fingerprint[part] for part in ("prompt", "extract", "metric", "reply"))


def scores_of(records: Sequence[Record], task: Task) -> Scores:
    """Scores of a run in the fixed order; a failed record becomes NaN.

    Raises
    ------
    BadInput
        When a sample of the task has no record, or an uneven number of repeats.
    """
    clusters = {record.key: record.cluster for record in records}
    scores = collect({record.key: record.score for record in records}, "the run", clusters)
    present = set(scores.ids)
    missing = [sample.id for sample in task.samples if sample.id not in present]
    if missing:
        raise BadInput(f"the run lacks {len(missing)} of {len(task.samples)} samples: {shown(missing)}")
    return scores.taken([sample.id for sample in task.samples])


def write_reference(
    store: Path, about: ReferenceFile, records: Sequence[Record], *, reason: str | None, replies: bool
) -> Path:
    """Write a reference; a replaced one needs a reason, which is kept with what it replaced.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, or records have no score.
    """
    folder = store / file_name(baseline_of(about.model, about.variant, None))
    path = folder / f"{file_name(about.task)}.toml"
    replaced = check_replacement(path, reason)
    failed = [record.id for record in records if record.score is None]
    if failed:
        raise BadInput(f"{len(failed)} of {len(records)} samples have no score: {shown(failed)}; a reference needs all")
    ordered = sorted(records, key=lambda record: record.key)
    content = _csv(ordered)
    row = {f: getattr(about, f) for f in ReferenceFile.__dataclass_fields__}
    row |= {"reason": reason or "", "scores_sha256": _digest(content), "replaced": replaced}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path.with_suffix(".scores.csv"), content)
    sidecar = path.with_suffix(".replies.jsonl.gz")
    if replies:
        write_gzip_lines(sidecar, ({"id": r.id, "repeat": r.repeat, "reply": r.reply} for r in ordered))
    else:
        sidecar.unlink(missing_ok=True)
    kept = {key: value for key, value in row.items() if value not in (None, "", {})}
    write_atomically(path, tomli_w.dumps(kept).encode())
    return path


def check_replacement(path: Path, reason: str | None) -> dict[str, Any]:
    """What a new reference replaces: mean, n, date and commit; empty where nothing.

    Raises
    ------
    BadInput
        When something is replaced and no reason is given.
    """
    if not path.is_file():
        return {}
    if not (reason or "").strip():
        raise BadInput(f"{path}: a reference exists; say why it is replaced with --reason TEXT")
    old = read_toml(path, mend="delete it to record anew").data
    return {key: old[key] for key in ("mean", "n", "date", "commit") if key in old}


def _csv(records: Sequence[Record]) -> bytes:
    present = [name for name in COLUMNS if any(getattr(record, name) is not None for record in records)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "repeat", "score", *present])
    for record in records:
        assert record.score is not None
        score = f"{record.score:.0f}" if record.score.is_integer() else repr(record.score)
        writer.writerow([record.id, record.repeat, score, *(getattr(record, name) for name in present)])
    return text.getvalue().encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

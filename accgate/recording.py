"""What `record` writes: the first reference of a model and task, one in place of another, or one more run of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.drift import keep_anchor
from accgate.errors import BadInput
from accgate.records import Record, read_gzip_lines, to_line, write_atomically, write_gzip_lines
from accgate.references import (
    Reference,
    ReferenceFile,
    baseline_of,
    changed_parts,
    digest,
    find_reference,
    is_rescored,
    reference_path,
    write_toml,
)
from accgate.scores import Scores, collect, shown
from accgate.stats.noise import discordance_of_repeats
from accgate.tables import read_table, repeat_of, score_of
from accgate.tasks.samples import Task
from accgate.tomlfile import read_toml

COLUMNS = ("cluster", "group", "label")


def figures(scores: Scores) -> dict[str, Any]:
    """What a reference's TOML says of its scores; discordance only where repeats of 0/100 scores show it."""
    values = scores.averaged()
    repeats = scores.values.shape[1]
    binary = bool(np.isin(scores.values, (0.0, 100.0)).all())
    return {
        "mean": float(np.mean(values)),
        "n": scores.n,
        "sigma": float(np.std(values, ddof=1)) if scores.n > 1 else None,
        "repeats": repeats,
        "discordance": discordance_of_repeats(scores.values).value if binary and repeats > 1 else None,
    }


def write_reference(
    store: Path, about: ReferenceFile, records: Sequence[Record], *, reason: str | None, replies: bool
) -> Path:
    """Write a reference of one run; a replaced one needs a reason, which is kept with what it replaced.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, or records have no score.
    """
    path = reference_path(store, about.model, about.variant, about.task)
    replaced = check_replacement(path, reason)
    rows = [{"id": r.id, "repeat": r.repeat, "reply": r.reply} for r in records]
    about = replace(about, reason=reason or "", replaced=replaced, runs_sha256=(run_digest(records),))
    store_reference(path, about, records, rows if replies else None)
    return path


def store_reference(
    path: Path, about: ReferenceFile, records: Sequence[Record], replies: Sequence[Mapping[str, Any]] | None
) -> None:
    """Write the files of a reference: its scores, the sidecar of replies or none, then the TOML that vouches for them.

    Raises
    ------
    BadInput
        When records have no score.
    """
    failed = [record.id for record in records if record.score is None]
    if failed:
        raise BadInput(f"{len(failed)} of {len(records)} samples have no score: {shown(failed)}; a reference needs all")
    content = _csv(sorted(records, key=lambda record: record.key))
    row = {f: getattr(about, f) for f in ReferenceFile.__dataclass_fields__} | {"scores_sha256": digest(content)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path.with_suffix(".scores.csv"), content)
    sidecar = path.with_suffix(".replies.jsonl.gz")
    if replies:
        write_gzip_lines(sidecar, sorted(replies, key=lambda row: (row["id"], row["repeat"])))
    else:
        sidecar.unlink(missing_ok=True)
    write_toml(path, row)


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
        raise BadInput(
            f"{path}: a reference exists; say why it is replaced with --reason TEXT, or add this run with --add"
        )
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


def run_digest(records: Sequence[Record]) -> str:
    """What tells one run from another, even where both have the same scores: seconds and replies count too."""
    return digest(b"".join(sorted(map(to_line, records))))

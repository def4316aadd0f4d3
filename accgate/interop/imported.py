"""What an import gives: run records of one task, with the mean that the other tool reported of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.records import (
    Record,
    RecordPaths,
    paths_of,
    read_records,
    to_line,
    write_atomically,
    write_gzip_lines,
    write_settings,
)
from accgate.text import some_of

MALFORMED = (AttributeError, TypeError, LookupError, ValueError)  # what parts of another kind than expected end in
TOLERANCE = 1e-9  # relative: another order of summation, no more


@dataclass(frozen=True)
class Imported:
    """One task of another tool's log.

    `reported` is the mean in points that the tool itself wrote, equal to that of the records; None where the log holds
    none, and `note` says why. `higher_is_better` is None where the log does not tell.
    """

    model: str
    task: str
    metric: str
    tool: str
    source: Path
    records: tuple[Record, ...]
    prompts: Mapping[str, str]
    scale: float
    reported: float | None
    higher_is_better: bool | None = None
    note: str = ""
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    date: str = ""

    @property
    def mean(self) -> float:
        """Mean in points over the samples that have a score, repeats averaged first."""
        return sample_mean((record.id, record.score) for record in self.records if record.score is not None)

    @property
    def samples(self) -> int:
        """How many samples there are, failed ones included."""
        return len({record.id for record in self.records})


def sample_mean(scores: Iterable[tuple[str, float]]) -> float:
    """Mean over the samples of (id, score), with the repeats of each averaged first; NaN of none.

    >>> sample_mean([("a", 100.0), ("a", 0.0), ("b", 100.0)])
    75.0
    """
    by_id: dict[str, list[float]] = defaultdict(list)
    for id_, score in scores:
        by_id[id_].append(score)
    means = [math.fsum(values) / len(values) for values in by_id.values()]
    return math.fsum(means) / len(means) if means else math.nan


def check_mean(mean: float, reported: Any, what: str, source: Path, reports: Path) -> float:
    """The mean that the tool reported, once it is that of the samples.

    Raises
    ------
    BadInput
        Where it is another: samples are missing or changed, or the tool does not report a mean.
    """
    if isinstance(reported, bool) or not isinstance(reported, (int, float)):
        raise BadInput(f"{reports}: {what} is {reported!r}, which is no number; give the log as the tool wrote it")
    if not math.isclose(mean, reported, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise BadInput(
            f"{source}: the samples' mean of {what} is {mean:.10g}, but {reports.name} reports {reported:.10g}; "
            "samples are missing or were changed, or the tool combines them otherwise than by their mean"
        )
    return float(reported)


def write_run(out: Path, imported: Imported) -> RecordPaths:
    """Write the records as a run does: records, prompts and settings, under the model's name; what stands there already
    must be the same.

    Raises
    ------
    BadInput
        When other records stand there, or the folder cannot be written.
    """
    paths = paths_of(out, imported.model, imported.task)
    try:
        _refuse_others(paths, imported.records)
        paths.records.parent.mkdir(parents=True, exist_ok=True)
        write_gzip_lines(paths.prompts, ({"id": id_, "prompt": text} for id_, text in imported.prompts.items()))
        write_settings(paths, _settings(imported))
        write_atomically(paths.records, b"".join(map(to_line, imported.records)))
    except OSError as error:
        raise BadInput(f"{paths.records}: cannot be written: {error.strerror}; name another --out") from error
    return paths


def _settings(imported: Imported) -> dict[str, Any]:
    about = {"tool": imported.tool, "file": imported.source.name, "metric": imported.metric, "scale": imported.scale}
    fingerprint = {f"task {part}": digest for part, digest in imported.fingerprint.items()}
    return {"imported": about, "records": len(imported.records), **fingerprint}


def _refuse_others(paths: RecordPaths, records: Sequence[Record]) -> None:
    if paths.records.exists() and read_records(paths.records) != list(records):
        raise BadInput(f"{paths.records}: holds other records; name another --out, or delete it")


def only_unique(models: Iterable[Imported]) -> list[Imported]:
    """The imports, of which no two may be of one model and task.

    Raises
    ------
    BadInput
        Which files are of the same.
    """
    found: dict[tuple[str, str], Imported] = {}
    for item in models:
        if other := found.get((item.model, item.task)):
            raise BadInput(
                f"{item.source.name} and {other.source.name} are both of task {item.task} and model {item.model}; "
                "name one of the files, or give one another --model"
            )
        found[item.model, item.task] = item
    return list(found.values())


def unscored(records: Sequence[Record]) -> str:
    """A sentence on samples without a score; empty where all have one."""
    failed = list(dict.fromkeys(record.id for record in records if record.score is None))
    return f"{len(failed)} samples have no score: {some_of(failed)}" if failed else ""

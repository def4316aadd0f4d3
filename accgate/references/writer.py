"""Write references.

A reference is the first of a model and task, replaces another, or gains runs or rows.
"""

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from accgate.design import Design
from accgate.errors import BadInput, writing
from accgate.inputs.checkout import refuse_stand_in
from accgate.inputs.paths import content_digest
from accgate.inputs.toml import read_toml
from accgate.records.figures import Figures, readings_of, split_readings, sum_of_readings
from accgate.records.file import Record
from accgate.records.finish import CUT, REFUSED
from accgate.records.ids import Places
from accgate.records.log import lines_of, records_at
from accgate.records.pairing import changed_parts, is_rescored
from accgate.records.replacement import Replacements, replacing
from accgate.records.scores import Scores, scores_of_records
from accgate.references.anchor import anchor_beside, keep_anchor
from accgate.references.columns import cell, columns_of, value_of
from accgate.references.store import Reference, ReferenceFile, read_reference, reference_path, toml_of
from accgate.stats.noise import discordance_of_repeats
from accgate.tasks import Task
from accgate.text import count_of, some_of
from accgate.verdict import Readings


def figures_of(scores: Scores) -> dict[str, Any]:
    """Return the figures of scores that a reference's TOML holds.

    The discordance is None unless repeats of 0/100 scores show it.
    """
    values = scores.means()
    repeats = scores.values.shape[1]
    return {
        "mean": float(np.mean(values)),
        "n": scores.n,
        "sigma": float(np.std(values, ddof=1)) if scores.n > 1 else None,
        "repeats": repeats,
        "discordance": discordance_of_repeats(scores.values).value if scores.is_binary and repeats > 1 else None,
    }


def write_reference(
    store: Path,
    about: ReferenceFile,
    records: Sequence[Record],
    *,
    reason: str | None,
    replies: bool,
    answers: bool = False,
    runs: int = 1,
    design: Design | None = None,
) -> Path:
    """Write a reference.

    The first reference of all is kept as the anchor. To replace a reference takes a reason, which is kept with the old
    figures. The records hold so many `runs`, one after the other in their repeats. `answers` adds answer and target to
    the scores, for statistics that need them. The anchor stays until a decline is accepted that fails the check by its
    `design`.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, records have no score, or no reply at all holds an answer.
    CannotEvaluate
        When a file cannot be written.
    """
    path = reference_path(store, about.model, about.variant, about.task)
    replaced = replaced_figures(path, reason)
    scores = _scores(records, "the run")
    about = replace(about, **_readings(_read(path, records)))
    digests = about.runs_sha256 or _run_digests(records, runs)  # replies that are read anew keep their runs' digests
    with writing(path), replacing() as files:
        with writing(path.with_suffix(".anchor.toml")):
            anchor = keep_anchor(store, about, scores, files, design)
        about = replace(about, reason=reason or "", replaced=replaced, anchor=anchor, runs=runs, runs_sha256=digests)
        _store(path, about, records, records if replies else (), files, answers=answers)
    return path


def reference_to_extend(
    store: Path, model: str, variant: Mapping[str, Any], task: Task, *, rows: bool = False
) -> Reference:
    """Return the reference that a run of this task can be added to.

    With `rows` the run has only new samples of the dataset, which must still have all of the reference's.

    Raises
    ------
    BadInput
        When there is no reference, only its mean is known, or its task or samples differ.
    """
    path = reference_path(store, model, variant, task.name)
    reference = read_reference(path)
    if reference is None:
        raise BadInput(f"{path}: there is no reference to add to; record the first run without --add or --add-rows")
    if reference.scores is None:
        raise BadInput(f"{path}: has a mean but no scores to add to; record it again with --reason TEXT")
    recorded, now = reference.about.fingerprint, task.fingerprint
    fix = "undo that, or replace the reference with --reason TEXT"
    if is_rescored(recorded, now):
        changed = " and ".join(changed_parts(recorded, now))
        raise BadInput(f"{path}: {changed} changed since {reference.about.date or 'it was recorded'}; {fix}")
    recorded_ids, ids = reference.scores.ids, task.samples.ids
    whole = task.dataset_ids if rows and task.dataset_ids is not None else ids
    extra, lacking = sorted(ids.without(recorded_ids)), sorted(recorded_ids.without(whole))
    faults = [f"the reference lacks {len(extra)} of them: {some_of(extra)}"] * bool(extra and not rows)
    if lacking:
        of, side = len(recorded_ids), "dataset" if rows else "run"
        faults.append(f"the {side} lacks {len(lacking)} of the reference's {of}: {some_of(lacking)}")
    if faults:
        samples = count_of(len(ids), "sample")
        raise BadInput(f"{path}: a run of {samples} cannot be added: {'; '.join(faults)}; {fix}")
    return reference


def has_runs(reference: Reference, records: Sequence[Record], runs: int) -> bool:
    """Tell whether the reference already has the runs of these records.

    That is so when a finished run is resumed.
    """
    return set(_run_digests(records, runs)) <= set(reference.about.runs_sha256)


def add_runs(
    reference: Reference,
    about: ReferenceFile,
    records: Sequence[Record],
    *,
    replies: bool,
    answers: bool = False,
    runs: int = 1,
    rows: bool = False,
    into: Replacements | None = None,
) -> Path:
    """Add runs to a reference as further repeats.

    This lowers its noise, and the theta that runs against it can reach. A run that was added cannot be taken out, and
    there is no way to choose among runs: the best of several is no estimate of the model, and a reference that was
    lucky by one standard deviation nearly doubles the false failures of every test against it.

    Parameters
    ----------
    reference : Reference
        From `reference_to_extend`.
    about : ReferenceFile
        The new run's; its figures are replaced by those of all runs together.
    records : sequence of Record
        The new run's; their repeats are renumbered to follow the reference's.
    replies : bool
        Whether the run's replies are kept beside those of earlier runs.
    answers : bool
        Whether answer and target are written beside the scores.
    runs : int
        Number of runs that the records hold, one after the other in their repeats.
    rows : bool
        Whether the records are samples that the reference lacks, with as many repeats as it has.
    into : Replacements, optional
        Files that are replaced together with these; by default these are replaced at once.

    Raises
    ------
    BadInput
        When records have no score, or other clusters than the reference, or no reply at all holds an answer.
    CannotEvaluate
        When a file cannot be written.
    """
    path, old = reference.path, reference.about
    _scores(records, "the run")
    readings = _read(path, records)
    stored = reference.kept_records()
    first = 0 if rows else 1 + max(record.repeat for record in stored)
    added = [replace(record, repeat=first + record.repeat) for record in records] if first else records
    pooled = [*stored, *added]
    figures = figures_of(_scores(pooled, f"{path} with this run"))
    digests = () if rows else _run_digests(records, runs)
    if rows:  # new samples are not another run, and tokens become means of all samples
        runs = 0
        figures["discordance"] = old.discordance if old.repeats == 1 else figures["discordance"]
        for name in ("prompt_tokens", "completion_tokens"):
            figures[name] = _pooled_mean((getattr(old, name), old.n), (getattr(about, name), about.n))
    about = replace(
        about,
        **figures,
        **_readings(sum_of_readings((old.readings, readings))),
        runs=old.runs + runs,
        builds=old.builds + (not rows and _build(about) != _build(old)),
        engine=_joined(old.engine, about.engine),
        engine_version=_joined(old.engine_version, about.engine_version),
        hardware=_joined(old.hardware, about.hardware),
        environment={
            name: _joined(old.environment.get(name, ""), about.environment.get(name, ""))
            for name in {**old.environment, **about.environment}
        },
        reason=old.reason,
        replaced=old.replaced,
        anchor=old.anchor,
        runs_sha256=(*old.runs_sha256, *digests),
        **asdict(old.makers.join(about.makers)),
    )
    earlier = [record for record in stored if record.reply is not None]
    with writing(path), replacing() if into is None else nullcontext(into) as files:
        _store(path, about, pooled, [*earlier, *(added if replies else ())], files, answers=answers)
    return path


def _build(about: ReferenceFile) -> tuple[object, ...]:
    """Return the values of a reference's file that tell one build from another."""
    return about.commit, about.engine_version, about.hardware, about.environment


def _pooled_mean(*sides: tuple[float | None, int]) -> float | None:
    """Return the mean of all samples to a tenth, from each side's (mean, n).

    The result is None unless both are known.

    >>> _pooled_mean((10.0, 30), (20.0, 10)), _pooled_mean((10.0, 30), (None, 10))
    (12.5, None)
    """
    sums = [mean * n for mean, n in sides if mean is not None]
    return round(sum(sums) / sum(n for _, n in sides), 1) if len(sums) == len(sides) else None


def _read(path: Path, records: Sequence[Record]) -> Readings | None:
    """Count how a run's replies were read.

    Raises
    ------
    BadInput
        When no answer was found in any of them: such scores can never fall.
    """
    for readings in split_readings(records):
        if readings is not None and readings.unread == readings.replies:
            raise BadInput(
                f"{path}: not one of {readings.replies:,} replies holds an answer; correct [extract] of the task, or "
                "raise max_tokens where replies are cut off"
            )
    return readings_of(records)


def _readings(readings: Readings | None) -> dict[str, Any]:
    """Return the keys of a reference's file that count how replies were read."""
    return asdict(readings) if readings is not None else dict.fromkeys(vars(Readings(0)))


def _joined(old: str, new: str) -> str:
    """Join the engines, versions or hardware of all runs, each once.

    >>> _joined("0.10", "0.10"), _joined("0.10; 0.11", "0.11"), _joined("0.10", "0.11")
    ('0.10', '0.10; 0.11', '0.10; 0.11')
    """
    return "; ".join(dict.fromkeys(part for part in (*old.split("; "), new) if part))


def _scores(records: Sequence[Record], side: str) -> Scores:
    """Return the records' scores, of which none may be missing."""
    figures = Figures.of(records)
    if figures.failed.any():
        failed = list(figures.take(np.flatnonzero(figures.failed)).ids)
        raise BadInput(f"no score for {len(failed)} of {len(records)} samples: {some_of(failed)}; references need all")
    return scores_of_records(records, side)


def _store(
    path: Path,
    about: ReferenceFile,
    records: Sequence[Record],
    replies: Sequence[Record],
    files: Replacements,
    *,
    answers: bool,
) -> None:
    """Write a reference's scores and replies, then its TOML, which has the scores' digest."""
    content = _csv(records, answers=answers)
    row = {f.name: getattr(about, f.name) for f in fields(about)} | {"scores_sha256": content_digest([content])}
    csv_path, sidecar = path.with_suffix(".scores.csv"), path.with_suffix(".replies.jsonl.gz")
    with writing(csv_path):
        files.write(csv_path, content)
    with writing(sidecar):
        if len(replies):
            each = records_at(replies, _by_key(replies))
            files.write_gzip_lines(sidecar, map(_reply_row, each))
        else:
            files.remove(sidecar)
    with writing(path):
        files.write(path, toml_of(row))


def _reply_row(record: Record) -> dict[str, Any]:
    """Return a reply as the sidecar keeps it.

    It has its finish reason if it did not end by itself.
    """
    row = {"id": record.id, "repeat": record.repeat, "reply": record.reply}
    return row | {"finish_reason": record.finish_reason} if record.finish_reason in CUT | REFUSED else row


def replaced_figures(path: Path, reason: str | None) -> dict[str, Any]:
    """Return figures of the reference that is replaced, if there is one.

    They are mean, n, date and commit.

    Raises
    ------
    BadInput
        When something is replaced and no reason is given, or the anchor beside it is damaged.
    """
    if not path.is_file():
        refuse_stand_in(path)  # a reference that the checkout lacks has an anchor, and needs a reason
        return {}
    if not (reason or "").strip():
        raise BadInput(
            f"{path}: a reference exists; say with --reason TEXT why it is replaced, or add to it with --add"
        )
    anchor_beside(path)
    old = read_toml(path, fix="delete it to record afresh").data
    return {key: old[key] for key in ("mean", "n", "date", "commit") if key in old}


def _csv(records: Sequence[Record], *, answers: bool) -> bytes:
    present = columns_of(records, answers=answers)
    content = io.BytesIO()
    text = io.TextIOWrapper(content, "utf-8", newline="", write_through=False)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "repeat", "score", *present])
    for record in records_at(records, _by_key(records)):
        others = (cell(value_of(record, name)) for name in present)
        writer.writerow([record.id, record.repeat, cell(record.score), *others])
    text.flush()
    return content.getvalue()


def _by_key(records: Sequence[Record]) -> Places:
    """Return the places of records in the order of id and repeat."""
    figures = Figures.of(records)
    return figures.ids.by_text_and(figures.columns["repeat"])


def _run_digests(records: Sequence[Record], runs: int) -> tuple[str, ...]:
    """Return a digest of each run's records.

    Seconds and replies differ even between runs of equal scores.
    """
    order = _by_key(records)
    repeat = Figures.of(records).columns["repeat"][order]
    repeats = (1 + int(repeat.max())) // runs
    return tuple(_digest_of(records_at(records, order[repeat // repeats == run]), run * repeats) for run in range(runs))


def _digest_of(records: Sequence[Record], first: int) -> str:
    """Return the digest of one run's records, with repeats counted from 0."""
    own = [replace(record, repeat=record.repeat - first) for record in records] if first else records
    sha256 = hashlib.sha256()
    for line in lines_of(own):
        sha256.update(line)
    return sha256.hexdigest()

"""The reference store.

It is a folder of text files that a pull request shows line by line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from pydantic.dataclasses import dataclass as pydantic_dataclass

from accgate.design import Mean
from accgate.errors import BadInput, KeyFaults, writing
from accgate.inputs.checkout import fault_of, refuse_no_text, refuse_stand_in
from accgate.inputs.paths import content_digest, read_plain
from accgate.inputs.toml import read_toml
from accgate.inputs.typed import CLOSED, Number, Text, Texts, Whole, parse_table_of
from accgate.records.figures import Figures
from accgate.records.file import Record, file_name, paths_of, read_gzip_lines
from accgate.records.log import RecordLog, fills
from accgate.records.membership import moved_groups
from accgate.records.pairing import SCORES, changed_parts, is_asked_alike, is_rescored
from accgate.records.replacement import write_gzip_lines
from accgate.records.scores import Scores, read_scores, scores_of_records
from accgate.references.columns import stored_records
from accgate.references.judge import Makers
from accgate.tasks import Task
from accgate.tasks.definition import former_task
from accgate.text import count_of, nearest, some_of
from accgate.verdict import Readings, Reason, Verdict

MOST = 1_000_000_000  # bytes of the scores beside a reference, which memory must hold
MOST_SCORES = 100_000  # scores of a reference that are copied beside a run, as many as its report draws


@pydantic_dataclass(frozen=True, kw_only=True, config=CLOSED)
class ScoresFile:
    """The keys that the files of a reference and of an anchor share.

    The mean is in points. `repeats` counts the answers to each sample. `anchor` says why drift is counted from these
    scores, if earlier ones cannot be compared with them.
    """

    model: Text
    task: Text
    mean: Number
    n: Whole
    repeats: Whole = 1
    date: Text = ""
    commit: Text = ""
    anchor: Text = ""
    scores_sha256: Text | None = None
    fingerprint: dict[Text, Text] = field(default_factory=dict)
    judge_served: dict[Text, Any] = field(default_factory=dict)
    judge_files: dict[Text, Text] = field(default_factory=dict)

    @property
    def makers(self) -> Makers:
        """Who answered and who marked, as far as the file says."""
        return Makers.of_settings(vars(self))


@pydantic_dataclass(frozen=True, kw_only=True, config=CLOSED)
class ReferenceFile(ScoresFile):
    """The content of `<task>.toml`.

    Mean and sigma are in points, discordance is a share. `repeats` counts the answers to each sample in all `runs`
    together, and `runs_sha256` has a digest of each run. `builds` counts the builds of these runs, told apart by
    commit, version, hardware and environment. Tokens are means per sample of the last run, as is `samples_per_second`;
    `plan` estimates costs from these. `replies` to `full` are the counts of `Readings`, which are missing where nothing
    was read, and in references of earlier versions. `settings` of the model, its engine and sampling can change an
    answer. `environment` has the versions of the software under the engine. `served`, `judge_served` and `judge_files`
    are the `Makers` of the scores, which earlier versions did not keep.
    """

    sigma: Number | None = None
    discordance: Number | None = None
    runs: Whole = 1
    builds: Whole = 1
    engine: Text = ""
    engine_version: Text = ""
    hardware: Text = ""
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
    samples_per_second: Number | None = None
    replies: Whole | None = None
    unread: Whole | None = None
    empty: Whole | None = None
    cut: Whole | None = None
    refused: Whole | None = None
    full: Whole | None = None
    reason: Text = ""
    runs_sha256: Texts = ()
    variant: dict[Text, Any] = field(default_factory=dict)
    environment: dict[Text, Text] = field(default_factory=dict)
    replaced: dict[Text, Any] = field(default_factory=dict)
    settings: dict[Text, Any] = field(default_factory=dict)
    served: dict[Text, Any] = field(default_factory=dict)

    @property
    def readings(self) -> Readings | None:
        """How the replies were read, None if the file does not say."""
        if self.replies is None or self.unread is None:
            return None
        return Readings(**{name: getattr(self, name) or 0 for name in vars(Readings(0))})


@dataclass(frozen=True)
class Reference:
    """A recorded reference. Without `scores`, only its mean is known."""

    path: Path
    about: ReferenceFile
    scores: Scores | None

    @property
    def evidence(self) -> Scores | Mean:
        """What a decision compares with, the scores if they are recorded, else the mean."""
        return self.scores if self.scores is not None else Mean(self.about.mean, self.about.n, self.about.sigma)

    @property
    def replies_path(self) -> Path:
        """The optional sidecar with the replies."""
        return self.path.with_suffix(".replies.jsonl.gz")

    def records(self) -> Iterator[Record]:
        """Yield each record as far as the reference keeps it, without its reply."""
        return stored_records(self.path.with_suffix(SCORES))

    def kept_records(self) -> list[Record]:
        """Return each record as far as the reference keeps it, replies included.

        Raises
        ------
        BadInput
            When the sidecar is damaged.
        """
        rows = {(row["id"], row.get("repeat", 0)): row for row in read_gzip_lines(self.replies_path, "reply")}
        kept = ((record, rows.get(record.key, {})) for record in self.records())
        return [replace(one, reply=row.get("reply"), finish_reason=row.get("finish_reason")) for one, row in kept]


def variant_label(variant: Mapping[str, Any]) -> str:
    """Write a variant as a baseline names it, keys sorted.

    >>> variant_label({"quant": "fp8", "gpu": "H200", "spec": True})
    'gpu=H200,quant=fp8,spec=true'
    """
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in variant.items()}
    return ",".join(f"{key}={texts[key]}" for key in sorted(texts))


def baseline_of(model: str, variant: Mapping[str, Any], baseline: str | None) -> str:
    """Return the name under which a model's reference is looked up.

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
    """Find the reference of a baseline and task, None if none is recorded.

    A baseline may name only the values of a variant (`m@bf16`) if just one variant fits.

    Raises
    ------
    BadInput
        When the files are damaged, do not fit each other, or several variants fit.
    """
    return read_reference(file_of(store, baseline, task))


def read_reference(path: Path) -> Reference | None:
    """Read a reference in the store with its scores, if there is one.

    Raises
    ------
    BadInput
        When the files are damaged or do not fit each other, or the checkout lacks their folder.
    """
    if not (path.exists() or path.is_symlink()):
        refuse_stand_in(path)
        return None
    source = read_toml(path, fix="record the reference again")
    about = parse_table_of(source, ReferenceFile)
    if about.scores_sha256 is None:
        scores_path = path.with_suffix(SCORES)
        if scores_path.exists():
            raise BadInput(f"{scores_path}: {path.name} does not name it; record the reference again")
        return Reference(path, about, None)
    with source.locating():
        scores = stored_scores(path, about, "record again")
    return Reference(path, about, scores)


def stored_scores(file: Path, about: ScoresFile, otherwise: str) -> Scores:
    """Read the scores beside a TOML file of the store with this content.

    `otherwise` says what to do if they cannot be restored.

    Raises
    ------
    KeyFaults
        When the file's mean and n are not those of the scores.
    BadInput
        When there are no scores, or not those with which the file was written.
    """
    path = file.with_suffix(SCORES)
    if not path.is_file():
        why = fault_of(path) or "restore it from git"
        raise BadInput(f"{path}: is missing, but {file.name} was recorded with it; {why}")
    content = read_plain(path, MOST)
    if content_digest([content]) != about.scores_sha256:
        refuse_no_text(path, content)
        raise BadInput(f"{path}: is not what was recorded with {file.name}; restore both, or {otherwise}")
    scores = read_scores(path, "reference")
    if scores.n != about.n or abs(scores.mean - about.mean) > 1e-6:
        fault = f"says mean {about.mean:g} of {about.n} samples, which {path.name} does not give"
        raise KeyFaults((("mean",), f"{fault}; restore both, or {otherwise}"))
    return scores


def reference_path(store: Path, model: str, variant: Mapping[str, Any], task: str) -> Path:
    """Return the path to which `record` writes the reference of a model and task."""
    return store / file_name(baseline_of(model, variant, None)) / f"{file_name(task)}.toml"


def file_of(store: Path, baseline: str, task: str) -> Path:
    """Return the path of the reference of a baseline and task."""
    return folder_of(store, baseline, task) / f"{file_name(task)}.toml"


def folder_of(store: Path, baseline: str, task: str) -> Path:
    """Return the folder of a baseline's references. A baseline may name only the values of its variant."""
    exact = store / file_name(baseline)
    model, _, label = baseline.partition("@")
    if exact.is_dir() or not label or "=" in label:
        return exact
    recorded = sorted(store.glob(f"{file_name(model)}@*/{file_name(task)}.toml"))
    fitting = [file.parent for file in recorded if _values(file.parent.name) == set(label.split(","))]
    if len(fitting) > 1:
        names = " and ".join(folder.name for folder in fitting)
        raise BadInput(f"baseline {baseline!r} fits {names}; write the variant as key=value")
    return fitting[0] if fitting else exact


def _values(folder: str) -> set[str]:
    return {part.partition("=")[2] for part in folder.partition("@")[2].split(",")}


def missing_reference(store: Path, baseline: str, task: str, *, own: str = "", recordable: bool = True) -> str:
    """Say why a check has no reference, and how to record one.

    The model would be recorded under its `own` name, which is not suggested. `recordable` tells whether some model of
    the file would be recorded under the baseline's name.
    """
    folders = sorted(folder.name for folder in store.glob("*") if folder.is_dir())
    names = [name for name in folders if name != own or own == baseline]
    near = f"; {nearest(baseline, names)}" if names else ""
    record = "record one with `accgate record`"
    if not recordable:
        record = "no model of this file is recorded under that name: add one with that variant, and record it"
    place = store.relative_to(Path.cwd()) if store.is_relative_to(Path.cwd()) else store
    return f"no reference of {baseline} for task {task} in {place}{near}: {record}"


def mismatch(reference: Reference, task: Task) -> str | None:
    """Say why a task's samples cannot be paired with a reference, if they cannot.

    A candidate may be a subset of the reference: a plan of fewer samples takes the first of the order.
    """
    if (scores := reference.scores) is None:
        return None
    ids = task.samples.ids
    unknown = ids.without(scores.ids)
    recorded = reference.about.fingerprint
    changed = changed_parts(recorded, task.fingerprint)
    since = f"since the reference was recorded on {reference.about.date or 'an unknown date'}"
    if not unknown and not is_rescored(recorded, task.fingerprint):
        fault = _lost_samples(scores, task, since) or _group_change(scores, task, since)
        return fault and f"{reference.path}: {fault}"
    change = f"{' and '.join(changed) or 'the samples'} changed {since}"
    overlap = f"{len(ids) - len(unknown)} of {len(ids)} samples are in the reference"
    if unknown:
        overlap += f"; it lacks {len(unknown)}: {some_of(unknown)}"
    former = former_task(task.definition.path)
    as_before = f'write library = "{former}" into its table, which asks as before' if former else ""
    again = "record the reference again (`accgate record --reason ...`)"
    has_replies = reference.replies_path.is_file() and reference.about.engine != "recorded"
    if not unknown and has_replies and is_asked_alike(recorded, task.fingerprint):
        again = f"score its kept replies anew without a model (`accgate record --reread`), or {again}"
    return f"{reference.path}: {change}; {overlap}. {as_before or 'Undo the change'}, or {again}"


def has_gained(reference: Reference, task: Task) -> bool:
    """Tell whether a dataset still has all of a reference's samples.

    They must be asked and scored as before. There may be more samples.
    """
    scores, ids = reference.scores, task.dataset_ids
    if scores is None or ids is None or is_rescored(reference.about.fingerprint, task.fingerprint):
        return False
    return not scores.ids.without(ids)


def _lost_samples(scores: Scores, task: Task, since: str) -> str | None:
    """Say that the dataset lost samples of a reference, if it did.

    Endless datasets lose none.
    """
    if task.dataset_ids is None or not (lost := scores.ids.without(task.dataset_ids)):
        return None
    undo = "Pin the dataset's revision" if task.content.dataset.hub is not None else "Put the rows back"
    return (
        f"the dataset changed {since}: it lacks {len(lost):,} of the reference's {count_of(scores.n, 'sample')}: "
        f"{some_of(lost)}. {undo}, or record the reference again (`accgate record --reason ...`)"
    )


def _group_change(scores: Scores, task: Task, since: str) -> str | None:
    """Say how a task's groups differ from its reference's, if they do."""
    if task.groups is None or not (moved := moved_groups(scores, task.groups)):
        return None
    return (
        f"the group of {len(moved)} of {len(task.groups)} samples changed {since}: {some_of(moved)}. "
        "Undo the change of the column of groups, or record the reference again (`accgate record --reason ...`)"
    )


def scores_of(records: Sequence[Record], task: Task) -> Scores:
    """Return the scores of a run in the fixed order, NaN for failed records.

    Raises
    ------
    BadInput
        When a sample of the task has no record, or an uneven number of repeats.
    """
    if (scores := _ordered_scores(records, task)) is not None:
        return scores
    scores = scores_of_records(records, "the run")
    if missing := task.samples.ids.without(scores.ids):
        raise BadInput(f"the run lacks {len(missing)} of {len(task.samples)} samples: {some_of(missing)}")
    return scores.take(task.samples.ids)


def _ordered_scores(records: Sequence[Record], task: Task) -> Scores | None:
    """Return the scores of complete records in the fixed order.

    A run leaves its records so. The result is None for other records.
    """
    count, ids = len(records), task.samples.ids
    repeats = count // len(ids) if ids else 0
    if not repeats or count != repeats * len(ids):
        return None
    figures, clusters = Figures.of(records), task.samples.names("cluster")
    in_order = (figures.columns["repeat"].reshape(len(ids), repeats) == np.arange(repeats)).all()
    if not in_order or any(figures.ids[repeat::repeats] != ids for repeat in range(repeats)):
        return None
    if fills(records, "cluster") if clusters is None else not (isinstance(records, RecordLog) and all(clusters)):
        return None  # imported records may name other clusters than the dataset
    names = None if clusters is None else tuple(name for name in clusters if name)
    return Scores(ids, np.array(figures.columns["score"]).reshape(len(ids), repeats), names)


def copy_references(
    verdicts: Sequence[Verdict], references: Mapping[tuple[str, str], Reference], out: Path
) -> tuple[Verdict, ...]:
    """Copy the scores and replies of each (model, task)'s reference beside the run.

    Returns the verdicts. Replies are only shown, so that a verdict whose replies cannot be read just gets a reason.

    Raises
    ------
    CannotEvaluate
        When they cannot be written.
    """
    noted = []
    for verdict in verdicts:
        noted.append(verdict)
        pair = verdict.model or "", verdict.task or ""
        reference = references.get(pair)
        scores = None if reference is None else reference.scores
        if reference is None or scores is None or (scores.n > MOST_SCORES and not verdict.flips):
            continue
        path = paths_of(out, *pair).before
        with writing(out):
            try:
                write_gzip_lines(path, rows_beside(reference, verdict.flips))
            except BadInput as error:
                noted[-1] = verdict.because(Reason.of("replies-not-shown", error=str(error)))
                write_gzip_lines(path, rows_beside(reference, verdict.flips, replies=False))
    return tuple(noted)


def rows_beside(reference: Reference, flips: Sequence[str], *, replies: bool = True) -> Iterator[dict[str, Any]]:
    """Yield score and reply of each of a reference's samples.

    If there are very many samples, only the flips are yielded.

    Raises
    ------
    BadInput
        When the sidecar with the replies is damaged.
    """
    if (scores := reference.scores) is None:
        return
    wanted = set(flips) if scores.n > MOST_SCORES else None
    kept = read_gzip_lines(reference.replies_path, "reply") if replies else iter(())
    ahead: dict[tuple[str, int], str | None] = {}  # empty where the sidecar has the order of the scores, as written
    for id_, values in zip(scores.ids, scores.values, strict=True):
        for key, score in (((id_, at), float(score)) for at, score in enumerate(values)):
            while key not in ahead and (row := next(kept, None)) is not None:
                ahead[row["id"], row.get("repeat", 0)] = row["reply"]
            reply = ahead.pop(key, None)
            if wanted is None or id_ in wanted:
                yield {"id": id_, "repeat": key[1], "score": score, "reply": reply}


def toml_of(row: Mapping[str, Any]) -> bytes:
    """Return the content of a TOML file of the store, without empty values."""
    return tomli_w.dumps(without_empty(row)).encode()


def without_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the values that are unset or empty."""
    return {key: value for key, value in row.items() if value not in (None, "", {}, ())}

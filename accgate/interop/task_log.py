"""One task of another tool's log, kept as a run or a reference.

It has run records, and the mean that the tool reported.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from accgate.errors import BadInput, writing
from accgate.inputs.samples import Layout
from accgate.records.file import Record, RecordPaths, is_number, paths_of, read_records, to_line, write_settings
from accgate.records.replacement import write_atomically, write_gzip_lines
from accgate.records.scores import in_points, read_scores, scores_of_records
from accgate.references.store import ReferenceFile
from accgate.references.writer import figures_of, write_reference
from accgate.text import count_of, some_of

# Raised by parts of an unexpected type, by numbers that no float holds, and by what is nested too deeply.
MALFORMED = (AttributeError, TypeError, LookupError, ValueError, ArithmeticError, RecursionError)
TOLERANCE = 1e-9  # relative: another order of summation, no more


@dataclass(frozen=True)
class Choice:
    """What the user chose to import of logs.

    The metric, filter and reducer are None where a log holds only one. `scale` is the factor to points, and `model`
    what to call the model.
    """

    metric: str | None = None
    scale: float | None = None
    model: str | None = None
    filter: str | None = None
    reducer: str | None = None


@dataclass(frozen=True)
class TaskLog:
    """One task of another tool's log.

    `reported` is the mean in points that the tool itself wrote, equal to that of the records; None where the log holds
    none, and `note` says why. `higher_is_better` is None where the log does not say.
    """

    model: str
    task: str
    metric: str
    tool: str
    source: Path
    records: tuple[Record, ...]
    prompts: Mapping[str, str]
    scale: float
    reported: float | None = None
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
    """Average (id, score) over the samples, NaN of none.

    The repeats of each sample are averaged first.

    >>> sample_mean([("a", 100.0), ("a", 0.0), ("b", 100.0)])
    75.0
    """
    by_id: dict[str, list[float]] = defaultdict(list)
    for id_, score in scores:
        by_id[id_].append(score)
    means = [math.fsum(values) / len(values) for values in by_id.values()]
    return math.fsum(means) / len(means) if means else math.nan


def check_mean(
    mean: float, reported: Any, what: str, source: Path, reports: Path, *, tolerance: float = TOLERANCE
) -> float:
    """Return the mean that the tool reported, which must be that of the samples.

    Raises
    ------
    BadInput
        When it is another: samples are missing or changed, or the tool reports something else than their mean.
    """
    if not is_number(reported):
        raise BadInput(f"{reports}: {what} is {reported!r}, which is not a number; give the log as the tool wrote it")
    if not math.isclose(mean, reported, rel_tol=TOLERANCE, abs_tol=tolerance):
        fault = f"the samples' mean of {what} is {mean:.10g}, but {reports.name} reports {reported:.10g}"
        raise BadInput(f"{source}: {fault}; samples are missing or changed, or the tool does not average them")
    return float(reported)


def finite_score(where: str, name: str, value: Any) -> float:
    """Return the score of a sample in a log.

    Raises
    ------
    BadInput
        When it is no finite number: a missing score is not a wrong answer.
    """
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadInput(f"{where}: {name} is {brief(value)}; every sample needs a finite number")
    return float(value)


def import_samples(path: Path, choice: Choice, layout: Layout) -> TaskLog:
    """Return the scores of a file as records without replies.

    Without a chosen name the model is called after the file's folder, and the task after the file.

    Raises
    ------
    BadInput
        As `read_scores` and `in_points` do.
    """
    read = read_scores(path, "samples", layout)
    scores, _ = in_points(read, read, choice.scale, names=(str(path), str(path)))
    empty = [""] * scores.n
    rows = zip(scores.ids, scores.values.tolist(), scores.clusters or empty, scores.groups or empty, strict=True)
    return TaskLog(
        model=choice.model or path.absolute().parent.name or "model",
        task=path.stem,
        metric=layout.score or "score",
        tool="samples",
        source=path,
        records=tuple(
            Record(id_, repeat, score, "", None, None, None, None, None, 0.0, None, cluster or None, group or None)
            for id_, values, cluster, group in rows
            for repeat, score in enumerate(values)
        ),
        prompts={},
        scale=choice.scale or (1.0 if scores is read else 100.0),
    )


def write_run(out: Path, log: TaskLog) -> RecordPaths:
    """Write records, prompts and settings as a run does.

    They go under the model's name. Records that are already there must be the same.

    Raises
    ------
    BadInput
        When other records are there, or the folder cannot be written.
    """
    paths = paths_of(out, log.model, log.task)
    with writing(paths.records, "name another --out", kind=BadInput):
        if paths.records.exists() and read_records(paths.records) != list(log.records):
            raise BadInput(f"{paths.records}: holds other records; name another --out, or delete it")
        write_gzip_lines(paths.prompts, ({"id": id_, "prompt": text} for id_, text in log.prompts.items()))
        about = {"tool": log.tool, "file": log.source.name, "metric": log.metric, "scale": log.scale}
        fingerprint = {f"task {part}": digest for part, digest in log.fingerprint.items()}
        write_settings(paths, {"imported": about, "records": len(log.records), **fingerprint})
        write_atomically(paths.records, b"".join(map(to_line, log.records)))
    return paths


def files_of(paths: Iterable[Path], inside: Callable[[Path], Sequence[Path]], lack: str = "") -> list[Path]:
    """List files that are named one by one or by folder, each once.

    `inside` lists those of a folder.

    Raises
    ------
    BadInput
        For a folder without any; `lack` says what it lacks.
    """
    files: dict[Path, Path] = {}
    for path in paths:
        there = inside(path) if path.is_dir() else [path]
        if not there:
            raise BadInput(f"{path}: {lack}")
        for file in there:
            files.setdefault(file.resolve(), file)
    return list(files.values())


@contextmanager
def written_as(path: Path, form: str, fix: str = "import the file it wrote") -> Iterator[None]:
    """Refuse a log that is not of the form that its tool writes.

    Raises
    ------
    BadInput
        For any error that its malformed parts raise.
    """
    try:
        yield
    except MALFORMED as error:
        raise BadInput(f"{path}: is not as {form} ({type(error).__name__}: {error}); {fix}") from error


def import_each(
    files: Sequence[Path], read: Callable[[Path, Choice], TaskLog], choice: Choice
) -> tuple[list[TaskLog], list[str]]:
    """Import the logs of files.

    Return those that can be imported, and why each of the others cannot. Of two logs of one model and task neither is
    taken: nothing says which of them is meant.

    Raises
    ------
    BadInput
        When none can be imported.
    """
    logs: list[TaskLog] = []
    left_out = []
    for file in files:
        try:
            logs.append(read(file, choice))
        except BadInput as error:
            left_out.append(str(error))
    fix = "name one of the files, or give one another --model"
    doubled = {
        log.source: f"{log.source}: {other.source.name} is of task {log.task} and model {log.model} too; {fix}"
        for log, other in permutations(logs, 2)
        if (log.model, log.task) == (other.model, other.task)
    }
    logs = [log for log in logs if log.source not in doubled]
    left_out += doubled.values()
    if not logs:
        head = f"none of {len(files)} logs can be imported:\n" if len(left_out) > 1 else ""
        raise BadInput(head + "\n".join(left_out))
    return logs, left_out


def missing_scores(records: Sequence[Record]) -> str:
    """Say how many samples lack a score, and their ids, if any do."""
    failed = list(dict.fromkeys(record.id for record in records if record.score is None))
    return f"no score for {count_of(len(failed), 'sample')}: {some_of(failed)}" if failed else ""


def keep_records(store: Path, log: TaskLog, *, variant: Mapping[str, Any], reason: str | None, replies: bool) -> Path:
    """Write imported records as a reference with scores.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, or records have no score.
    """
    if fault := missing_scores(log.records):
        raise BadInput(f"{log.source}: {fault}; a reference needs all")
    scores = scores_of_records(log.records, str(log.source))
    tool, _, version = log.tool.rpartition(" ")
    about = ReferenceFile(
        model=log.model,
        task=log.task,
        **figures_of(scores),
        date=log.date,
        engine=f"imported from {tool or log.tool}",
        engine_version=version if tool else "",
        variant=dict(variant),
        fingerprint=dict(log.fingerprint),
    )
    return write_reference(store, about, log.records, reason=reason, replies=replies)

"""Scores of a table, or of a tool that has no importer of its own, as one task's log."""

from pathlib import Path

from accgate.inputs.samples import Layout
from accgate.interop.task_log import Choice, TaskLog
from accgate.records.file import Record
from accgate.records.scores import in_points, read_scores


def import_samples(path: Path, choice: Choice, layout: Layout) -> TaskLog:
    """The scores of a file, which may be named after model and task, as records without replies.

    Raises
    ------
    BadInput
        As `read_scores` and `in_points` do.
    """
    found = read_scores(path, "samples", layout)
    scores, _ = in_points(found, found, choice.scale, names=(str(path), str(path)))
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
        scale=choice.scale or (1.0 if scores is found else 100.0),
        reported=None,
    )

"""Copies of a reference's scores and replies beside a run, for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from accgate.errors import BadInput, writing
from accgate.records import paths_of, write_gzip_lines
from accgate.references.store import Reference
from accgate.verdict import Reason, Verdict

MOST_SCORES = 100_000  # of a reference that are put beside a run; its report draws no more samples


def copy_references(
    verdicts: Sequence[Verdict], references: Mapping[tuple[str, str], Reference], out: Path
) -> tuple[Verdict, ...]:
    """Put the scores of each (model, task)'s reference, and its replies to what got worse, beside the run.

    The verdicts come back as they are, with a reason more where the replies cannot be read: they are only shown.

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
        flips = set(verdict.flips)
        try:
            replies = reference.replies(flips) if flips else {}
        except BadInput as error:
            replies = {}
            noted[-1] = verdict.because(Reason.of("replies-not-shown", error=str(error)))
        rows = (
            {"id": id_, "repeat": repeat, "score": score, "reply": replies.get((id_, repeat))}
            for id_, values in zip(scores.ids, scores.values, strict=True)
            for repeat, score in enumerate(map(float, values))
            if id_ in flips or scores.n <= MOST_SCORES
        )
        with writing(out):
            write_gzip_lines(paths_of(out, *pair).before, rows)
    return tuple(noted)

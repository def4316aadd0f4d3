"""One arm of a trial: a model with its settings, asked on samples in an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.design import oriented
from accgate.errors import CannotEvaluate
from accgate.evaluation.assignment import Observer, Watch
from accgate.evaluation.options import RunOptions
from accgate.evaluation.outcome import failures
from accgate.evaluation.run import evaluate_checks
from accgate.planning.checks import Check
from accgate.planning.model import PlannedModel
from accgate.records import Record
from accgate.records.scores import DECIMALS

MAX_FAILED = 0.2  # share of an arm's samples that may have no score; those tell nothing
Scored = Mapping[str, float | None]


@dataclass(frozen=True)
class Answers:
    """What an arm answered: the records of its samples, their scores, and how many replies were asked for."""

    records: Sequence[Record]
    scores: Scored
    questions: int


def ask(
    check: Check,
    name: str,
    model: PlannedModel,
    ids: Sequence[str],
    out: Path,
    *,
    observer: Observer,
    ends: Callable[[Scored], bool] | None = None,
) -> Answers:
    """The answer of a model to each sample, its score in points turned so that higher is better.

    The model has a `name` of its own there. The records lie in `out`, from where an arm that was broken off goes on.
    `ends` says of the finished beginning of `ids` whether no more is needed.

    Raises
    ------
    CannotEvaluate
        When the engine fails for good, or more than a fifth of the samples have no score.
    """
    samples = {sample.id: sample for sample in check.task.samples}
    chosen_check = replace(
        check,
        model=name,
        planned_model=replace(model, name=name),
        task=check.task.of([samples[id_] for id_ in ids]),
        max_failed=MAX_FAILED,
        max_unread=1.0,
    )
    watches = {}
    if ends is not None:
        ended = ends
        watches[name, check.task.name] = Watch(stop_rule=lambda records: ended(mean_scores(check, records)))
    run = evaluate_checks([chosen_check], RunOptions(out, resume=True, observer=observer), watches)
    (item,) = run.checks
    if item.evaluation is None or not item.evaluation.complete:
        raise CannotEvaluate(f"{name}: {item.problem or failures(item, 'a trial needs their scores')}")
    evaluation = item.evaluation
    questions = len(evaluation.records) + len(evaluation.beyond)
    return Answers(evaluation.records, mean_scores(check, evaluation.records), questions)


def mean_scores(check: Check, records: Sequence[Record]) -> Scored:
    """The mean score of each sample, that of `Scores.means`, turned so that higher is better; None where one failed."""
    sums: dict[str, list[float | None]] = {}
    for record in records:
        sums.setdefault(record.id, []).append(record.score)
    means = {id_: _mean(scores) for id_, scores in sums.items() if len(scores) == check.repeats}
    up = check.design.higher_is_better
    return {id_: None if mean is None else float(oriented(mean, up)) for id_, mean in means.items()}


def _mean(scores: Sequence[float | None]) -> float | None:
    present = [score for score in scores if score is not None]
    return round(sum(present) / len(present), DECIMALS) if len(present) == len(scores) else None

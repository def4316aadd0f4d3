"""Evidence that shows nothing of a model.

It is the same for every sample, or has no room for a drop.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.records.scores import is_binary
from accgate.tasks import Task
from accgate.text import clip

FEWEST = 20  # samples from which on chance hardly makes evidence alike
WIDTH = 60  # characters of an answer in a message
# A model that only guesses passes for one that knows something in 1 of 20 recordings, as often as a gate fails without
# cause. A lower level would refuse more models that do know something: 35 right of 100 with four options are taken.
LEVEL = 0.05
LUCK = 0.01  # the share of open answers that are right by accident


def sameness_fault(task: Task, records: Sequence[Record]) -> str | None:
    """Say why a check's evidence can show nothing, with the fix.

    None where it can. So it is where a judge marks all answers alike, where all are empty and right, where every
    confidence is the same, where a difference between groups is of one answer to everything, and where an attack
    changes no prompt.
    """
    if len(records) < FEWEST:
        return None
    best, kind = task.metric.best, task.metric.kind
    judged = [record for record in records if (record.answer or "").strip()] if kind == "judge" else []
    if len(judged) >= FEWEST and _are_alike(each.score for each in judged) and not _are_alike_answers(judged):
        return f"the judge gave all {len(judged):,} answers {judged[0].score:g} points: correct the rubric"
    if kind == "text" and all(each.answer == "" and each.score == best for each in records):
        return f"all {len(records):,} answers are empty, and have the best score: correct the task's targets"
    for place, attack in enumerate(task.content.attack):
        if all(each.attacked and each.attacked[place] == (each.messages or each.user) for each in task.samples):
            return f"the attack {place + 1} ({attack.kind}) changes no prompt: correct its field or column"
    return _statistic_fault(task, records)


def _statistic_fault(task: Task, records: Sequence[Record]) -> str | None:
    needs = () if task.definition.statistic is None else task.definition.statistic.needs
    if "confidence" in needs and _are_alike(record.confidence for record in records):
        what = f"all {len(records):,} confidences are {records[0].confidence:g}"
        fix = "correct [confidence], or the engine's log-probabilities"
        return f"{what}, so they cannot tell sure answers from unsure ones; {fix}"
    if {"group", "answer"} <= {*needs} and _are_alike_answers(records):
        return f"all {len(records):,} answers are {_quoted(records[0])}, in every group alike: correct the task"
    if {"group", "label"} <= {*needs} and all(record.score == task.metric.worst for record in records):
        return f"none of {len(records):,} answers is right, in every group alike: correct the task"
    return None


def sameness_note(records: Sequence[Record]) -> str | None:
    """Say that all answers are one and the same although targets differ.

    None where they are not.
    """
    if len(records) < FEWEST or not _are_alike_answers(records) or _are_alike(each.target for each in records):
        return None
    return f"all {len(records):,} answers are the same: {_quoted(records[0])}"


def _are_alike(values: Iterable[object]) -> bool:
    """Tell whether all values are one and the same, which is known."""
    distinct = {*values}
    return len(distinct) == 1 and None not in distinct


def _are_alike_answers(records: Iterable[Record]) -> bool:
    return _are_alike(record.answer for record in records)


def _quoted(record: Record) -> str:
    return repr(clip(record.answer or "", WIDTH))


def floor_fault(task: Task, records: Sequence[Record]) -> str | None:
    """Say why a recording leaves no room for a drop, if it does not.

    The binomial test asks whether more answers are right than guessing gives: one of each sample's options, the task's
    own `chance`, or `LUCK`. Of fewer than `FEWEST` samples only none right is too few. Scores other than 0 and 100,
    those of which lower ones are better, statistics and attacks are not looked at: their usual values may be low.
    """
    from scipy.special import bdtrc

    metric, content = task.metric, task.content
    is_plain = metric.higher_is_better and (metric.lowest, metric.highest) == (0.0, 100.0)
    if not is_plain or content.attack or task.definition.statistic is not None:
        return None
    columns = Figures.of(records).columns
    scores = columns["score"][columns["repeat"] == columns["repeat"].min()]
    right, count = int((scores == metric.best).sum()), len(scores)
    if not is_binary(scores) or (right and count < FEWEST):
        return None
    guesses = [1.0 / len(sample.options) for sample in task.samples if sample.options]
    chance = max(LUCK, (content.chance or 0.0) / 100.0, float(np.mean(guesses)) if guesses else 0.0)
    if right and bdtrc(right - 1, count, chance) <= LEVEL:
        return None
    luck = f", no more than {'guessing' if chance > LUCK else 'luck'} gives ({chance:.0%})" if right else ""
    return f"{right:,} of {count:,} answers are right{luck}; no drop can show"

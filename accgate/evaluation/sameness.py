"""Evidence that says nothing about a model.

Every sample has the same answer or mark, or the scores are too low for a drop to show.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.records.scores import is_binary
from accgate.tasks import Task
from accgate.text import clip

FEWEST = 20  # samples; fewer may well be alike by chance
WIDTH = 60  # characters of an answer in a message
# A model that only guesses passes for one that knows something in 1 of 20 recordings, as often as a gate fails without
# cause. A lower level would refuse more models that do know something: 35 right of 100 with four options are taken.
LEVEL = 0.05
LUCK = 0.01  # the share of open answers that are right by accident


def sameness_fault(task: Task, records: Sequence[Record]) -> str | None:
    """Say why a check's evidence can show nothing, with the fix.

    A judge gives all answers the same mark, all answers are empty and right, every confidence is the same, groups
    differ though all answers are the same, or an attack changes no prompt. None otherwise.
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
    """Say that all answers are the same although targets differ, if that is so."""
    if len(records) < FEWEST or not _are_alike_answers(records) or _are_alike(each.target for each in records):
        return None
    return f"all {len(records):,} answers are the same: {_quoted(records[0])}"


def _are_alike(values: Iterable[object]) -> bool:
    """Tell whether all values are the same, and not None."""
    distinct = {*values}
    return len(distinct) == 1 and None not in distinct


def _are_alike_answers(records: Iterable[Record]) -> bool:
    return _are_alike(record.answer for record in records)


def _quoted(record: Record) -> str:
    return repr(clip(record.answer or "", WIDTH))


def floor_fault(task: Task, records: Sequence[Record]) -> str | None:
    """Say why a recording leaves no room for a drop, if it does not.

    A binomial test compares the right answers with guessing: one of each sample's options, the task's own `chance`, or
    `LUCK`. Fewer than `FEWEST` samples are refused only if none is right. Scores other than 0 and 100, metrics of which
    lower is better, statistics and attacks always pass, since their usual values may be low.
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

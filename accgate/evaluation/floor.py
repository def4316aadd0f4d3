"""A reference so low that no drop can show: all answers wrong, or right no more often than by guessing."""

from collections.abc import Sequence

import numpy as np
from scipy.special import bdtrc

from accgate.evaluation.sameness import FEWEST
from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.records.scores import is_binary
from accgate.tasks import Task

# A model that only guesses passes for one that knows something in 1 of 20 recordings, as often as a gate fails without
# cause. A lower level would refuse more models that do know something: 35 right of 100 with four options are taken.
LEVEL = 0.05
LUCK = 0.01  # the share of open answers that are right by accident


def floor_fault(task: Task, records: Sequence[Record]) -> str | None:
    """Say why a recording leaves no room for a drop, if it does not.

    The binomial test asks whether more answers are right than guessing gives: one of each sample's options, the task's
    own `chance`, or `LUCK`. Of fewer than `FEWEST` samples only none right is too few. Scores other than 0 and 100,
    those of which lower ones are better, statistics and attacks are not looked at: their usual values may be low.
    """
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

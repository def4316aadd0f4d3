"""Labels as codes.

Answers and targets become numbers, one label is the positive one, and groups get names.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from accgate.metrics.aggregates.base import Floats, Side, UnusableRecords
from accgate.metrics.forms import one_spelling
from accgate.text import count_of, nearest, some_of

Labels = Literal["answer", "score"]
RIGHT = 100.0


def true_labels(sides: Sequence[Side], labels: Labels) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return each side's true labels, and all of them sorted.

    Spellings of one label, as "Yes" and "yes.", all become the first of them in sorted order.
    """
    texts = [side.texts("target" if labels == "answer" else "label") for side in sides]
    spelled = one_spelling(sorted(set().union(*texts)))
    truth = [[*map(spelled, each)] for each in texts]
    return truth, tuple(sorted(set().union(*truth)))


def positive_label(name: str, names: Sequence[str], positive: str) -> str:
    """Return the positive label.

    Without `positive` it is the last of two labels in sorted order ("1", "true", "yes").

    Raises
    ------
    UnusableRecords
        Where it is empty and the true labels are not two, and where it is none of them.
    """
    if positive:
        if (spelled := one_spelling(names)(positive.strip())) not in names:
            raise UnusableRecords(f"{name}: positive is {positive!r}, not a true label; {nearest(positive, names)}")
        return spelled
    if len(names) != 2:
        labels = f"{count_of(len(names), 'true label')} ({some_of(names)})"
        raise UnusableRecords(f"{name}: with {labels}, set `positive` to one of them")
    return names[-1]


def predicted_and_true(name: str, sides: Sequence[Side], labels: Labels, positive: str) -> list[tuple[Floats, Floats]]:
    """Encode each side's (predicted positive, truly positive) as 0 and 1.

    With labels = "score" an answer with 100 points is the true label, any other answer the other of two labels.

    Raises
    ------
    UnusableRecords
        By score, where there are more labels than two: a wrong answer must be the other one.
    """
    truth, names = true_labels(sides, labels)
    if labels == "score" and len(names) > 2:
        raise UnusableRecords(f'{name}: labels = "score" takes two at most, not {len(names)} ({some_of(names)})')
    positive, spelled = positive_label(name, names, positive), one_spelling(names)
    outcomes = []
    for side, targets in zip(sides, truth, strict=True):
        true = np.array([target == positive for target in targets], dtype=np.float64)
        if labels == "answer":
            predicted = np.array([spelled(answer) == positive for answer in side.texts("answer")], dtype=np.float64)
        else:
            right = side.numbers("score", 0.0, RIGHT) >= RIGHT
            predicted = np.where(right, true, 1.0 - true)
        outcomes.append((predicted, true))
    return outcomes


def group_names(name: str, sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the groups on all sides, sorted.

    Raises
    ------
    UnusableRecords
        Where there is only one.
    """
    names = tuple(sorted(set().union(*(side.texts("group") for side in sides))))
    if len(names) < 2:
        raise UnusableRecords(f"{name}: the only group is {names[0]!r}; a difference needs 2 or more")
    return names


def two_groups(name: str, names: Sequence[str], group_0: str, group_1: str) -> tuple[str, str]:
    """Return groups 0 and 1.

    Without names these are the only two groups, in sorted order.

    Raises
    ------
    UnusableRecords
        Where there are more and not both are named, and where one of them does not exist.
    """
    if not group_0 and not group_1 and len(names) == 2:
        return names[0], names[1]
    if not group_0 or not group_1:
        fix = "or use the form for many groups"
        raise UnusableRecords(f"{name}: give both group_0 and group_1 (groups: {some_of(names)}), {fix}")
    for group in (group_0, group_1):
        if group not in names:
            raise UnusableRecords(f"{name}: there is no group {group!r}; {nearest(group, names)}")
    return group_0, group_1

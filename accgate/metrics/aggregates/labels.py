"""Labels as codes: answers against targets, the positive one, and groups."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from accgate.metrics.aggregates.columns import Floats, Side
from accgate.metrics.aggregates.faults import UnusableRecords

Labels = Literal["answer", "score"]
RIGHT = 100.0


def label_keys(labels: Labels) -> tuple[str, ...]:
    """The keys that predicted and true labels are read from."""
    return ("answer", "target") if labels == "answer" else ("label", "score")


def true_labels(sides: Sequence[Side], labels: Labels) -> tuple[list[list[str]], tuple[str, ...]]:
    """Each side's true labels, and all of them sorted."""
    truth = [side.texts("target" if labels == "answer" else "label") for side in sides]
    return truth, tuple(sorted(set().union(*truth)))


def positive_label(name: str, known: Sequence[str], positive: str) -> str:
    """The positive label: the one given, else the last of two in sorted order ("1", "true", "yes").

    Raises
    ------
    UnusableRecords
        Where none is given and the true labels are not two, and where the one given is none of them.
    """
    if positive:
        if positive.strip() not in known:
            raise UnusableRecords(f"{name}: positive is {positive!r}, which is no true label; {_near(positive, known)}")
        return positive.strip()
    if len(known) != 2:
        raise UnusableRecords(
            f"{name}: there are {len(known)} true labels ({_listed(known)}); say which one is `positive`"
        )
    return known[-1]


def predicted_and_true(
    name: str, sides: Sequence[Side], labels: Labels, positive: str
) -> tuple[list[tuple[Floats, Floats]], str]:
    """Each side's (predicted positive, truly positive) as 0 and 1, and the positive label.

    By `score` an answer is the true label where it has 100 points, else the other of two.
    """
    truth, known = true_labels(sides, labels)
    chosen = positive_label(name, known, positive)
    found = []
    for side, targets in zip(sides, truth, strict=True):
        true = np.array([target == chosen for target in targets], dtype=np.float64)
        if labels == "answer":
            predicted = np.array([answer == chosen for answer in side.texts("answer")], dtype=np.float64)
        else:
            right = side.numbers("score", 0.0, RIGHT) >= RIGHT
            predicted = np.where(right, true, 1.0 - true)
        found.append((predicted, true))
    return found, chosen


def check_two_labels(name: str, known: Sequence[str], labels: Labels) -> None:
    """By score a wrong answer must be the other label: raise UnusableRecords where there are more than two."""
    if labels == "score" and len(known) > 2:
        raise UnusableRecords(
            f'{name}: there are {len(known)} labels ({_listed(known)}); with labels = "score" there are two at most'
        )


def group_names(name: str, sides: Sequence[Side], least: int) -> tuple[str, ...]:
    """The groups on all sides, sorted.

    Raises
    ------
    UnusableRecords
        Where there are fewer than `least`.
    """
    known = tuple(sorted(set().union(*(side.texts("group") for side in sides))))
    if len(known) < least:
        raise UnusableRecords(f"{name}: the only group is {known[0]!r}; a difference needs {least} or more")
    return known


def two_groups(name: str, known: Sequence[str], group_0: str, group_1: str) -> tuple[str, str]:
    """Groups 0 and 1: those given, else the only two in sorted order.

    Raises
    ------
    UnusableRecords
        Where there are more and not both are given, and where one given does not exist.
    """
    if not group_0 and not group_1 and len(known) == 2:
        return known[0], known[1]
    if not group_0 or not group_1:
        raise UnusableRecords(
            f"{name}: give both group_0 and group_1 (the groups are {_listed(known)}), or take the form for many groups"
        )
    for given in (group_0, group_1):
        if given not in known:
            raise UnusableRecords(f"{name}: there is no group {given!r}; {_near(given, known)}")
    return group_0, group_1


def _near(given: str, known: Iterable[str]) -> str:
    known = tuple(known)
    close = difflib.get_close_matches(given, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {_listed(known)}"


def _listed(known: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, known[:most]))
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown

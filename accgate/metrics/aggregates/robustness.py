"""The effect of an attack on the score.

The statistics are attack success rate and performance drop rate.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, Floats, Rows, Side, Tables, UnusableRecords, value

Column = Literal["", "group", "label", "cluster"]


def scores_after_attack(side: Side, which: Collection[int] | None, attack: int) -> Floats:
    """Return scores after each attack in points, shape (records, attacks).

    Records that are not among `which` have NaN. `attack` picks one attack, from 1; 0 takes all.

    Raises
    ------
    UnusableRecords
        Where one of these records lacks a score after the attack, or has another number of attacks.
    """
    where = range(len(side.records)) if which is None else which
    column = {i: value(side.records[i], "attacked") for i in where}
    lists = {i: list(scores) if isinstance(scores, Iterable) else [scores] for i, scores in column.items()}
    number = max(map(len, lists.values()), default=1)
    if attack > number:
        raise UnusableRecords(f"{side.name}: attack is {attack}, but the records have only {number}")
    lacking = [i for i, scores in lists.items() if len(scores) != number or None in scores]
    if lacking:
        fix = "give the task an [[attack]]"
        fix += '; this statistic counts every sample, so set ask = "all" there' if which is None else ""
        which_lack = f"which {len(lacking)} of {len(lists)} records lack (or lack for one of {number} attacks)"
        example = f"such as sample {value(side.records[lacking[0]], 'id')!r}"
        raise UnusableRecords(f"{side.name} needs 'attacked', {which_lack}, {example}; {fix}")
    table = np.full((len(side.records), number), np.nan)
    for i, scores in lists.items():
        for score in scores:
            side.check_number(side.records[i], "attacked", score)
        table[i] = scores
    return table[:, [attack - 1]] if attack else table


class _Set:
    """The attacked inputs that count.

    They are given by ids, or by the value of a column of the record.
    """

    def __init__(self, ids: str, column: Column, holds: str, base: Literal["all", "set"]) -> None:
        if bool(ids) == bool(column) or bool(column) != bool(holds):
            raise ValueError("give ids, or column and holds, to say which attacked inputs count")
        self.ids = frozenset(ids.replace(",", " ").split())
        self.column, self.text, self.base = column, holds.strip(), base

    def holds(self, side: Side) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if self.column:
            return np.array([text == self.text for text in side.texts(self.column)])
        unknown = self.ids - {str(i) for i in side.ids}
        if unknown:
            fault = f"no sample has {len(unknown)} of the {len(self.ids)} ids, such as {min(unknown)!r}"
            raise UnusableRecords(f"{side.name}: {fault}")
        return np.array([str(value(record, "id")) in self.ids for record in side.records])


def _success(right: float, attack: int, inside: _Set | None, sides: Sequence[Side]) -> Tables:
    """Return two shares of each sample's answers, before and after an attack.

    A sample with repeats has several answers. The first share counts answers that were right before an attack. The
    second counts those of them that are wrong after it.
    """
    rows = []
    for side in sides:
        before = side.numbers("score") >= right
        counted = before if inside is None else before & inside.holds(side)
        after = scores_after_attack(side, np.flatnonzero(counted).tolist(), attack)
        wrong = (after < right).mean(axis=1)  # NaN, where an answer does not count, is not less
        base = counted if inside is None or inside.base == "set" else before
        rows.append(np.stack([side.per_sample(base.astype(np.float64)), side.per_sample(wrong)], axis=1))
    return tuple(rows)


def _rate(rows: Rows) -> float:
    right, wrong = rows.sum(axis=0)
    return float(100.0 * wrong / right)


def attack_success_rate(*, right: float = 100.0, attack: int = 0) -> Aggregate:
    """Compute the share of the answers that an attack turns wrong.

    Only answers that were right before the attack count.
    """
    return _attack_success("attack_success_rate", right, attack, None)


def attack_success_rate_curated(
    *,
    ids: str = "",
    column: Column = "",
    holds: str = "",
    base: Literal["all", "set"] = "all",
    right: float = 100.0,
    attack: int = 0,
) -> Aggregate:
    """Compute `attack_success_rate` over a given set.

    Only attacked inputs inside the set count as successes.
    """
    return _attack_success("attack_success_rate_curated", right, attack, _Set(ids, column, holds, base))


def _attack_success(name: str, right: float, attack: int, inside: _Set | None) -> Aggregate:
    _check_attack(attack)
    needs = ("score", inside.column) if inside is not None and inside.column else ("score",)
    return Aggregate(name, (*needs, "attacked"), partial(_success, right, attack, inside), _rate, False)


def _check_attack(attack: int) -> None:
    if attack < 0:
        raise ValueError("attack must be 1 or more, or 0 for all")


def _drop(name: str, attack: int, several: bool, sides: Sequence[Side]) -> Tables:
    """Return the score before, then the score after each attack, over repeats."""
    rows = []
    for side in sides:
        after = scores_after_attack(side, None, attack)
        if after.shape[1] > 1 and not several:
            fix = "set `attack` to the number of one, or use mean_performance_drop_rate"
            raise UnusableRecords(f"{name}: the records have {after.shape[1]} attacks; {fix}")
        columns = [side.numbers("score", 0.0), *after.T]
        rows.append(np.stack([side.per_sample(column) for column in columns], axis=1))
    if len({row.shape[1] for row in rows}) > 1:
        raise UnusableRecords(f"{name}: the sides have {' and '.join(str(r.shape[1] - 1) for r in rows)} attacks")
    return tuple(rows)


def _drop_rate(rows: Rows) -> float:
    sums = rows.sum(axis=0)
    return float(100.0 * (1.0 - sums[1:] / sums[0]).mean())


def performance_drop_rate(*, attack: int = 0) -> Aggregate:
    """Compute 1 - sum of the scores after the attack / sum before it."""
    return _drop_aggregate("performance_drop_rate", attack, False)


def mean_performance_drop_rate() -> Aggregate:
    """Average the performance drop rates over several attacks."""
    return _drop_aggregate("mean_performance_drop_rate", 0, True)


def _drop_aggregate(name: str, attack: int, several: bool) -> Aggregate:
    _check_attack(attack)
    table = partial(_drop, name, attack, several)
    return Aggregate(name, ("score", "attacked"), table, _drop_rate, False, lowest=None)

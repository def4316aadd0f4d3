"""A statistic over samples, its value and its direction.

A statistic reads columns of the records of one or more sides. This module checks the records and brings the samples of
all sides into one order.
"""

import math
import numbers
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.stats.statistics import value_or_nan

Rows = npt.NDArray[Any]
Tables = tuple[Rows, ...]  # of each side, one row for each sample
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

SAMPLE_KEYS = ("group", "label", "target")  # properties of the sample, which no side may change
FIXES = {
    "answer": "keep the answers beside the scores",
    "cluster": "name the dataset's column in [columns] of the task",
    "confidence": 'give the task [confidence] with by = "tokens" or "reply"',
    "group": "name the dataset's column in [columns] of the task",
    "label": "name the dataset's column in [columns] of the task",
    "score": "score the samples first",
    "target": "keep the targets beside the scores",
}


class UnusableRecords(ValueError):
    """Records lack what a statistic needs, are failed, doubled, or differ between the sides."""


@dataclass(frozen=True)
class Side:
    """One side's records, sample by sample in the order all sides share.

    The repeats of a sample stand next to each other.
    """

    name: str
    ids: tuple[Hashable, ...]
    records: tuple[Any, ...]
    counts: Ints

    def texts(self, key: str) -> list[str]:
        """Return the column as stripped text.

        An answer of None, which means that none was found, is the empty text.
        """
        return ["" if v is None else str(v).strip() for v in (value(r, key) for r in self.records)]

    def numbers(self, key: str, lowest: float | None = None, highest: float | None = None) -> Floats:
        """Return the column as numbers within these bounds.

        Raises
        ------
        UnusableRecords
            For what is no finite number, or outside.
        """
        items = [value(r, key) for r in self.records]
        for record, item in zip(self.records, items, strict=True):
            self.check_number(record, key, item, lowest, highest)
        return np.array(items, dtype=np.float64)

    def check_number(
        self, record: Any, key: str, item: Any, lowest: float | None = None, highest: float | None = None
    ) -> None:
        """Raise UnusableRecords where a record's item is not a finite number within these bounds."""
        bad = isinstance(item, bool) or not isinstance(item, numbers.Real) or not math.isfinite(item)
        if bad or (lowest is not None and item < lowest) or (highest is not None and item > highest):
            bounds = "a finite number" if lowest is None else f"from {lowest:g} to {highest:g}"
            sample = f"sample {value(record, 'id')!r}"
            raise UnusableRecords(f"{self.name}: {key} of {sample} is {item!r}; it must be {bounds}")

    def per_sample(self, values: Floats) -> Floats:
        """Return the mean over the repeats of each sample."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        means: Floats = np.add.reduceat(values, starts) / self.counts
        return means


def value(record: Any, key: str) -> Any:
    """Return the value of a record under a key.

    A record is a mapping or any object; a key that it lacks gives None.
    """
    return record.get(key) if isinstance(record, Mapping) else getattr(record, key, None)


def read(name: str, needs: Sequence[str], records: Sequence[Iterable[Any]]) -> tuple[Side, ...]:
    """Check the sides for the keys that the statistic of this name needs.

    All sides come back in the order in which the first side has its samples. Records without any `id` are samples by
    their position.

    Raises
    ------
    UnusableRecords
        Where a record lacks a key, failed (score None) or comes twice, and where the sides have other samples or
        give a sample another group, label or target.
    """
    grouped = [_by_sample(name, list(side)) for side in records]
    order = tuple(grouped[0])
    for other in grouped[1:]:
        _check_same_samples(name, grouped[0], other)
    sides = tuple(_side(name, order, samples) for samples in grouped)
    for side in sides:
        _check_none_failed(side)
        for key in needs:
            _require(side, key)
    for key in SAMPLE_KEYS:
        if key in needs:
            _check_one_value(name, key, sides)
    return sides


def _side(name: str, order: tuple[Hashable, ...], samples: Mapping[Hashable, list[Any]]) -> Side:
    records = tuple(record for i in order for record in samples[i])
    return Side(name, order, records, np.array([len(samples[i]) for i in order], np.intp))


def _by_sample(name: str, records: list[Any]) -> dict[Hashable, list[Any]]:
    if not records:
        raise UnusableRecords(f"{name}: there are no records")
    ids = [value(record, "id") for record in records]
    without = ids.count(None)
    if without == len(ids):
        return {position: [record] for position, record in enumerate(records)}
    if without:
        raise UnusableRecords(f"{name}: {without} of {len(ids)} records lack 'id'; give every record one, or none")
    keys = Counter((i, value(record, "repeat") or 0) for i, record in zip(ids, records, strict=True))
    doubled = [key for key, count in keys.items() if count > 1]
    if doubled:
        (first, repeat), fix = doubled[0], "keep one record, or number `repeat`"
        raise UnusableRecords(f"{name}: id {first!r} (repeat {repeat}) comes twice ({len(doubled)} such); {fix}")
    samples: dict[Hashable, list[Any]] = {}
    for i, record in zip(ids, records, strict=True):
        samples.setdefault(i, []).append(record)
    return {i: sorted(group, key=lambda r: value(r, "repeat") or 0) for i, group in samples.items()}


def _check_same_samples(name: str, first: Mapping[Hashable, Any], other: Mapping[Hashable, Any]) -> None:
    missing, extra = first.keys() - other.keys(), other.keys() - first.keys()
    if missing or extra:
        example = min(map(str, missing or extra))
        sides = f"{len(missing)} only on the first, {len(extra)} only on another (such as {example!r})"
        raise UnusableRecords(f"{name}: the sides have different samples: {sides}; compare the same samples")


def _check_none_failed(side: Side) -> None:
    failed = [r for r in side.records if _has(r, "score") and value(r, "score") is None]
    if failed:
        fault = f"{len(failed)} of {len(side.records)} records failed (score is None)"
        raise UnusableRecords(f"{side.name}: {fault}, such as sample {value(failed[0], 'id')!r}; evaluate them again")


def _has(record: Any, key: str) -> bool:
    return key in record if isinstance(record, Mapping) else hasattr(record, key)


def _require(side: Side, key: str) -> None:
    """Raise UnusableRecords where a record lacks the key, saying how many and the fix."""
    records = side.records
    lacking = [r for r in records if value(r, key) is None]
    if key == "answer" and len(lacking) < len(records):
        lacking = [r for r in lacking if not _has(r, key)]  # None is a reply in which no answer was found
    if lacking:
        which = f"{len(lacking)} of {len(records)} records lack, such as sample {value(lacking[0], 'id')!r}"
        raise UnusableRecords(f"{side.name} needs {key!r}, which {which}; {FIXES[key]}")


def _check_one_value(name: str, key: str, sides: Sequence[Side]) -> None:
    texts: dict[Hashable, str] = {}
    for side in sides:
        owners = np.repeat(np.arange(len(side.ids)), side.counts)
        for owner, text in zip(owners.tolist(), side.texts(key), strict=True):
            if texts.setdefault(owner, text) != text:
                fault = f"sample {side.ids[owner]!r} has the {key} {texts[owner]!r} and {text!r}"
                raise UnusableRecords(f"{name}: {fault}; a sample has one on all sides and in all repeats")


def wide(sides: Sequence[Side], columns: Sequence[Floats]) -> tuple[Floats, ...]:
    """Put one row for each sample, its repeats' columns side by side.

    Rows are padded with NaN to the side with most repeats. A statistic then pools the answers while the sample stays
    the unit; `answers` takes the rows apart again.

    Raises
    ------
    UnusableRecords
        Where samples of a side have different numbers of repeats: pooled, some would weigh more.
    """
    most = max(int(side.counts.max()) for side in sides)
    rows = []
    for side, column in zip(sides, columns, strict=True):
        repeats = int(side.counts[0])
        odd = int((side.counts != repeats).sum())
        if odd:
            fault = (
                f"sample {side.ids[0]!r} has {repeats} repeats, {odd} of {len(side.ids)} samples have another number"
            )
            raise UnusableRecords(f"{side.name}: {fault}; give all the same")
        width = column.shape[1]
        row = np.full((len(side.ids), most * width), np.nan)
        row[:, : repeats * width] = column.reshape(len(side.ids), repeats * width)
        rows.append(row)
    return tuple(rows)


def answers(rows: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    """Split the rows of samples into rows of single answers.

    Each single answer has `width` columns.
    """
    if rows.shape[1] == width:
        return rows
    flat = rows.reshape(-1, width)
    single: npt.NDArray[Any] = flat[~np.isnan(flat[:, 0])]
    return single


@dataclass(frozen=True)
class Aggregate:
    """A statistic over samples, with its options set.

    A record is a mapping or any object with the run record's names. `needs` are the keys it must have; only `attacked`
    may be missing, where the statistic does not ask for it. `tabulate` makes rows of the sides, one for each sample.
    `statistic` takes the rows that `encode` gives, any number of them and with repetitions, and is what
    `accgate.decision.compare_statistic` decides on; NaN for 0/0. It is the value itself but for signed
    differences (`signed` gives them), where a negative value is no better than a positive one. `lowest` and `highest`
    bound it, None where nothing does.
    """

    name: str
    needs: tuple[str, ...]
    tabulate: Callable[[Sequence[Side]], Tables]
    statistic: Callable[[Rows], float]
    higher_is_better: bool
    signed: Callable[[Rows], float] | None = None
    lowest: float | None = 0.0
    highest: float | None = 100.0

    def encode(self, *sides: Iterable[Any]) -> Tables:
        """Encode each side's records as an array of shape (samples, k).

        All sides must have the same samples, and get the same codes. Rows follow the first side's samples; a row has
        all repeats of its sample.

        Raises
        ------
        UnusableRecords
            Where a record lacks a key, failed or comes twice, and where the sides do not fit each other.
        """
        always = [key for key in self.needs if key != "attacked"]
        return self.tabulate(read(self.name, always, sides))

    def __call__(self, records: Iterable[Any]) -> float | None:
        """Return the value of these records in the statistic's unit.

        Without records, and where the value is 0/0, this is None.

        Raises
        ------
        UnusableRecords
            As `encode`.
        """
        records = list(records)
        if not records:
            return None
        value = value_or_nan(self.signed or self.statistic, self.encode(records)[0])
        return value if math.isfinite(value) else None

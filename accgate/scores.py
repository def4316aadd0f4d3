"""Scores per sample as arrays: read from files or mappings, checked, and paired by id."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.errors import BadInput
from accgate.tables import read_table

Floats = npt.NDArray[np.float64]
LARGEST = 1e12  # points; past any metric, and sums of squares stay finite
SHOWN = 5  # ids a message shows before it only counts


@dataclass(frozen=True)
class Scores:
    """Scores of one side, in points.

    `values` has shape (n, repeats), rows in the order of `ids`; NaN marks a sample whose evaluation failed.
    """

    ids: tuple[str, ...]
    values: Floats

    @property
    def n(self) -> int:
        """Number of samples, failed ones included."""
        return len(self.ids)

    @property
    def failed(self) -> int:
        """Number of samples of which at least one repeat has no score."""
        return int(np.isnan(self.values).any(axis=1).sum())

    def averaged(self) -> Floats:
        """Mean over the repeats of each sample, shape (n,)."""
        means: Floats = self.values[:, 0] if self.values.shape[1] == 1 else self.values.mean(axis=1)
        return means

    def filled(self, score: float) -> Scores:
        """The same with every failed score replaced by `score`."""
        return Scores(self.ids, np.where(np.isnan(self.values), score, self.values))

    def scaled(self, factor: float) -> Scores:
        """The same with every score multiplied by `factor`."""
        return self if factor == 1.0 else Scores(self.ids, self.values * factor)

    def taken(self, ids: Sequence[str]) -> Scores:
        """The rows of these ids, in their order; the ids must be present."""
        row = {id_: i for i, id_ in enumerate(self.ids)}
        return Scores(tuple(ids), self.values[[row[id_] for id_ in ids]])


def shown(ids: Sequence[str]) -> str:
    """Some ids for a message: the first few, and how many more.

    >>> shown(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    text = ", ".join(ids[:SHOWN])
    return text if len(ids) <= SHOWN else f"{text} and {len(ids) - SHOWN} more"


def collect(rows: Mapping[tuple[str, int], float | None], side: str) -> Scores:
    """Scores from (id, repeat) -> score, in order of first appearance; None marks a failed sample.

    Raises
    ------
    BadInput
        When there is no sample at all, or samples have different numbers of repeats.
    """
    if not rows:
        raise BadInput(f"{side}: holds no samples; a gate needs every expected sample")
    by_id: dict[str, list[float]] = {}
    for (id_, _), score in rows.items():
        by_id.setdefault(id_, []).append(math.nan if score is None else score)
    repeats = max(len(values) for values in by_id.values())
    uneven = [id_ for id_, values in by_id.items() if len(values) != repeats]
    if uneven:
        raise BadInput(
            f"{side}: {len(uneven)} of {len(by_id)} samples have fewer than {repeats} repeats: {shown(uneven)}; "
            "every sample needs the same number"
        )
    return Scores(tuple(by_id), np.array(list(by_id.values()), dtype=np.float64))


def read_scores(path: Path, side: str) -> Scores:
    """Scores from a JSONL file or run record (`id`, `score`, optional `repeat`) or a CSV with these columns.

    Raises
    ------
    BadInput
        With file and line, for a line that cannot be read, a duplicate (id, repeat), a score that is not a
        finite number, and for samples without a score: which and how many.
    """
    rows: dict[tuple[str, int], float | None] = {}
    first_line: dict[tuple[str, int], int] = {}
    unscored: list[str] = []
    for line, row in read_table(path):
        key = (_id(row, path, line), _repeat(row, path, line))
        if key in rows:
            raise BadInput(
                f"{path}:{line}: id {key[0]!r} (repeat {key[1]}) stands already on line {first_line[key]}; "
                "each sample must come once"
            )
        rows[key] = _score(row, path, line)
        first_line[key] = line
        if rows[key] is None:
            unscored.append(key[0])
    if unscored:
        raise BadInput(
            f"{path}: {len(unscored)} of {len(rows)} samples have no score: {shown(unscored)}; "
            "evaluate them again, or compare whole runs with `accgate run`, which brackets failed samples"
        )
    return collect(rows, f"{side} {path}")


def _id(row: Mapping[str, Any], path: Path, line: int) -> str:
    value = row.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise BadInput(f"{path}:{line}: id is {value!r}; every sample needs an id, text or a whole number")
    return str(value)


def _repeat(row: Mapping[str, Any], path: Path, line: int) -> int:
    value = row.get("repeat", 0)
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput(f"{path}:{line}: repeat is {value!r}; write a whole number from 0")
    return value


def _score(row: Mapping[str, Any], path: Path, line: int) -> float | None:
    if "score" not in row:
        raise BadInput(f"{path}:{line}: has no score; write points, or null where the sample failed")
    value = row["score"]
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{path}:{line}: score is {value!r}; write a finite number of points")
    return number


def from_python(data: Mapping[Any, float] | Sequence[float] | Floats, side: str) -> Scores:
    """Scores from a mapping of id to score, or from an array in the order given.

    Raises
    ------
    BadInput
        For no samples, or scores that are not finite numbers: which and how many.
    """
    if isinstance(data, Mapping):
        ids = tuple(str(key) for key in data)
        if len(set(ids)) < len(ids):
            raise BadInput(f"{side}: two ids are the same text; each sample must come once")
        raw: Any = list(data.values())
    else:
        raw = data
        ids = tuple(str(i) for i in range(len(raw)))
    try:
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{side}: scores must be numbers ({error})") from error
    if values.ndim != 1:
        raise BadInput(f"{side}: scores must have one dimension, not {values.ndim}; give one score a sample")
    if not len(values):
        raise BadInput(f"{side}: holds no samples; a gate needs every expected sample")
    broken = [ids[i] for i in np.flatnonzero(~np.isfinite(values))]
    if broken:
        raise BadInput(f"{side}: {len(broken)} of {len(ids)} samples have no finite score: {shown(broken)}")
    return Scores(ids, values[:, None])


def in_points(reference: Scores, candidate: Scores, scale: float | None) -> tuple[Scores, Scores]:
    """Both sides in points. Without a scale, scores that look like fractions are refused, never guessed.

    Raises
    ------
    BadInput
        When the largest score of a side is above 0 and at most 1 and no scale is given, or the scale is not positive.
    """
    if scale is None:
        for side in (reference, candidate):
            largest = float(np.max(side.values))
            if 0.0 < largest <= 1.0:
                raise BadInput(
                    f"the largest score of one side is {largest:g}: fractions or points? Give scale=100 (--scale 100) "
                    "where scores are fractions, scale=1 (--scale 1) where they are points"
                )
        scale = 1.0
    if not (math.isfinite(scale) and scale > 0.0):
        raise BadInput(f"scale is {scale}; give a number above 0")
    sides = reference.scaled(scale), candidate.scaled(scale)
    for side in sides:
        check_range(side)
    return sides


def check_range(scores: Scores) -> None:
    """Refuse scores that no metric gives; NaN marks a failed sample and is let through.

    Raises
    ------
    BadInput
        Which samples, and how many.
    """
    beyond = [scores.ids[i] for i in np.flatnonzero((np.abs(scores.values) > LARGEST).any(axis=1))]
    if beyond:
        raise BadInput(f"{len(beyond)} samples have a score beyond {LARGEST:g} points: {shown(beyond)}")


def paired(reference: Scores, candidate: Scores) -> Scores:
    """The reference's rows in the candidate's order.

    Raises
    ------
    BadInput
        Unless both hold the same ids; says how many are missing and how many are extra.
    """
    known, given = set(reference.ids), set(candidate.ids)
    missing = [id_ for id_ in reference.ids if id_ not in given]
    extra = [id_ for id_ in candidate.ids if id_ not in known]
    if not missing and not extra:
        return reference.taken(candidate.ids)
    both = len(known & given)
    faults = [f"{both} of the reference's {len(known)} samples are in the candidate"]
    if missing:
        faults.append(f"{len(missing)} missing from the candidate: {shown(missing)}")
    if extra:
        faults.append(f"{len(extra)} not in the reference: {shown(extra)}")
    raise BadInput(
        "reference and candidate hold different samples: " + "; ".join(faults) + ". Evaluate the same samples, "
        "record the reference again, or use the unpaired test (two-sample)"
    )

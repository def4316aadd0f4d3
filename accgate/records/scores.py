"""Scores per sample as arrays, read from files or mappings, and checked."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.errors import BadInput
from accgate.inputs.rows import IDENTITY, id_of, is_mark, mark_of, repeat_of, score_of, text_of
from accgate.inputs.samples import AS_FOUND, Layout, sample_rows
from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.records.ids import Ids
from accgate.records.log import fills
from accgate.text import count_of, some_of

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Marks = npt.NDArray[np.int64]
LARGEST = 1e12  # points; beyond any metric, while sums of squares stay finite
DECIMALS = 9  # of a mean in points
MORE = "; name what tells repeats with --repeat, or choose rows with --rows, as '$[?@.model == \"m\"]'"
ROUNDING = 1e-6  # points by which rounding may put a scaled score beyond its bound


@dataclass(frozen=True)
class Scores:
    """Scores of one side, in points.

    `values` has shape (n, repeats), rows in the order of `ids`; NaN marks a failed sample. `clusters` has the cluster
    of each sample, None where samples are independent. `groups` has the group of each sample, empty text for none, or
    is None if no sample has one. `shown` maps columns that say what a sample is to marks of its texts (`mark_of`).
    `are_marks` says that 0 and 100 were written as 0 and 1.
    """

    ids: Ids
    values: Floats
    clusters: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    shown: Mapping[str, Marks] = field(default_factory=dict)
    are_marks: bool = False

    def __post_init__(self) -> None:
        """Pack ids that come as another sequence."""
        object.__setattr__(self, "ids", Ids(self.ids))

    @property
    def n(self) -> int:
        """Number of samples, failed ones included."""
        return len(self.ids)

    @property
    def failed(self) -> int:
        """Number of samples of which at least one repeat has no score."""
        return int(np.isnan(self.values).any(axis=1).sum())

    @property
    def is_binary(self) -> bool:
        """Whether the score of every repeat is 0 or 100."""
        return is_binary(self.values)

    def means(self) -> Floats:
        """Return the mean over the repeats of each sample, shape (n,).

        It is rounded to a billionth of a point. Rounding errors must change no score: the mean of three times 14.3 is
        14.300000000000002.
        """
        means: Floats = self.values[:, 0] if self.values.shape[1] == 1 else self.values.mean(axis=1)
        return np.round(means, DECIMALS)

    @property
    def mean(self) -> float:
        """Mean of the samples' means, points."""
        return float(np.mean(self.means()))

    def fill(self, score: float) -> Scores:
        """Replace every failed score by `score`."""
        return replace(self, values=np.where(np.isnan(self.values), score, self.values))

    def scale(self, factor: float) -> Scores:
        """Multiply every score by `factor`."""
        return self if factor == 1.0 else replace(self, values=self.values * factor)

    def take(self, ids: Sequence[str]) -> Scores:
        """Return the rows of these ids, in their order.

        Raises KeyError with an unknown id.
        """
        taken = Ids(ids)
        if taken == self.ids:
            return self
        rows = self.ids.places(taken)
        if (rows < 0).any():
            raise KeyError(taken[int(np.argmin(rows))])
        clusters, groups = (
            None if names is None else tuple(map(names.__getitem__, rows)) for names in (self.clusters, self.groups)
        )
        return Scores(taken, self.values[rows], clusters, groups)


def is_binary(values: Floats) -> bool:
    """Tell whether every score of an array is 0 or 100 points.

    A missing score (NaN) is neither.

    >>> is_binary(np.array([0.0, 100.0])), is_binary(np.array([0.0, 50.0]))
    (True, False)
    """
    return bool(np.isin(values, (0.0, 100.0)).all())


def scores_of_records(records: Sequence[Record], side: str) -> Scores:
    """Collect the scores of records, NaN for failed ones. Raises as `scores_of_rows` does."""
    figures = Figures.of(records)
    clusters = [record.cluster for record in records] if fills(records, "cluster") else ()
    return scores_of_rows(figures.ids, figures.columns["score"], clusters, side)


def scores_of_rows(
    ids: Sequence[str],
    scores: Sequence[float] | Floats,
    clusters: Sequence[str | None],
    side: str,
    groups: Sequence[str | None] = (),
    shown: Mapping[str, array[int]] | None = None,
) -> Scores:
    """Collect scores from rows of one repeat each.

    Samples are in the order in which their ids first appear.

    Raises
    ------
    BadInput
        When there is no sample, samples have different numbers of repeats, only some samples have a cluster, or the
        repeats of one sample have different clusters.
    """
    if not len(ids):
        raise BadInput(f"{side}: holds no samples; a gate needs every expected sample")
    is_packed = isinstance(ids, Ids) and ids.are_distinct
    distinct = ids if is_packed else list(dict.fromkeys(ids))
    rows = np.arange(len(ids))[:, None] if len(distinct) == len(ids) else _rows_of_repeats(ids, distinct, side)
    values = np.array(scores, dtype=np.float64)[rows]
    of_sample = _names_of_samples("cluster", clusters, rows, distinct, side)
    without = [id_ for id_, cluster in zip(distinct, of_sample or (), strict=False) if not cluster]
    if without:
        fault = f"{side}: no cluster for {len(without)} of {len(distinct)} samples: {some_of(without)}"
        raise BadInput(f"{fault}; give every sample its cluster, or none")
    marks = {name: np.array(column, dtype=np.int64)[rows[:, 0]] for name, column in (shown or {}).items()}
    return Scores(Ids(distinct), values, of_sample, _names_of_samples("group", groups, rows, distinct, side), marks)


def _names_of_samples(
    kind: str, names: Sequence[str | None], rows: Codes, ids: Sequence[str], side: str
) -> tuple[str, ...] | None:
    """Return the cluster or group of each sample, empty text for none.

    The result is None if no row has one.
    """
    if not any(names):
        return None
    columns = [[names[row] or "" for row in column] for column in rows.T.tolist()]
    if any(column != columns[0] for column in columns):
        torn = [id_ for id_, *own in zip(ids, *columns, strict=True) if len(set(own)) > 1]
        fault = f"{side}: the {kind} differs between repeats of {len(torn)} of {len(ids)} samples: {some_of(torn)}"
        raise BadInput(f"{fault}; give each sample one {kind}")
    return tuple(columns[0])


def _rows_of_repeats(ids: Sequence[str], distinct: Sequence[str], side: str) -> Codes:
    """Find the rows of each sample's repeats, shape (n, repeats)."""
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    places = np.array(list(map(place.__getitem__, ids)), dtype=np.intp)
    counts = np.bincount(places)
    repeats = int(counts.max())
    uneven = [distinct[i] for i in np.flatnonzero(counts < repeats).tolist()]
    if uneven:
        fault = f"{side}: fewer than {repeats} repeats of {len(uneven)} of {len(distinct)} samples: {some_of(uneven)}"
        raise BadInput(f"{fault}; every sample needs the same number")
    return np.argsort(places, kind="stable").reshape(len(distinct), repeats)


def read_scores(path: Path, side: str, layout: Layout = AS_FOUND) -> Scores:
    """Read scores from a run record, a table, or another tool's file.

    Columns `repeat`, `cluster` and `group` are optional.

    Raises
    ------
    BadInput
        With file and line, for a line that cannot be read, a duplicate (id, repeat), or a score that is not a finite
        number; also for samples without a score, and for clusters that some samples lack.
    """
    rows = _Rows(path, layout)
    ids = Ids(rows.ids())
    rows.refuse_repeated(ids)
    rows.refuse_mixed()
    if rows.unscored:
        raise BadInput(
            f"{path}: no score for {len(rows.unscored)} of {len(ids)} samples: {some_of(rows.unscored)}; "
            "evaluate them again, or compare whole runs with `accgate run`, which brackets failed samples"
        )
    return scores_of_rows(ids, rows.scores, rows.clusters, f"{side} {path}", rows.groups, rows.shown())


def _form_of(score: Any) -> str:
    """Return the form in which a score is written.

    It is "," or "." by what precedes decimals, "mark" for true or false, and empty for other numbers.
    """
    text = score if isinstance(score, str) else ""
    return "," if "," in text else "." if "." in text else "mark" if is_mark(score) else ""


class _Rows:
    """The rows of a file of scores, read once."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path, self._layout = path, layout
        self._texts: dict[str, tuple[int, Any]] = {}  # by its form, where a score first came as text or true
        self.scores, self.lines = array("d"), array("q")
        self.repeats: list[int] = []  # of any size
        self.clusters: list[str | None] = []
        self.groups: list[str | None] = []
        self.unscored: list[str] = []
        self._shown: dict[str, array[int]] = {}

    def ids(self) -> Iterator[str]:
        """Read the rows, and yield their ids."""
        path, names = self._path, dict[str, str]()  # one string a cluster or group, not one a sample
        for line, row in sample_rows(path, self._layout):
            id_, repeat, score = row.get("id"), row.get("repeat", 0), row.get("score")
            if type(id_) is not str or not id_:
                id_ = id_of(row, path, line)
            if type(repeat) is not int or repeat != 0:
                repeat = repeat_of(row, path, line)
            if type(score) is not float or not isfinite(score):
                value, score = score, score_of(row, path, line)
                self._texts.setdefault(_form_of(value), (line, value))
                if score is None:
                    self.unscored.append(id_)
                    score = nan
            self.lines.append(line)
            self.repeats.append(repeat)
            self.scores.append(score)
            for column, labels in (("cluster", self.clusters), ("group", self.groups)):
                label = row.get(column)
                if type(label) is not str and label is not None:
                    label = text_of(row, column, path, line)
                labels.append(names.setdefault(label, label) if label else None)
            for name in row:
                if name in IDENTITY:
                    self._marks(name, len(self.scores) - 1).append(mark_of(row[name]))
            yield id_

    def shown(self) -> dict[str, array[int]]:
        """Return each row's marks in the columns that say what a sample is."""
        return {name: self._marks(name, len(self.scores)) for name in self._shown}

    def _marks(self, name: str, count: int) -> array[int]:
        """Return the marks of a column so far.

        They are filled up to `count`, with 0 for rows that lack the column.
        """
        marks = self._shown.setdefault(name, array("q"))
        marks.frombytes(bytes(marks.itemsize * (count - len(marks))))
        return marks

    def refuse_mixed(self) -> None:
        """Refuse marks beside points, and decimal commas beside decimal points."""
        (line, value), fix = self._texts.get("mark", (0, None)), "write 100 or 0 in its place"
        if line and not np.isin(self.scores, (0.0, 1.0)).all(where=np.isfinite(self.scores)):
            raise BadInput(f"{self._path}:{line}: score is {value!r} beside scores other than 0 and 1; {fix}")
        if {",", "."} <= self._texts.keys():
            (line, value), (other, _) = self._texts[","], self._texts["."]
            fault = f"score is {value!r}, with a decimal comma, and line {other} has a decimal point"
            raise BadInput(f"{self._path}:{line}: {fault}; write all alike")

    def refuse_repeated(self, ids: Ids) -> None:
        """Refuse an (id, repeat) that comes twice, with both lines in the message."""
        if places := ids.first_again(self.repeats):
            second, first = places
            raise BadInput(
                f"{self._path}:{self.lines[second]}: id {ids[second]!r} (repeat {self.repeats[second]}) is already on "
                f"line {self.lines[first]}; each sample must come once"
                + ("" if self._layout == AS_FOUND and self._path.suffix != ".json" else MORE)
            )


def by_label(data: Any, side: str) -> Any:
    """Turn a pandas Series into a mapping by its index.

    Anything else is returned as it is.

    Raises
    ------
    BadInput
        For a table, and for labels that come twice.
    """
    if hasattr(data, "columns") and not isinstance(data, Mapping):
        raise BadInput(f"{side}: is a table; give one column of it, as table.set_index('id')['score']")
    index = getattr(data, "index", None)
    if index is None or callable(index):  # `index` of a list is a method
        return data
    labels = list(map(str, index))
    if again := [label for label, count in Counter(labels).items() if count > 1]:
        raise BadInput(f"{side}: {len(again)} labels come more than once: {some_of(again)}; each sample must come once")
    return dict(zip(labels, data, strict=True))


def from_python(data: Mapping[Any, float] | Sequence[float] | Floats, side: str) -> Scores:
    """Read scores from a mapping, a labelled Series, or an array.

    Raises
    ------
    BadInput
        For no samples, or scores that are not finite numbers.
    """
    data = by_label(data, side)
    is_mapping = isinstance(data, Mapping)
    raw: Any = list(data.values()) if isinstance(data, Mapping) else data
    ids = tuple(map(str, data if is_mapping else range(len(raw))))
    if len(set(ids)) < len(ids):
        raise BadInput(f"{side}: two ids are the same text; each sample must come once")
    try:
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{side}: scores must be numbers ({error})") from error
    mixed = isinstance(raw, (list, tuple)) and any(isinstance(each, (bool, np.bool_)) for each in raw)
    if mixed and not np.isin(values, (0.0, 1.0)).all(where=np.isfinite(values)):
        raise BadInput(f"{side}: has true or false beside scores other than 0 and 1; write 100 and 0 in their place")
    if values.ndim != 1:
        raise BadInput(f"{side}: scores must have one dimension, not {values.ndim}; give one score a sample")
    broken = [ids[i] for i in np.flatnonzero(~np.isfinite(values))]
    if broken:
        raise BadInput(f"{side}: no finite score for {len(broken)} of {len(ids)} samples: {some_of(broken)}")
    return scores_of_rows(ids, values, (), side)


def in_points(
    reference: Scores,
    candidate: Scores,
    scale: float | None,
    *,
    bounds: tuple[float, float] | None = None,
    names: tuple[str, str] = ("reference", "candidate"),
) -> tuple[Scores, Scores]:
    """Return both sides in points, and refuse scores whose unit is in doubt.

    If both sides have only 0 and 1, or true and false, 1 is 100 points. `bounds` are the lowest and the highest
    possible score in points, infinite where there is none. Without bounds, scores outside 0 to 100 must be on both
    sides, and not beside 0/100 scores.

    Raises
    ------
    BadInput
        When scores look like fractions and no scale is given, when the scale or the bounds make no sense, and when
        scores are outside the bounds.
    """
    are_marks = all(np.isin(side.values, (0.0, 1.0)).all() for side in (reference, candidate))
    if scale is None and are_marks and bounds in (None, (0.0, 100.0)):
        reference, candidate = (replace(side.scale(100.0), are_marks=True) for side in (reference, candidate))
    if scale is None:
        for side in (reference, candidate):
            largest = float(np.max(side.values))
            if 0.0 < largest <= 1.0:
                raise BadInput(
                    f"the largest score of one side is {largest:g}: fractions or points? Give scale=100 (--scale 100) "
                    "where scores are fractions, scale=1 (--scale 1) where they are points"
                )
        scale = 1.0
    if not (isfinite(scale) and scale > 0.0):
        raise BadInput(f"scale is {scale}; give a number above 0")
    sides = reference.scale(scale), candidate.scale(scale)
    for side in sides:
        check_range(side)
    _check_sides(sides, bounds, names)
    return sides


def _check_sides(sides: tuple[Scores, Scores], bounds: tuple[float, float] | None, names: tuple[str, str]) -> None:
    """Refuse scores outside the bounds.

    The default is 0 to 100, unless both sides are no percentages.
    """
    if bounds is None and all(_may_be_unbounded(side) for side in sides):
        return
    low, high = bounds or (0.0, 100.0)
    if not low < high:
        raise BadInput(f"bounds are {low:g} and {high:g}; give the lowest and the highest score, in this order")
    fix = "correct that, or give the bounds of all scores: bounds=(low, high) (--bounds LOW HIGH)"
    for name, side in zip(names, sides, strict=True):
        check_bounds(side, low, high, name, fix)


def _may_be_unbounded(scores: Scores) -> bool:
    """Tell whether scores are no percentages.

    Some are outside 0 to 100, and the others are not all 0 or 100.
    """
    outside = (scores.values < 0.0) | (scores.values > 100.0 + ROUNDING)
    return bool(outside.all() or (outside.any() and not is_binary(scores.values[~outside])))


def check_bounds(scores: Scores, low: float | None, high: float | None, where: str, fix: str) -> None:
    """Refuse scores outside their range, in which None is no bound.

    One score of 10,000 among scores of 0 and 100 would hide a hundred losses. Failed samples (NaN) pass.

    Raises
    ------
    BadInput
        With the file or side that `where` names, the ids, the first score, and the fix.
    """
    low, high = -inf if low is None else low, inf if high is None else high
    outside = (scores.values < low - ROUNDING) | (scores.values > high + ROUNDING)
    rows = np.flatnonzero(outside.any(axis=1))
    if len(rows):
        first = float(scores.values[rows[0]][outside[rows[0]]][0])
        ids = some_of([scores.ids[row] for row in rows])
        raise BadInput(
            f"{where}: a score outside {low:g} to {high:g} for {len(rows)} of {scores.n} samples: {ids} "
            f"({'a score' if len(rows) == 1 else 'the first'} of {first:g}); {fix}"
        )


def check_range(scores: Scores) -> None:
    """Refuse scores that are too large for any metric. Failed samples (NaN) pass.

    Raises
    ------
    BadInput
        Which samples, and how many.
    """
    beyond = [scores.ids[i] for i in np.flatnonzero((np.abs(scores.values) > LARGEST).any(axis=1))]
    if beyond:
        raise BadInput(f"a score beyond {LARGEST:g} points for {count_of(len(beyond), 'sample')}: {some_of(beyond)}")

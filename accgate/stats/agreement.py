"""Agreement between raters: Krippendorff's alpha, with missing ratings."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from accgate.stats.walk import Floats

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level = "ordinal") -> float:
    """Krippendorff's alpha of ratings of shape (raters, units), NaN where a rater gave none.

    1 is perfect agreement and 0 what chance gives; a share, not points. NaN where it does not exist: no unit has two
    ratings, or all ratings that can be compared are the same. A unit with fewer than two ratings counts for nothing.

    Raises
    ------
    ValueError
        When the ratings are not of two dimensions, one is infinite, or the level is unknown.

    References
    ----------
    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability" (coincidence matrix and ordinal metric).

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 2, 3, 3, 2], [1, 2, 3, 3, 1]], "ordinal"), 3)
    0.89
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings have {table.ndim} dimensions; give (raters, units)")
    if np.isinf(table).any():
        raise ValueError("a rating is infinite")
    if level not in get_args(Level):
        raise ValueError(f"level is {level!r}; use one of {', '.join(get_args(Level))}")
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return float("nan")
    counts = np.array([(table == value).sum(axis=0) for value in values], dtype=np.float64)  # (values, units)
    coincidences = (counts / (counts.sum(axis=0) - 1)) @ counts.T
    coincidences[np.diag_indices(len(values))] -= (counts / (counts.sum(axis=0) - 1)).sum(axis=1)
    totals = coincidences.sum(axis=1)
    distances = _squared_distances(values, totals, level)
    observed = float((coincidences * distances).sum())
    expected = float((np.outer(totals, totals) * distances).sum()) / (float(totals.sum()) - 1.0)
    return 1.0 - observed / expected


def _squared_distances(values: Floats, totals: Floats, level: Level) -> Floats:
    """The metric's squared difference of every pair of values; `totals` is how often each value came."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    # Ordinal: two values are as far apart as there are ratings between them, half of those at either end counted.
    places = values if level == "interval" else np.cumsum(totals) - totals / 2
    return np.square(places[:, None] - places[None, :])

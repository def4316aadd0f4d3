"""Agreement between raters by Krippendorff's alpha, with missing ratings."""

from typing import Literal

import numpy as np
import numpy.typing as npt

Level = Literal["ordinal", "interval"]


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level) -> float:
    """Krippendorff's alpha of ratings of shape (raters, units), NaN where a rater gave none.

    1 is perfect agreement and 0 what chance gives; a share, not points. NaN where it does not exist: no unit has two
    ratings, or all ratings that can be compared are the same. A unit with fewer than two ratings counts for nothing.

    References
    ----------
    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability" (coincidence matrix and ordinal metric).

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 2, 3, 3, 2], [1, 2, 3, 3, 1]], "ordinal"), 3)
    0.89
    """
    table = np.asarray(ratings, dtype=np.float64)
    table = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return float("nan")
    counts = np.array([(table == value).sum(axis=0) for value in values], dtype=np.float64)  # (values, units)
    coincidences = (counts / (counts.sum(axis=0) - 1)) @ counts.T
    coincidences[np.diag_indices(len(values))] -= (counts / (counts.sum(axis=0) - 1)).sum(axis=1)
    totals = coincidences.sum(axis=1)
    # Ordinal: two values are as far apart as there are ratings between them, half of those at either end counted.
    places = values if level == "interval" else np.cumsum(totals) - totals / 2
    distances = np.square(places[:, None] - places[None, :])
    observed = float((coincidences * distances).sum())
    expected = float((np.outer(totals, totals) * distances).sum()) / (float(totals.sum()) - 1.0)
    return 1.0 - observed / expected

"""P-values and levels corrected for several checks in one run."""

import numpy as np

from accgate.stats.names import Correction
from accgate.stats.walk import Floats


def adjust_p_values(p_values: Floats, method: Correction, *, levels: Floats | None = None) -> Floats:
    """Adjust p-values for several tests.

    The procedure rejects a test where its adjusted p is at most its level. Where the tests have different `levels`, the
    procedure runs on p / level (Holm's weighted form).

    References
    ----------
    Holm 1979, Scand. J. Statist. 6; Benjamini and Hochberg 1995, JRSS B 57.

    Examples
    --------
    >>> adjust_p_values(np.array([0.01, 0.04, 0.03]), "holm").round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    weights = np.ones(len(p_values)) if levels is None else levels
    return np.minimum(weights * _adjust(p_values / weights, method), 1.0)


def _adjust(p_values: Floats, method: Correction) -> Floats:
    m = len(p_values)
    if method == "none" or m < 2:
        return p_values
    if method == "bonferroni":
        return p_values * m
    order = np.argsort(p_values, kind="stable")
    ranked = p_values[order]
    if method == "holm":
        adjusted = np.maximum.accumulate(ranked * np.arange(m, 0, -1))
    else:
        adjusted = np.minimum.accumulate((ranked / (np.arange(1, m + 1) / m))[::-1])[::-1]
    result = np.empty(m)
    result[order] = adjusted
    return result


def level_shares(p_values: Floats, method: Correction) -> Floats:
    """Return the share of its level at which each test is finally decided.

    With the other p-values held fixed, the procedure rejects test i exactly when its own p is at most share[i] times
    its level. Reports show that product as gamma. `p_values` must already be divided by their levels.

    Examples
    --------
    >>> level_shares(np.array([0.1, 2.0, 3.0]), "holm").round(4).tolist()
    [0.3333, 0.5, 0.5]
    """
    m = len(p_values)
    if method == "none" or m < 2:
        return np.ones(m)
    if method == "bonferroni":
        return np.full(m, 1.0 / m)
    share = _holm_share if method == "holm" else _bh_share
    return np.array([share(np.sort(np.delete(p_values, i))) for i in range(m)])


def _holm_share(others: Floats) -> float:
    m = len(others) + 1
    passed = others * np.arange(m, 1, -1) <= 1.0
    rejected = m - 1 if passed.all() else int(np.argmin(passed))
    return 1.0 / (m - rejected)


def _bh_share(others: Floats) -> float:
    m = len(others) + 1
    ranks = np.arange(m, 0, -1)
    smaller = np.searchsorted(others, ranks / m, side="right")
    return float(np.max(ranks[smaller >= ranks - 1])) / m

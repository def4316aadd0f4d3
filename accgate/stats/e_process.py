"""Sequential test by betting: valid at any time, for any discordance, skewness and dependence on the past."""

from __future__ import annotations

import math

import numpy as np

from accgate.stats.betting import betting_path, confidence_sequence
from accgate.stats.power import E_PROCESS_MAXIMUM
from accgate.stats.sequential import SequentialResult, Units, include, open_result, stand_at, visible_effect
from accgate.stats.totals import spread_of
from accgate.stats.walk import Stop


def e_process_test(
    units: Units, *, bound: float, theta: float, alpha: float, beta: float, figures: bool = True
) -> SequentialResult:
    """Test that the mean difference is below 0 by betting, after every unit.

    Parameters
    ----------
    units : Units
        Paired differences in the order in which they are looked at (`units_of`).
    bound : float
        Largest possible |difference| of one sample, points; 100 for bounded scores.
    theta : float
        Drop in points to detect.
    alpha, beta : float
        Bounds on the type I error, and on the chance that a run with a drop of theta is passed for futility.
    figures : bool
        Without, only where the run stops, its difference and its p-value, and whether it is open: the rest is None.

    Notes
    -----
    The p-value and interval hold whenever and for whatever reason the run stopped.

    References
    ----------
    Waudby-Smith and Ramdas 2024, JRSS B 86; Ville 1939.

    Examples
    --------
    >>> from accgate.stats.sequential import units_of
    >>> r = e_process_test(units_of(np.zeros(1319)), bound=100.0, theta=2.0, alpha=0.05, beta=0.2)
    >>> r.stop
    'futility'
    """
    if not len(units.totals):
        return open_result(units)
    rates = {"theta": theta, "alpha": alpha, "beta": beta}
    path = betting_path(units.totals, units.planned, bound=bound, earliest=units.earliest, **rates)
    used = path.stop
    stops: dict[str | None, Stop] = {"regression": "regression", "pass": "futility", None: "end"}
    stop = stops[path.decision]
    is_open = stop == "end" and not units.is_whole
    if not figures:
        return stand_at(units, used - 1, path.p_value, stop, is_open=is_open)
    n = int(units.samples[used - 1])
    difference = float(units.totals[:used].sum()) / n
    interval = confidence_sequence(units.totals, units.planned, bound=bound, alpha=alpha, stop=used, theta=theta)
    threshold = difference - interval.one_sided  # where the upper limit would be 0
    if (stop == "regression") != (difference < threshold):
        threshold = float(np.nextafter(difference, math.inf if stop == "regression" else -math.inf))
    costs = {"alpha": alpha, "beta": beta, "cost": E_PROCESS_MAXIMUM}
    seen = None if stop == "regression" else theta
    if stop == "end":
        least = visible_effect(units, used - 1, **costs)
        seen = None if least is None else max(theta, least)
    return SequentialResult(
        difference=difference,
        p_value=path.p_value,
        threshold=threshold,
        theta=seen,
        sigma=spread_of(units.totals[:used], units.sizes[:used]),
        interval=include(difference, interval) if stop != "regression" or difference < 0.0 else interval,
        reasons=() if units.totals[:used].any() else ("no sample changed its score",),
        n=n,
        n_max=units.n_max,
        stop=stop,
        open=is_open,
    )

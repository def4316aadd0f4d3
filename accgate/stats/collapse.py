"""Samples that all runs of one side have right and all of the other wrong, beside what flicker explains."""

import math
from dataclasses import dataclass

import numpy as np

from accgate.stats import special
from accgate.stats.coin import share_evidence
from accgate.stats.walk import Bools, Floats


@dataclass(frozen=True)
class Collapses:
    """Which samples collapsed, of shape (n,), how many recovered, how many collapse by flicker, and the p-value."""

    lost: Bools
    recovered: int
    expected: float
    p_value: float


def collapses_of(before: Floats, now: Floats, *, any_stop: bool = False) -> Collapses:
    """Test whether more samples collapsed than flicker explains.

    A sample collapses where each of K runs of the reference has it right and each of R of the candidate wrong; it
    recovers where each of K has it wrong and each of R right. p is the larger of two:

    - Within one build, the K + R answers to a sample are exchangeable. Of the samples with K right answers in all, each
      is a collapse with probability 1 / C(K + R, K), and their number is binomial.
    - Across builds, the two are exchangeable, and each flickers in its own way. With m the smaller of K and R, the
      first m runs of both lose a sample as often as they recover it: of the samples that they lose or recover, each is
      lost with probability 1/2. This holds within one build too, and where some samples flicker and others change.

    Parameters
    ----------
    before, now : array of shape (n, K) and (n, R)
        Scores of 0 and 100, higher better, K and R at least 2. A sample with a missing answer (NaN) counts nowhere.
    any_stop : bool
        Whether the samples are the beginning of a run that stopped by what it saw. p is then that of evidence which
        holds wherever one stops.

    Notes
    -----
    Samples must be independent, and the reference's runs of one build. Of K runs of K builds a sample that one build
    in K + 1 has wrong is a collapse with probability 1 / (K + 1), which is more than either null says.

    Collapses and recoveries of all runs are no such pair where K is not R. With K above R and most answers right, K
    right and R wrong are far likelier than K wrong and R right, in a healthy run too.

    References
    ----------
    Fisher 1935, The Design of Experiments (the permutation of answers); McNemar 1947, Psychometrika 12; Ville 1939 and
    Robbins 1970, Annals of Mathematical Statistics 41 (evidence wherever one stops).

    Examples
    --------
    Five of 100 samples collapse, and none recovers: (1 / 2) ** 5.

    >>> before, now = np.full((100, 4), 100.0), np.full((100, 3), 100.0)
    >>> now[:5] = 0.0
    >>> found = collapses_of(before, now)
    >>> int(found.lost.sum()), round(found.expected, 3), found.p_value
    (5, 0.143, 0.03125)
    """
    runs, own = before.shape[1], now.shape[1]
    both = np.concatenate([before, now], axis=1)
    answered = ~np.isnan(both).any(axis=1)
    lost, recovered = _moves(before, now)
    least = min(runs, own)
    worse, better = (int((answered & moved).sum()) for moved in _moves(before[:, :least], now[:, :least]))
    alike = int((answered & ((both == 100.0).sum(axis=1) == runs)).sum())
    chance, count = 1.0 / math.comb(runs + own, runs), int(lost.sum())
    within = _tail(count, alike - count, chance, any_stop=any_stop)
    across = _tail(worse, better, 0.5, any_stop=any_stop)
    return Collapses(lost, int(recovered.sum()), alike * chance, max(within, across))


def _moves(before: Floats, now: Floats) -> tuple[Bools, Bools]:
    """Which samples all of these runs lose, and which they recover."""
    right, right_now = ((side == 100.0).all(axis=1) for side in (before, now))
    wrong, wrong_now = ((side == 0.0).all(axis=1) for side in (before, now))
    return right & wrong_now, wrong & right_now


def _tail(count: int, others: int, chance: float, *, any_stop: bool) -> float:
    """The chance of so many lost or more beside so many others, where each of all is lost with this chance."""
    if not count:
        return 1.0
    if any_stop:
        return 1.0 / max(share_evidence(others, count, 1.0 - chance), 1.0)
    return float(special.bdtrc(count - 1, count + others, chance))

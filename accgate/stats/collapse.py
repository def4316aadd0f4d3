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
      first m runs of both recover a sample as often as they lose it, and all runs lose it no oftener than the first m.
      So of collapses and those recoveries, each is a collapse with probability 1/2 at most. This holds within one build
      too, and where some samples flicker and others change.

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

    Counting recoveries in all runs instead of the first m would find collapses in healthy runs: where K is above R and
    most answers are right, K right and R wrong are far likelier than K wrong and R right.

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
    least = min(runs, own)
    lost = (before == 100.0).all(axis=1) & (now == 0.0).all(axis=1)
    recovered = (before == 0.0).all(axis=1) & (now == 100.0).all(axis=1)
    gained = (before[:, :least] == 0.0).all(axis=1) & (now[:, :least] == 100.0).all(axis=1)
    both = np.concatenate([before, now], axis=1)
    answered = ~np.isnan(both).any(axis=1)
    alike = int((answered & ((both == 100.0).sum(axis=1) == runs)).sum())
    chance, count = 1.0 / math.comb(runs + own, runs), int(lost.sum())
    p_values = (
        _tail(count, alike - count, chance, any_stop=any_stop),
        _tail(count, int((gained & answered).sum()), 0.5, any_stop=any_stop),
    )
    return Collapses(lost, int(recovered.sum()), alike * chance, max(p_values))


def _tail(count: int, others: int, chance: float, *, any_stop: bool) -> float:
    """The chance of so many collapses or more beside so many others, where each of all is one with this chance."""
    if not count:
        return 1.0
    if any_stop:
        return 1.0 / max(share_evidence(others, count, 1.0 - chance), 1.0)
    return float(special.bdtrc(count - 1, count + others, chance))

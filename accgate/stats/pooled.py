"""One exact test over several paired checks.

It detects small drops that no check detects alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from accgate.stats import special
from accgate.stats.answers import Repeats
from accgate.stats.repeats import sum_masses
from accgate.stats.resampling import add_multiples, common_step
from accgate.stats.sequential import TYPICAL
from accgate.stats.walk import Bools, Floats

# benchmarks/overall.py prints the power with these.
FORECAST = 0.6  # share of its remaining samples that a check is expected to use; the power hardly depends on it
PRIOR = 5.0  # whole changes at the rate `TYPICAL` that the forecast starts from
LEVELS = 64  # tried at a time to find the p-value
CERTAIN = 1.0 - 1e-9  # capital that counts as 1: sums of floats round


@dataclass(frozen=True)
class Series:
    """The answers of one check that its decision used.

    `stops` says that an early stop was possible. `answers.n_max` counts the samples that there could have been.
    """

    answers: Repeats
    stops: bool = False


@dataclass(frozen=True)
class PooledResult:
    """The result of the pooled test.

    `difference` (points) weighs every sample alike, and `can_reject` says whether some outcome could have rejected.
    """

    difference: float
    p_value: float
    rejects: bool
    can_reject: bool


def pooled_test(series: Sequence[Series], *, alpha: float) -> PooledResult:
    """Test exactly that the samples of all checks together got worse.

    Parameters
    ----------
    series : sequence of Series
        The checks, in an order that does not depend on their outcomes.
    alpha : float
        Type I error rate.

    Notes
    -----
    Within one build all answers to a sample are exchangeable: given how many are right, which of them are the
    candidate's is a random draw, whatever came before. Across builds a sample's difference is as likely of either sign
    (`repeats`). H0 is rejected if both tests reject.

    The samples of all checks that may stop early form one sequence, ordered by how far into its check each sample
    stands. A bet on losses with fair odds starts with the capital alpha, and H0 is rejected if it reaches 1. By Ville's
    inequality that has probability at most alpha, however each stake is chosen from what came before, and although
    checks stop at times that depend on the draws. The stake is that of a constant boundary for the sum (reflection
    principle) on the forecast variance.

    Checks at a fixed n come last: how many of their samples differ says nothing of the draws, so that their exact test
    decides with the capital left as its level. If no check could stop early, the whole is the exact test of the sum of
    all differences: McNemar's if every sample has one answer on either side. The p-value is the least alpha that
    rejects.

    References
    ----------
    Fisher 1935, The Design of Experiments (sign test); Ville 1939; Müller and Schäfer 2001, Biometrics 57 (conditional
    error); Shafer and Vovk 2019, Game-Theoretic Foundations for Probability and Finance.

    Examples
    --------
    >>> from accgate.stats.answers import repeats_of
    >>> before, now = np.repeat([[100.0, 0.0], [0.0, 100.0], [0.0, 0.0]], [40, 20, 340], axis=0).T[:, :, None]
    >>> one = Series(repeats_of(before, now))
    >>> round(pooled_test([one], alpha=0.01).p_value, 4), round(pooled_test([one, one], alpha=0.01).p_value, 5)
    (0.0067, 0.00017)
    """
    n = sum(int(each.answers.sizes.sum()) for each in series)
    total = sum(float(each.answers.totals.sum()) for each in series)
    p_value, rejects = max(test.p_value(alpha) for test in _tests(series)), pooled_rejects(series, alpha=alpha)
    can_reject = rejects or pooled_rejects([_all_lost(each) for each in series], alpha=alpha)
    return PooledResult(total / n, p_value, rejects, can_reject)


def pooled_rejects(series: Sequence[Series], *, alpha: float) -> bool:
    """Tell whether `pooled_test` rejects, without its figures."""
    return all(test.rejects(alpha) for test in _tests(series))


def _tests(series: Sequence[Series]) -> list[_Test]:
    """Return a test for each way to exchange answers (`Repeats.exchanges`).

    All checks exchange theirs in the same way.
    """
    exchanges = [each.answers.exchanges for each in series]
    ways = [[ways[0] for ways in exchanges]]
    if any(len(ways) > 1 for ways in exchanges):
        ways.append([ways[-1] for ways in exchanges])
    return [_Test([replace(s, answers=a) for s, a in zip(series, way, strict=True)]) for way in ways]


def _all_lost(series: Series) -> Series:
    answers = series.answers
    before = np.repeat(answers.sizes[:, np.newaxis], answers.before.shape[1], axis=1)
    return Series(replace(answers, before=before, now=np.zeros_like(answers.now)), series.stops)


@dataclass(frozen=True)
class _Draws:
    """What each sample lost, less its mean under H0, in shares of a sample.

    The samples are those of the checks that could stop. `most` and `least` are what it could have lost, less the same
    mean. `variance` is the null variance forecast from this sample to the end of all checks.
    """

    lost: Floats
    most: Floats
    least: Floats
    variance: Floats


class _Test:
    """The test of one sequence of draws.

    All checks at a fixed n are its last step.
    """

    def __init__(self, series: Sequence[Series]) -> None:
        at_end = [each.answers for each in series if not each.stops]
        self.end = _exact_p(at_end)
        fixed = sum(float(each.variances.sum()) for each in at_end)
        self.draws = _draws([each.answers for each in series if each.stops], fixed)

    def rejects(self, alpha: float) -> bool:
        """Tell whether H0 is rejected at this level."""
        return bool(self._reject(np.array([alpha]))[0])

    def p_value(self, alpha: float) -> float:
        """Find the least level that rejects.

        It is at most alpha exactly if alpha rejects.
        """
        if not len(self.draws.lost):
            return self.end
        rejects = self.rejects(alpha)
        low, high = (-280.0, math.log10(alpha)) if rejects else (math.log10(alpha), 0.0)
        for _ in range(5):  # what rejects at a level rejects at every larger one
            levels = np.linspace(low, high, LEVELS)
            rejected = np.append(self._reject(10.0 ** levels[:-1]), True)
            first = int(np.argmax(rejected))
            low, high = float(levels[max(first - 1, 0)]), float(levels[first])
        p_value = float(10.0**high)
        return min(p_value, alpha) if rejects else max(p_value, math.nextafter(alpha, 1.0))

    def _reject(self, levels: Floats) -> Bools:
        capital = _capital(self.draws, levels)
        return np.asarray(self.end <= np.where(capital >= CERTAIN, 1.0, capital))


def _exact_p(checks: Sequence[Repeats]) -> float:
    """Return the p-value of the sum of all differences of these checks."""
    if not checks:
        return 1.0
    fitted = common_step(np.array([each.rate for each in checks]))
    assert fitted is not None  # they are sums of two fractions
    base, mass, position = 0, np.ones(1), 0
    for step, each in zip(fitted[0].tolist(), checks, strict=True):
        first, own = sum_masses(each)
        base, mass = base + step * first, add_multiples(mass, step, own)
        position += step * int(each.lost.sum())
    return min(float(mass[min(max(position - base, 0), len(mass) - 1) :].sum()), 1.0)


def _capital(draws: _Draws, levels: Floats) -> Floats:
    """Return the bet's final capital for each capital that it starts with."""
    capital = levels
    scale = math.sqrt(2.0 / math.pi) / np.sqrt(draws.variance)
    for lost, most, least, factor in zip(draws.lost, draws.most, draws.least, scale, strict=True):
        stake = factor * np.exp(-0.5 * special.ndtri(0.5 * capital) ** 2)
        stake = np.minimum(stake, np.minimum(capital / -least, (1.0 - capital) / most))
        capital = capital + stake * lost
        if capital[0] >= CERTAIN:  # the levels rise
            break
    return capital


def _draws(checks: Sequence[Repeats], fixed: float) -> _Draws:
    """Return the draws of the checks that could stop.

    `fixed` is the variance of the checks at a fixed n. The forecast at a draw depends on the samples so far and on the
    checks that still run there, and on no later draw, as Ville's inequality requires.
    """
    if not checks:
        none = np.zeros(0)
        return _Draws(none, none, none, none)
    most = np.array([each.n_max for each in checks], float)
    used = np.array([float(each.sizes.sum()) for each in checks]) / most
    place = np.concatenate([each.samples[each.events] / m for each, m in zip(checks, most, strict=True)])
    owner = np.repeat(np.arange(len(checks)), [len(each.events) for each in checks])
    order = np.lexsort((owner, place))
    place, variance = place[order], np.concatenate([each.variances[each.events] for each in checks])[order]
    lost, largest, least = np.concatenate([_lost_of(each) for each in checks], axis=1)[:, order]
    by_use = np.argsort(used)
    running = np.append(np.cumsum(most[by_use][::-1])[::-1], 0.0)[np.searchsorted(used[by_use], place)]
    seen = np.minimum(place[:, np.newaxis], used) @ most
    rate = (np.cumsum(variance) + PRIOR) / (seen + PRIOR / TYPICAL)
    forecast = np.maximum(FORECAST * (1.0 - place) * running * rate, variance) + fixed
    return _Draws(lost, largest, least, forecast)


def _lost_of(answers: Repeats) -> Floats:
    """Return the loss of each unit that differs, and its possible extremes.

    The null mean is subtracted from all three.
    """
    kinds, kind = answers.kinds
    kind = kind[answers.events]
    means = np.array([each.masses @ np.arange(len(each.masses)) for each in kinds])[kind]
    largest = np.array([len(each.masses) - 1.0 for each in kinds])[kind]
    ends = np.stack([answers.lost[answers.events], largest, np.zeros(len(kind))])
    return np.asarray(answers.rate * (ends - means))

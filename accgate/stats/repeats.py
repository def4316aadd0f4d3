"""0/100 answers given several times: K runs of the reference against R runs of the candidate, compared exactly.

Where the candidate is the reference's equal, the K + R answers to a sample are exchangeable: given how many of them are
right, which of them are the candidate's is a draw without replacement. The number of right answers of the candidate is
then a sum of hypergeometric variables, Bernoulli ones for R = 1, whose distribution has no nuisance parameter.
"""

from __future__ import annotations

import numpy as np

from accgate.stats import special
from accgate.stats.answers import Repeats
from accgate.stats.mcnemar import log_binomial
from accgate.stats.odds import Limits
from accgate.stats.result import TestResult
from accgate.stats.search import halve
from accgate.stats.totals import spread_of
from accgate.stats.walk import Floats, rejection_count, trim, walk_at

CERTAIN = 1.0 - 1e-12


def repeats_exact(repeats: Repeats, *, alpha: float, beta: float) -> TestResult:
    """Exact one-sided test of K answers of the reference against R of the candidate to the same samples.

    Given the right answers of each sample in all K + R runs, t, the candidate's are hypergeometric under H0: R drawn of
    K + R answers of which t are right. Their sum over the samples decides, since the difference of the means is linear
    in it. For K = R = 1 this is McNemar's exact test. No average of the runs is taken for exchangeable with one run.

    Parameters
    ----------
    repeats : Repeats
        Right answers by unit and run (`repeats_of`).
    alpha, beta : float
        Type I and type II error rates.

    Returns
    -------
    TestResult
        `theta` is the drop, made of whole losses (right in every run of the reference, wrong in every one of the
        candidate) beside the noise that was seen, which is detected with probability 1 - beta. None where not even the
        loss of every sample is.

    Notes
    -----
    Where units are clusters, whole runs of a cluster are exchangeable, and its total is one draw.

    The limits come from the odds ratio: with odds psi for the candidate each unit is Fisher's noncentral
    hypergeometric, and the sum's distribution is the null one, tilted by psi. A limit of psi says a limit of the
    difference given t; the sampling error of t is added in squares (Zou and Donner's method). Simulated
    coverage of each limit at 0.95: 0.94 to 1.00 in 90 cells of 400 runs (50 to 1,000 samples, 1 to 8 answers on either
    side, with and without a drop).
    The upper limit is below 0 exactly where the test rejects.

    References
    ----------
    Fisher 1935, JRSS 98 (noncentral hypergeometric); Wang 1993, Statistica Sinica 3 (Poisson-binomial); Birch 1964,
    JRSS B 26 (several tables); Zou and Donner 2008, Statistics in Medicine 27.

    Examples
    --------
    Two samples that all four runs of the reference had right are wrong now: (1 / 5) ** 2.

    >>> from accgate.stats.answers import repeats_of
    >>> before, now = np.full((100, 4), 100.0), np.full((100, 1), 100.0)
    >>> now[:2] = 0.0
    >>> r = repeats_exact(repeats_of(before, now), alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), round(r.difference, 4), round(r.threshold, 4)
    (0.04, -2.0, -1.375)
    """
    base, mass = sum_masses(repeats)
    position = int(repeats.lost.sum())
    tail = np.cumsum(mass[::-1])[::-1]
    p_value = min(float(tail[min(max(position - base, 0), len(mass) - 1)]), 1.0)
    count = rejection_count(mass, alpha)
    critical = base + len(mass) - count if count else None
    n, units, events = int(repeats.sizes.sum()), len(repeats.sizes), len(repeats.events)
    difference = float(repeats.totals.sum()) / n
    outcome = walk_at(events, position, [], mass, base)
    limits = Limits(repeats, units, outcome, difference)
    return TestResult(
        difference=difference,
        p_value=p_value,
        threshold=None if critical is None else sum_at(repeats, units, critical - 0.5) / n,
        theta=detectable_drop(repeats, alpha=alpha, beta=beta),
        sigma=spread_of(repeats.totals, repeats.sizes),
        interval=limits.interval(alpha, rejected=critical is not None and position >= critical),
        reasons=reasons_of(repeats, events),
    )


def reasons_of(repeats: Repeats, events: int) -> tuple[str, ...]:
    """What is to be said of the units, and where none of them differs."""
    units = len(repeats.sizes)
    clusters = (f"{units:,} clusters are the units of the test",) if units < repeats.sizes.sum() else ()
    return clusters if events else (*clusters, "no sample changed its score")


def sum_at(repeats: Repeats, units: int, lost: float) -> float:
    """Sum of the differences in points of the first units where the runs of the candidate lost so much of the most."""
    return repeats.difference(float(repeats.most[:units].sum()), lost, float(repeats.right[:units].sum()))


def sum_masses(repeats: Repeats, share: float = 1.0) -> tuple[int, Floats]:
    """Null masses of what is lost in all, from the first returned on; of `share` times the units of each kind."""
    base, mass = 0, np.ones(1)
    kinds, kind = repeats.kinds
    counts = np.rint(share * np.bincount(kind, minlength=len(kinds))).astype(np.int64)
    for each, count in zip(kinds, counts.tolist(), strict=True):
        if len(each.masses) < 2:
            continue
        start, power = 0, each.masses
        for place, digit in enumerate(reversed(f"{count:b}")):
            if place:
                start, power, _ = trim(2 * start, np.convolve(power, power))
            if digit == "1":
                base, mass, _ = trim(base + start, np.convolve(mass, power))
    return base, mass


def detectable_drop(
    repeats: Repeats, *, alpha: float, beta: float, n: int | None = None, cost: float = 1.0
) -> float | None:
    """Drop in points that the exact test detects with probability 1 - beta beside the noise of these samples.

    The drop is made of whole losses: each sample is lost with a probability of theta / 100, as if the others had come
    out by H0. It adds its losses to the samples that differ, so it also holds where none does. Clusters lose samples in
    blocks of the design effect. With `n` the run has so many samples, as noisy as these, and with a `cost` it takes so
    many times the samples of the test at a fixed n. None where not even the loss of every sample is detected.

    >>> from accgate.stats.answers import repeats_of
    >>> same = np.full((1319, 4), 100.0)
    >>> round(detectable_drop(repeats_of(same, same[:, :1]), alpha=0.05, beta=0.2), 3)
    0.227
    """
    samples, block = int(repeats.sizes.sum()), _block(repeats)
    share = (n or samples) / cost / samples
    loss, blocks = repeats.whole_loss(block), max(int(share * samples) // block, 1)
    base, noise = sum_masses(repeats, share)
    least, start, mass = len(loss.masses) - 1, base, noise  # a whole loss loses the most that it can
    tail = np.append(np.cumsum(noise[::-1])[::-1], 0.0)
    power: list[float] = []
    for losses in range(blocks + 1):
        if losses:
            start, mass, _ = trim(start, np.convolve(mass, loss.masses))
        critical = start + len(mass) - rejection_count(mass, alpha)
        power.append(float(tail[min(max(critical - losses * least - base, 0), len(noise))]))
        if power[-1] >= CERTAIN:
            break
    return _drop_with_power(np.array(power), blocks, 1.0 - beta)


def _drop_with_power(power: Floats, blocks: int, aim: float) -> float | None:
    """The drop at which Binomial losses among the blocks have this power, given that of each number of them."""
    losses = np.arange(len(power))

    def reached(share: float) -> float:
        masses = np.exp(log_binomial(losses, blocks, share))
        beyond = float(special.bdtrc(losses[-1], blocks, share)) if losses[-1] < blocks else 0.0
        return float(masses @ power) + beyond * float(power[-1])

    if reached(1.0) < aim:
        return None
    return 100.0 * halve(lambda share: reached(share) >= aim, 0.0, 1.0, share=1e-9)[1]


def _block(repeats: Repeats) -> int:
    """Samples that a drop loses together: 1 for samples, about the design effect of what was seen for clusters."""
    units, n = len(repeats.sizes), int(repeats.sizes.sum())
    if units == n:
        return 1
    size = n / units
    one = repeats.rate**2 * repeats.whole_loss().variance
    alone = _variance_alone(repeats)
    effect = (float(repeats.variances.sum()) + one * size) / (alone + one)
    return max(1, round(min(effect, size)))


def _variance_alone(repeats: Repeats) -> float:
    """Null variance of the sum of differences if samples of a cluster were independent, of the runs' own shares."""
    runs = repeats.before.shape[1] + repeats.now.shape[1]
    share = repeats.right / (runs * repeats.sizes)
    return float(np.sum(repeats.sizes * share * (1.0 - share))) * repeats.rate

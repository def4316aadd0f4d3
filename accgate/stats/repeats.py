"""0/100 answers given several times, compared exactly.

There are K runs of the reference and R of the candidate. If both sides are of one build, the K + R answers to a sample
are exchangeable: given how many of them are right, which of them are the candidate's is a draw without replacement. If
the builds differ, and the candidate's is as likely to lose a sample as to gain it, the K runs agree with each other
more than with the candidate, and only the two sides as a whole are exchangeable. Either way the distribution of the sum
of differences depends on no unknown parameter.
"""

import math
from dataclasses import dataclass

import numpy as np

from accgate.stats import special
from accgate.stats.answers import Repeats
from accgate.stats.betting import share_evidence
from accgate.stats.clusters import visible_in_clusters
from accgate.stats.mcnemar import mcnemar_power
from accgate.stats.odds import Limits
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import halve
from accgate.stats.totals import spread_of
from accgate.stats.walk import Bools, Floats, rejection_count, trim, walk_at


def repeats_exact(repeats: Repeats, *, alpha: float, beta: float) -> TestResult:
    """Test one-sided and exactly K answers of the reference against R of the candidate.

    H0 says that the candidate is as likely to lose a sample as to gain it. Within one build, given the number t of
    right answers to a sample in all K + R runs, the candidate's are hypergeometric: R drawn of K + R answers of which t
    are right. Across builds each sample's difference keeps or flips its sign with equal probability. H0 is rejected if
    both tests reject, so p is the larger of theirs. If the runs of the reference agree, that is McNemar's exact test of
    the samples that changed. If K = R, the second test holds within one build as well, and decides alone.

    Parameters
    ----------
    repeats : Repeats
        Right answers by unit and run (`repeats_of`).
    alpha, beta : float
        Type I and type II error rates.

    Returns
    -------
    TestResult
        `theta` is the drop that is detected with probability 1 - beta, beside the noise that was seen. It is made of
        whole losses: samples right in every run of the reference and wrong in every one of the candidate. None if not
        even the loss of every sample is detected.

    Notes
    -----
    Where units are clusters, whole runs of a cluster are exchangeable, and its total is one draw.

    With K above R and samples that are nearly always wrong, flipping signs alone would reject too often: a lucky answer
    counts 1 / R for the candidate and only 1 / K for the reference. Exchanging the answers prevents that.

    The limits come from the odds ratio: with odds psi for the candidate each unit is Fisher's noncentral
    hypergeometric, and the sum's distribution is the null one, tilted by psi. A limit of psi gives a limit of the
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
    Five samples that all four runs of the reference had right are wrong now: (1 / 2) ** 5, and not (1 / 5) ** 5.

    >>> from accgate.stats.answers import repeats_of
    >>> before, now = np.full((100, 4), 100.0), np.full((100, 1), 100.0)
    >>> now[:5] = 0.0
    >>> r = repeats_exact(repeats_of(before, now), alpha=0.05, beta=0.2)
    >>> r.p_value, round(r.difference, 4), round(r.threshold, 4)
    (0.03125, -5.0, -3.25)
    """
    tests = [_exchange_test(each, alpha) for each in repeats.exchanges]
    thresholds = [threshold for _, threshold, _ in tests if threshold is not None]
    high, low = max(limits.one_sided for *_, limits in tests), min(limits.two_sided[0] for *_, limits in tests)
    return TestResult(
        difference=float(repeats.totals.sum()) / int(repeats.sizes.sum()),
        p_value=max(p_value for p_value, *_ in tests),
        threshold=min(thresholds) if len(thresholds) == len(tests) else None,
        theta=detectable_drop(repeats, alpha=alpha, beta=beta),
        sigma=spread_of(repeats.totals, repeats.sizes),
        interval=Interval(high, (low, high)),
        reasons=reasons_of(repeats),
    )


def _exchange_test(repeats: Repeats, alpha: float) -> tuple[float, float | None, Interval]:
    """Test one way to exchange answers exactly.

    Return the p-value, the threshold and the interval.
    """
    base, mass = sum_masses(repeats)
    position = int(repeats.lost.sum())
    tail = np.cumsum(mass[::-1])[::-1]
    p_value = min(float(tail[min(max(position - base, 0), len(mass) - 1)]), 1.0)
    count = rejection_count(mass, alpha)
    critical = base + len(mass) - count if count else None
    n, units = int(repeats.sizes.sum()), len(repeats.sizes)
    outcome = walk_at(len(repeats.events), position, [], mass, base)
    rejected = critical is not None and position >= critical
    limits = Limits(repeats, units, outcome, float(repeats.totals.sum()) / n).interval(alpha, rejected=rejected)
    return p_value, None if critical is None else sum_at(repeats, units, critical - 0.5) / n, limits


def reasons_of(repeats: Repeats) -> tuple[str, ...]:
    """Return reasons about the units of the test.

    They say whether clusters are the units, and whether none of them changed.
    """
    units = len(repeats.sizes)
    clusters = (f"{units:,} clusters are the units of the test",) if units < repeats.sizes.sum() else ()
    return clusters if len(repeats.events) else (*clusters, "no sample changed its score")


def sum_at(repeats: Repeats, units: int, lost: float) -> float:
    """Return the sum of differences (points) of the first `units` at a loss.

    The candidate lost `lost` right answers. Losses are counted from the most right answers that the candidate could
    have had.
    """
    return repeats.difference(float(repeats.most[:units].sum()), lost, float(repeats.right[:units].sum()))


def sum_tails(repeats: Repeats) -> tuple[float, float]:
    """Return the probabilities under H0 of a sum so low, and so high.

    The sum is that of all differences. Each is the larger of those of the ways to exchange answers.

    >>> from accgate.stats.answers import repeats_of
    >>> sum_tails(repeats_of(np.full((5, 4), 100.0), np.zeros((5, 1))))
    (0.03125, 1.0)
    """
    tails = [_tails(each) for each in repeats.exchanges]
    return max(low for low, _ in tails), max(high for _, high in tails)


def _tails(repeats: Repeats) -> tuple[float, float]:
    base, mass = sum_masses(repeats)
    at = min(max(int(repeats.lost.sum()) - base, 0), len(mass) - 1)
    return min(float(mass[at:].sum()), 1.0), min(float(mass[: at + 1].sum()), 1.0)


def sum_masses(repeats: Repeats) -> tuple[int, Floats]:
    """Return null masses of the total loss, and the loss at the first.

    All answers of a unit are exchanged.
    """
    base, mass = 0, np.ones(1)
    kinds, kind = repeats.kinds
    for each, count in zip(kinds, np.bincount(kind, minlength=len(kinds)).tolist(), strict=True):
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
    """Find the drop (points) of whole losses that the exact test detects.

    The test detects it with probability 1 - beta. Variance that a side's runs show among themselves is noise beside the
    drop. Changes between the builds may be part of the drop, as in McNemar's test; if the runs agree, the answer is the
    theta of that test. Clusters lose samples in blocks of the design effect. With `n` the run has that many samples, as
    noisy as these. A test with a `cost` needs that many times the samples of the one at a fixed n. None if not even the
    loss of every sample is detected.

    >>> from accgate.stats.answers import repeats_of
    >>> same = np.full((1319, 4), 100.0)
    >>> round(detectable_drop(repeats_of(same, same[:, :1]), alpha=0.05, beta=0.2), 3)
    0.509
    """
    samples, block = int(repeats.sizes.sum()), _block(repeats)
    pairs = int((n or samples) / cost / block)
    seen, within = (each / (samples * block) for each in (float(np.sum(repeats.totals**2)) / 1e4, repeats.flicker))
    between = max(seen - within, 0.0)

    def reached(share: float) -> bool:
        q = within + max(between, share)
        return mcnemar_power(pairs, 100.0 * share, discordance=q, alpha=alpha) >= 1.0 - beta

    if not reached(1.0):
        return None
    theta = 100.0 * halve(reached, 0.0, 1.0, share=1e-7)[1]
    if len(repeats.sizes) == samples:
        return theta
    return visible_in_clusters(repeats.sizes.astype(float), theta, alpha=alpha, beta=beta)


def _block(repeats: Repeats) -> int:
    """Return how many samples of a cluster a drop loses together.

    That is about the design effect of what was seen.
    """
    units, n = len(repeats.sizes), int(repeats.sizes.sum())
    if units == n:
        return 1
    size = n / units
    one = repeats.rate**2 * repeats.whole_loss.variance
    runs = repeats.before.shape[1] + repeats.now.shape[1]
    share = repeats.right / (runs * repeats.sizes)
    # If samples of a cluster were independent, of the runs' own shares.
    alone = float(np.sum(repeats.sizes * share * (1.0 - share))) * repeats.rate
    effect = (float(repeats.variances.sum()) + one * size) / (alone + one)
    return max(1, round(min(effect, size)))


@dataclass(frozen=True)
class Collapses:
    """The samples that collapsed, of shape (n,), with their p-value.

    `recovered` counts the samples that did the opposite, and `expected` is how many collapse by flicker alone.
    """

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
    Samples must be independent, and the reference's runs must be of one build. If its K runs were of K builds, a sample
    that one build in K + 1 gets wrong would collapse with probability 1 / (K + 1), more than either null allows.

    If K is not R, collapses and recoveries of all runs cannot be compared with each other. With K above R and most
    answers right, K right and R wrong are far likelier than K wrong and R right, in a healthy run too.

    References
    ----------
    Fisher 1935, The Design of Experiments (the permutation of answers); McNemar 1947, Psychometrika 12; Ville 1939 and
    Robbins 1970, Annals of Mathematical Statistics 41 (evidence wherever one stops).

    Examples
    --------
    Five of 100 samples collapse, and none recovers: (1 / 2) ** 5.

    >>> before, now = np.full((100, 4), 100.0), np.full((100, 3), 100.0)
    >>> now[:5] = 0.0
    >>> collapses = collapses_of(before, now)
    >>> int(collapses.lost.sum()), round(collapses.expected, 3), collapses.p_value
    (5, 0.143, 0.03125)
    """
    runs, own = before.shape[1], now.shape[1]
    answers = np.concatenate([before, now], axis=1)
    answered = ~np.isnan(answers).any(axis=1)
    lost, recovered = _moves(before, now)
    least = min(runs, own)
    worse, better = (int((answered & moved).sum()) for moved in _moves(before[:, :least], now[:, :least]))
    alike = int((answered & ((answers == 100.0).sum(axis=1) == runs)).sum())
    chance, count = 1.0 / math.comb(runs + own, runs), int(lost.sum())
    within = _collapse_tail(count, alike - count, chance, any_stop=any_stop)
    across = _collapse_tail(worse, better, 0.5, any_stop=any_stop)
    return Collapses(lost, int(recovered.sum()), alike * chance, max(within, across))


def _moves(before: Floats, now: Floats) -> tuple[Bools, Bools]:
    """Return which samples all of these runs lose, and which they recover."""
    right, right_now = ((side == 100.0).all(axis=1) for side in (before, now))
    wrong, wrong_now = ((side == 0.0).all(axis=1) for side in (before, now))
    return right & wrong_now, wrong & right_now


def _collapse_tail(count: int, others: int, chance: float, *, any_stop: bool) -> float:
    """Return the p-value of `count` losses beside `others`.

    Under H0 each of all is a loss with this chance.
    """
    if not count:
        return 1.0
    if any_stop:
        return 1.0 / max(share_evidence(others, count, 1.0 - chance), 1.0)
    return float(special.bdtrc(count - 1, count + others, chance))

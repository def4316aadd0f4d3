"""Tests of samples in clusters, such as questions on one passage."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accgate.stats import special
from accgate.stats.mcnemar import mcnemar_theta
from accgate.stats.power import detectable_effect
from accgate.stats.resampling import sign_flip
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import halve
from accgate.stats.totals import alike_result, residuals, robust_error, unit_result
from accgate.stats.walk import Floats

FEW_CLUSTERS = 30  # below some 20 to 50 the variance is estimated too small: Cameron and Miller 2015, section VI


def cluster_totals(values: npt.ArrayLike, codes: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sum the values and count the samples of each cluster.

    Clusters are in the order of their codes.

    Parameters
    ----------
    values : array of shape (n,)
        One value per sample, points.
    codes : int array of shape (n,)
        Which cluster each sample belongs to, from 0; a code that no sample has is no cluster.

    Examples
    --------
    >>> totals, sizes = cluster_totals([100.0, -100.0, -100.0], [0, 4, 4])
    >>> totals.tolist(), sizes.tolist()
    ([100.0, -200.0], [1.0, 2.0])
    """
    labels = np.asarray(codes)
    sizes = np.bincount(labels).astype(np.float64)
    totals = np.bincount(labels, weights=np.asarray(values, dtype=np.float64)).astype(np.float64)
    return totals[sizes > 0.0], sizes[sizes > 0.0]


def cluster_robust_error(differences: npt.ArrayLike, codes: npt.ArrayLike) -> float | None:
    """Estimate the mean difference's standard error (points) under clustering.

    It is sqrt(G / (G - 1) * sum over clusters of (sum of the deviations in the cluster) ** 2) / n, and None for one
    cluster.

    References
    ----------
    Liang and Zeger 1986, Biometrika 73; Miller 2024, arXiv 2411.00640 (clustered evaluations).

    Examples
    --------
    >>> round(cluster_robust_error([-100.0, -100.0, 0.0, 0.0, 100.0, 0.0], [0, 0, 1, 1, 2, 2]), 4)
    44.0959
    """
    return robust_error(*cluster_totals(differences, codes))


def design_effect(differences: npt.ArrayLike, codes: npt.ArrayLike) -> float | None:
    """Return the variance of the mean under clustering, over that of independent samples.

    It is None if there is only one cluster, or no variance.

    >>> design_effect([-100.0, -100.0, 0.0, 0.0, 100.0, 100.0], [0, 0, 1, 1, 2, 2])
    2.5
    """
    d = np.asarray(differences, dtype=np.float64)
    error = cluster_robust_error(d, codes)
    variance = float(np.var(d, ddof=1)) if len(d) > 1 else 0.0
    return None if error is None or variance == 0.0 else error**2 * len(d) / variance


def block_of(differences: npt.ArrayLike, codes: npt.ArrayLike) -> int:
    """Return the number of samples that a drop is assumed to lose together.

    That is the design effect of the observed differences, at most the mean size of a cluster.

    >>> block_of([-100.0, -100.0, 0.0, 0.0, 100.0, 100.0], [0, 0, 1, 1, 2, 2])
    2
    """
    labels = np.asarray(codes)
    size = len(labels) / len(np.unique(labels))
    return max(1, round(min(design_effect(differences, codes) or 1.0, size)))


def clustered_t(differences: npt.ArrayLike, codes: npt.ArrayLike, *, alpha: float, beta: float) -> TestResult:
    """Test one-sided by cluster-robust t that the mean difference is below 0.

    Parameters
    ----------
    differences : array of shape (n,)
        Candidate minus reference, points.
    codes : int array of shape (n,)
        Which cluster each sample belongs to, from 0.
    alpha, beta : float
        Type I and type II error rates.

    Notes
    -----
    A large cluster draws the mean towards itself, for which the standard error is corrected (CR2). Student's t has
    Satterthwaite's degrees of freedom. With G clusters of one size these are `cluster_robust_error` and G - 1; one
    cluster with nearly all samples leaves little more than 1 degree. sigma is the standard error times sqrt(n), and
    theta is larger if unequal sizes cost degrees of freedom. With one cluster p is 1. If every sample changed by the
    same amount, the answer is that of `paired_t` for G samples.

    References
    ----------
    Bell and McCaffrey 2002, Survey Methodology 28; Cameron and Miller 2015, J. Human Resources 50; Miller 2024, arXiv
    2411.00640 (clustered evaluations).

    Examples
    --------
    >>> d, codes = [-3.0, -1.0, -2.0, -4.0, 0.0, 1.0], [0, 0, 1, 1, 2, 2]
    >>> r = clustered_t(d, codes, alpha=0.05, beta=0.2)
    >>> round(r.p_value, 4), r.reasons
    (0.1431, ('3 clusters are the units of the test: under 30 the error rates are rough',))
    """
    totals, sizes = cluster_totals(differences, codes)
    n, clusters = int(sizes.sum()), len(totals)
    if not robust_error(totals, sizes):
        return _with_clusters(alike_result(totals, sizes, alpha, beta), clusters)
    difference, error, degrees = float(totals.sum()) / n, *_bias_reduced(totals, sizes)
    usual, wider = (float(special.stdtrit(each, 1.0 - alpha)) for each in (clusters - 1, degrees))
    margin = wider * error
    limits = Interval(difference + margin, (difference - margin, difference + margin))
    p_value = float(special.stdtr(degrees, difference / error))
    sigma = error * math.sqrt(n)
    theta = detectable_effect(sigma, n, alpha=alpha, beta=beta) + max(wider - usual, 0.0) * error
    result = unit_result(difference, p_value, -margin, theta, sigma, limits)
    return _with_clusters(result, clusters, degrees + 1.0)


def _bias_reduced(totals: Floats, sizes: Floats) -> tuple[float, float]:
    """Return the mean's standard error (CR2) and its degrees of freedom.

    The degrees are Satterthwaite's for samples that are in truth independent.
    """
    shares = sizes / sizes.sum()
    error = math.sqrt(float(np.sum(residuals(totals, sizes) ** 2 / (1.0 - shares)))) / float(sizes.sum())
    pulls = shares**2 / (1.0 - shares)
    return error, 1.0 / float(np.sum(shares**2) + np.sum(pulls) ** 2 - np.sum(pulls**2))


def clustered_exact(differences: npt.ArrayLike, codes: npt.ArrayLike, *, alpha: float, beta: float) -> TestResult:
    """Test clustered 0/100 scores one-sided and exactly by flipping clusters' signs.

    Parameters
    ----------
    differences : array of shape (n,)
        Candidate minus reference, points: -100, 0 or 100.
    codes, alpha, beta
        As for `clustered_t`.

    Notes
    -----
    Exact where a cluster is as likely to change by T as by -T; McNemar's test where every cluster is one sample.
    theta is that of McNemar's test with the effective number of samples in place of n, and no less than what can be
    seen at all: as many clusters have to change as a sign test needs (`visible_in_clusters`).

    References
    ----------
    Fisher 1935, The Design of Experiments; Miller 2024, arXiv 2411.00640.

    Examples
    --------
    >>> d, codes = [-100.0] * 8 + [100.0] + [0.0] * 11, [0, 0, 1, 1, 2, 2, 3, 3, 4] + [5] * 11
    >>> clustered_exact(d, codes, alpha=0.1, beta=0.2).p_value
    0.0625
    """
    d = np.asarray(differences, dtype=np.float64)
    totals, sizes = cluster_totals(d, codes)
    n, clusters = len(d), len(totals)
    result = sign_flip(totals, n, sizes=sizes, alpha=alpha, beta=beta)
    if clusters > 1:
        effect = 1.0 if clusters == n else max(design_effect(d, codes) or 1.0, 1.0)
        share = np.count_nonzero(d) / n
        theta = mcnemar_theta(int(n / effect), discordance=share, alpha=alpha, beta=beta)
        theta = visible_in_clusters(sizes, theta, alpha=alpha, beta=beta)
        if theta is not None and result.threshold is not None:
            theta = max(theta, -result.threshold)
        result = replace(result, theta=theta)
    return _with_clusters(result, clusters)


def visible_in_clusters(sizes: Floats, least: float | None, *, alpha: float, beta: float) -> float | None:
    """Find the smallest drop (points) that shows in enough clusters.

    The drop is at least `least`, and shows with probability 1 - beta. Easiest to see is a drop that loses samples
    independently, each with the same probability, and gains none. Even of that a sign test rejects nothing before
    log2(1 / alpha) clusters are lost, so a drop must be large if there are few clusters, or one large cluster and small
    ones. The answer is None if there are too few clusters, or `least` is None.

    >>> round(visible_in_clusters(np.full(5, 100.0), 1.34, alpha=0.05, beta=0.2), 2)
    3.08
    >>> visible_in_clusters(np.full(100, 5.0), 1.5, alpha=0.05, beta=0.2)
    1.5
    >>> visible_in_clusters(np.full(5, 100.0), 1.34, alpha=2.0**-5, beta=0.2) is None  # five lost reach it
    False
    """
    needed = math.ceil(-math.log2(alpha) - 1e-9)
    if least is None or len(sizes) < needed:
        return None
    values, counts = np.unique(sizes, return_counts=True)

    def chance_seen(drop: float) -> float:
        """Return the probability that at least `needed` clusters change."""
        few = np.eye(1, needed)[0]  # probability of each number of changed clusters under `needed`
        for size, count in zip(values, counts, strict=True):
            share = -math.expm1(float(size) * math.log1p(-drop / 100.0)) if drop < 100.0 else 1.0
            most = 1.0 - special.bdtrc(np.minimum(np.arange(needed), count), count, share)
            few = np.convolve(few, np.diff(most, prepend=0.0))[:needed]
        return 1.0 - float(few.sum())

    if chance_seen(least) >= 1.0 - beta - 1e-9:
        return least
    return halve(lambda drop: chance_seen(drop) >= 1.0 - beta, least, 100.0, share=1e-9)[1]


def _with_clusters(result: TestResult, clusters: int, worth: float = math.inf) -> TestResult:
    """Return the result with a reason that describes its clusters.

    Very uneven clusters carry the evidence of `worth` equal ones.
    """
    if clusters < 2:
        return replace(result, reasons=("one cluster has no variance: no drop can be seen",))
    is_uneven = worth < 0.5 * clusters
    equal = f", worth {worth:.1f} of one size" if is_uneven else ""
    is_few = (worth if is_uneven else clusters) < FEW_CLUSTERS
    rough = f": under {FEW_CLUSTERS} the error rates are rough" if is_few else ""
    return replace(result, reasons=(f"{clusters:,} clusters are the units of the test{equal}{rough}", *result.reasons))

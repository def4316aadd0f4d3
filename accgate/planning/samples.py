"""How many samples a check takes, and the drop that they can detect."""

import functools
import math
from dataclasses import dataclass, replace

from accgate.design import exact_test
from accgate.errors import BadInput
from accgate.stats.group_sequential import DISCRETENESS, LOOKS, expected_shares, group_design
from accgate.stats.gsprt import expected_samples, n_without_change
from accgate.stats.losses import flip_margins, normal_spread, t_margins, visible_drop, weighted_margins
from accgate.stats.margin import LOOKS_COST, LOOKS_EXPECTED, MARGIN_EXACTNESS
from accgate.stats.mcnemar import mcnemar_n, mcnemar_theta
from accgate.stats.names import PAIRED_TESTS, SEQUENTIAL_TESTS, TESTS
from accgate.stats.power import (
    E_PROCESS_MAXIMUM,
    GSPRT_LEAST,
    GSPRT_MAXIMUM,
    GSPRT_MORE,
    N_LIMIT,
    error_of_mean,
    one_sample_n,
    paired_binary_effect,
    paired_sd,
    quantile,
    quantile_sum,
    share_of_alpha,
    two_sample_n,
)
from accgate.stats.search import least_near
from accgate.stats.sequential import TYPICAL
from accgate.stats.unconditional import unconditional_n, unconditional_theta
from accgate.verdict.figures import Figures

COUNTED = 5_000  # pairs of other scores than 0/100 past which the normal approximation is close
ASSUMED_DISCORDANCE = 0.10  # greedy re-runs show 2 to 4%, FP8 against BF16 3 to 5%: room for worse


@dataclass(frozen=True)
class Plan:
    """The samples of a check and the drop theta that they detect, points.

    `theta` is what `n` samples detect with probability 1 - beta, None where they detect no drop. A sequential test
    takes `n` samples at most. Where `reachable` is False there are too few samples for the target. `expected_n_healthy`
    and `expected_n_dropped` are what a run takes on average when nothing changed and after a drop of theta, which is n
    in a test at a fixed n.
    """

    test: str
    n: int
    theta: float | None
    alpha: float
    beta: float
    theta_target: float | None
    discordance: float | None
    sigma: float | None
    expected_n_healthy: float
    expected_n_dropped: float
    reachable: bool


def plan(
    theta: float,
    *,
    sigma: float | None = None,
    discordance: float | None = None,
    alpha: float = 0.05,
    beta: float = 0.2,
    test: str = "auto",
    n_max: int | None = None,
    checks: int = 1,
) -> Plan:
    """Plan the samples needed to see a drop of `theta` points.

    Parameters
    ----------
    theta : float
        Drop in points that must be seen with probability 1 - beta.
    sigma : float, optional
        Standard deviation in points: of one score for two-sample and target, of the paired differences for paired, of
        scores between 0 and 100.
    discordance : float, optional
        Expected share of paired 0/100 samples that change; assumed 0.10 where neither it nor sigma is known.
    alpha, beta : float
        Type I and type II error rates.
    test : str
        `auto` is unconditional for 0/100 scores (paired past 20,000 samples), or two-sample where only sigma is given.
        The sequential tests are `gsprt`, `group-sequential` and `e-process`.
    n_max : int, optional
        Most samples there are; n is at most that.
    checks : int
        Checks of the run; the plan holds at alpha / checks.

    Raises
    ------
    BadInput
        For arguments out of range, two-sample and target without sigma, and a theta that no dataset can show.

    Examples
    --------
    >>> plan(2.0, sigma=50.0).n, plan(2.0, discordance=0.05).n
    (7729, 745)
    >>> p = plan(2.0, discordance=0.05, test="gsprt")
    >>> p.n, round(p.expected_n_healthy), round(p.expected_n_dropped)
    (1198, 384, 506)
    """
    rules = [
        ("theta", theta, math.isfinite(theta) and theta > 0, "above 0"),
        ("sigma", sigma, sigma is None or 0 <= sigma < math.inf, "0 or more"),
        ("discordance", discordance, discordance is None or 0 <= discordance <= 1, "from 0 to 1"),
        ("alpha", alpha, 0 < alpha < 0.5, "above 0 and below 0.5"),
        ("beta", beta, 0 < beta <= 0.5, "above 0 and up to 0.5"),
        ("n_max", n_max, n_max is None or n_max >= 1, "1 or more"),
        ("checks", checks, checks >= 1, "1 or more"),
    ]
    faults = [f"{name} is {value}; give a number {rule}" for name, value, ok, rule in rules if not ok]
    if test not in TESTS:
        faults.append(f"test is {test!r}; use one of {', '.join(TESTS)}")
    if faults:
        raise BadInput(*faults)
    level = share_of_alpha(alpha, "bonferroni", checks)
    if test == "auto":
        test = "two-sample" if sigma is not None and discordance is None else "unconditional"
    if test in ("two-sample", "target") and sigma is None:
        raise BadInput(f"a plan for the {test} test needs sigma, the standard deviation of one score in points")
    if test in PAIRED_TESTS and sigma is None and discordance is None:
        discordance = ASSUMED_DISCORDANCE
    assumed = Assumptions(test, level, beta, sigma, discordance)
    fixed = assumed.fixed_n(theta) or 1
    if fixed > N_LIMIT:
        raise BadInput(f"theta is {theta:g}; not even {N_LIMIT:,} samples detect so small a drop; give a larger theta")
    most, least = assumed.most_n(theta) or 1, assumed.least_n(fixed)
    n = most if n_max is None else min(most, n_max)
    if test == "unconditional":
        assumed = replace(assumed, test=exact_test(n))
    healthy, dropped = assumed.expected_n(n, theta)
    reached = assumed.theta(n, theta)
    return Plan(assumed.test, n, reached, level, beta, theta, discordance, sigma, healthy, dropped, n >= least)


def n_without_early_stopping(verdict: Figures) -> int:
    """Return the samples that a check would take without early stopping.

    They are at most those that it had. They see the same theta at the same rates, at the discordance that was planned
    for, or else at the one seen.
    """
    if verdict.stop is None or verdict.n_max is None:
        return verdict.n
    q = verdict.discordance if verdict.discordance_planned is None else verdict.discordance_planned
    if not verdict.theta_target or (q is None and verdict.sigma is None):
        return verdict.n_max
    rates, margin = (verdict.level, verdict.beta), verdict.allowed_drop or None
    assumed = Assumptions("unconditional", *rates, verdict.sigma, q, margin=margin)
    return min(_most_n(assumed, verdict.theta_target) or verdict.n_max, verdict.n_max)


@dataclass(frozen=True)
class Assumptions:
    """A test, its error rates, and the noise that samples are planned for.

    `sigma` (points) is the standard deviation of one score, of a paired test that of the differences. `discordance` is
    the share of paired 0/100 samples that change; None for other scores. `reference_n` counts the reference's samples,
    None where it has as many as the candidate. A drop of `margin` (points) is allowed, or must be ruled out, and theta
    comes on top of it. `loss` is the most points that one sample can lose, infinite where nothing bounds it.
    """

    test: str
    alpha: float
    beta: float
    sigma: float | None = None
    discordance: float | None = None
    reference_n: int | None = None
    margin: float | None = None
    loss: float = 100.0

    @property
    def is_binary(self) -> bool:
        """Whether paired scores of 0 or 100 are planned for."""
        return self.test in PAIRED_TESTS and self.discordance is not None

    @property
    def is_sequential(self) -> bool:
        """Whether the test may stop early."""
        return self.test in SEQUENTIAL_TESTS

    def fixed_n(self, theta: float) -> int | None:
        """Return the samples that the test needs at a fixed n.

        A sequential test needs those of the paired test. None where the reference has so few samples that no number is
        enough.

        Raises
        ------
        BadInput
            For a theta that scores of 0 to 100 cannot drop by.
        """
        if self.discordance is None or not self.is_binary:
            assert self.sigma is not None
            if self.test in PAIRED_TESTS:
                return _graded_n(replace(self, reference_n=None), theta)
            if self.test != "two-sample":
                return one_sample_n(theta, sd=self.sigma, alpha=self.alpha, beta=self.beta)
            return two_sample_n(theta, sigma=self.sigma, alpha=self.alpha, beta=self.beta, reference_n=self.reference_n)
        if theta > 100.0:
            raise BadInput(f"theta is {theta:g}; scores of 0 to 100 cannot drop by more than 100 points")
        n = mcnemar_n(theta, discordance=self.discordance, alpha=self.alpha, beta=self.beta)
        if self.test != "unconditional" or exact_test(n) != self.test:
            return n
        return unconditional_n(theta, discordance=self.discordance, alpha=self.alpha, beta=self.beta)

    def normal_n(self, theta: float) -> int:
        """Return what the paired test needs by the normal approximation, which loads no scipy.

        For scores other than 0/100 the drop is one that all samples share, which adds nothing to their spread.
        """
        sd = self.sigma or 0.0
        if self.discordance is not None:
            sd = paired_sd(self.discordance, (self.margin or 0.0) + theta)
        return one_sample_n(theta, sd=sd, alpha=self.alpha, beta=self.beta)

    def most_n(self, theta: float) -> int | None:
        """Return the most samples that the test is planned with. It is None where no number is enough."""
        if self.margin is not None and self.is_binary:
            return math.ceil(self.normal_n(theta) * self._cost)
        if (fixed := self.fixed_n(theta)) is None:
            return None
        return math.ceil(GSPRT_MAXIMUM * fixed) + GSPRT_MORE if self.test == "gsprt" else self.least_n(fixed)

    def least_n(self, fixed: int) -> int:
        """Return the fewest samples that give the test its power.

        `fixed` samples are what the test at a fixed n needs.
        """
        return math.ceil(self._cost * fixed)

    @property
    def _cost(self) -> float:
        """Samples the test needs for its power, times those of the fixed-n test."""
        if self.margin is not None:
            if not self.is_binary:  # such scores have no early stop with a margin
                return 1.0
            return MARGIN_EXACTNESS * (LOOKS_COST if self.is_sequential else 1.0)
        if self.test == "group-sequential":
            return DISCRETENESS * group_design(LOOKS, self.alpha, self.beta).inflation
        return {"gsprt": GSPRT_LEAST, "e-process": E_PROCESS_MAXIMUM}.get(self.test, 1.0)

    def theta(self, n: int, target: float | None = None) -> float | None:
        """Return the drop in points that `n` samples detect.

        They detect it with probability 1 - beta. It is None where they detect none. It is exact for 0/100 scores at a
        known discordance. A sequential test, whose bounds are drawn for its `target`, detects no smaller drop.
        """
        theta = self._theta_at(n / self._cost)
        return theta if theta is None or not self.is_sequential else max(theta, target or 0.0)

    def _theta_at(self, n: float) -> float | None:
        """Return the drop that a test at a fixed n detects."""
        rates = {"alpha": self.alpha, "beta": self.beta}
        if self.discordance is None or not self.is_binary:
            least = quantile_sum(**rates) * self.error(n)
            return self._of_whole_losses(n, least) if self.test in PAIRED_TESTS and math.isfinite(self.loss) else least
        if self.margin is not None:
            return paired_binary_effect(self.discordance, n, margin=self.margin, **rates)
        theta_of = unconditional_theta if self.test == "unconditional" else mcnemar_theta
        return theta_of(int(n), discordance=self.discordance, **rates)

    def _of_whole_losses(self, n: float, least: float) -> float | None:
        """Return the drop of whole losses that a test by the spread detects.

        The spread is that of the differences. It is `least` or more. None where the test detects none.
        """
        assert self.sigma is not None
        if n > COUNTED:  # theta^2 = k^2 (sigma^2 + loss (margin + theta)) / n, as `_graded_n` has it
            share = quantile_sum(self.alpha, self.beta) ** 2 / n
            middle, rest = 0.5 * share * self.loss, share * (self.sigma**2 + self.loss * (self.margin or 0.0))
            return middle + math.sqrt(middle * middle + rest)
        spread = normal_spread(max(int(n), 1), self.sigma, loss=self.loss, allowed=self.margin or 0.0)
        tests = [weighted_margins(-quantile(self.alpha))]
        if self.test == "paired":  # which also stands for a test that only the run's scores will choose
            tests.append(t_margins(self.alpha))
        elif self.test in ("permutation", "e-process"):
            tests = [flip_margins(self.alpha)]
        for margins in tests:
            seen = visible_drop(spread, margins, beta=self.beta)
            if seen is None:
                return None
            least = max(least, seen)
        return least

    def error(self, n: float) -> float:
        """Return the standard error (points) of the tested difference.

        It is planned as `Verdict.error` is at a fixed n.
        """
        if self.discordance is not None and self.is_binary:
            return error_of_mean(paired_sd(self.discordance), n)
        assert self.sigma is not None
        return error_of_mean(self.sigma, n, (self.reference_n or n) if self.test == "two-sample" else None)

    def expected_n(self, n: int, theta: float) -> tuple[float, float]:
        """Return the mean samples when nothing changed and after a drop.

        `n` samples are planned, and the drop is theta. They are mostly within a tenth of the simulated means, and
        within a fifth where few samples change (benchmarks/decisions.py prints both).
        """
        if not self.is_sequential:
            return float(n), float(n)
        if self.margin is not None:
            return LOOKS_EXPECTED[0] * n, LOOKS_EXPECTED[1] * n
        if self.test == "group-sequential" and self.discordance is not None:
            healthy, dropped = expected_shares(LOOKS, self.alpha, self.beta)
            return healthy * n, dropped * n
        rates = {"alpha": self.alpha, "beta": self.beta}
        if self.test == "gsprt" and self.discordance is not None:
            return expected_samples(n, theta, discordance=self.discordance, **rates)
        # How far the bounds of runs lie beyond Wald's, as log likelihood ratios of runs that pass and that fail.
        extra_pass, extra_fail = 0.7 + max(0.0, self.beta - 0.2), 0.7
        if self.test == "e-process":
            extra_pass, extra_fail = 0.75 if self.discordance is None else 0.35, 0.6
        passes, fails = extra_pass - math.log(self.beta), extra_fail + math.log((1.0 - self.beta) / self.alpha)
        scale = 2.0 * self.normal_n(theta) / quantile_sum(**rates) ** 2  # Wald's approximation
        healthy = scale * ((1.0 - self.alpha) * passes - self.alpha * fails)
        if not self.is_binary and math.isfinite(self.loss):  # fewer samples show no whole losses, and none passes
            healthy = max(healthy, n_without_change(theta, beta=self.beta, loss=self.loss))
        dropped = scale * ((1.0 - self.beta) * fails - self.beta * passes)
        return min(max(healthy, 1.0), float(n)), min(max(dropped, 1.0), float(n))


_most_n = functools.cache(Assumptions.most_n)  # reports ask again and again


@functools.lru_cache(maxsize=256)
def _graded_n(assumed: Assumptions, theta: float) -> int:
    """Return the pairs at which a test of graded scores detects theta.

    Graded scores are others than 0 and 100. Past some thousands of pairs the number is rough.
    """
    assert assumed.sigma is not None
    if not math.isfinite(assumed.loss):
        return assumed.normal_n(theta)
    sd = math.sqrt(assumed.sigma**2 + assumed.loss * ((assumed.margin or 0.0) + theta))
    normal = one_sample_n(theta, sd=sd, alpha=assumed.alpha, beta=assumed.beta)
    if normal > COUNTED:
        return normal

    def reaches(n: int) -> bool:
        seen = assumed._theta_at(n)
        return seen is not None and seen <= theta

    return least_near(reaches, normal, normal)


def visible_theta(n: int, discordance: float | None, alpha: float, beta: float) -> float | None:
    """Return the drop that a sequential test looks for without a target.

    It is for 0/100 scores, and None where n samples show no drop.
    """
    q = TYPICAL if discordance is None else discordance
    return mcnemar_theta(int(n / GSPRT_MAXIMUM), discordance=q, alpha=alpha, beta=beta)

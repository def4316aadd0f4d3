"""How many samples a check takes, and the drop that they can detect."""

from __future__ import annotations

import math
from dataclasses import dataclass

from accgate.design import Design, exact_test
from accgate.errors import BadInput
from accgate.stats import (
    GSPRT_MAXIMUM,
    N_LIMIT,
    PAIRED_TESTS,
    SEQUENTIAL_TESTS,
    TESTS,
    error_of_mean,
    one_sample_n,
    paired_binary_effect,
    paired_sd,
    quantile_sum,
    share_of_alpha,
    two_sample_n,
)
from accgate.stats.power import E_PROCESS_MAXIMUM, GSPRT_LEAST, GSPRT_MORE

ASSUMED_DISCORDANCE = 0.10  # greedy re-runs show 2 to 4%, FP8 against BF16 3 to 5%: room for worse


@dataclass(frozen=True)
class Plan:
    """The samples of a check and the drop theta that they detect, points.

    `theta` is what `n` samples detect with probability 1 - beta, None where no drop is; of a sequential test `n` is the
    most it takes. Where `reachable` is False the target cannot be reached with the samples there are.
    `expected_n_healthy` and `expected_n_dropped` are what a run takes on average when nothing changed and after a drop
    of theta: n itself in a fixed-n test.
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
    """The samples needed to see a drop of `theta` points.

    Parameters
    ----------
    theta : float
        Drop in points that must be seen with probability 1 - beta.
    sigma : float, optional
        Standard deviation in points: of one score for two-sample and target, of the paired differences for paired.
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
    (1198, 402, 508)
    """
    _check_arguments(theta, sigma, discordance, alpha, beta, test, n_max, checks)
    level = share_of_alpha(alpha, "bonferroni", checks)
    if test == "auto":
        test = "two-sample" if sigma is not None and discordance is None else "unconditional"
    if test in ("two-sample", "target") and sigma is None:
        raise BadInput(f"a plan for the {test} test needs sigma, the standard deviation of one score in points")
    if test in PAIRED_TESTS and sigma is None and discordance is None:
        discordance = ASSUMED_DISCORDANCE
    fixed = fixed_n(test, theta, sigma=sigma, discordance=discordance, alpha=level, beta=beta)
    if fixed > N_LIMIT:
        raise BadInput(f"theta is {theta:g}; not even {N_LIMIT:,} samples detect so small a drop, write more")
    most, least = maximum_n(test, fixed, alpha=level, beta=beta)
    n = most if n_max is None else min(most, n_max)
    test = exact_test(n) if test == "unconditional" else test
    reached = achieved_theta(test, n, sigma=sigma, discordance=discordance, alpha=level, beta=beta)
    if test in SEQUENTIAL_TESTS and reached is not None:  # its bounds are drawn for the target
        reached = max(reached, theta)
    ideal = normal_n(theta, sigma=sigma, discordance=discordance, alpha=level, beta=beta)
    share = None if discordance is None else theta / 100.0 / max(discordance, theta / 100.0)
    healthy, dropped = expected_n(test, n, fixed, ideal, alpha=level, beta=beta, drop_share=share)
    return Plan(test, n, reached, level, beta, theta, discordance, sigma, healthy, dropped, n >= least)


def _check_arguments(
    theta: float,
    sigma: float | None,
    discordance: float | None,
    alpha: float,
    beta: float,
    test: str,
    n_max: int | None,
    checks: int,
) -> None:
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


def fixed_n(
    test: str, theta: float, *, sigma: float | None, discordance: float | None, alpha: float, beta: float
) -> int:
    """Samples that a test at a fixed n needs; of a sequential test, those of the paired test."""
    if test == "two-sample":
        assert sigma is not None
        return two_sample_n(theta, sigma=sigma, alpha=alpha, beta=beta) or 1
    if discordance is not None and test in PAIRED_TESTS:
        if theta > 100.0:
            raise BadInput(f"theta is {theta:g}; scores of 0 to 100 cannot drop by more than 100 points")
        from accgate.stats.mcnemar import mcnemar_n
        from accgate.stats.unconditional import unconditional_n

        n = mcnemar_n(theta, discordance=discordance, alpha=alpha, beta=beta)
        if test != "unconditional" or exact_test(n) != test:
            return n
        return unconditional_n(theta, discordance=discordance, alpha=alpha, beta=beta)
    assert sigma is not None
    return one_sample_n(theta, sd=sigma, alpha=alpha, beta=beta)


def normal_n(theta: float, *, sigma: float | None, discordance: float | None, alpha: float, beta: float) -> int:
    """Samples that the paired test needs by the normal approximation, which loads no scipy."""
    if discordance is not None:
        sigma = paired_sd(discordance, theta)
    return one_sample_n(theta, sd=sigma or 0.0, alpha=alpha, beta=beta)


def margin_n(
    theta: float, design: Design, test: str, *, sigma: float | None, discordance: float | None, alpha: float
) -> int:
    """Most samples that a paired check takes which allows a drop, or must prove that there is none."""
    from accgate.stats.margin import LOOKS_COST, MARGIN_EXACTNESS

    if discordance is None:
        return one_sample_n(theta, sd=sigma or 0.0, alpha=alpha, beta=design.beta)
    sd = paired_sd(discordance, design.allowed_drop + theta)
    fixed = MARGIN_EXACTNESS * one_sample_n(theta, sd=sd, alpha=alpha, beta=design.beta)
    return math.ceil(fixed * (LOOKS_COST if test in SEQUENTIAL_TESTS else 1.0))


def maximum_n(test: str, fixed: int, *, alpha: float, beta: float) -> tuple[int, int]:
    """(most samples that a test is planned with, fewest that give its power), from those of the fixed-n test."""
    if test == "gsprt":
        return math.ceil(GSPRT_MAXIMUM * fixed) + GSPRT_MORE, math.ceil(GSPRT_LEAST * fixed)
    cost = _cost(test, alpha, beta)
    return math.ceil(cost * fixed), math.ceil(cost * fixed)


def _cost(test: str, alpha: float, beta: float) -> float:
    """Samples a test needs for its power, times those of the fixed-n test."""
    if test == "gsprt":
        return GSPRT_LEAST
    if test == "group-sequential":
        from accgate.stats import LOOKS, group_design
        from accgate.stats.group_sequential import DISCRETENESS

        return DISCRETENESS * group_design(LOOKS, alpha, beta).inflation
    return E_PROCESS_MAXIMUM if test == "e-process" else 1.0


def expected_n(
    test: str, n: int, fixed: int, ideal: int, *, alpha: float, beta: float, drop_share: float | None
) -> tuple[float, float]:
    """Mean samples when nothing changed and after a drop of theta, of `n` planned.

    `fixed` is what the fixed-n test needs, `ideal` the same by the normal approximation, `drop_share` the share of
    theta among all changes of 0/100 scores, None for other scores.

    For `gsprt` and `e-process` Wald's approximation, with bounds as these tests have them: mostly within a
    tenth of the simulated means, a fifth where few samples change (benchmarks/decisions.py prints both).
    """
    if test not in SEQUENTIAL_TESTS:
        return float(n), float(n)
    if test == "group-sequential" and drop_share is not None:
        from accgate.stats import LOOKS
        from accgate.stats.group_sequential import expected_shares

        healthy, dropped = expected_shares(LOOKS, alpha, beta)
        return healthy * n, dropped * n
    short, extra_pass, extra_fail = 0.0, 0.35, 0.6
    if test == "gsprt" and drop_share is not None:
        short = max(0.0, GSPRT_MAXIMUM - n / fixed)
        extra_pass, extra_fail = 0.9 * drop_share - 0.12 + max(0.0, beta - 0.2), drop_share - 0.17
    elif test != "e-process":  # other scores are decided later
        extra_pass, extra_fail = 0.7 + max(0.0, beta - 0.2), 0.7
    elif drop_share is None:
        extra_pass += 0.4
    passes = -math.log(beta) + extra_pass + 1.1 * short
    fails = math.log((1.0 - beta) / alpha) + extra_fail + 0.1 * short
    scale = 2.0 * ideal / quantile_sum(alpha, beta) ** 2
    healthy = scale * ((1.0 - alpha) * passes - alpha * fails)
    dropped = scale * ((1.0 - beta) * fails - beta * passes)
    return min(max(healthy, 1.0), float(n)), min(max(dropped, 1.0), float(n))


def achieved_theta(
    test: str,
    n: int,
    *,
    sigma: float | None,
    discordance: float | None,
    alpha: float,
    beta: float,
    reference_n: int | None = None,
    margin: float | None = None,
) -> float | None:
    """Drop in points that `n` samples detect with probability 1 - beta, None where none is.

    Exact for 0/100 scores at a known discordance. `reference_n` is n where unset. With a `margin` it is what a drop
    exceeds that by.
    """
    if margin is not None and test in PAIRED_TESTS and discordance is not None:
        from accgate.stats.margin import LOOKS_COST, MARGIN_EXACTNESS

        n_fixed = n / (MARGIN_EXACTNESS * (LOOKS_COST if test in SEQUENTIAL_TESTS else 1.0))
        return paired_binary_effect(discordance, n_fixed, margin=margin, alpha=alpha, beta=beta)
    n_fixed = n / (1.0 if margin is not None else _cost(test, alpha, beta))
    if test in PAIRED_TESTS and discordance is not None:
        from accgate.stats import mcnemar_theta
        from accgate.stats.unconditional import unconditional_theta

        theta_of = unconditional_theta if test == "unconditional" else mcnemar_theta
        return theta_of(int(n_fixed), discordance=discordance, alpha=alpha, beta=beta)
    return quantile_sum(alpha, beta) * standard_error(
        test, n_fixed, sigma=sigma, discordance=discordance, reference_n=reference_n
    )


def standard_error(
    test: str, n: float, *, sigma: float | None, discordance: float | None, reference_n: int | None = None
) -> float:
    """Standard error in points of the difference that a test looks at; `reference_n` is n where unset.

    It is that of `Verdict.error` at a fixed n, with the planned figures.
    """
    if test in PAIRED_TESTS and discordance is not None:
        return error_of_mean(paired_sd(discordance), n)
    assert sigma is not None
    return error_of_mean(sigma, n, (reference_n or n) if test == "two-sample" else None)

"""What the test that was chosen for a check says of its evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.stopping import sequential_test
from accgate.design import FEWEST_CLUSTERS, Choice, Mean, Method, Target, choose_test
from accgate.records.scores import Floats, Scores
from accgate.stats.bootstrap import weighted_bootstrap
from accgate.stats.clusters import block_of, cluster_totals, clustered_exact, clustered_t
from accgate.stats.losses import (
    Margins,
    Spread,
    flip_margins,
    spread_of_units,
    t_margins,
    weighted_margins,
    with_unseen,
)
from accgate.stats.margin import margin_p, margin_test
from accgate.stats.paired import mcnemar_exact, mcnemar_p, paired_t
from accgate.stats.power import quantile
from accgate.stats.repeats import repeats_exact, sum_tails
from accgate.stats.resampling import sign_flip
from accgate.stats.result import TestResult, move
from accgate.stats.sequential import SequentialResult
from accgate.stats.statistics import StatisticUndefined, Unsigned, statistic_test
from accgate.stats.unconditional import unconditional_exact, unconditional_rejects
from accgate.stats.unpaired import Moments, student_t, target_z, two_sample_z, welch_t
from accgate.verdict import Reason


@dataclass(frozen=True)
class Outcome:
    """What a test says of the first `n` samples, higher better.

    Without a result `notes` say why there is none. With one they add to it, such as why no early stop was possible.
    """

    test: str
    n: int
    result: TestResult | None
    notes: tuple[Reason, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether there is a result, and it is final."""
        result = self.result
        return result is not None and not (isinstance(result, SequentialResult) and result.open)

    def directed(self, higher_is_better: bool) -> TestResult | None:
        """Return the result in the direction of the metric."""
        return self.result if self.result is None or higher_is_better else self.result.negate()

    @property
    def rejects(self) -> bool:
        """Whether the test finds a regression."""
        result = self.result
        return result is not None and result.threshold is not None and result.difference < result.threshold


def outcome_of(evidence: Evidence, alpha: float) -> Outcome:
    """Return what the chosen test says at one alpha."""
    n, choice = evidence.candidate.n, evidence.choice
    if evidence.statistic is not None:
        return _of_statistic(evidence, alpha)
    test = sequential_test(evidence, alpha)
    if test is None:
        return _at_fixed_n(evidence, alpha)
    result = test.result()
    notes = (Reason.of("too-few-evaluated", n=n, n_max=result.n_max),) if result.open else ()
    return Outcome(choice.test, result.n, result, notes)


def possible_failure(evidence: Evidence, alpha: float) -> tuple[bool, float]:
    """Return whether such evidence fails the check or leaves it open, and the p-value."""
    test = sequential_test(evidence, alpha)
    if test is not None:
        return test.standing.open or test.standing.stop == "regression", test.standing.p_value
    outcome = _at_fixed_n(evidence, alpha)
    assert outcome.result is not None
    return outcome.rejects, outcome.result.p_value


def fails(evidence: Evidence, alpha: float, n: int) -> bool:
    """Tell whether paired scores are a regression by their first n samples."""
    if (test := sequential_test(evidence, alpha)) is not None:
        standing = test.standing
        return standing.stop == "regression" and not standing.open and standing.n <= n
    quick = FAILS.get(_fixed_choice(evidence).method)
    return _at_fixed_n(evidence, alpha).rejects if quick is None else quick(evidence, alpha)


def _fixed_choice(evidence: Evidence) -> Choice:
    """Choose the test at a fixed n. A sequential test may have too few samples to look for a drop."""
    choice = evidence.choice
    return choose_test(evidence.design.at_fixed_n(), evidence.data) if choice.is_sequential else choice


def _at_fixed_n(evidence: Evidence, alpha: float) -> Outcome:
    choice = _fixed_choice(evidence)
    notes = () if choice.obstacle is None else (Reason.of(choice.obstacle, fewest=FEWEST_CLUSTERS),)
    return Outcome(choice.test, evidence.candidate.n, METHODS[choice.method](evidence, alpha), notes)


def _of_statistic(evidence: Evidence, alpha: float) -> Outcome:
    statistic, design = evidence.statistic, evidence.design
    assert statistic is not None
    outcome = Outcome(evidence.choice.test, evidence.candidate.n, None)
    try:
        result = statistic_test(
            statistic.reference,
            statistic.candidate,
            evidence.value_of,
            alpha=alpha,
            beta=design.beta,
            clusters=evidence.clusters,
            method=statistic.method,
            turn=statistic.function.turn if isinstance(statistic.function, Unsigned) else None,
            resamples=statistic.resamples,
            seed=design.seed,
        )
    except StatisticUndefined as fact:
        return replace(outcome, notes=(Reason.of("undefined", fact=str(fact)),))
    sd = 0.0 if result.sigma is None else result.sigma
    return replace(outcome, result=_by_moments(evidence, result, sd, 0.0, alpha))


def _unpaired(evidence: Evidence, alpha: float) -> TestResult:
    """Make the unpaired test at the declared sigma, else Student's or Welch's test."""
    design, reference, rates = evidence.design, evidence.reference, _rates(evidence, alpha)
    mean, own, n = _moments(evidence, evidence.candidate)
    now = Moments(mean + design.allowed_drop, own, n)
    if isinstance(reference, Target):
        target = evidence.better(reference.mean)
        if design.sigma is None:
            return _by_moments(evidence, student_t(now, target, **rates), own, 0.0, alpha)
        return _moved(evidence, target_z(now.mean, n, target, sigma=design.sigma, **rates))
    if isinstance(reference, Mean):
        sd = own if reference.sigma is None else reference.sigma
        before = Moments(evidence.better(reference.mean), sd, reference.n)
    else:
        before = _moments(evidence, reference)
    if design.sigma is not None:
        return _moved(evidence, two_sample_z(now.mean, n, before.mean, before.n, sigma=design.sigma, **rates))
    return _by_moments(evidence, welch_t(now, before, **rates), own, before.sd * before.sd / before.n, alpha)


def _by_moments(evidence: Evidence, result: TestResult, own: float, other: float, alpha: float) -> TestResult:
    """Correct a test's result for losses that its standard deviations cannot show.

    `own` is the samples' standard deviation, and `other` the variance of the other side's mean.
    """
    n, design = evidence.candidate.n, evidence.design
    squares = own * own * max(n - 1, 1)
    spread = Spread(n, n, squares, loss=evidence.loss, allowed=design.allowed_drop, other=other)
    return _moved(evidence, with_unseen(result, spread, t_margins(alpha), alpha=alpha, beta=design.beta))


def _moments(evidence: Evidence, scores: Scores) -> Moments:
    """Return the moments of the samples' scores, higher better."""
    values = scores.means()
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Moments(evidence.better(float(np.mean(values))), sd, len(values))


def _clustered(evidence: Evidence, alpha: float) -> TestResult:
    assert evidence.clusters is not None
    return clustered_exact(evidence.differences, evidence.clusters, alpha=alpha, beta=evidence.design.beta)


def _t(evidence: Evidence, alpha: float) -> TestResult:
    differences, codes, rates = _differences(evidence), evidence.clusters, _rates(evidence, alpha)
    result = paired_t(differences, **rates) if codes is None else clustered_t(differences, codes, **rates)
    return _by_spread(evidence, result, t_margins(alpha), alpha)


def _sign_flip(evidence: Evidence, alpha: float) -> TestResult:
    (totals, sizes), n, design = _totals(evidence), evidence.candidate.n, evidence.design
    result = sign_flip(totals, n, sizes=sizes, alpha=alpha, beta=design.beta, seed=design.seed)
    if result.p_mid is not None:  # it is McNemar's exact test
        return _moved(evidence, result)
    return _by_spread(evidence, result, flip_margins(alpha), alpha)


def _bootstrap(evidence: Evidence, alpha: float) -> TestResult:
    (totals, sizes), n = _totals(evidence), evidence.candidate.n
    result = weighted_bootstrap(totals, n, sizes=sizes, alpha=alpha, beta=evidence.design.beta)
    return _by_spread(evidence, result, weighted_margins(-quantile(alpha)), alpha)


def _by_spread(evidence: Evidence, result: TestResult, margins: Margins, alpha: float) -> TestResult:
    """Correct a test by the spread of the differences for unseen losses."""
    totals, sizes = _totals(evidence)
    block = 1 if evidence.clusters is None else block_of(evidence.differences, evidence.clusters)
    spread = spread_of_units(totals, sizes, loss=evidence.loss, block=block, allowed=evidence.design.allowed_drop)
    result = with_unseen(result, spread, margins, (totals, sizes), alpha=alpha, beta=evidence.design.beta)
    return _moved(evidence, result)


METHODS: Mapping[Method, Callable[[Evidence, float], TestResult]] = {
    "two-sample": _unpaired,
    "target": _unpaired,
    "mcnemar": lambda e, alpha: mcnemar_exact(*_changes(e), alpha=alpha, beta=e.design.beta),
    "unconditional": lambda e, alpha: unconditional_exact(*_changes(e), alpha=alpha, beta=e.design.beta),
    "margin": lambda e, alpha: margin_test(*_changes(e), margin=e.design.allowed_drop, alpha=alpha, beta=e.design.beta),
    "repeats": lambda e, alpha: repeats_exact(e.repeats, **_rates(e, alpha)),
    "t": _t,
    "clustered": _clustered,
    "clustered-t": _t,
    "sign-flip": _sign_flip,
    "bootstrap": _bootstrap,
}
# The decision alone, of tests whose figures take long: gamma asks for it hundreds of times.
FAILS: Mapping[Method, Callable[[Evidence, float], bool]] = {
    "mcnemar": lambda e, alpha: mcnemar_p(_changes(e)[0], sum(_changes(e)[:2])) <= alpha,
    "unconditional": lambda e, alpha: unconditional_rejects(*_changes(e), alpha=alpha),
    "margin": lambda e, alpha: margin_p(*_changes(e), e.design.allowed_drop, alpha) <= alpha,
    "repeats": lambda e, alpha: sum_tails(e.repeats)[0] <= alpha,
}


def _rates(evidence: Evidence, alpha: float) -> dict[str, float]:
    return {"alpha": alpha, "beta": evidence.design.beta}


def _changes(evidence: Evidence) -> tuple[int, int, int]:
    """Count the samples that were lost, that were gained, and all."""
    differences = evidence.differences
    return int((differences < 0).sum()), int((differences > 0).sum()), len(differences)


def _differences(evidence: Evidence) -> Floats:
    return evidence.differences + evidence.design.allowed_drop


def _totals(evidence: Evidence) -> tuple[Floats, Floats]:
    """Return the sum of each unit's differences and its number of samples.

    Units are sorted, so that the order of the samples changes nothing.
    """
    differences, codes = _differences(evidence), evidence.clusters
    totals, sizes = cluster_totals(differences, np.arange(len(differences)) if codes is None else codes)
    order = np.lexsort((sizes, totals))
    return totals[order], sizes[order]


def _moved(evidence: Evidence, result: TestResult) -> TestResult:
    """Take the allowed drop out of a test's result again.

    The drop was added to each difference before the test.
    """
    return move(result, -evidence.design.allowed_drop)

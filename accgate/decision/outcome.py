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

    Without a result `notes` say why there is none; else they say what it does not, as why no early stop was possible.
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
    is_failed = _fails_quickly(evidence, alpha)
    return _at_fixed_n(evidence, alpha).rejects if is_failed is None else is_failed


def _fixed_choice(evidence: Evidence) -> Choice:
    """Choose the test at a fixed n.

    It may be of so few samples that a sequential one has no drop to look for.
    """
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
    """Make the unpaired test at the declared sigma.

    Where none is declared it is Student's or Welch's.
    """
    design, reference = evidence.design, evidence.reference
    rates = {"alpha": alpha, "beta": design.beta}
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
    """Make a test that knows the samples' standard deviation alone.

    It knows the variance of another side, too.
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


def _mcnemar(evidence: Evidence, alpha: float) -> TestResult:
    return mcnemar_exact(*_changes(evidence), alpha=alpha, beta=evidence.design.beta)


def _unconditional(evidence: Evidence, alpha: float) -> TestResult:
    return unconditional_exact(*_changes(evidence), alpha=alpha, beta=evidence.design.beta)


def _margin(evidence: Evidence, alpha: float) -> TestResult:
    design = evidence.design
    return margin_test(*_changes(evidence), margin=design.allowed_drop, alpha=alpha, beta=design.beta)


def _repeats(evidence: Evidence, alpha: float) -> TestResult:
    return repeats_exact(evidence.repeats, alpha=alpha, beta=evidence.design.beta)


def _t(evidence: Evidence, alpha: float) -> TestResult:
    result = paired_t(_differences(evidence), alpha=alpha, beta=evidence.design.beta)
    return _by_spread(evidence, result, t_margins(alpha), alpha)


def _clustered(evidence: Evidence, alpha: float) -> TestResult:
    assert evidence.clusters is not None
    return clustered_exact(evidence.differences, evidence.clusters, alpha=alpha, beta=evidence.design.beta)


def _clustered_t(evidence: Evidence, alpha: float) -> TestResult:
    assert evidence.clusters is not None
    result = clustered_t(_differences(evidence), evidence.clusters, alpha=alpha, beta=evidence.design.beta)
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
    """Make a test that goes by the spread of the differences.

    It has room for losses that they do not show.
    """
    totals, sizes = _totals(evidence)
    block = 1 if evidence.clusters is None else block_of(evidence.differences, evidence.clusters)
    spread = spread_of_units(totals, sizes, loss=evidence.loss, block=block, allowed=evidence.design.allowed_drop)
    result = with_unseen(result, spread, margins, (totals, sizes), alpha=alpha, beta=evidence.design.beta)
    return _moved(evidence, result)


METHODS: Mapping[Method, Callable[[Evidence, float], TestResult]] = {
    "two-sample": _unpaired,
    "target": _unpaired,
    "mcnemar": _mcnemar,
    "unconditional": _unconditional,
    "margin": _margin,
    "repeats": _repeats,
    "t": _t,
    "clustered": _clustered,
    "clustered-t": _clustered_t,
    "sign-flip": _sign_flip,
    "bootstrap": _bootstrap,
}


def _fails_quickly(evidence: Evidence, alpha: float) -> bool | None:
    """Make the decision alone, of tests whose figures take long.

    None for others.
    """
    method = _fixed_choice(evidence).method
    if method == "repeats":
        return sum_tails(evidence.repeats)[0] <= alpha
    if method == "unconditional":
        return unconditional_rejects(*_changes(evidence), alpha=alpha)
    if method == "margin":
        return margin_p(*_changes(evidence), evidence.design.allowed_drop, alpha) <= alpha
    if method == "mcnemar":
        lost, gained, _ = _changes(evidence)
        return mcnemar_p(lost, lost + gained) <= alpha
    return None


def _changes(evidence: Evidence) -> tuple[int, int, int]:
    """Count how many samples were lost and gained, of how many."""
    differences = evidence.differences
    return int((differences < 0).sum()), int((differences > 0).sum()), len(differences)


def _differences(evidence: Evidence) -> Floats:
    return evidence.differences + evidence.design.allowed_drop


def _totals(evidence: Evidence) -> tuple[Floats, Floats]:
    """Return the sum of each unit's differences and its samples.

    They are sorted so that the order of the samples changes nothing.
    """
    differences, codes = _differences(evidence), evidence.clusters
    totals, sizes = cluster_totals(differences, np.arange(len(differences)) if codes is None else codes)
    order = np.lexsort((sizes, totals))
    return totals[order], sizes[order]


def _moved(evidence: Evidence, result: TestResult) -> TestResult:
    """Move a result back to the differences.

    It was computed with the allowed drop added to each.
    """
    return move(result, -evidence.design.allowed_drop)

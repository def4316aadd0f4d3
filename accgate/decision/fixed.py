"""The tests of a paired check at a fixed n, one for each way in which a choice computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.design import Choice, Method
from accgate.records import Floats
from accgate.stats import TestResult, mcnemar_exact, move
from accgate.stats.paired import paired_t


def fixed_test(evidence: Evidence, choice: Choice, alpha: float) -> TestResult:
    """Return the result of the test that was chosen at a fixed n.

    Scores other than single ones of 0 or 100, and clusters, are tested with the allowed drop added to each difference.
    """
    return TESTS[choice.method](evidence, alpha)


def _mcnemar(evidence: Evidence, alpha: float) -> TestResult:
    return mcnemar_exact(*_changes(evidence), alpha=alpha, beta=evidence.design.beta)


def _unconditional(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats.unconditional import unconditional_exact

    return unconditional_exact(*_changes(evidence), alpha=alpha, beta=evidence.design.beta)


def _margin(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats.margin import margin_test

    design = evidence.design
    return margin_test(*_changes(evidence), margin=design.allowed_drop, alpha=alpha, beta=design.beta)


def _repeats(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats import repeats_exact

    return repeats_exact(evidence.repeats, alpha=alpha, beta=evidence.design.beta)


def _t(evidence: Evidence, alpha: float) -> TestResult:
    return _moved(evidence, paired_t(_differences(evidence), alpha=alpha, beta=evidence.design.beta))


def _clustered(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats.clusters import clustered_exact

    assert evidence.clusters is not None
    return clustered_exact(evidence.differences, evidence.clusters, alpha=alpha, beta=evidence.design.beta)


def _clustered_t(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats.clusters import clustered_t

    assert evidence.clusters is not None
    result = clustered_t(_differences(evidence), evidence.clusters, alpha=alpha, beta=evidence.design.beta)
    return _moved(evidence, result)


def _sign_flip(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats.resampling import sign_flip

    (totals, sizes), n, design = _totals(evidence), evidence.candidate.n, evidence.design
    return _moved(evidence, sign_flip(totals, n, sizes=sizes, alpha=alpha, beta=design.beta, seed=design.seed))


def _bootstrap(evidence: Evidence, alpha: float) -> TestResult:
    from accgate.stats import weighted_bootstrap

    (totals, sizes), n = _totals(evidence), evidence.candidate.n
    return _moved(evidence, weighted_bootstrap(totals, n, sizes=sizes, alpha=alpha, beta=evidence.design.beta))


TESTS: Mapping[Method, Callable[[Evidence, float], TestResult]] = {
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


def _changes(evidence: Evidence) -> tuple[int, int, int]:
    """How many samples were lost and gained, of how many."""
    differences = evidence.differences
    return int((differences < 0).sum()), int((differences > 0).sum()), len(differences)


def _differences(evidence: Evidence) -> Floats:
    return evidence.differences + evidence.design.allowed_drop


def _totals(evidence: Evidence) -> tuple[Floats, Floats]:
    """The sum of each unit's differences and its samples, sorted so that the order of the samples changes nothing."""
    from accgate.stats.clusters import cluster_totals

    differences, codes = _differences(evidence), evidence.clusters
    totals, sizes = cluster_totals(differences, np.arange(len(differences)) if codes is None else codes)
    order = np.lexsort((sizes, totals))
    return totals[order], sizes[order]


def _moved(evidence: Evidence, result: TestResult) -> TestResult:
    """The result about the differences, where it was computed with the allowed drop added to each."""
    margin = evidence.design.allowed_drop
    return move(result, -margin) if margin else result

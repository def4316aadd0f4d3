"""The test of a paired check at a fixed n."""

from __future__ import annotations

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.sequential import repeats_in
from accgate.design import FEWEST_CLUSTERS, sequential_test
from accgate.errors import BadInput
from accgate.records import Floats, Scores
from accgate.stats import MOST_PAIRS, TestName, TestResult, mcnemar_exact, move
from accgate.stats.paired import paired_t
from accgate.verdict import Reason

Named = tuple[TestResult, TestName]


def fixed_test(evidence: Evidence, difference: Floats, alpha: float) -> tuple[TestResult, TestName, tuple[Reason, ...]]:
    """The result at a fixed n, the test's name, and why a check that asked for an early stop has none.

    `difference` is candidate - reference of each sample, points, higher better. Scores other than 0/100, and clusters,
    are tested with the allowed drop added to each difference.

    Raises
    ------
    BadInput
        For the unconditional test of other scores.
    """
    assert isinstance(evidence.reference, Scores)
    design, margin = evidence.design, evidence.design.allowed_drop
    test = design.test
    notes: tuple[Reason, ...] = ()
    if sequential_test(design, evidence.reference) is not None:
        test, notes = "auto", _why_not_early(evidence)
    is_binary = evidence.answers == (1, 1) and evidence.candidate.is_binary and evidence.reference.is_binary
    is_exact = is_binary and evidence.clusters is None
    if test == "unconditional" and not is_exact:
        raise BadInput("the unconditional test needs one score of 0 or 100 of each sample, and no clusters; use auto")
    if is_exact and test not in ("permutation", "bootstrap"):
        return *_exact(difference, test, margin, alpha, design.beta), notes
    repeats = repeats_in(evidence) if test in ("auto", "paired") and not margin else None
    if repeats is not None:
        from accgate.stats import repeats_exact

        return repeats_exact(repeats, alpha=alpha, beta=design.beta), "paired", notes
    result, test = _other(evidence, difference + margin, test, alpha, is_binary=is_binary and not margin)
    return move(result, -margin) if margin else result, test, notes


def _why_not_early(evidence: Evidence) -> tuple[Reason, ...]:
    codes = evidence.clusters
    if codes is not None and len(np.unique(codes)) < FEWEST_CLUSTERS:
        return (Reason.of("few-clusters", fewest=FEWEST_CLUSTERS),)
    if evidence.design.has_looks:
        return (Reason.of("no-looks"),)
    return ()


def _exact(difference: Floats, test: TestName, margin: float, alpha: float, beta: float) -> Named:
    """The exact tests of single samples scored 0 or 100."""
    lost, gained, n = int((difference < 0).sum()), int((difference > 0).sum()), len(difference)
    if margin:
        from accgate.stats.margin import margin_test

        return margin_test(lost, gained, n, margin=margin, alpha=alpha, beta=beta), "paired"
    if test in ("auto", "unconditional") and n <= MOST_PAIRS:
        from accgate.stats.unconditional import unconditional_exact

        return unconditional_exact(lost, gained, n, alpha=alpha, beta=beta), "unconditional"
    return mcnemar_exact(lost, gained, n, alpha=alpha, beta=beta), "paired"


def _other(evidence: Evidence, difference: Floats, test: TestName, alpha: float, *, is_binary: bool) -> Named:
    """The tests of scores other than 0/100, and of clusters."""
    codes, beta = evidence.clusters, evidence.design.beta
    if test in ("permutation", "bootstrap") or (test == "auto" and not is_binary):
        from accgate.stats import weighted_bootstrap
        from accgate.stats.clusters import cluster_totals
        from accgate.stats.resampling import choose_paired_test, sign_flip

        totals, sizes = cluster_totals(difference, np.arange(len(difference)) if codes is None else codes)
        order = np.lexsort((sizes, totals))  # so that the order of the samples changes nothing
        totals, sizes, n = totals[order], sizes[order], len(difference)
        test = choose_paired_test(len(totals)) if test == "auto" else test
        if test == "bootstrap":
            return weighted_bootstrap(totals, n, sizes=sizes, alpha=alpha, beta=beta), test
        return sign_flip(totals, n, sizes=sizes, alpha=alpha, beta=beta, seed=evidence.design.seed), test
    if codes is None:
        return paired_t(difference, alpha=alpha, beta=beta), "paired"
    from accgate.stats.clusters import clustered_exact, clustered_t

    clustered = clustered_exact if is_binary else clustered_t
    return clustered(difference, codes, alpha=alpha, beta=beta), "paired"

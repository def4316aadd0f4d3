"""Statistics over repeated answers to one question.

The statistics are pass@k and majority vote.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from accgate.metrics.aggregates.base import Aggregate, Floats, Rows, Side, Tables, UnusableRecords, value


def pass_at_k_estimate(n: int, c: int, k: int) -> float:
    """Estimate without bias that at least one of k answers is right.

    With c of n answers right this is 1 - C(n-c, k) / C(n, k), as a share and not in points. Source: Chen et al. 2021,
    arXiv 2107.03374.

    >>> pass_at_k_estimate(5, 1, 2)
    0.4
    """
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))  # no binomial coefficient overflows


def _estimates(k: int, right: float, sides: Sequence[Side]) -> Tables:
    rows = []
    for side in sides:
        _check_repeats(side, k)
        share = side.per_sample((side.numbers("score") >= right).astype(np.float64))
        correct = np.round(share * side.counts).astype(int).tolist()
        cells = zip(side.counts.tolist(), correct, strict=True)
        rows.append(np.array([[100.0 * pass_at_k_estimate(n, c, k)] for n, c in cells]))
    return tuple(rows)


def _check_repeats(side: Side, k: int) -> None:
    few = np.flatnonzero(side.counts < k)
    if len(few):
        fault = f"{len(few)} of {len(side.ids)} samples have fewer than k = {k} answers"
        example = f"such as sample {side.ids[few[0]]!r} with {side.counts[few[0]]}"
        raise UnusableRecords(f"{side.name}: {fault}, {example}; give the task repeats = {k} or more")


def _mean(rows: Rows) -> float:
    return float(rows[:, 0].mean())


def pass_at_k(*, k: int = 1, right: float = 100.0) -> Aggregate:
    """Average the unbiased estimate that one of k answers is right."""
    if k < 1:
        raise ValueError("k must be 1 or more")
    return Aggregate("pass_at_k", ("score",), partial(_estimates, k, right), _mean, True)


def _votes(k: int, sides: Sequence[Side]) -> Tables:
    rows = []
    for side in sides:
        _check_repeats(side, max(k, 1))
        scores, texts, start, means = side.numbers("score"), side.texts("answer"), 0, []
        for count in side.counts.tolist():
            voters = range(start, start + (k or count))
            start += count
            votes = [i for i in voters if value(side.records[i], "answer") is not None]
            means.append([_majority(votes, voters, texts, scores)])
        rows.append(np.array(means))
    return tuple(rows)


def _majority(votes: Sequence[int], voters: Sequence[int], texts: Sequence[str], scores: Floats) -> float:
    """Return the score of the commonest answer, the mean over tied ones.

    Tied answers give the mean of their scores. Without any vote this is the mean score.
    """
    if not votes:
        return float(scores[list(voters)].mean())
    parties: dict[str, list[Any]] = defaultdict(list)
    for i in votes:
        parties[texts[i]].append(scores[i])
    most = max(map(len, parties.values()))
    return float(np.mean([np.mean(party) for party in parties.values() if len(party) == most]))


def majority_vote(*, k: int = 0) -> Aggregate:
    """Average the score of each sample's commonest answer.

    Only the first k answers of a sample vote; with k = 0 all do.
    """
    if k < 0:
        raise ValueError("k must be 1 or more, or 0 for all")
    return Aggregate("majority_vote", ("score", "answer"), partial(_votes, k), _mean, True)

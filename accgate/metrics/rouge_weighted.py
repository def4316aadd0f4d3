"""ROUGE-W: a common subsequence in which words in a row count for more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from accgate.metrics.shares import Matched


def weighted_lcs(answer: Sequence[str], target: Sequence[str], weight: float) -> Matched:
    """ROUGE-W's shares of two lists of tokens, with f(k) = k ** weight for k words in a row.

    `shared` is f^-1(WLCS / f(target)) of the target and so on: precision and recall are Lin's equations 14 and 13. Time
    grows with the product of both lengths.

    Source: Lin 2004, section 3.3; the table is the paper's, which is greedy where weight is above 1.

    >>> one = weighted_lcs(list("ABCDHIK"), list("ABCDEFG"), 2.0)
    >>> round(one.recall, 3)
    0.571
    """
    run_of = [float(k) ** weight for k in range(min(len(answer), len(target)) + 2)]
    inside = set(target)
    scores, runs = [0.0] * (len(target) + 1), [0] * (len(target) + 1)
    for token in answer:
        if token not in inside:
            scores, runs = list(accumulate(scores, max)), [0] * len(runs)
            continue
        before, ended = 0.0, 0  # the cells above to the left
        left = 0.0
        for column, other in enumerate(target, 1):
            above, run = scores[column], runs[column]
            if token == other:
                left = before + run_of[ended + 1] - run_of[ended]
                runs[column] = ended + 1
            else:
                left = max(above, left)
                runs[column] = 0
            scores[column] = left
            before, ended = above, run
    # a sum of differences is rounded at each; to 9 digits a text has all of itself
    shared = round(scores[-1] ** (1 / weight), 9)
    return Matched(shared, len(answer), len(target))

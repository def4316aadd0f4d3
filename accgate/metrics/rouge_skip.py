"""ROUGE-S and ROUGE-SU: pairs of words in their order, with other words between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from accgate.metrics.shares import Matched, in_common


def skip_bigrams(answer: Sequence[str], target: Sequence[str], skip: int | None, *, unigrams: bool = False) -> Matched:
    """ROUGE-S's counts of two lists of tokens: pairs with at most `skip` tokens between, of any distance for None.

    With `unigrams` ROUGE-SU's: every single token counts too.

    Source: Lin 2004, section 5.

    >>> skip_bigrams("police kill the gunman".split(), "police killed the gunman".split(), None)
    Matched(shared=3, answer=6, target=6)
    """
    common = {token: code for code, token in enumerate(sorted(set(answer) & set(target)))}
    ours, theirs = (np.array([common.get(token, -1) for token in side], int) for side in (answer, target))
    shared = 0
    for first in range(len(common)):  # a row of the pairs' table at a time, since all of it may not fit in memory
        shared += int(np.minimum(*(_seconds(side, first, len(common), skip) for side in (ours, theirs))).sum())
    sizes = [_pairs(len(side), skip) for side in (answer, target)]
    if unigrams:
        shared += in_common(answer, target)
        sizes = [pairs + len(side) for pairs, side in zip(sizes, (answer, target), strict=True)]
    return Matched(shared, *sizes)


def _seconds(codes: npt.NDArray[np.int64], first: int, kinds: int, skip: int | None) -> npt.NDArray[np.int64]:
    """How often each token comes after the first within the distance."""
    seen = np.concatenate(([0], np.cumsum(codes == first)))  # seen[i]: among the i tokens before position i
    before = seen[:-1].copy()
    if skip is not None:
        before[skip + 1 :] -= seen[: -skip - 2]
    known = codes >= 0
    return np.bincount(codes[known], weights=before[known], minlength=kinds).astype(np.int64)


def _pairs(length: int, skip: int | None) -> int:
    """Number of pairs of positions with at most `skip` others between."""
    widest = max(length - 1 if skip is None else min(skip + 1, length - 1), 0)
    return widest * length - widest * (widest + 1) // 2

"""Noisy binary search: which of the commits in a row lost the answers, from replies that may flicker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accgate.stats import special
from accgate.stats.walk import Floats

SLIP = 0.03  # chance that an answer which the culprit decides comes out the other way all the same
# The share of the lost answers that come and go whatever the commit is not known: these, each as probable beforehand.
FLICKERING = np.linspace(0.05, 0.95, 10)


@dataclass(frozen=True)
class Asked:
    """One sample's answers: at commit `places[i]` (0 is the good one) it was `right[i]`."""

    places: tuple[int, ...]
    right: tuple[bool, ...]


def culprit_posterior(samples: Sequence[Asked], commits: int) -> tuple[Floats, Floats]:
    """The probability of each commit to be the first bad one, and of each sample to be decided by it.

    Parameters
    ----------
    samples : sequence of Asked
        The answers to each sample so far, those of the good and the bad commit included.
    commits : int
        Number of commits after the good one, the bad one included.

    Returns
    -------
    array of shape (commits,)
        That commit 1, 2, ... is the first bad one.
    array of shape (n,)
        That a sample's answers follow the culprit, and do not flicker with a chance of their own.

    Notes
    -----
    A sample that follows the culprit is right before it and wrong from it on, but for slips; one that flickers is right
    with a chance of its own, uniform beforehand. Samples are independent given the culprit and the share of them that
    flickers, uniform beforehand too: a fixed share would make a few answers too sure where most flicker.

    References
    ----------
    Burnashev and Zigangirov 1974, Problems of Information Transmission 10; Karp and Kleinberg 2007, SODA.

    Examples
    --------
    >>> one = Asked((0, 8, 4), (True, False, True))
    >>> chances, _ = culprit_posterior([one] * 6, 8)
    >>> int(chances.argmax()) + 1, round(float(chances[4:].sum()), 3)
    (5, 0.987)
    """
    first_bad = np.arange(1, commits + 1)
    decided = np.empty((len(samples), 1, commits))
    flickers = np.empty((len(samples), 1, 1))
    for row, sample in enumerate(samples):
        places, right = np.array(sample.places)[:, None], np.array(sample.right)[:, None]
        hits = np.sum((places < first_bad) == right, axis=0)
        decided[row, 0] = hits * math.log(1.0 - SLIP) + (len(sample.places) - hits) * math.log(SLIP)
        rights = sum(sample.right)
        wrongs = len(sample.right) - rights
        # One right and one wrong answer are why the sample was chosen; they tell nothing of whether it flickers.
        chosen = special.betaln(1.0 + min(rights, 1), 1.0 + min(wrongs, 1))
        flickers[row] = float(special.betaln(rights + 1.0, wrongs + 1.0) - chosen)
    share = FLICKERING[:, None]
    decided = decided + np.log1p(-share)  # by sample, share and commit
    either = np.logaddexp(decided, flickers + np.log(share))
    total = either.sum(axis=0)
    joint = np.exp(total - total.max())
    joint /= joint.sum()
    return joint.sum(axis=0), np.einsum("isc,sc->i", np.exp(decided - either), joint)


def next_place(chances: Floats, skipped: frozenset[int]) -> int | None:
    """The commit to ask next: the one that splits the probability most evenly; None where none tells anything.

    Asking commit j tells whether the culprit is at most j. Those of `skipped` cannot be asked, nor need the last.

    >>> next_place(np.array([0.1, 0.1, 0.6, 0.1, 0.1]), frozenset())
    2
    """
    below = np.cumsum(chances)[:-1]
    open_ = [place for place in range(1, len(chances)) if place not in skipped and 1e-6 < below[place - 1] < 1.0 - 1e-6]
    return min(open_, key=lambda place: abs(float(below[place - 1]) - 0.5), default=None)

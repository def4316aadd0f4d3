"""Names of the tests and corrections, and sizes that decide between tests.

This module imports no numpy, so that reading a config is fast.
"""

from typing import Literal

TestName = Literal[
    "auto", "two-sample", "target", "paired", "unconditional", "permutation", "bootstrap", "gsprt", "group-sequential",
    "e-process",
]  # fmt: skip
SEQUENTIAL_TESTS: tuple[TestName, ...] = ("gsprt", "group-sequential", "e-process")
PAIRED_TESTS: tuple[TestName, ...] = ("paired", "unconditional", "permutation", "bootstrap", *SEQUENTIAL_TESTS)
TESTS: tuple[TestName, ...] = ("auto", "two-sample", "target", *PAIRED_TESTS)
DEFAULT_SEQUENTIAL: TestName = "gsprt"
Correction = Literal["none", "bonferroni", "holm", "bh"]
MOST_PAIRS = 20_000  # past them McNemar's exact test loses under a hundredth of its samples to discreteness
# With fewer units of graded scores sign flips decide, which are exact if the sides are exchangeable. If gains are rarer
# and larger than losses they hold no error rate; the bootstrap does once it sees some gains (benchmarks/shapes.py).
FEWEST_UNITS = 50
TEST_WORDS = {  # what a test is called in a sentence
    "paired": "a paired test of the same samples",
    "unconditional": "an exact unconditional test of the same samples",
    "permutation": "a sign-flip permutation test of the same samples",
    "bootstrap": "a studentised bootstrap of the same samples",
    "gsprt": "a sequential probability ratio test of the same samples",
    "group-sequential": "a group-sequential test of the same samples",
    "e-process": "a test by betting on the same samples",
    "two-sample": "a two-sample test of the means",
    "target": "a test of the mean against the target",
    "influence": "a test of each sample's influence on the statistic",
    "overall": "an exact test of all changed samples of its checks together",
}
_CANCELS = "Both sides answered the same samples, so each is compared with itself, and its difficulty cancels."
TEST_REASONS = {  # why it suits the data
    "paired": _CANCELS,
    "unconditional": _CANCELS,
    "permutation": "Both sides answered the same samples; the signs of their differences are flipped at random.",
    "bootstrap": "Both sides answered the same samples; their differences get random weights, which suits any shape.",
    "gsprt": "Both sides answered the same samples. After each, a drop of theta is compared with no drop.",
    "group-sequential": "Both sides answered the same samples, which are tested a few times as they arrive.",
    "e-process": "Both sides answered the same samples; a bet on a drop grows with the evidence for it.",
    "two-sample": "Only the reference's mean is known, so the noise of both means counts.",
    "target": "The mean is compared with a fixed number, so only its own noise counts.",
    "influence": "Both sides answered the same samples; the contribution of each to the statistic is compared.",
    "overall": "It detects a small drop in every check that no check detects alone; each sample has the same weight.",
}

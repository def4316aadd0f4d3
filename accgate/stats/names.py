"""Names of the tests and corrections; apart from the functions, so that reading a config loads no numpy."""

from __future__ import annotations

from typing import Literal

TestName = Literal[
    "auto", "two-sample", "target", "paired", "permutation", "bootstrap", "gsprt", "group-sequential", "e-process"
]
AVAILABLE_TESTS: tuple[TestName, ...] = ("auto", "two-sample", "target", "paired")
Correction = Literal["none", "bonferroni", "holm", "bh"]

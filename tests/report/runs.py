"""Verdicts and runs of the tests of reports."""

from dataclasses import replace
from typing import Any

from accgate.errors import exit_code, worst
from accgate.result import Result
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict


def verdict_of(name: str = "pass", **keys: Any) -> Verdict:
    plain = Verdict(
        "m", "t", name, "paired", 100, ReferenceSummary(75.0, 100), CandidateSummary(70.0, 100), 0.05, 0.2,
        difference=-5.0, alpha_applied=0.05, theta=3.0, gamma=72.5, p_value=0.01, p_adjusted=0.02,
        discordance=0.05, lost=5, gained=0,
    )  # fmt: skip
    return replace(plain, **keys)


def result_of(*verdicts: Verdict) -> Result:
    names = [verdict.verdict for verdict in verdicts]
    return Result(worst(names), exit_code(names), verdicts, accgate="0.1.0")

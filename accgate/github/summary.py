"""A run in one line and in one JSON object, for whoever reads the action's outputs."""

from __future__ import annotations

from typing import Any

from accgate.github.outcome import Outcome
from accgate.guard import Guard
from accgate.report import headline_of
from accgate.text import visible
from accgate.verdict import Verdict

TITLE = 200  # characters
REASONS, REASON = 5, 300  # how many, of how many characters


def title_of(outcome: Outcome, guard: Guard | None, *, advisory: bool = False) -> str:
    """What came of the run, in one sentence on one line; plain text."""
    if outcome.cancelled:
        return "Cancelled: no verdict."
    code = None if outcome.failure is None else outcome.failure.exit_code
    text = visible(headline_of(outcome.result, guard=guard, exit_code=code, advisory=advisory).text)
    return text if len(text) <= TITLE else text[: TITLE - 1].rstrip() + "…"


def json_of(outcome: Outcome, guard: Guard | None) -> dict[str, Any]:
    """Every check with its figures, and the guard; a figure that does not exist is None. Points throughout."""
    result = outcome.result
    return {
        "verdict": outcome.verdict,
        "exit_code": outcome.exit_code,
        "rules": None if result is None else result.rules,
        "guard": None if guard is None else _guard(guard),
        "checks": [] if result is None else [_check(verdict) for verdict in result.checks],
        "samples": None if result is None else result.samples,
        "tokens": None if result is None else result.prompt_tokens + result.completion_tokens,
        "seconds": None if result is None else result.seconds,
    }


def _guard(guard: Guard) -> dict[str, Any]:
    changes = [{"rule": c.rule, "base": c.base, "head": c.head, "effect": c.effect} for c in guard.changes]
    return {"state": guard.state, "holds": guard.holds, "approved_by": guard.approved_by, "changes": changes}


def _check(verdict: Verdict) -> dict[str, Any]:
    keys = (
        "model", "task", "verdict", "is_new", "test", "n", "difference", "gamma", "theta", "theta_target", "p_value",
        "p_adjusted", "alpha", "beta", "lost", "gained",
    )  # fmt: skip
    means = {"reference": verdict.reference.mean, "mean": verdict.candidate.mean, "errors": verdict.candidate.errors}
    reasons = [reason[:REASON] for reason in verdict.reasons[:REASONS]]
    return {key: getattr(verdict, key) for key in keys} | means | {"reasons": reasons}

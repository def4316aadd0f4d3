"""The verdict by a pull request's own rules, once somebody approved that they are looser than the base's."""

from __future__ import annotations

from dataclasses import replace

from accgate.config import load_config
from accgate.errors import exit_code, worst
from accgate.github.outcome import Outcome
from accgate.github.trees import Trees
from accgate.guard import Guard
from accgate.result import Result
from accgate.verdict import Verdict


def by_rules_in_force(outcome: Outcome, guard: Guard | None, trees: Trees) -> Outcome:
    """The outcome by the rules that count: the base's, or the pull request's own where their change was approved.

    Without this nobody could ever accept a lower reference: the base's would go on judging it.
    """
    if outcome.result is None or outcome.result.rules != "base" or guard is None or guard.state != "approved":
        return outcome
    return replace(outcome, result=_by_own_rules(outcome.result, trees))


def _by_own_rules(result: Result, trees: Trees) -> Result:
    """A result with the own rules' verdict where they have one; checks that they no longer make are gone."""
    head = load_config(trees.head_config)
    own = {(v.model, v.task): v for v in result.beside if v.test is not None}
    kept = {*head.pairs()}
    checks, beside = [], []
    for verdict in result.checks:
        pair = verdict.model, verdict.task
        if pair in own:
            checks.append(own[pair])
            beside.append(verdict)
        elif verdict.is_new or pair in kept:
            checks.append(_with_reason(verdict, result))
        else:
            beside.append(verdict)
    names = [verdict.verdict for verdict in checks]
    code = exit_code(names, inconclusive_passes=head.gate.on_inconclusive == "warn")
    return replace(
        result, checks=tuple(checks), beside=tuple(beside), verdict=worst(names), exit_code=code, rules="approved",
        correction=head.gate.correction, on_inconclusive=head.gate.on_inconclusive,
    )  # fmt: skip


def _with_reason(verdict: Verdict, result: Result) -> Verdict:
    """A check that the own rules could not decide stays with the base's, and says why."""
    found = [v for v in result.beside if (v.model, v.task) == (verdict.model, verdict.task)]
    if not found:
        return verdict
    return replace(verdict, reasons=(*verdict.reasons, f"judged by the base's rules: {'; '.join(found[0].reasons)}"))

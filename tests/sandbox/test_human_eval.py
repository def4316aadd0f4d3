"""HumanEval whole: its canonical solutions pass, and of mutants we say what its own checker says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from accgate.sandbox.limits import Outcome
from accgate.sandbox.process import Confinement
from accgate.sandbox.runner import Sandbox
from tests.sandbox.human_eval import mutants, official, problems


def outcomes(programs: Sequence[str], confined: Confinement) -> list[Outcome]:
    async def run() -> list[Outcome]:
        async with Sandbox(confinement=confined) as sandbox:
            return await asyncio.gather(*(sandbox.passes(program) for program in programs))

    return asyncio.run(run())


def test_every_canonical_solution_passes(confined: Confinement) -> None:
    found = outcomes([problem.program() for problem in problems()], confined)
    assert len(found) == 164
    assert [outcome for outcome in found if not outcome.passed] == []


def compared(number: int, confined: Confinement) -> None:
    cases = mutants(number)
    ours = outcomes([problem.program(answer) for problem, answer in cases], confined)
    theirs = official(cases)
    different = [
        (outcome.reason, said, answer)
        for outcome, said, (_, answer) in zip(ours, theirs, cases, strict=True)
        if outcome.passed != (said == "passed")
    ]
    assert different == []
    assert 0.02 < sum(outcome.passed for outcome in ours) / number < 0.5


@pytest.mark.interop
def test_hundreds_of_mutants_have_the_verdict_of_human_evals_own_checker(confined: Confinement) -> None:
    compared(400, confined)


def test_some_mutants_have_the_verdict_of_human_evals_own_checker(confined: Confinement) -> None:
    compared(30, confined)

"""HumanEval whole: its canonical solutions pass, and of mutants we say what its own checker says."""

import pytest

from accgate.sandbox.assertions import without_literals
from accgate.sandbox.process import Confinement, Limits
from accgate.sandbox.runner import Sandbox
from tests.sandbox.conftest import outcomes
from tests.sandbox.human_eval import mutants, official, problems

# Some solutions take most of a second on a quiet machine, and several times that beside others.
UNHURRIED = Limits(seconds=60.0)


@pytest.mark.slow
def test_every_canonical_solution_passes(confined: Confinement) -> None:
    found = outcomes(Sandbox(UNHURRIED), [problem.parts() for problem in problems()])
    assert len(found) == 164
    assert [outcome for outcome in found if not outcome.passed] == []


def test_the_results_of_nearly_all_problems_stay_outside_the_programs_process() -> None:
    tests = [without_literals(problem.parts()[1]) for problem in problems()]
    taken = [each.assertions for each in tests if each is not None]
    assert (len(taken), sum(map(bool, taken)), sum(map(len, taken))) == (164, 155, 1081)


def test_a_solution_and_its_tests_in_one_unit_pass_too(confined: Confinement) -> None:
    programs = [("".join(problem.parts()),) for problem in problems()[:20]]
    assert all(outcome.passed for outcome in outcomes(Sandbox(UNHURRIED), programs))


@pytest.mark.interop
def test_mutants_have_the_verdict_of_human_evals_own_checker(confined: Confinement) -> None:
    cases = mutants(120)
    limits = Limits(seconds=0.5, wall_seconds=300.0)  # some never end
    ours = outcomes(Sandbox(limits), [problem.parts(answer) for problem, answer in cases])
    seconds = [0.5 if outcome.reason.startswith("timed out") else 60.0 for outcome in ours]
    theirs = official([(*case, patience) for case, patience in zip(cases, seconds, strict=True)])
    assert 0 < seconds.count(0.5) < 10
    different = [
        (outcome.reason, said, answer)
        for outcome, said, (_, answer) in zip(ours, theirs, cases, strict=True)
        if outcome.passed != (said == "passed")
    ]
    assert different == []
    assert 0.02 < sum(outcome.passed for outcome in ours) / 120 < 0.5

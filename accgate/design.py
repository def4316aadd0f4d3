"""What a check asks for: the error rates and test of its design, and the kinds of reference."""

from __future__ import annotations

from dataclasses import dataclass

from accgate.errors import BadInput
from accgate.stats.names import TestName


@dataclass(frozen=True)
class Mean:
    """A reference of which only the mean (points) and the number of samples are known."""

    mean: float
    n: int


@dataclass(frozen=True)
class Target:
    """An absolute mean (points) that must hold."""

    mean: float


@dataclass(frozen=True)
class Design:
    """The error rates and the test that the user chose for a check; sigma and theta in points."""

    test: TestName = "auto"
    alpha: float = 0.05
    beta: float = 0.2
    sigma: float | None = None
    theta: float | None = None
    higher_is_better: bool = True


def chosen_test(test: TestName, reference: object) -> TestName:
    """The test that `auto` stands for: paired where per-sample reference scores exist.

    Raises
    ------
    BadInput
        When the test asked for does not fit what is known of the reference.
    """
    if isinstance(reference, Target):
        natural: TestName = "target"
    else:
        natural = "two-sample" if isinstance(reference, Mean) else "paired"
    if test in ("auto", natural):
        return natural
    if test == "two-sample" and not isinstance(reference, Target):
        return test
    needs = {"paired": "the reference's score of each sample", "target": "an absolute target"}
    raise BadInput(f"the {test} test needs {needs.get(test, 'a reference')}; use {natural}, or auto")

"""What a check asks for: the error rates and test of its design, and the kinds of reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from accgate.errors import BadInput
from accgate.stats import DEFAULT_SEQUENTIAL, PAIRED_TESTS, SEQUENTIAL_TESTS, TESTS, TestName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Figure = TypeVar("Figure", float, npt.NDArray[np.float64])

FEWEST_CLUSTERS = 30  # under which there is no early stop


@dataclass(frozen=True)
class Mean:
    """A reference of which only the mean, the number of samples and maybe the standard deviation are known."""

    mean: float
    n: int
    sigma: float | None = None


@dataclass(frozen=True)
class Target:
    """An absolute mean (points) that must hold."""

    mean: float


@dataclass(frozen=True)
class Design:
    """The error rates and the test that the user chose for a check; sigma and theta in points.

    `discordance` is the share of samples expected to change. With `early_stopping` a paired `auto` test is
    sequential.
    """

    test: TestName = "auto"
    alpha: float = 0.05
    beta: float = 0.2
    sigma: float | None = None
    theta: float | None = None
    higher_is_better: bool = True
    discordance: float | None = None
    early_stopping: bool = False
    seed: int = 0


def oriented(value: Figure, higher_is_better: bool) -> Figure:
    """A mean, a difference or an array of them (points), turned so that higher is better.

    The only place that knows the sign of a lower-is-better metric. Turned twice, a value is itself again.

    >>> oriented(-2.0, True), oriented(-2.0, False)
    (-2.0, 2.0)
    """
    return value if higher_is_better else 0.0 - value  # never -0.0, which prints with a sign


def choose_test(test: TestName, reference: object) -> TestName:
    """The test to use with this reference; `auto` is paired where the reference has a score of each sample.

    Raises
    ------
    BadInput
        When the reference lacks what the test needs.
    """
    if test not in TESTS:
        raise BadInput(f"test is {test!r}; use one of {', '.join(TESTS)}")
    if isinstance(reference, Target):
        natural: TestName = "target"
    else:
        natural = "two-sample" if isinstance(reference, Mean) else "paired"
    if test in ("auto", natural) or (test in PAIRED_TESTS and natural == "paired"):
        return natural if test == "auto" else test
    if test == "two-sample" and not isinstance(reference, Target):
        return test
    needs = {"two-sample": "a reference", "target": "an absolute target"}
    needed = needs.get(test, "the reference's score of each sample")
    raise BadInput(f"the {test} test needs {needed}; use {natural}, or auto")


def sequential_test(design: Design, reference: object) -> TestName | None:
    """The sequential test that a design asks for with this reference; None for a test at a fixed n."""
    test = choose_test(design.test, reference)
    if test in SEQUENTIAL_TESTS:
        return test
    return DEFAULT_SEQUENTIAL if design.early_stopping and design.test == "auto" and test == "paired" else None

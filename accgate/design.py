"""What a check asks for: the error rates and test of its design, and the kinds of reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from accgate.errors import BadInput
from accgate.stats import PAIRED_TESTS, SEQUENTIAL_TESTS, TESTS, TestName
from accgate.stats.names import DEFAULT_SEQUENTIAL

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
    sequential. H0 allows a drop of `allowed_drop`, and `theta` is what H1 exceeds it by. With `certify` a pass must
    prove by its 1 - alpha bound that the drop is less than both together.
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
    allowed_drop: float = 0.0
    certify: bool = False

    @property
    def has_looks(self) -> bool:
        """Whether an early stop is decided at the looks of the exact test with a margin."""
        return self.allowed_drop > 0.0 or self.certify


def allowed_points(value: float | str, mean: float | None) -> float:
    """An allowed drop in points: a number of them, or a percentage of the reference's mean.

    Without a mean it is the percentage of 100 points.

    Raises
    ------
    BadInput
        For anything else than a number of 0 or more, or such a number with %.

    >>> allowed_points(0.5, 80.0), allowed_points("1%", 80.0)
    (0.5, 0.8)
    """
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise BadInput(f'allowed_drop is {value!r}; give points of 0 or more, or a percentage such as "1%"')
    return number / 100.0 * abs(100.0 if mean is None else mean) if text.endswith("%") else number


def allowed_share(value: str) -> float:
    """The share by which a cost may grow, from a percentage.

    Raises
    ------
    BadInput
        For anything else than a percentage of 0 or more.

    >>> allowed_share("10%")
    0.1
    """
    text = value.strip()
    try:
        number = float(text.removesuffix("%")) if text.endswith("%") else math.nan
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise BadInput(f'is {value!r}; give a percentage of 0 or more, such as "10%"')
    return number / 100.0


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
    if not (design.early_stopping and design.test == "auto" and test == "paired"):
        return None
    return "group-sequential" if design.has_looks else DEFAULT_SEQUENTIAL

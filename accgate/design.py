"""What a user asks of a check, and which test decides it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from accgate.errors import BadInput, Tier
from accgate.stats.names import (
    DEFAULT_SEQUENTIAL,
    FEWEST_UNITS,
    MOST_PAIRS,
    PAIRED_TESTS,
    SEQUENTIAL_TESTS,
    TESTS,
    TestName,
)
from accgate.text import drop_word

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Figure = TypeVar("Figure", float, npt.NDArray[np.float64])

FEWEST_CLUSTERS = 30  # under which there is no early stop


@dataclass(frozen=True)
class Mean:
    """A reference of which only the mean is known, and its size.

    sigma is the standard deviation of one score, if known.
    """

    mean: float
    n: int
    sigma: float | None = None


@dataclass(frozen=True)
class Target:
    """An absolute mean (points) that must hold."""

    mean: float


@dataclass(frozen=True)
class Design:
    """The error rates and the test that the user chose for a check.

    sigma and theta are in points. `discordance` is the share of samples expected to change. With `early_stopping` a
    paired `auto` test is sequential. H0 allows a drop of `allowed_drop`, and `theta` is what H1 exceeds it by. With
    `certify` a run passes only if its 1 - alpha bound excludes a drop of both together. A check of the `tier` advisory
    fails no run. `group_alpha` is the alpha that all groups share, and `drift_alpha` that of the decline since the
    anchor; None if these are only reported.
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
    tier: Tier = "required"
    group_alpha: float | None = None
    drift_alpha: float | None = None

    @property
    def drop(self) -> str:
        """What a change for the worse is called.

        It is a drop, or a rise if lower is better.
        """
        return drop_word(self.higher_is_better)

    @property
    def may_stop_early(self) -> bool:
        """Whether the user asked for an early stop of a paired check."""
        return self.test in SEQUENTIAL_TESTS or (self.early_stopping and self.test == "auto")

    def at_fixed_n(self) -> Design:
        """Return the same design without an early stop."""
        return replace(self, test="auto", early_stopping=False)

    @property
    def statistic_method(self) -> Literal["influence", "bootstrap"]:
        """How a statistic that is not a mean of scores is tested."""
        return "bootstrap" if self.test == "bootstrap" else "influence"

    @property
    def has_looks(self) -> bool:
        """Whether an early stop is decided at looks.

        They are those of the exact test with a margin.
        """
        return self.allowed_drop > 0.0 or self.certify


def allowed_points(value: float | str, mean: float | None) -> float:
    """Read an allowed drop, points or a percentage of the reference's mean, as points.

    Without a mean it is the percentage of 100 points.

    Raises
    ------
    BadInput
        For anything else than a number of 0 or more, or such a number with %.

    >>> allowed_points(0.5, 80.0), allowed_points("1%", 80.0)
    (0.5, 0.8)
    """
    text = str(value).strip()
    number = _number_in(text)
    if not 0.0 <= number < math.inf:
        raise BadInput(f'allowed_drop is {value!r}; give points of 0 or more, or a percentage such as "1%"')
    return number / 100.0 * abs(100.0 if mean is None else mean) if text.endswith("%") else number


def allowed_share(value: str) -> float:
    """Read the share by which a cost may change, from a percentage.

    Raises
    ------
    BadInput
        For anything else than a percentage of 0 or more.

    >>> allowed_share("10%")
    0.1
    """
    text = value.strip()
    number = _number_in(text) if text.endswith("%") else math.nan
    if not 0.0 <= number < math.inf:
        raise BadInput(f'is {value!r}; give a percentage of 0 or more, such as "10%"')
    return number / 100.0


def _number_in(text: str) -> float:
    """Read the number in a text that may end with %.

    Other texts give NaN.
    """
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return math.nan


def oriented(value: Figure, higher_is_better: bool) -> Figure:
    """Negate means or differences (points) of a lower-is-better metric, so that higher is better.

    No other code negates scores. A value that is passed through twice is itself again.

    >>> oriented(-2.0, True), oriented(-2.0, False)
    (-2.0, 2.0)
    """
    return value if higher_is_better else 0.0 - value  # never -0.0, which prints with a sign


Given = Literal["scores", "mean", "target"]
Obstacle = Literal["few-clusters", "no-looks"]
Method = Literal[
    "two-sample", "target", "influence", "statistic-bootstrap", "mcnemar", "unconditional", "margin", "repeats", "t",
    "clustered", "clustered-t", "sign-flip", "bootstrap", "gsprt", "gsprt-repeats", "group-sequential", "looks",
    "e-process",
]  # fmt: skip


@dataclass(frozen=True)
class Data:
    """What is known of the data that a check is decided on.

    `reference` says what is known of the reference, and `n` counts the samples of the run. `binary` says whether all
    scores are 0 or 100, None if only the run will show it. `answers` are the numbers of answers to one sample in the
    reference and in the candidate, and `clusters` is the number of clusters. `is_whole` is False for the beginning of a
    run, of which more clusters may come. `statistic` is the method for a statistic that is not a mean of scores.
    """

    reference: Given = "scores"
    n: int = 0
    binary: bool | None = True
    answers: tuple[int, int] = (1, 1)
    clusters: int | None = None
    is_whole: bool = True
    statistic: Literal["influence", "bootstrap"] | None = None

    @property
    def is_single(self) -> bool:
        """Whether both sides answer each sample once."""
        return self.answers == (1, 1)

    @property
    def has_few_clusters(self) -> bool:
        """Whether a run has so few clusters that no test may stop it early."""
        return self.is_whole and self.clusters is not None and self.clusters < FEWEST_CLUSTERS

    @property
    def is_exact(self) -> bool:
        """Whether every difference is one of single, independent samples scored 0 or 100."""
        return bool(self.binary) and self.is_single and self.clusters is None


@dataclass(frozen=True)
class Choice:
    """The test that decides a check.

    `test` is its name in verdicts, and `method` the way in which it is computed. `obstacle` says why a check has no
    early stop although the user asked for one. If only the run will show whether all scores are 0 or 100, `possible`
    has the two tests that may decide, and `test` is one whose planned samples are enough for either.
    """

    test: str
    method: Method
    obstacle: Obstacle | None = None
    possible: tuple[str, ...] = ()

    @property
    def is_sequential(self) -> bool:
        """Whether it may stop early."""
        return self.test in SEQUENTIAL_TESTS

    @property
    def name(self) -> str:
        """What a plan calls it.

        >>> Choice("paired", "mcnemar", possible=("unconditional", "bootstrap")).name
        'unconditional or bootstrap, by the scores'
        """
        return f"{' or '.join(self.possible)}, by the scores" if self.possible else self.test


def choose_test(design: Design, data: Data) -> Choice:
    """Choose the test that decides a check.

    No other code chooses one.

    Raises
    ------
    BadInput
        When the data lack what the test needs.

    Examples
    --------
    >>> choose_test(Design(), Data(n=300)).test, choose_test(Design(), Data(n=300, binary=False)).test
    ('unconditional', 'bootstrap')
    >>> choose_test(Design(theta=2.0, early_stopping=True), Data(n=300)).test
    'gsprt'
    """
    refuse_unsuitable(design.test, data.reference)
    if data.statistic is not None:
        return Choice(data.statistic, "influence" if data.statistic == "influence" else "statistic-bootstrap")
    if data.reference != "scores" or design.test == "two-sample":
        return Choice("target", "target") if data.reference == "target" else Choice("two-sample", "two-sample")
    if data.binary is None:
        likely, other = (choose_test(design, replace(data, binary=binary)) for binary in (True, False))
        if likely.test == other.test:
            return likely
        test = likely.test if likely.is_sequential else "paired"
        return replace(likely, test=test, possible=(likely.test, other.test))
    if not design.may_stop_early:
        return _fixed(design.test, design, data)
    obstacle = _obstacle(design, data)
    sequential = _sequential(design, data) if obstacle is None else None
    return sequential or replace(_fixed("auto", design, data), obstacle=obstacle)


def given_of(reference: object) -> Given:
    """Return what is known of a reference.

    Before there is one, a plan counts on the score of each sample.
    """
    return "target" if isinstance(reference, Target) else "mean" if isinstance(reference, Mean) else "scores"


def refuse_unsuitable(test: str, reference: Given) -> None:
    """Refuse a test that cannot be made with this reference.

    Raises
    ------
    BadInput
        For an unknown test, and one that needs more than the reference has.
    """
    if test not in TESTS:
        raise BadInput(f"test is {test!r}; use one of {', '.join(TESTS)}")
    natural = {"scores": "paired", "mean": "two-sample", "target": "target"}[reference]
    suits = {"scores": ("auto", "two-sample", *PAIRED_TESTS), "mean": ("auto", natural), "target": ("auto", natural)}
    if test not in suits[reference]:
        needs = {"two-sample": "a reference", "target": "an absolute target"}
        needed = needs.get(test, "the reference's score of each sample")
        raise BadInput(f"the {test} test needs {needed}; use {natural}, or auto")


def exact_test(n: int) -> str:
    """Name the exact test of n pairs.

    Beyond `MOST_PAIRS` the unconditional one is slow and gains nothing.
    """
    return "unconditional" if n <= MOST_PAIRS else "paired"


def _obstacle(design: Design, data: Data) -> Obstacle | None:
    """Return why a check has no early stop although the user asked.

    The answer is None if it has one.
    """
    if data.has_few_clusters:
        return "few-clusters"
    if design.has_looks and not data.is_exact:
        return "no-looks"  # the exact looks at an allowed drop are for single samples scored 0 or 100
    return None


def _sequential(design: Design, data: Data) -> Choice | None:
    """Choose the test that may stop early.

    The answer is None if nothing says which drop to look for.
    """
    if design.has_looks:
        return Choice("group-sequential", "looks")
    test = DEFAULT_SEQUENTIAL if design.test == "auto" else design.test
    if test == "gsprt" and data.binary and not data.is_single:
        return Choice(test, "gsprt-repeats")
    if design.theta is None and not data.is_exact:
        return None
    if test == "gsprt" and data.is_exact:
        return Choice(test, "gsprt")
    if test == "e-process":
        return Choice(test, "e-process")
    return Choice("group-sequential", "group-sequential")  # the likelihood of gsprt is that of 0/100 scores


def _fixed(test: str, design: Design, data: Data) -> Choice:
    """Choose the test of paired scores at a fixed n.

    Raises
    ------
    BadInput
        If the unconditional test is asked for other scores than one of 0 or 100 of each sample.
    """
    if test == "unconditional" and not data.is_exact:
        raise BadInput("the unconditional test needs one score of 0 or 100 of each sample, and no clusters; use auto")
    method = _method_of_pairs(design, data)
    if test == "auto" and method in ("t", "clustered-t"):
        test = "permutation" if (data.clusters or data.n) < FEWEST_UNITS else "bootstrap"
    if test in ("permutation", "bootstrap"):
        return Choice(test, "bootstrap" if test == "bootstrap" else "sign-flip")
    if method == "mcnemar" and test != "paired":
        test = exact_test(data.n)
        return Choice(test, "unconditional" if test == "unconditional" else method)
    return Choice("paired", method)


def _method_of_pairs(design: Design, data: Data) -> Method:
    """Return how the paired test is computed.

    Scores of 0 or 100 have an exact test, others one by their spread.
    """
    if data.is_exact:
        return "margin" if design.allowed_drop else "mcnemar"
    if data.binary and not design.allowed_drop:
        return "clustered" if data.is_single else "repeats"
    return "t" if data.clusters is None else "clustered-t"

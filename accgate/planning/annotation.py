"""The number of test cases to annotate where there is no dataset yet.

The module makes no slow import.
"""

import math
from dataclasses import dataclass

from accgate.errors import BadInput
from accgate.stats.power import ceiling, hoeffding_margin, hoeffding_n, hoeffding_probability, quantile
from accgate.text import count_of

FINEST = 1e-5  # least margin as a share of the range: it takes ten thousand million test cases


@dataclass(frozen=True)
class AnnotationRow:
    """The guarantee of `n` test cases.

    It gives the margin at the plan's confidence, and the confidence of the plan's margin.
    """

    n: int
    margin: float
    confidence: float


@dataclass(frozen=True)
class AnnotationPlan:
    """Test cases that bring the mean score within the margin of the truth.

    The guarantee holds whatever the scores are. `margin`, `low` and `high` are in the scores' units, `confidence` is a
    share. `n` is the answer: `n_hoeffding`, or fewer with a `population` to draw from without replacement.
    `n_approximate` is what the normal approximation gives at the largest possible standard deviation; it guarantees
    nothing.
    """

    margin: float
    confidence: float
    low: float
    high: float
    population: int | None
    n: int
    n_hoeffding: int
    n_approximate: int
    curve: tuple[AnnotationRow, ...]

    def sentence(self) -> str:
        """Say the answer in words, with its assumptions and the approximate number."""
        confidence = f"{100.0 * self.confidence:.10g}%"
        scores = f"whatever the scores from {self.low:g} to {self.high:g} are"
        cases, truth, source = count_of(self.n, "test case"), "the truth", "Hoeffding"
        if self.population is not None:
            cases = f"{self.n:,} of the {self.population:,} test cases"
            truth, source = "the mean of all", "Hoeffding and Serfling"
        answer = (
            f"Annotate {cases}, drawn at random: their mean score is then less than {self.margin:g} from {truth}"
            f" with at least {confidence} confidence, {scores} ({source})."
        )
        if self.n == self.population:
            answer = (
                f"Annotate all {count_of(self.n, 'test case')}: with fewer, no bound keeps their mean less than"
                f" {self.margin:g} from the mean of all with {confidence} confidence, {scores} ({source})."
            )
        return (
            f"{answer} Approximate, without that guarantee: {self.n_approximate:,} by the normal distribution at the"
            f" worst standard deviation, {(self.high - self.low) / 2.0:g}."
        )

    def header(self) -> tuple[str, str, str]:
        """Names of the columns of `rows`."""
        margin = f"margin at {100.0 * self.confidence:.10g}% confidence"
        return "test cases", margin, f"confidence that the mean is within {self.margin:g}"

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Return the curve as text.

        Margins are rounded up and confidences down, since both are guarantees.
        """
        return tuple((f"{row.n:,}", _up(row.margin), _percent(row.confidence)) for row in self.curve)


def annotation_plan(
    margin: float, *, confidence: float = 0.95, low: float = 0.0, high: float = 1.0, population: int | None = None
) -> AnnotationPlan:
    """Plan the test cases whose mean score is near the truth.

    It is less than `margin` from it. Holds for any scores in [low, high], of test cases drawn at random: independently,
    or from a `population` without replacement, where the truth is the mean over all of it.

    Parameters
    ----------
    margin : float
        Distance from the truth, in the scores' units.
    confidence : float
        Probability that the mean is within the margin.
    low, high : float
        Range of one score: 0 and 1 for right or wrong, 0 and 100 for points.
    population : int, optional
        All test cases there are, where they can be counted.

    Raises
    ------
    BadInput
        For arguments out of range.

    References
    ----------
    Hoeffding 1963, JASA 58; Bardenet and Maillard 2015, Bernoulli 21 (finite population); Cochran 1977, Sampling
    Techniques, section 4.4 (normal approximation).

    Examples
    --------
    >>> plan = annotation_plan(0.01)
    >>> plan.n, plan.n_approximate
    (18445, 9604)
    >>> annotation_plan(0.05, population=1319).n
    474
    """
    _check_arguments(margin, confidence, low, high, population)
    n_hoeffding = hoeffding_n(margin, confidence=confidence, low=low, high=high)
    n = hoeffding_n(margin, confidence=confidence, low=low, high=high, population=population)

    def row(cases: int) -> AnnotationRow:
        guaranteed = hoeffding_margin(cases, confidence=confidence, low=low, high=high, population=population)
        missed = hoeffding_probability(cases, margin, low, high, population=population)
        return AnnotationRow(cases, guaranteed, 1.0 - missed)

    n_approximate = _normal_n(margin, confidence, high - low, population)
    curve = tuple(map(row, _round_numbers(n, population)))
    return AnnotationPlan(margin, confidence, low, high, population, n, n_hoeffding, n_approximate, curve)


def _check_arguments(margin: float, confidence: float, low: float, high: float, population: int | None) -> None:
    if not (math.isfinite(high - low) and low < high):
        raise BadInput(f"range is {low:g} to {high:g}; give the lowest and the highest score, such as 0 1")
    faults = []
    width = high - low
    if not FINEST * width <= margin < width:
        limits = f"from {FINEST * width:g} to below {width:g}, the width of the range"
        faults.append(f"margin is {margin:g}; give a number {limits}")
    if not 0.0 < confidence < 1.0:
        faults.append(f"confidence is {confidence:g}; give a share above 0 and below 1, such as 0.95")
    if population is not None and population < 1:
        faults.append(f"population is {population}; give 1 or more test cases, or leave it out")
    if faults:
        raise BadInput(*faults)


def _normal_n(margin: float, confidence: float, width: float, population: int | None) -> int:
    """Return the test cases by the normal approximation.

    The standard deviation is the largest that such a range allows.
    """
    needed = (quantile((1.0 + confidence) / 2.0) * width / 2.0 / margin) ** 2
    if population is not None:
        needed /= 1.0 + max(0.0, needed - 1.0) / population
    return max(1, ceiling(needed))


def _round_numbers(n: int, population: int | None) -> list[int]:
    """List n, the population, and round numbers up to three times n.

    The numbers are 50, 100, 200, 500 and so on, from 10 on where n is small.
    """
    most = population if population is not None else 3 * n
    powers = range(1, len(str(most)))
    steps = [step * 10**power for power in powers for step in (1, 2, 5)]
    least = 10 if n < 100 else 50
    return sorted({n, most if population is not None else n, *(step for step in steps if least <= step <= most)})


def _up(value: float) -> str:
    """Four significant digits, rounded up."""
    if value <= 0.0:
        return "0"
    digits = 3 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**digits * (1.0 - 1e-12)) / 10**digits:g}"


def _percent(share: float) -> str:
    """Write a share in percent with at most four decimals, rounded down."""
    return f"{math.floor(share * 1e6 * (1.0 + 1e-12)) / 1e4:.10g}%"

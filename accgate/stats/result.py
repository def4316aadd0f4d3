"""What every test of this package returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Interval:
    """Confidence limits of the difference candidate - reference, in points.

    `one_sided` is the bound at confidence 1 - alpha on the side of the decision (upper where higher is
    better: the difference is at most this). `two_sided` is the interval at confidence 1 - 2 alpha; it shares
    that limit.
    """

    one_sided: float
    two_sided: tuple[float, float]

    def excludes_drop(self, drop: float) -> bool:
        """Tell whether the two-sided interval excludes a drop of so many points.

        The drop is a positive number.
        """
        return self.two_sided[0] > -drop

    def negate(self) -> Interval:
        """Return the limits of the negated difference."""
        low, high = self.two_sided
        return Interval(-self.one_sided, (-high, -low))


def move(result: TestResult, points: float) -> TestResult:
    """Shift a result's difference, threshold and interval by so many points."""
    if not points:
        return result
    interval = result.interval
    if interval is not None:
        low, high = interval.two_sided
        interval = Interval(interval.one_sided + points, (low + points, high + points))
    threshold = None if result.threshold is None else result.threshold + points
    return replace(result, difference=result.difference + points, threshold=threshold, interval=interval)


@dataclass(frozen=True)
class TestResult:
    """One test of H0 "not lower" against H1 "lower" on the difference, in points.

    `threshold` is the difference below which H0 is rejected, given by how much samples changed; None where no signs of
    these changes could reject. `theta` is the drop that the test detects with probability 1 - beta at this n.
    `sigma` is the standard deviation the test worked with: the declared one, or that of the paired differences. `p_mid`
    is the mid-p value of the exact tests of single 0/100 scores, None of others.
    """

    __test__ = False  # not a pytest class

    difference: float
    p_value: float
    threshold: float | None
    theta: float | None
    sigma: float | None
    interval: Interval | None
    reasons: tuple[str, ...] = ()
    p_mid: float | None = None

    @property
    def median_difference(self) -> float:
        """The difference, median-unbiased where the test can stop early and did."""
        return self.difference

    def negate(self) -> Self:
        """Return the same result about reference - candidate."""
        interval = None if self.interval is None else self.interval.negate()
        threshold = None if self.threshold is None else 0.0 - self.threshold
        return replace(self, difference=0.0 - self.difference, threshold=threshold, interval=interval)

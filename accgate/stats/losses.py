"""The drop of whole losses that a test detects, and unseen losses.

Of all drops of one size, those made of whole losses are the hardest to see: they are the fewest losses, and add most to
the spread. So theta of a test of graded scores is a drop of whole losses: as many as that test needs to reject, beside
the other differences as they were seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from accgate.stats import special
from accgate.stats.bootstrap import gain_of, scales_of_sums, upper_limit
from accgate.stats.mcnemar import log_binomial
from accgate.stats.power import quantile
from accgate.stats.result import Interval, TestResult
from accgate.stats.search import halve
from accgate.stats.totals import residuals
from accgate.stats.walk import Floats

CLEAR = 6.0  # standard errors of margin at which the test is taken to reject for certain
FIRST = 32  # losses that are tried at first
COUNTED = 60  # losses up to which the patterns of their signs are summed exactly
HALVINGS = 60  # more than the 53 bits of a double


@dataclass(frozen=True)
class Spread:
    """The differences of units about their mean, beside which whole losses may come.

    `squares`, `absolute` and `cubes` are the sums of d^2, |d| and d^3 of the units' totals about their mean (points and
    their powers). `largest` is the largest |d|, and `changed` the number of units that changed. `degrees` are the
    degrees of freedom of the squares, few if a few changes make most of them. `loss` is the most points that one sample
    can lose; `block` samples of a cluster are lost together. `allowed` points of drop were added to every difference.
    `other` is the variance of the mean (points^2) that another side adds.
    """

    samples: int
    units: int
    squares: float
    absolute: float = 0.0
    cubes: float = 0.0
    largest: float = 0.0
    changed: int = 0
    degrees: float = math.inf
    loss: float = 100.0
    block: int = 1
    allowed: float = 0.0
    other: float = 0.0

    @property
    def step(self) -> float:
        """Points that each loss takes from a unit's total."""
        return self.loss * self.block

    def error(self, losses: Floats) -> Floats:
        """Return the mean's standard error (points) with this many losses."""
        together = 0.0 if self.units == self.samples else losses * np.maximum(losses - 1.0, 0.0) / self.units
        squares = self.squares + self.step**2 * (losses + together - losses * losses / self.units)
        variance = np.maximum(squares, 0.0) * self.units / max(self.units - 1, 1) / float(self.samples) ** 2
        return np.asarray(np.sqrt(variance + self.other))

    def part(self, share: float) -> Spread:
        """Return the spread that a share of the samples shows."""
        samples, units = (max(int(share * each), 1) for each in (self.samples, self.units))
        sums = {name: share * getattr(self, name) for name in ("squares", "absolute", "cubes")}
        return replace(self, samples=samples, units=units, changed=int(share * self.changed), **sums)


Margins = Callable[[Spread, Floats], Floats]


def spread_of_units(totals: Floats, sizes: Floats, *, loss: float, block: int = 1, allowed: float = 0.0) -> Spread:
    """Return the spread of units' totals, with the samples in each.

    The allowed drop was added to the totals.

    >>> spread_of_units(np.array([-1.0, 0.0, 1.0, 0.0]), np.ones(4), loss=100.0).squares
    2.0
    """
    d = residuals(totals, sizes)
    size, changed = np.abs(d), int(np.count_nonzero(totals - allowed * sizes))
    squares, largest = float(d @ d), float(size.max(initial=0.0))
    fourths = float(np.sum((d / largest) ** 4)) if largest else 1.0
    degrees = max(2.0 * (squares / largest**2) ** 2 / fourths, 1.0) if largest else math.inf
    sums = (squares, float(size.sum()), float(np.sum(d * d * d)), largest)
    return Spread(round(float(sizes.sum())), len(totals), *sums, changed, degrees, loss, block, allowed)


def normal_spread(n: int, sd: float, *, loss: float, allowed: float = 0.0) -> Spread:
    """Return the expected spread of n normal differences with this standard deviation, points."""
    absolute, largest = sd * n * math.sqrt(2.0 / math.pi), -sd * quantile(0.5 / max(n, 1)) if n > 1 else sd
    return Spread(n, n, sd * sd * n, absolute, 0.0, largest, n if sd else 0, loss=loss, allowed=allowed)


def visible_drop(spread: Spread, margins: Margins, *, beta: float) -> float | None:
    """Find the drop (points) of whole losses that a test detects.

    The test detects it with probability 1 - beta. None if not even the loss of every sample is detected.

    Parameters
    ----------
    spread : Spread
        The other differences.
    margins : callable
        For each number of losses, by how many points the mean of the other differences may exceed its expectation while
        the test still rejects.
    beta : float
        Type II error rate.

    Notes
    -----
    The number of losses is binomial, and the mean of the others varies by its standard error. The same sums show that
    losses of any other size are detected more often, and so is a drop spread over all samples (within 2% of theta).

    Examples
    --------
    Five losses, by the sign test:

    >>> round(visible_drop(Spread(samples=300, units=300, squares=0.0), flip_margins(0.05), beta=0.2), 2)
    2.23
    """
    blocks = max(spread.samples // spread.block, 1)
    losses = np.arange(_most(spread, margins, blocks) + 1.0)
    margin, error = margins(spread, losses), float(spread.error(np.zeros(1))[0])
    if error > 0.0:
        degrees = max(min(spread.degrees, spread.units - 1.0), 1.0)
        chance = np.asarray(special.stdtr(degrees, margin / error))
    else:
        chance = np.asarray(margin > 0.0, dtype=np.float64)
    grows = np.diff(chance, prepend=0.0)

    def reached(share: float) -> bool:
        at_least = np.where(losses == 0.0, 1.0, special.bdtrc(np.maximum(losses - 1.0, 0.0), blocks, share))
        return float(grows @ at_least) >= 1.0 - beta

    if float(chance[-1]) < 1.0 - beta:
        return None
    share = halve(reached, 0.0, 1.0, share=1e-7)[1]
    return max(spread.loss * share - spread.allowed, 0.0)


def _most(spread: Spread, margins: Margins, blocks: int) -> int:
    """Find a number of losses at which the test rejects for certain.

    If there is none, the answer is all losses that there can be.
    """
    count, error = min(FIRST, blocks), float(spread.error(np.zeros(1))[0])
    while count < blocks and float(margins(spread, np.array([float(count)]))[0]) < CLEAR * error:
        count = min(2 * count, blocks)
    return count


def t_margins(alpha: float) -> Margins:
    """Return the margins of a t test with the mean's standard error."""

    def margins(spread: Spread, losses: Floats) -> Floats:
        critical = float(special.stdtrit(float(max(spread.units - 1, 1)), 1.0 - alpha))
        return losses * spread.step / spread.samples - spread.allowed - critical * spread.error(losses)

    return margins


def weighted_margins(level: float) -> Margins:
    """Return the margins of the weighted bootstrap.

    It rejects if its score is at least `level`. The other differences are small beside the sum, and contribute to it as
    a normal variable would. The score and the sum are explicit functions of the saddlepoint, so the search is over the
    saddlepoint.
    """

    def margins(spread: Spread, losses: Floats) -> Floats:
        step = spread.step
        one, two = spread.absolute + losses * step, spread.squares + losses * step**2
        largest = np.where(losses > 0.0, max(step, spread.largest), spread.largest)
        gain = gain_of(*scales_of_sums(one, two, spread.cubes - losses * step**3), largest)
        is_some = gain > 0.0
        gain = np.where(is_some, gain, 1.0)
        low, high = np.zeros_like(losses), 1.0 / gain
        for _ in range(HALVINGS):
            t = 0.5 * (low + high)
            x, y = t * step, t * gain
            deviance = 0.5 * t * t * spread.squares + losses * (np.log1p(x) - x / (1.0 + x))
            root = np.sqrt(2.0 * np.maximum(deviance + np.log1p(-y) + y / (1.0 - y), 1e-300))
            variance = spread.squares + losses * (step / (1.0 + x)) ** 2 + (gain / (1.0 - y)) ** 2
            is_past = root + np.log(np.maximum(t * np.sqrt(variance), 1e-300) / root) / root >= level
            low, high = np.where(is_past, low, t), np.where(is_past, t, high)
        total = losses * step / (1.0 + low * step) - gain / (1.0 - low * gain) - low * spread.squares
        return np.where(is_some, total / spread.samples - spread.allowed, -math.inf)

    return margins


def flip_margins(alpha: float) -> Margins:
    """Return the margins of the sign-flip test.

    Each loss is flipped with probability one half, and the other differences add a normal sum.
    """

    def margins(spread: Spread, losses: Floats) -> Floats:
        step, sd, count = spread.step, math.sqrt(spread.squares), int(np.sum(losses <= COUNTED))
        total = losses * step + quantile(alpha) * np.sqrt(spread.squares + losses * step * step)
        few = losses[:count]
        if not spread.changed or not sd:
            total[:count] = np.where(0.5**few <= alpha, step, -math.inf)
        elif count:
            total[:count] = _flipped(few, step, sd, alpha, 0.5**spread.changed)
        return np.asarray(total / spread.samples - spread.allowed)

    return margins


def _flipped(losses: Floats, step: float, sd: float, alpha: float, own: float) -> Floats:
    """Find the largest rejected sum of the others for each number of losses.

    `own` is the probability of the observed pattern of signs.
    """
    turned = np.arange(int(losses.max()) + 1)
    masses = np.stack([np.exp(log_binomial(turned, int(each), 0.5)) for each in losses])
    low, high = np.full(len(losses), -10.0 * sd), 2.0 * step * losses + 10.0 * sd
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        tails = np.minimum(special.ndtr((middle[:, None] - 2.0 * step * turned) / sd) + own, 1.0)
        rejects = np.sum(masses * np.where(tails > own + 1e-12, tails, 0.0), axis=1) <= alpha
        low, high = np.where(rejects, middle, low), np.where(rejects, high, middle)
    return low


def with_unseen(
    result: TestResult,
    spread: Spread,
    margins: Margins,
    units: tuple[Floats, Floats] | None = None,
    *,
    alpha: float,
    beta: float,
) -> TestResult:
    """Widen a test's result for losses that the samples do not show.

    theta is raised to `visible_drop`. With the totals and sizes of the `units` the lower limit is Gaffke's, which adds
    one whole loss to what was seen, and is believed to hold for every distribution. Without, it allows for losses so
    rare that this many samples may show none. If the test gives no limits, as for differences that are all the same,
    both limits are made in this way. The result of scores without bounds stays as it is.

    References
    ----------
    Gaffke 2005, Metrika 62.
    """
    if not math.isfinite(spread.loss) or result.theta is None:
        return result
    seen = visible_drop(spread, margins, beta=beta)
    result = replace(result, theta=None if seen is None else max(result.theta, seen))
    if units is None:
        unseen = drop_without_change(spread.samples, alpha, spread.loss)
        low, high = result.difference - unseen, result.difference + unseen
    else:
        level = -quantile(alpha)
        low = lower_limit(*units, level, loss=spread.loss - spread.allowed)
        high = -lower_limit(-units[0], units[1], level, loss=spread.loss + spread.allowed)
    if result.interval is not None:
        high, low = result.interval.one_sided, min(low, result.interval.two_sided[0])
    elif result.threshold is not None and result.difference < result.threshold:
        high = min(high, 1e-12 * result.difference)
    return replace(result, interval=Interval(high, (low, high)))


def drop_without_change(n: int, chance: float, loss: float = 100.0) -> float:
    """Return the drop (points) of which n samples show nothing with this `chance`.

    The drop is made of losses of `loss` points.

    >>> round(drop_without_change(80, 0.2), 2)
    1.99
    """
    return -loss * math.expm1(math.log(chance) / n)


def lower_limit(totals: Floats, sizes: Floats, level: float, *, loss: float) -> float:
    """Return Gaffke's lower limit of the mean (points) at this z.

    It adds one more sample, or unit, that lost `loss`.

    >>> round(lower_limit(np.zeros(50), np.ones(50), 1.6449, loss=100.0), 1)  # 100 (1 - 0.05 ** (1 / 50))
    -5.8
    """
    return -upper_limit(-totals, sizes, level, gain=loss * float(np.mean(sizes)))

"""Error rates of the tests of scores other than 0/100, by shape: `python benchmarks/shapes.py [--runs N] [--write]`.

For each shape of changes and each n: the type I error of what `auto` takes at a fixed n and of the test that stops
early, of Student's t and of the bootstrap-t; and their power at a drop that t sees with about 80%. `--write` puts the
table into docs/measured.md. `--losses` prints instead the theta of healthy runs, and the power of what `auto` takes
at a drop of theta that is made of losses of 100, 50 and 20 points, and of a shift of all samples.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from accgate.stats.bootstrap import drop_score
from accgate.stats.graded import Course, Evidence, evidence_at
from accgate.stats.losses import spread_of_units, visible_drop, weighted_margins
from accgate.stats.power import quantile, quantile_sum

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Drawn = Callable[[np.random.Generator, tuple[int, int]], Floats]
ALPHA, BETA = 0.05, 0.2
SIZES = (100, 300)
SEQUENTIAL_FROM = 100  # samples
MORE = 1.43  # samples planned by the test that stops early, times those of the fixed-n test
RESAMPLES = 499
PAGE = Path(__file__).parents[1] / "docs" / "measured.md"
BEGIN, END = "<!-- begin: benchmarks/shapes.py --write -->", "<!-- end -->"


def rouge(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """ROUGE-like: half the replies are the same, 16% tie at 0 or 100, the others differ by a little or a lot."""
    base, u = 100.0 * rng.beta(2.0, 2.5, shape), rng.random(shape)
    spread = rng.choice(np.array([4.0, 10.0, 25.0]), p=[0.5, 0.35, 0.15], size=shape)
    noise = spread * rng.standard_normal((2, *shape))
    before, after = np.clip(base + noise, 0.0, 100.0)
    tied = (u < 0.16) | (rng.random(shape) < 0.5)
    change: Floats = np.where(tied, 0.0, after - before)
    return change


def partial_credit(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Scores of 0, 25, 50, 75 and 100; 30% of the samples are answered anew."""
    ease = rng.beta(0.8, 0.8, shape)
    change = 25.0 * (rng.binomial(4, ease) - rng.binomial(4, ease))
    return np.where(rng.random(shape) < 0.3, change, 0.0)


def repeats(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Averages of four repeats of 0/100 scores."""
    ease = rng.beta(0.3, 0.3, shape)
    return np.asarray(25.0 * (rng.binomial(4, ease) - rng.binomial(4, ease)), dtype=np.float64)


def mixture(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """1.5% fall from 100 to 0, 1.5% rise from 0 to 100, 27% change a little."""
    u = rng.random(shape)
    little = np.where(u < 0.3, 4.0 * rng.standard_normal(shape), 0.0)
    return np.where(u < 0.015, -100.0, np.where(u > 0.985, 100.0, little))


def rare(loss: float, losing: float, gain: float, gaining: float) -> Drawn:
    """A share loses so much, another gains so much."""

    def drawn(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        u = rng.random(shape)
        return np.where(u < losing, -loss, np.where(u > 1.0 - gaining, gain, 0.0))

    return drawn


def noisy(side: float) -> Drawn:
    """3% change by 40 points to one side, the others a little to the other."""

    def drawn(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        little = 1.2 / 0.97 - 3.0 * rng.standard_normal(shape)
        return side * np.where(rng.random(shape) < 0.03, 40.0, -little)

    return drawn


def lognormal(side: float, changed: float = 1.0) -> Drawn:
    """exp(N(0, 1)) less its mean, times 5, in so large a share of the samples."""

    def drawn(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        change = side * 5.0 * (np.exp(rng.standard_normal(shape)) - math.exp(0.5))
        return np.where(rng.random(shape) < changed, change, 0.0)

    return drawn


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Exponential gains of mean 5, less their mean."""
    return 5.0 * (rng.exponential(1.0, shape) - 1.0)


def clusters(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Totals of clusters of five samples that change together, in 40% of the clusters."""
    together = 15.0 * rng.standard_normal(shape)
    alone = math.sqrt(5.0) * 10.0 * rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.4, 5.0 * together + alone, 0.0)


SHAPES: dict[str, Drawn] = {
    "normal": lambda rng, shape: 5.0 * rng.standard_normal(shape),
    "ROUGE-like": rouge,
    "partial credit": partial_credit,
    "averages of 4 repeats": repeats,
    "3% of 0/100 among small changes": mixture,
    "Student's t, 3 degrees": lambda rng, shape: 5.0 * rng.standard_t(3, shape),
    "exponential gains": exponential,
    "lognormal gains": lognormal(1.0),
    "lognormal gains in half": lognormal(1.0, 0.5),
    "lognormal losses": lognormal(-1.0),
    "3% gain 40 among small losses": noisy(1.0),
    "3% lose 40 among small gains": noisy(-1.0),
    "28.5% lose 1, 3% gain 9.5": rare(1.0, 0.285, 9.5, 0.03),
    "28.5% lose 1, 1.5% gain 19": rare(1.0, 0.285, 19.0, 0.015),
    "1.5% lose 19, 28.5% gain 1": rare(19.0, 0.015, 1.0, 0.285),
    "clusters of 5": clusters,
}
PER_UNIT = {"clusters of 5": 5}  # samples in each unit


@dataclass(frozen=True)
class Rates:
    """Shares of runs that are a regression, by test; `samples` are the mean share that the sequential one takes."""

    auto: float
    student: float
    bootstrap: float
    sequential: float
    samples: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3_000, help="simulated runs of a cell; of early stops fewer")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="SHAPE")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--write", action="store_true", help="rewrite the table in docs/measured.md")
    parser.add_argument("--losses", action="store_true", help="the power at theta, by what the drop is made of")
    options = parser.parse_args(arguments)
    if options.losses:
        header = ["shape", "n", "theta", "100", "50", "20", "all"]
        print(table(header, [loss_row(name, n, options.runs) for name in options.shapes for n in options.sizes]))
        return
    rows = []
    for name in options.shapes:
        sizes = [n for n in options.sizes if n // PER_UNIT.get(name, 1) >= 50]
        rows += [[name if n == sizes[0] else "", f"{n:,}", *figures(name, n, options.runs)] for n in sizes]
        print(f"{name}: {time.process_time():.0f} s of processor time", flush=True)
    text = report(rows, options.runs)
    if not options.write:
        print(f"\n{text}")
        return
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def figures(name: str, n: int, runs: int) -> list[str]:
    """The cells of a row: type I error, power and samples."""
    healthy, dropped = rates(name, n, 0.0, runs), rates(name, n, 1.0, runs)
    early = ["-"] * 3
    if n >= SEQUENTIAL_FROM:
        early = [share(healthy.sequential), share(dropped.sequential), f"{healthy.samples:.0%} / {dropped.samples:.0%}"]
    return [
        share(healthy.auto),
        early[0],
        share(healthy.student),
        share(healthy.bootstrap),
        share(dropped.auto),
        share(dropped.student),
        share(dropped.bootstrap),
        *early[1:],
    ]


def rates(name: str, n: int, drop: float, runs: int) -> Rates:
    """The rates of one cell; `drop` in units of the one that Student's t sees with 80%."""
    per_unit, draw = PER_UNIT.get(name, 1), SHAPES[name]
    units = n // per_unit
    rng = np.random.default_rng([n, len(name), int(drop)])
    example = draw(np.random.default_rng(0), (500, 1_000))
    theta = drop_seen(example, n, per_unit)
    totals = lowered(draw(rng, (runs, units)), example, drop * theta * per_unit)
    fixed = [
        drop_score(rows, np.full(units, float(per_unit))) >= -quantile(ALPHA) for rows in np.array_split(totals, 8)
    ]
    auto, sequential, samples = float(np.mean(np.concatenate(fixed))), math.nan, math.nan
    if n >= SEQUENTIAL_FROM:
        fewer = max(1, runs // (4 if n <= 300 else 10))
        theta *= math.sqrt(MORE)
        totals_early = lowered(draw(rng, (fewer, units)), example, drop * theta * per_unit)
        sequential, samples = stopped(totals_early, per_unit, theta)
    return Rates(auto, float(np.mean(student_p(totals) <= ALPHA)), bootstrap_t(totals, rng), sequential, samples)


def drop_seen(example: Floats, n: int, per_unit: int) -> float:
    """Drop in points per sample that a t test of n samples sees with probability 1 - beta."""
    return quantile_sum(ALPHA, BETA) * float(example.std()) / per_unit / math.sqrt(n // per_unit)


def lowered(totals: Floats, example: Floats, drop: float) -> Floats:
    """The totals after a drop of so many points per unit, which every changed unit shares."""
    changed: Floats = np.where(totals != 0.0, totals - drop / float(np.mean(example != 0.0)), 0.0)
    return changed


def loss_row(name: str, n: int, runs: int) -> list[str]:
    """The mean theta of healthy runs, and the power at it by losses of three sizes, and by a shift of all samples."""
    per_unit, draw, rng = PER_UNIT.get(name, 1), SHAPES[name], np.random.default_rng([n, len(name)])
    units, level = n // per_unit, -quantile(ALPHA)
    sizes = np.full(units, float(per_unit))
    spreads = [spread_of_units(row, sizes, loss=100.0) for row in draw(rng, (40, units))]
    drops = [visible_drop(spread, weighted_margins(level), beta=BETA) for spread in spreads]
    theta = float(np.mean([100.0 if drop is None else drop for drop in drops]))
    powers = []
    for size in (100.0, 50.0, 20.0, 0.0):
        lost = rng.binomial(per_unit, min(theta / size, 1.0), (runs, units)) * size if size else theta * per_unit
        totals = draw(rng, (runs, units)) - lost
        powers += [float(np.mean(np.concatenate([drop_score(d, sizes) >= level for d in np.array_split(totals, 8)])))]
    return [name, f"{n:,}", f"{theta:.2f}", *map(share, powers)]


def student_p(totals: Floats) -> Floats:
    """One-sided p of Student's t test of each row."""
    degrees, error = totals.shape[1] - 1, totals.std(axis=1, ddof=1) / math.sqrt(totals.shape[1])
    t = np.where(error > 0.0, totals.mean(axis=1) / np.where(error > 0.0, error, 1.0), 0.0)
    p: Floats = stdtr(degrees, t)
    return p


def bootstrap_t(totals: Floats, rng: np.random.Generator) -> float:
    """Share of rows that Efron's bootstrap-t rejects, all with the same resamples."""
    units = totals.shape[1]
    counts = rng.multinomial(units, np.full(units, 1.0 / units), RESAMPLES).astype(np.float64) / units
    centred = totals - totals.mean(axis=1, keepdims=True)
    mean, square = centred @ counts.T, (centred * centred) @ counts.T
    variance = square - mean * mean
    ratio = np.where(variance > 1e-12, mean / np.sqrt(np.where(variance > 1e-12, variance, 1.0)), -math.inf)
    spread = centred.std(axis=1)
    own = np.where(spread > 0.0, totals.mean(axis=1) / np.where(spread > 0.0, spread, 1.0), 0.0)
    return float(np.mean((1 + np.sum(ratio <= own[:, None], axis=1)) / (RESAMPLES + 1) <= ALPHA))


def stopped(totals: Floats, per_unit: int, theta: float) -> tuple[float, float]:
    """Share of rows that are a regression by the test that stops early, and the mean share of samples that it takes."""
    runs, units = totals.shape
    course = Course(units * per_unit, theta, ALPHA, BETA)
    sizes, looks = np.full(units, per_unit), course.n
    unit = -(-looks // per_unit) - 1
    alive, used, failed, seen = np.arange(runs), np.full(runs, looks[-1]), 0, None
    for look in range(len(looks)):
        now = evidence_at(totals[alive], sizes, unit[[look]], theta=theta)
        seen = now if seen is None else seen.then(now)
        over = look == len(looks) - 1
        ends = [course.stop(rows_of(seen, row), over=over)[1] for row in range(len(alive))]
        failed += ends.count("regression")
        goes_on = np.array([end == "end" for end in ends])
        used[alive[~goes_on]] = looks[look]
        alive, seen = alive[goes_on], rows_of(seen, goes_on)
        if not len(alive):
            break
    return failed / runs, float(np.mean(used)) / float(looks[-1])


def rows_of(seen: Evidence, rows: npt.NDArray[np.bool_] | int) -> Evidence:
    """The evidence of some runs, or of one."""
    return Evidence(seen.unit, seen.n, *(column[rows] for column in list(vars(seen).values())[2:]))


def report(rows: Sequence[Sequence[str]], runs: int) -> str:
    """The table as Markdown, with its standard errors."""
    header = ["shape", "n", "auto", "early", "t", "bootstrap-t", "auto", "t", "bootstrap-t", "early", "samples"]
    errors = [f"{math.sqrt(0.0475 / k):.4f} and {math.sqrt(0.16 / k):.4f}" for k in (runs, runs // 4)]
    lines = [
        f"{runs:,} runs of a cell at a fixed n, {runs // 4:,} of the test that stops early. Standard errors of a type",
        f"I error near 0.05 and of a power near 0.8: {'; '.join(errors)}. First four figures of",
        "the type I error, then four of the power at a drop that t sees with 80%, which all changed samples share.",
        f"`early` has {MORE:g} times the samples that its drop needs, and takes the share `samples`, healthy/dropped.",
    ]
    return "\n".join([*lines, "", table(header, rows)])


def share(value: float) -> str:
    """A probability with three decimals."""
    return f"{value:.3f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned for terminals too."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(f"{c:{w}}" for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


if __name__ == "__main__":
    main()

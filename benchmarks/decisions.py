"""Samples until a verdict, by design: `python benchmarks/decisions.py [--runs N] [--cells Q:THETA ...] [--write]`.

For each discordance and each drop theta: the samples that 80% power takes, the mean used when nothing changed and
after a drop, the type I error and the power. Designs at a fixed n are computed exactly; the sequential ones are
simulated with the functions that decide a run, on the same pairs in random order. `--write` puts the first table and
the plot into docs/.
"""

from __future__ import annotations

import argparse
import importlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats
from scipy.special import xlogy

from accgate.planning.samples import plan
from accgate.stats.betting import betting_path
from accgate.stats.group_sequential import group_sequential_test
from accgate.stats.gsprt import gsprt_test
from accgate.stats.mcnemar import least_losses, mcnemar_power, mcnemar_theta
from accgate.stats.names import TestName
from accgate.stats.power import GSPRT_LEAST, one_sample_n, quantile
from accgate.stats.sequential import units_of
from accgate.stats.unconditional import order_limit
from accgate.stats.unpaired import two_sample_z

Floats = npt.NDArray[np.float64]
Rows: TypeAlias = Iterable[Sequence[str]]
ALPHA, BETA, SIGMA, SEED = 0.05, 0.2, 50.0, 0
DISCORDANCES, THETAS = (0.05, 0.10, 0.20), (1.0, 2.0, 4.0, 8.0)
FIXED = ("two-sample", "paired z", "unconditional", "paired")
SEQUENTIAL: tuple[TestName, ...] = ("group-sequential", "e-process", "gsprt")
SLOW = 4_000  # pairs of the fixed-n test past which a cell gets fewer runs
TITLE = "Samples until the verdict, by design (power 80%, alpha 0.05)"
SUBTITLE = (
    "Filled: the mean when nothing changed. Hollow: the mean when accuracy dropped by theta. Fixed n: always the same."
)
LOOKS = {  # name in the legend, colour (safe for the colour-blind), mark
    "two-sample": ("two-sample (unpaired)", "#555555", "s"),
    "paired": ("paired, fixed n", "#0072b2", "D"),
    "group-sequential": ("group-sequential", "#e69f00", "^"),
    "e-process": ("e-process", "#009e73", "v"),
    "gsprt": ("gsprt", "#d55e00", "o"),
}
DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- begin: benchmarks/decisions.py --write -->", "<!-- end -->"


@dataclass(frozen=True)
class Cell:
    """A discordance (share of samples that change) and a drop theta (points)."""

    asked: float
    theta: float

    @property
    def q(self) -> float:
        """The discordance; a drop of theta needs at least theta / 100."""
        return max(self.asked, self.theta / 100.0)

    @property
    def labels(self) -> tuple[str, str]:
        """The discordance and theta as the tables show them."""
        used = "" if self.q == self.asked else f" ({self.q:.0%})"
        return f"{self.asked:.0%}{used}", f"{self.theta:g}"


@dataclass(frozen=True)
class Figures:
    """One design in one cell: `n` is the most it takes, `healthy` and `dropped` are mean samples used.

    `runs` is 0 where all is computed exactly; `error` is the larger standard error of the two means, relative to them.
    """

    n: int
    healthy: float
    dropped: float
    type_one: float
    power: float
    runs: int = 0
    error: float = 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_500, help="simulated runs of a cell; slow ones get fewer")
    parser.add_argument("--cells", nargs="+", metavar="Q:THETA", help="5:2 for 5%% and 2 points; all by default")
    parser.add_argument("--write", action="store_true", help="rewrite docs/decisions.md and docs/decisions.svg")
    given = parser.parse_args(arguments)
    if given.write and given.cells:
        parser.error("--write needs all cells")
    if given.write:
        importlib.import_module("matplotlib.figure")  # the extra `bench`: missed now, not after the simulation
    cells = [Cell(q, theta) for q in DISCORDANCES for theta in THETAS]
    if given.cells:
        pairs = (text.split(":") for text in given.cells)
        cells = [Cell(float(q) / 100.0, float(theta)) for q, theta in pairs]
    results = {}
    for cell in cells:
        results[cell] = measured(cell, given.runs)
        print(f"q {cell.labels[0]}, theta {cell.labels[1]}: {time.process_time():.0f} s of processor time", flush=True)
    told_runs = max(1, given.runs // 8)
    if not given.write:
        print(f"\n{report(results, limited_rows(given.runs), told_rows(told_runs), told_runs)}")
        return
    page = DOCS / "decisions.md"
    page.write_text(rewritten(page.read_text(encoding="utf-8"), summary(results)), encoding="utf-8")
    draw(results, DOCS / "decisions.svg")


def measured(cell: Cell, runs: int) -> dict[str, Figures]:
    """Every design in one cell, by name."""
    q, theta = cell.q, cell.theta
    paired = plan(theta, discordance=q, test="paired").n
    unpaired = plan(theta, sigma=SIGMA, test="two-sample").n
    designs = {
        "two-sample": fixed(unpaired, q, theta, unpaired_losses(unpaired)),
        "two-sample at paired's n": fixed(paired, q, theta, unpaired_losses(paired)),
        "paired z": fixed(paired_z_n(q, theta), q, theta, z_losses),
        "unconditional": unconditional(plan(theta, discordance=q, test="unconditional").n, q, theta),
        "paired": exact_paired(paired, q, theta),
    }
    most = {test: plan(theta, discordance=q, test=test).n for test in SEQUENTIAL}
    return designs | simulated(most, q, theta, max(1, min(runs, runs * SLOW // paired)))


def fixed(n: int, q: float, theta: float, least: Callable[[Floats], Floats]) -> Figures:
    """A test on n pairs that rejects from `least` losses among m changed samples, computed exactly."""
    return Figures(n, n, n, rejection(n, q, 0.0, least), rejection(n, q, theta, least))


def unconditional(n: int, q: float, theta: float) -> Figures:
    """accgate's `unconditional` test on n pairs."""
    limit = order_limit(n, ALPHA)
    return fixed(n, q, theta, lambda m: least_losses(m.astype(np.int64), n, limit).astype(float))


def exact_paired(n: int, q: float, theta: float) -> Figures:
    """accgate's `paired` test on n pairs."""
    type_one, power = (mcnemar_power(n, drop, discordance=q, alpha=ALPHA) for drop in (0.0, theta))
    return Figures(n, n, n, type_one, power)


def rejection(n: int, q: float, drop: float, least: Callable[[Floats], Floats]) -> float:
    """Probability of `least` losses or more: m is Binomial(n, q), a change is a loss with (1 + drop / 100 q) / 2."""
    low, high = (float(stats.binom.ppf(tail, n, q)) for tail in (1e-12, 1.0 - 1e-12))
    m = np.arange(low, high + 1.0)
    lost = stats.binom.sf(least(m) - 1.0, m, 0.5 * (1.0 + drop / 100.0 / q))
    return float(stats.binom.pmf(m, n, q) @ lost)


def unpaired_losses(n: int) -> Callable[[Floats], Floats]:
    """TensorRT-LLM's rule on n samples: the candidate's mean is below reference - 1.645 sqrt(2 sigma^2 / n)."""
    threshold = two_sample_z(0.0, n, 0.0, n, sigma=SIGMA, alpha=ALPHA, beta=BETA).threshold
    assert threshold is not None
    excess = -threshold * n / 100.0
    return lambda m: np.floor((m + excess) / 2.0) + 1.0


def z_losses(m: Floats) -> Floats:
    """McNemar's z test without correction: losses less gains are above 1.645 sqrt(m)."""
    return np.floor((m - quantile(ALPHA) * np.sqrt(m)) / 2.0) + 1.0


def paired_z_n(q: float, theta: float) -> int:
    """Least n at which the z test's exact power is 1 - beta."""
    n = int(0.6 * one_sample_n(theta, sd=100.0 * math.sqrt(q - (theta / 100.0) ** 2), alpha=ALPHA, beta=BETA))
    while rejection(n, q, theta, z_losses) < 1.0 - BETA:
        n += 1
    return n


def simulated(most: Mapping[TestName, int], q: float, theta: float, runs: int) -> dict[str, Figures]:
    """Sequential designs with these maxima, all on the same pairs, healthy and after a drop of theta."""
    used, rejected = (np.zeros((2, runs, len(most))) for _ in range(2))
    for state, drop in enumerate((0.0, theta / 100.0)):
        rng = np.random.default_rng([SEED, round(1e4 * q), round(1e4 * theta), max(most.values()), state])
        for run in range(runs):
            u = rng.random(max(most.values()))
            differences = np.where(u < (q + drop) / 2.0, -100.0, np.where(u < q, 100.0, 0.0))
            for column, (test, n) in enumerate(most.items()):
                used[state, run, column], rejected[state, run, column] = stopped(test, differences[:n], q, theta)
    means, shares = used.mean(axis=1), rejected.mean(axis=1)
    errors = (used.std(axis=1) / math.sqrt(runs) / means).max(axis=0)
    return {
        test: Figures(n, means[0, i], means[1, i], shares[0, i], shares[1, i], runs, float(errors[i]))
        for i, (test, n) in enumerate(most.items())
    }


def stopped(test: TestName, differences: Floats, q: float, theta: float) -> tuple[int, bool]:
    """(samples used, whether the run was a regression) by the function that decides runs of this test."""
    units = units_of(differences)
    if test == "e-process":
        path = betting_path(units.totals, units.sizes, bound=100.0, theta=theta, alpha=ALPHA, beta=BETA)
        return path.used, path.stop == "regression"
    if test == "gsprt":
        result = gsprt_test(units, theta=theta, alpha=ALPHA, beta=BETA, discordance=q, figures=False)
    else:
        result = group_sequential_test(units, theta=theta, alpha=ALPHA, beta=BETA, figures=False)
    return result.n, result.stop == "regression"


def wald_bounds(q: float, theta: float, *, alpha: float = ALPHA, beta: float = BETA) -> tuple[float, float]:
    """The fewest mean samples that any test with these error rates can take, healthy and dropped (Wald 1947).

    A test whose power holds for every discordance must tell a healthy run from the likest drop of theta, whatever its
    discordance, and a dropped run from the likest one without a drop.
    """
    drop, healthy, dropped = theta / 100.0, shares(q, 0.0), shares(q, theta / 100.0)
    nearest_drop = least(lambda other: divergence(healthy, shares(other, drop)), drop)
    nearest_none = least(lambda other: divergence(dropped, shares(other, 0.0)), 0.0)
    passes, fails = math.log((1.0 - alpha) / beta), math.log((1.0 - beta) / alpha)
    return (
        ((1.0 - alpha) * passes - alpha * fails) / nearest_drop,
        ((1.0 - beta) * fails - beta * passes) / nearest_none,
    )


def shares(q: float, drop: float) -> Floats:
    """Shares of samples lost, gained and unchanged."""
    return np.array([(q + drop) / 2.0, (q - drop) / 2.0, 1.0 - q])


def divergence(true: Floats, other: Floats) -> float:
    """Kullback and Leibler's, of one sample."""
    return float(np.sum(xlogy(true, true / other)))


def least(function: Callable[[float], float], low: float) -> float:
    """The least value of a function of the discordance."""
    return float(optimize.minimize_scalar(function, bounds=(low + 1e-9, 1.0 - 1e-9), method="bounded").fun)


def bound_rows(results: Mapping[Cell, Mapping[str, Figures]]) -> list[list[str]]:
    """Wald's bounds, and how far above them the means of `gsprt` are."""
    rows = []
    for cell, designs in results.items():
        healthy, dropped = wald_bounds(cell.q, cell.theta)
        ours = designs["gsprt"]
        ratios = f"{ours.healthy / healthy:.2f}", f"{ours.dropped / dropped:.2f}"
        rows.append([*cell.labels, f"{healthy:,.0f}", f"{dropped:,.0f}", *ratios])
    return rows


def told_rows(runs: int, n: int = 1319) -> list[list[str]]:
    """`gsprt` on n samples, told another discordance than the true one, after a drop that so many just detect."""
    rows = []
    for asked in (0.01, 0.02, 0.05, 0.10, 0.20):
        theta = mcnemar_theta(int(n / GSPRT_LEAST), discordance=asked, alpha=ALPHA, beta=BETA)
        assert theta is not None
        drop, q = theta / 100.0, max(asked, theta / 100.0)
        ends = []
        for told in (0.005, 0.02, 0.05, 0.40):
            rng = np.random.default_rng([SEED, round(1e4 * q), round(1e4 * told)])
            ended = {"regression": 0, "futility": 0, "end": 0}
            for _ in range(runs):
                u = rng.random(n)
                units = units_of(np.where(u < (q + drop) / 2.0, -100.0, np.where(u < q, 100.0, 0.0)))
                ended[gsprt_test(units, theta=theta, alpha=ALPHA, beta=BETA, discordance=told, figures=False).stop] += 1
            ends.append(f"{share(ended['regression'] / runs)}; {share(ended['futility'] / runs)}")
        rows.append([f"{q:.1%}", f"{theta:.2f}", *ends])
    return rows


def limited_rows(runs: int) -> list[list[str]]:
    """Rows for runs that have fewer samples than the sequential designs plan, theta 2."""
    rows = []
    for name, q, n_max in (("5% changed, 920 samples", 0.05, 920), ("GSM8K: 1,319, 4% lost, 2% gained", 0.06, 1319)):
        most = {test: plan(2.0, discordance=q, test=test, n_max=n_max).n for test in SEQUENTIAL}
        designs = {
            "two-sample": fixed(n_max, q, 2.0, unpaired_losses(n_max)),
            "paired": exact_paired(n_max, q, 2.0),
            **simulated(most, q, 2.0, runs),
        }
        rows += [
            [name, design, f"{f.n:,}", f"{f.healthy:,.0f}", f"{f.dropped:,.0f}", share(f.type_one), share(f.power)]
            for design, f in designs.items()
        ]
    return rows


def summary(results: Mapping[Cell, Mapping[str, Figures]]) -> str:
    """The table of the page, a row for each cell, and how sure its figures are."""
    fewest = min(f.runs for designs in results.values() for f in designs.values() if f.runs)
    worst = max(f.error for designs in results.values() for f in designs.values())
    rows = []
    for cell, designs in results.items():
        ours, bounds = designs["gsprt"], wald_bounds(cell.q, cell.theta)
        fixed_n = [f"{designs[name].n:,}" for name in ("two-sample", "unconditional", "paired")]
        fewer = "; ".join(f"{designs['two-sample'].n / mean:.1f}" for mean in (ours.healthy, ours.dropped))
        bound = " / ".join(f"{n:,.0f}" for n in bounds)
        rates = f"{share(ours.type_one)} / {share(ours.power)}"
        rows.append([*cell.labels, *fixed_n, mean_samples(ours), bound, fewer, rates])
    header = ["q", "theta", "two-sample", "unconditional", "paired", "gsprt", "least possible", "times fewer", "rates"]
    parts = [
        "Samples for 80% power. Of `gsprt`: the most it takes; the mean when healthy / when dropped. Then the least\n"
        "possible means (Wald's bound), n of two-sample over the mean of `gsprt`, healthy; dropped, and the type I\n"
        "error / power of `gsprt`.",
        table(header, rows),
        f"Standard errors ({fewest:,} runs or more): of the means at most {worst:.1%}, of a type I error near 0.05\n"
        f"{math.sqrt(0.0475 / fewest):.4f} and of a power near 0.8 {math.sqrt(0.16 / fewest):.4f}.",
    ]
    return "\n\n".join(parts)


def report(results: Mapping[Cell, Mapping[str, Figures]], limited: Rows, told: Rows, told_runs: int) -> str:
    """All tables as Markdown, that of the page first."""
    names = list(next(iter(results.values())))
    samples, rates, planned = [], [], []
    for cell, designs in results.items():
        mean_n = [mean_samples(designs[test]) for test in SEQUENTIAL]
        samples.append([*cell.labels, *(f"{designs[name].n:,}" for name in FIXED), *mean_n])
        both = [f"{share(f.type_one)} / {share(f.power)}" for f in designs.values()]
        rates.append([*cell.labels, f"{designs['gsprt'].runs:,}", *both])
        planned.append([*cell.labels, *(compared(test, cell, designs[test]) for test in SEQUENTIAL)])
    unchanged = [[f"{theta:g}", *(f"{unseen(test, theta):,}" for test in SEQUENTIAL)] for theta in THETAS]
    parts = [
        summary(results),
        "Every design:",
        table(["q", "theta", *FIXED, *SEQUENTIAL], samples),
        "Type I error / power: exact at a fixed n, else of so many simulated runs. TensorRT-LLM's rule stands there\n"
        "twice: at the n of its own formula, and at that of `paired`.",
        table(["q", "theta", "runs", *names], rates),
        "Wald's bound: the fewest mean samples of any test whose error rates hold at every discordance, however many\n"
        "samples it may take; and the means of `gsprt` over it.",
        table(["q", "theta", "bound healthy", "bound dropped", "gsprt healthy", "gsprt dropped"], bound_rows(results)),
        f"`gsprt` on 1,319 samples, told another discordance than the true q, after a drop of the least theta that so\n"
        f"many detect: power; early passes. Standard error of either at most {math.sqrt(0.16 / told_runs):.3f}.",
        table(["true q", "theta", "told 0.5%", "told 2%", "told 5%", "told 40%"], told),
        "Fewer samples than the sequential designs would plan, theta 2:",
        table(["run", "design", "most", "mean healthy", "mean dropped", "type I", "power"], limited),
        "Samples after which a run without any changed sample passes, planned for q = 5%:",
        table(["theta", *SEQUENTIAL], unchanged),
        "What `accgate.plan` expects, `expected_n_healthy`; `expected_n_dropped`, and how far that is from the\n"
        "simulated means:",
        table(["q", "theta", *SEQUENTIAL], planned),
    ]
    return "\n\n".join(parts)


def mean_samples(figures: Figures) -> str:
    """The most samples that a sequential design takes, and its means."""
    return f"{figures.n:,}; {figures.healthy:,.0f} / {figures.dropped:,.0f}"


def compared(test: TestName, cell: Cell, figures: Figures) -> str:
    """How far the plan's expected samples are from the simulated ones, healthy and dropped."""
    p = plan(cell.theta, discordance=cell.q, test=test)
    pairs = ((p.expected_n_healthy, figures.healthy), (p.expected_n_dropped, figures.dropped))
    return "; ".join(f"{expected:,.0f} ({round(expected / mean - 1.0, 2) + 0.0:+.0%})" for expected, mean in pairs)


def unseen(test: TestName, theta: float) -> int:
    """Samples used where no score changes."""
    cell = Cell(DISCORDANCES[0], theta)
    return stopped(test, np.zeros(plan(theta, discordance=cell.q, test=test).n), cell.q, theta)[0]


def share(value: float) -> str:
    """A probability with three decimals."""
    return "<0.001" if value < 0.0005 else ">0.999" if value >= 0.9995 else f"{value:.3f}"


def table(header: Sequence[str], rows: Rows) -> str:
    """A Markdown table, aligned for terminals too."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(f"{c:{w}}" for c, w in zip(line, widths, strict=True)) + " |" for line in lines)


def rewritten(page: str, tables: str) -> str:
    """The page with the text between the markers replaced."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{tables}\n{END}{rest.split(END)[1]}"


def draw(results: Mapping[Cell, Mapping[str, Figures]], path: Path) -> None:
    """Mean samples against theta, a panel for each discordance; the file's ending says the format."""
    matplotlib = importlib.import_module("matplotlib")  # by name: type checking does without the extra `bench`
    style = {"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "accgate", "axes.edgecolor": "#888888"}
    with matplotlib.rc_context(style):
        figure = importlib.import_module("matplotlib.figure").Figure(figsize=(11, 5.2), facecolor="white")
        panels = np.atleast_1d(figure.subplots(1, len({cell.asked for cell in results}), sharey=True))
        for axes, asked in zip(panels, sorted({cell.asked for cell in results}), strict=True):
            _panel(axes, {cell: designs for cell, designs in results.items() if cell.asked == asked})
            more = [f"{cell.q:.0%} at theta {cell.theta:g}" for cell in results if cell.asked == asked < cell.q]
            axes.set_title(f"q: {asked:.0%} of the samples change{', '.join(['', *more])}", fontsize=10.5)
        panels[0].set_ylabel("mean samples, log scale")
        figure.text(0.012, 0.935, TITLE, fontsize=13, fontweight="bold")
        figure.text(0.012, 0.885, SUBTITLE, fontsize=10, color="#444444")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False)
        figure.subplots_adjust(left=0.07, right=0.985, top=0.8, bottom=0.2, wspace=0.06)
        svg = {"metadata": {"Date": None, "Creator": None, "Title": TITLE}} if path.suffix == ".svg" else {}
        figure.savefig(path, **svg)


def _panel(axes: Any, results: Mapping[Cell, Mapping[str, Figures]]) -> None:
    """Each design beside the others at each theta: a filled mark when healthy, a hollow one when dropped."""
    cells = sorted(results, key=lambda cell: cell.theta)
    for place, (design, (label, colour, mark)) in enumerate(LOOKS.items()):
        x = np.arange(len(cells)) + 0.17 * (place - (len(LOOKS) - 1) / 2)
        healthy, dropped = (
            np.array([getattr(results[c][design], way) for c in cells]) for way in ("healthy", "dropped")
        )
        axes.vlines(x, healthy, dropped, color=colour, linewidth=1.6)
        axes.plot(x, dropped, mark, color=colour, markerfacecolor="white", markersize=6.5, markeredgewidth=1.5)
        axes.plot(x, healthy, mark, color=colour, markersize=6.5, markeredgewidth=1.5, label=label)
    for place in range(1, len(cells), 2):
        axes.axvspan(place - 0.5, place + 0.5, color="#f3f3f3", zorder=0, linewidth=0)
    axes.set_xlim(-0.5, len(cells) - 0.5)
    axes.set_yscale("log")
    axes.set_yticks([30, 100, 300, 1_000, 3_000, 10_000, 30_000])
    axes.minorticks_off()
    axes.set_xticks(range(len(cells)), [f"{cell.theta:g}" for cell in cells])
    axes.set_xlabel("theta, the drop to be seen (points)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(which="both", length=0)


if __name__ == "__main__":
    main()

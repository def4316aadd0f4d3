"""How often the intervals of a check's groups miss, for docs/measured.md: `python -m benchmarks.groups`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from accgate.decision.evidence import Evidence
from accgate.decision.groups import add_groups
from accgate.design import Design
from accgate.records.ids import Ids
from accgate.records.scores import Scores
from accgate.stats.difference import exact_difference_interval
from accgate.verdict import CandidateSummary, GroupFigures, ReferenceSummary, Verdict
from accgate.verdict.figures import Stop

ALPHA, RUNS = 0.05, 400
Floats = npt.NDArray[np.float64]
HEADER = (
    "| groups, samples of each | changed, true difference | stops | some interval misses | limits for a fixed n miss |"
)
CASES = ((57, 72, 0.04, 0.0), (57, 72, 0.12, -6.0), (57, 240, 0.10, 0.0), (27, 240, 0.10, -4.0), (2, 1000, 0.10, 0.0))


def changes(rng: np.random.Generator, n: int, q: float, truth: float) -> Floats:
    """Differences of 0/100 scores, of which a share q changes with this mean, points."""
    gained = (q + truth / 100.0) / 2.0
    return 100.0 * rng.choice([-1, 0, 1], p=[q - gained, 1.0 - q, gained], size=n).astype(np.float64)


def rows_of(d: Floats, numbers: npt.ArrayLike, count: int, size: int, stop: Stop | None) -> tuple[GroupFigures, ...]:
    """The groups' figures of samples with these numbers; the whole run has `count` groups, in turn, of `size` each."""
    ids = Ids(map(str, np.asarray(numbers).tolist()))
    before = np.where(d > 0.0, 0.0, 100.0)[:, None]
    groups = {str(i): str(i % count) for i in range(count * size)}
    evidence = Evidence(Scores(ids, before + d[:, None]), Scores(ids, before), Design(), groups=groups)
    sides = ReferenceSummary(50.0, len(d)), CandidateSummary(50.0, len(d))
    verdict = add_groups(evidence, Verdict(None, None, "pass", "paired", len(d), *sides, ALPHA, 0.2, stop=stop))
    assert verdict.groups is not None
    return verdict.groups.rows


def misses(row: GroupFigures, truth: float) -> bool:
    """Whether a group's interval leaves out its true difference."""
    assert row.interval is not None
    return not row.interval[0] - 1e-9 <= truth <= row.interval[1] + 1e-9


def at_fixed_n(count: int, size: int, q: float, truth: float) -> float:
    """Share of runs of all samples in which some interval misses."""
    rng, n = np.random.default_rng(1), count * size
    runs = (rows_of(changes(rng, n, q, truth), np.arange(n), count, size, None) for _ in range(RUNS))
    return float(np.mean([any(misses(row, truth) for row in rows) for rows in runs]))


def at_the_worst_moment(count: int, size: int, q: float, truth: float) -> tuple[float, float]:
    """The same where each run stops when some group has lost or gained most surely; and of limits for a fixed n."""
    rng, level = np.random.default_rng(2), ALPHA / (2 * count)
    found = []
    for _ in range(RUNS):
        d = changes(rng, count * size, q, truth).reshape(size, count)
        lost, gained = np.cumsum(d < 0.0, axis=0), np.cumsum(d > 0.0, axis=0)
        most = np.maximum(lost, gained)
        p = np.where(most > 0, bdtrc(np.maximum(most - 1, 0).astype(float), np.maximum(lost + gained, 1), 0.5), 1.0)
        at, group = np.unravel_index(int(p.argmin()), p.shape)
        own = d[: at + 1, group]
        numbers = group + count * np.arange(len(own))
        (row,) = rows_of(own, numbers, count, size, "futility")  # the other groups are no worse
        low, high = exact_difference_interval(
            int(lost[at, group]), int(gained[at, group]), len(own), alpha=level
        ).two_sided
        found.append((misses(row, truth), not low <= truth <= high))
    missed, naive = np.mean(found, axis=0)
    return float(missed), float(naive)


def table() -> Iterator[str]:
    """The rows of the table in Markdown."""
    yield HEADER
    yield "| --- | --- | --- | --- | --- |"
    for count, size, q, truth in CASES:
        what = f"| {count}, {size:,} | {100 * q:g}%, {truth:g} |"
        yield f"{what} never | {at_fixed_n(count, size, q, truth):.1%} | |"
        missed, naive = at_the_worst_moment(count, size, q, truth)
        yield f"{what} worst moment | {missed:.1%} | {naive:.1%} |"


if __name__ == "__main__":
    for line in table():
        print(line)

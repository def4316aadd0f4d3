"""Each check of a history over time, and where its reference changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from accgate.errors import BadInput
from accgate.history.level import Levels, levels
from accgate.history.run import Against, Point, Run


@dataclass(frozen=True)
class Step:
    """A check in one run; `changed` says that it was held against another reference than the time before."""

    run: Run
    point: Point
    changed: bool

    @property
    def date(self) -> str:
        """The day that the run started, UTC."""
        return self.run.started[:10]

    @property
    def commit(self) -> str:
        """The commit's first digits, with a mark where files differed from it."""
        sha, _, changes = self.run.commit.partition("+")
        return sha[:9] + ("+" if changes else "")

    @property
    def levels(self) -> Levels:
        """Reference, mean and gamma as they compare with those of other runs."""
        return levels(self.point)

    @property
    def samples(self) -> str:
        """How many samples were decided on, and of how many where the test stopped early."""
        n, most = self.point.n, self.point.n_max
        return f"{n:,}" if most is None or n >= most else f"{n:,} of {most:,}"


@dataclass(frozen=True)
class Series:
    """One check, model@variant and task, over the runs that had it, oldest first."""

    model: str
    task: str
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Model and task, as reports write them."""
        return " / ".join(part for part in (self.model, self.task) if part) or "candidate against reference"

    @property
    def last(self) -> Step:
        """The latest run."""
        return self.steps[-1]


def series_of(runs: Sequence[Run], check: str | None = None) -> tuple[Series, ...]:
    """The checks of these runs by name; with `check`, "MODEL/TASK", only that one.

    A model may be named without its variant: then all its variants are meant.

    Raises
    ------
    BadInput
        Where there is no run, or no check of that name.
    """
    if not runs:
        raise BadInput("the history holds no run yet; add one with `accgate history add accgate.json`")
    found: dict[tuple[str, str], list[tuple[Run, Point]]] = {}
    for run in runs:
        for point in run.checks:
            found.setdefault((point.model, point.task), []).append((run, point))
    named = {key: rows for key, rows in found.items() if check is None or check in _names(*key)}
    if not named:
        from accgate.text import nearest

        known = [f"{model}/{task}" for model, task in found]
        raise BadInput(f"the history has no check {check!r}; {nearest(check or '', known)}")
    return tuple(Series(*key, tuple(_steps(named[key]))) for key in sorted(named))


def _names(model: str, task: str) -> set[str]:
    return {f"{model}/{task}", f"{model.partition('@')[0]}/{task}", f"{model} / {task}"}


def _steps(rows: Sequence[tuple[Run, Point]]) -> Iterator[Step]:
    before: Against | None = None
    for run, point in rows:
        yield Step(run, point, changed=before is not None and _differ(before, point.reference))
        if point.reference.mean is not None:
            before = point.reference


def _differ(before: Against, now: Against) -> bool:
    """Whether two runs were held against different references.

    Their digests tell. Without them another mean of as many samples does; of fewer, as where a test stopped early,
    nothing can be said.
    """
    if now.mean is None or before.mean is None:
        return False
    if before.digest and now.digest:
        return before.digest != now.digest
    return before.n == now.n and not math.isclose(before.mean, now.mean, abs_tol=1e-9)


BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None]) -> str:
    """Values as a line of bars from the least to the greatest; a dot where there is none.

    >>> sparkline([70.0, 72.0, None, 77.0]), sparkline([50.0, 50.0])
    ('▁▃·█', '▄▄')
    """
    known = [value for value in values if value is not None]
    if not known:
        return "·" * len(values)
    low, span = min(known), max(known) - min(known)
    return "".join(_bar(value, low, span) for value in values)


def _bar(value: float | None, low: float, span: float) -> str:
    if value is None:
        return "·"
    return BARS[3] if span <= 0.0 else BARS[round((value - low) / span * (len(BARS) - 1))]

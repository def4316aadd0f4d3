"""Each check of a history over time, for the terminal and as JSON.

Figures of runs that took different samples are shifted to one level, so that they can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from accgate.errors import BadInput
from accgate.history.run import Against, Point, Run
from accgate.text import change_figure, count_of, digits_apart, digits_of_means, figure, nearest, p_relation, visible

if TYPE_CHECKING:
    from rich.console import Console


class Levels(NamedTuple):
    """Reference, mean and gamma of a check in one run, in points.

    A level that does not exist is None.
    """

    reference: float | None
    mean: float | None
    gamma: float | None


def levels(point: Point) -> Levels:
    """Shift a check's figures to the reference's mean on all its samples.

    A test that stops early takes the first samples, more in one run than in another. The means of both sides depend on
    how many; their difference does not, and the shift keeps it. Where the mean on all samples is not known, the figures
    are the run's own.

    Examples
    --------
    >>> from accgate.history.run import Against
    >>> from accgate.verdict import CandidateSummary
    >>> reference = Against(mean=31.0, n=93, whole_mean=76.0)
    >>> levels(Point("m", "t", "pass", "gsprt", 93, reference, CandidateSummary(29.0, 93), gamma=25.0))
    Levels(reference=76.0, mean=74.0, gamma=70.0)
    """
    reference, mean, gamma = point.reference, point.candidate.mean, point.gamma
    if reference.whole_mean is None or reference.mean is None:
        return Levels(reference.mean, mean, gamma)
    shift = reference.whole_mean - reference.mean
    shifted = (None if value is None else value + shift for value in (mean, gamma))
    return Levels(reference.whole_mean, *shifted)


@dataclass(frozen=True)
class Step:
    """A check in one run. With `changed` its reference is not that of the run before."""

    run: Run
    point: Point
    changed: bool

    @property
    def date(self) -> str:
        """The day that the run started, UTC."""
        return self.run.started[:10]

    @property
    def commit(self) -> str:
        """The commit's first digits, with a + where files differed from it."""
        sha, _, changes = self.run.commit.partition("+")
        return sha[:9] + ("+" if changes else "")

    @property
    def levels(self) -> Levels:
        """Reference, mean and gamma as they compare with those of other runs."""
        return levels(self.point)

    @property
    def digits(self) -> int:
        """Digits behind the point that keep the check's figures apart.

        The run's report shows as many digits.
        """
        level = self.levels
        return max(digits_of_means(level.reference, level.mean, level.gamma), digits_apart((self.point.error, 0.0)))

    def text(self, value: float | None, *, sign: bool = False) -> str:
        """Write a figure of the check, in points."""
        return figure(value, self.digits, sign=sign)

    @property
    def samples(self) -> str:
        """Number of samples that the check used, as text.

        The text adds the largest possible number if the test stopped early.
        """
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
    def ends(self) -> tuple[str, ...]:
        """The least mean and the greatest, or nothing where no run has a mean."""
        means = [mean for step in self.steps if (mean := step.levels.mean) is not None]
        digits = max(step.digits for step in self.steps)
        return tuple(figure(end, digits) for end in (min(means), max(means))) if means else ()

    @property
    def last(self) -> Step:
        """The latest run."""
        return self.steps[-1]

    @property
    def drift(self) -> str:
        """The outcome of the latest run's drift test in a sentence, empty without one."""
        drift = self.last.point.drift
        if drift is None or drift.difference is None or drift.p_value is None:
            return ""
        moved = self.last.text(drift.difference, sign=True)
        outcome = "A slow decline that no single run shows" if drift.detected else "No slow decline"
        return (
            f"{outcome}: since the anchor of {drift.since or 'an unknown date'} the mean has moved by "
            f"{moved} (p {p_relation(drift.p_value)} at alpha {drift.alpha:g} over all {drift.runs} runs since)."
        )


def series_of(runs: Sequence[Run], check: str | None = None) -> tuple[Series, ...]:
    """Gather the checks of these runs by name, or only the `check` "MODEL/TASK".

    A model named without its variant means all its variants.

    Raises
    ------
    BadInput
        Where there is no run, or no check of that name.
    """
    if not runs:
        raise BadInput("the history holds no run yet; add one with `accgate history add accgate.json`")
    by_name: dict[tuple[str, str], list[tuple[Run, Point]]] = {}
    for run in runs:
        for point in run.checks:
            by_name.setdefault((point.model, point.task), []).append((run, point))
    named = {key: rows for key, rows in by_name.items() if check is None or check in _names(*key)}
    if not named:
        names = [f"{model}/{task}" for model, task in by_name]
        raise BadInput(f"the history has no check {check!r}; {nearest(check or '', names)}")
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
    """Tell whether two runs were compared with different references.

    Without digests their means decide, if they are of as many samples. Where a test stopped early this cannot be told,
    and the references count as the same.
    """
    if now.mean is None or before.mean is None:
        return False
    if before.digest and now.digest:
        return before.digest != now.digest
    return before.n == now.n and not math.isclose(before.mean, now.mean, abs_tol=1e-9)


HEADINGS = ("Date", "Commit", "n", "Reference", "Mean", "± error", "Difference", "Gamma", "Drift", "Verdict")


def cells(step: Step) -> tuple[str, ...]:
    """Return a run's row of figures, under `HEADINGS`."""
    point, level = step.point, step.levels
    return (
        step.date,
        step.commit or "-",
        step.samples,
        step.text(level.reference) + (" (new)" if step.changed else ""),
        step.text(level.mean),
        step.text(point.error),
        change_figure(level.reference, level.mean, step.digits),
        step.text(level.gamma),
        step.text(None if point.drift is None else point.drift.difference, sign=True)
        + (" decline" if point.is_declining else ""),
        point.verdict,
    )


BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None]) -> str:
    """Draw values as a line of bars from the least to the greatest.

    A dot stands where there is none.

    >>> sparkline([70.0, 72.0, None, 77.0]), sparkline([50.0, 50.0])
    ('▁▃·█', '▄▄')
    """
    figures = [value for value in values if value is not None]
    if not figures:
        return "·" * len(values)
    low, span = min(figures), max(figures) - min(figures)
    flat = BARS[3] if span <= 0.0 else None
    return "".join(
        "·" if value is None else flat or BARS[round((value - low) / span * (len(BARS) - 1))] for value in values
    )


# In a terminal, and as JSON


WIDEST = 60  # runs in the line of bars


def print_history(console: Console, series: Sequence[Series], *, last: int) -> None:
    """Print a line of bars and a table of runs for each check.

    The table shows the `last` runs.
    """
    from rich.text import Text

    from accgate.report.terminal import COLOURS, print_paragraph, print_table

    def row(step: Step) -> list[str | Text]:
        texts = [visible(cell) for cell in cells(step)[:-1]]
        return [*texts, Text(step.point.verdict, style=COLOURS[step.point.verdict])]

    for place, one in enumerate(series):
        if place:
            console.print()
        print_paragraph(console, Text(visible(one.name), style="bold"))
        drawn = replace(one, steps=one.steps[-min(WIDEST, console.width) :])
        bars, span = sparkline([step.levels.mean for step in drawn.steps]), " to ".join(drawn.ends)
        line = f"{bars}{'  ' if span else ''}{span}, {count_of(len(one.steps), 'run')}"
        print_paragraph(console, Text(line))
        if one.drift:
            print_paragraph(console, one.drift)
        print_table(console, HEADINGS, [row(step) for step in one.steps[-last:]], left=(0, 1, len(HEADINGS) - 1))
    if any(step.changed for one in series for step in one.steps):
        print_paragraph(console, Text("(new): the reference changed since the previous run.", style="dim"))


def as_rows(series: Sequence[Series]) -> list[dict[str, Any]]:
    """Return the series as JSON has them."""
    return [
        {
            "model": one.model,
            "task": one.task,
            "runs": [
                {
                    "started": step.run.started,
                    "commit": step.run.commit,
                    "accgate": step.run.accgate,
                    "reference_changed": step.changed,
                    "level": step.levels._asdict(),
                    **{key: value for key, value in asdict(step.point).items() if key not in ("model", "task")},
                }
                for step in one.steps
            ],
        }
        for one in series
    ]

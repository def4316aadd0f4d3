"""The progress of a check, as a terminal bar and as log lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from accgate.evaluation.assignment import Comparison, Limits, Observer
from accgate.planning.cost import Speed
from accgate.records.file import Record
from accgate.report.words import expected_text
from accgate.text import clip, clock_text, number, p_relation, p_text, signed_number, visible

LINE_EVERY = 60.0  # seconds between the lines of a log
LIMITS_EVERY = 2.0  # seconds at least between two looks at how near a decision is; each runs the check's test
LIMITS_SHARE = 0.02  # of the time, at most, that these looks may take
BRIEF = 10.0  # seconds of a check that is over too soon for anybody to plan with its end
WIDE = 100  # columns of a terminal that holds the bar beside all figures
NARROW = 60  # columns of a terminal that has room for the time left


class ProgressBar(Observer):
    """An observer that shows how a check is going.

    It shows samples, rate, time left, mean, difference to the reference and how near a decision is. A log gets a line
    at the start and end of each check, and one a minute between. As soon as the first replies show the engine's speed,
    a line says when the verdict is expected.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._progress: _Bar | None = None
        self._comparison: Comparison | None = None
        self._speed: Callable[[], Speed | None] | None = None
        self._tally = Tally("", 0, 0, clock())
        self._next_line = self._next_limits = 0.0

    def compares(self, comparison: Comparison) -> None:
        """Compare the next evaluation with this reference."""
        self._comparison = comparison

    def measures(self, speed: Callable[[], Speed | None]) -> None:
        """Use this to measure the engine's speed in the evaluation that begins."""
        self._speed = speed

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Begin a bar."""
        now = self._clock()
        comparison, self._comparison = self._comparison, None
        self._tally = tally = Tally(f"{model} / {task}", total, len(kept), now, comparison)
        for record in kept:
            tally.add(record)
        self._next_line, self._next_limits = now + LINE_EVERY, now + LIMITS_EVERY
        if not self._console.is_interactive:
            resumed = f", {len(kept):,} of them already recorded" if kept else ""
            self._print(f"{tally.name}: {total:,} samples{resumed}")
            return
        self._progress = _Bar(*_columns(self._console.width), console=self._console)
        self._progress.start()
        self._progress.add_task(
            _short(visible(tally.name), self._console.width), total=total, completed=len(kept), texts=tally.fields(now)
        )

    def finished(self, record: Record) -> None:
        """Move the bar."""
        self._tally.add(record)
        self._expect()
        now = self._clock()
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=self._tally.done, texts=self._tally.fields(now))
            if now >= self._next_limits:
                self._look(self._progress)
        elif now >= self._next_line:
            self._next_line = now + LINE_EVERY
            self._print(self._tally.line(now))

    def ended(self) -> None:
        """End the bar, or print the mean."""
        self._speed = None
        if self._progress is not None:
            self._progress.distance = None
            self._progress.stop()
            self._progress = None
            return
        tally = self._tally
        failed = f", {tally.failed} failed" if tally.failed else ""
        failed += f", {tally.unread} without an answer" if tally.unread else ""
        if tally.done < tally.total:  # short replies come first, and more of them than decide: a mean would mislead
            self._print(f"{tally.name}: ended with {tally.done:,} of {tally.total:,} answers{failed}")
            return
        difference = f", difference {signed_number(tally.difference)}" if tally.difference is not None else ""
        self._print(f"{tally.name}: mean {number(tally.mean)}{difference}{failed}")

    def _expect(self) -> None:
        """Print once, as soon as the speed is known, when the verdict is expected."""
        tally, comparison = self._tally, self._tally.comparison
        estimate_of = None if comparison is None else comparison.estimate
        if self._speed is None or estimate_of is None or (speed := self._speed()) is None:
            return
        self._speed = None
        estimate = estimate_of(speed, tally.done, tally.free)
        is_whole = estimate.most.samples == tally.total  # a shard's part has no verdict
        if is_whole and tally.done < tally.total and (estimate.most.seconds or 0.0) >= BRIEF:
            self._print(f"{tally.name}: {expected_text(estimate)}")

    def _look(self, progress: _Bar) -> None:
        """Show how near a decision is.

        The longer it takes to find out, the longer until the next look.
        """
        began = self._clock()
        comparison = self._tally.comparison
        limits = None if comparison is None else comparison.limits()
        progress.distance = None if limits is None else Text(f"{distance_text(limits)}{self._time_text(limits, began)}")
        ended = self._clock()
        self._next_limits = ended + max(LIMITS_EVERY, (ended - began) / LIMITS_SHARE)

    def _time_text(self, limits: Limits, now: float) -> str:
        """Say when a pass is due at the pace so far.

        The text is empty where the pace is unknown, or the run is not on the way to a pass.
        """
        rate = self._tally.rate(now)
        if rate is None or not 0.05 <= limits.share < 1.0:  # before that a few samples decide the figure
            return ""
        seconds = (min(limits.n / limits.share, limits.n_max) - limits.n) / rate
        return f", decided in about {clock_text(seconds)} if nothing changes"

    def _print(self, line: str) -> None:
        self._console.print(visible(line), markup=False, highlight=False, soft_wrap=not self._console.is_interactive)


class Tally:
    """Counts and means of a check's evaluation so far, in points."""

    def __init__(self, name: str, total: int, kept: int, began: float, comparison: Comparison | None = None) -> None:
        self.name, self.total, self.comparison = name, total, comparison
        self.done = self.failed = self.unread = 0
        self.free = kept  # records that took no time
        self._kept, self._began = kept, began
        self._sum = self._before = 0.0

    def add(self, record: Record) -> None:
        """Count a record."""
        self.done += 1
        self.free += self.done > self._kept and bool(record.cached)
        self.unread += record.is_unread
        if record.score is None:
            self.failed += 1
            return
        self._sum += record.score
        reference = None if self.comparison is None else self.comparison.reference
        if reference is not None:
            self._before += reference.get(record.id, record.score) if isinstance(reference, Mapping) else reference

    @property
    def mean(self) -> float | None:
        """Mean of the scores so far."""
        scored = self.done - self.failed
        return self._sum / scored if scored else None

    @property
    def difference(self) -> float | None:
        """Mean difference to the reference of the same samples, if there is one."""
        if self.mean is None or self.comparison is None or self.comparison.reference is None:
            return None
        return (self._sum - self._before) / (self.done - self.failed)

    def rate(self, now: float) -> float | None:
        """Return new records a second, once there are some."""
        new, seconds = self.done - self._kept, now - self._began
        return new / seconds if new > 0 and seconds > 0.0 else None

    def fields(self, now: float) -> dict[str, str]:
        """Return the texts beside the bar's count."""
        rate, left = self.rate(now), self.total - self.done
        return {
            "rate": "" if rate is None else f"{rate:,.1f}/s",
            "left": "" if rate is None or left <= 0 else f"{clock_text(left / rate)} left",
            "mean": f"mean {number(self.mean)}",
            "difference": "" if self.difference is None else f"diff {signed_number(self.difference)}",
            "failed": f"{self.failed} failed" if self.failed else "",
        }

    def line(self, now: float) -> str:
        """Return the same texts as a line of a log."""
        parts = [f"{self.done:,} of {self.total:,}", *self.fields(now).values()]
        return f"{self.name}: {', '.join(part for part in parts if part)}"


def distance_text(limits: Limits) -> str:
    """Say how near a decision is.

    >>> from accgate.evaluation.assignment import Limits
    >>> distance_text(Limits(312, 1319, -1.92, 0.041, 0.0123, -0.32, 0.4))
    'first 312 of 1,319: -1.92, p = 0.0410 (fails at 0.0123), passes from -0.32 (40% there)'
    >>> distance_text(Limits(20, 1319, 0.0, 1.0, 0.0, None, 0.22))
    'first 20 of 1,319: 0.00, 22% of the way to a pass'
    >>> distance_text(Limits(20, 1319, 0.0, 1.0, 0.0, -1.2, 0.4, next_n=66))
    'first 20 of 1,319: 0.00, passes from -1.20 (40% there), next look after 66'
    """
    parts = [f"first {limits.n:,} of {limits.n_max:,}: {signed_number(limits.difference)}"]
    if limits.allowed > 0.0:
        parts.append(f"p {p_relation(limits.p_value)} (fails at {p_text(limits.allowed)})")
    share = f"{100 * limits.share:.0f}%"
    if limits.passes is None:
        parts.append(f"{share} of the way to a pass")
    else:
        side = "from" if limits.higher_is_better else "down from"
        parts.append(f"passes {side} {signed_number(limits.passes)} ({share} there)")
    if limits.next_n is not None and limits.next_n > limits.n:
        parts.append(f"next look after {limits.next_n:,}")
    return ", ".join(parts)


class _Bar(Progress):
    """A bar with a line under it that says how near a decision is."""

    distance: Text | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.distance is not None:
            yield self.distance


def _columns(width: int) -> list[ProgressColumn]:
    """Return the columns that fit a terminal of this width."""

    def text(name: str, style: str = "") -> TextColumn:
        return TextColumn(
            f"{{task.fields[texts][{name}]}}", style=style, markup=False, table_column=Column(no_wrap=True)
        )

    columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))]
    if width >= WIDE:
        columns += [BarColumn(), MofNCompleteColumn(), text("rate"), text("left"), text("mean")]
    else:
        columns += [MofNCompleteColumn(), *([text("left")] if width >= NARROW else [])]
    return [*columns, text("difference"), text("failed", "red")]


def _short(name: str, width: int) -> str:
    """Cut a check's name to the room beside the figures on a line."""
    room = width - (34 if width < NARROW else 47) if width < WIDE else 40
    return clip(name, max(room, 4), "…")

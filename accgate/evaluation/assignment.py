"""What is evaluated of a check, how, and who watches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.config.tables import Sampling
from accgate.engines import split_options
from accgate.evaluation.shards.shard import Shard, samples_digest
from accgate.inputs.paths import table_in
from accgate.planning.checks import Check
from accgate.planning.cost import Estimate, Speed
from accgate.records.figures import Figures
from accgate.records.file import ENVIRONMENT, FILES, OPERATIONAL, PLAN, SILENT, Record
from accgate.result import EngineInfo
from accgate.tasks import Task

if TYPE_CHECKING:
    from accgate.evaluation.cache.engine import Cache


@dataclass(frozen=True)
class Assignment:
    """The samples that a model is asked, each `repeats` times.

    Where the task is a shard's part of a check, `whole` counts the records of the whole check. With `silence_is_loss`
    an empty or cut-off reply is a lost answer, and never ends the evaluation.
    """

    model: str
    task: Task
    repeats: int
    sampling: Sampling
    settings: Mapping[str, Any]
    max_failed: float
    whole: int | None = None
    max_unread: float = 1.0
    silence_is_loss: bool = False

    @cached_property
    def most_failed(self) -> int:
        """Number of records that may fail before the whole check is an error."""
        return self._most(self.max_failed)

    def is_beyond(self, records: Sequence[Record]) -> bool:
        """Tell whether more records failed or are unread than the check allows.

        The limits are those of the whole check.
        """
        figures = Figures.of(records)
        attacked = int(figures.columns["attacked_unread"].sum())
        return int(figures.failed.sum()) > self.most_failed or self.is_unread(self.unread_in(figures), attacked)

    def counts(self, record: Record) -> bool:
        """Tell whether a reply holds no answer, and is no lost answer."""
        return record.is_unread and not (self.silence_is_loss and record.reading in SILENT)

    def unread_in(self, figures: Figures) -> int:
        """Count the replies without an answer, except lost answers."""
        return int((figures.unread & ~figures.silent if self.silence_is_loss else figures.unread).sum())

    def is_unread(self, unread: int, attacked: int) -> bool:
        """Tell whether more replies hold no answer than `max_unread` allows.

        `attacked` counts replies to attacked prompts, which have a limit of their own.
        """
        attacks = len(self.task.content.attack)
        return unread > self._most(self.max_unread) or attacked > self._most(self.max_unread * attacks)

    def _most(self, share: float) -> int:
        return math.floor(share * (self.total if self.whole is None else self.whole) + 1e-9)

    @property
    def total(self) -> int:
        """Number of records of the finished evaluation."""
        return len(self.task.samples) * self.repeats


NO_ENGINE = EngineInfo("", "", "")
LONGEST = "max_tokens"  # in the settings of a check of lm-eval, whose definition alone does not say it


def engine_in(settings: Mapping[str, Any]) -> EngineInfo:
    """Return the engine that the settings beside records name.

    What they lack becomes empty text.
    """
    engine, environment = (table_in(settings, key) for key in ("engine", ENVIRONMENT))
    name, version, hardware = (str(engine.get(key, "")) for key in ("name", "version", "hardware"))
    return EngineInfo(name, version, hardware, {str(each): str(value) for each, value in environment.items()})


def assignment_of(
    check: Check, info: EngineInfo, shard: Shard | None = None, files: Mapping[str, str] | None = None
) -> Assignment:
    """Return the samples of a check to evaluate, all or a shard's part.

    Its settings tell two runs apart. `files` maps the files that answers depend on to their digests.
    """
    model = check.planned_model.settings
    answering, operational = split_options(model.engine, model.options)
    settings = {
        "engine": info.identity,
        "model": model.model,
        "variant": model.variant,
        "options": answering,
        OPERATIONAL: operational,
        "sampling": asdict(model.sampling),
        "repeats": check.repeats,
    }
    if check.task.content.by_harness:
        settings[LONGEST] = check.task.content.max_tokens
    if info.environment:
        settings[ENVIRONMENT] = dict(info.environment)
    if files:
        settings[FILES] = dict(files)
    limits = (check.max_failed, None, check.max_unread, check.silence_is_loss)
    whole = Assignment(check.model, check.task, check.repeats, model.sampling, settings, *limits)
    if shard is None:
        return whole
    settings |= {"shard": str(shard), PLAN: samples_digest(check.task)}
    return replace(whole, task=shard.of(check.task), settings=settings, whole=whole.total)


class Observer:
    """Watches evaluations. This one does nothing."""

    def compares(self, comparison: Comparison) -> None:
        """Take note of what the next evaluation is compared with."""

    def measures(self, speed: Callable[[], Speed | None]) -> None:
        """Take note of a function that returns the engine's speed.

        The function returns None while the speed is unknown.
        """

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Take note that an evaluation of `total` records begins.

        Those `kept` from an earlier run are among them.
        """

    def finished(self, record: Record) -> None:
        """Take note of a record that was written."""

    def ended(self) -> None:
        """Take note that the evaluation is over."""


@dataclass(frozen=True)
class Limits:
    """How near a check is to a decision after some samples, in points.

    These are the first `n` of `n_max` in the order. A regression is decided once `p_value` is at most `allowed`, the
    type I error that may be spent by then; it is 0 before enough samples changed. A `difference` no worse than `passes`
    rules out a drop of theta; None while no difference would. `share` is the part of the evidence for a pass that is
    there, from 0 to 1. A test that looks only now and then looks next after `next_n` samples. If no further sample
    changes, the check passes after `soonest`.
    """

    n: int
    n_max: int
    difference: float
    p_value: float
    allowed: float
    passes: float | None
    share: float
    higher_is_better: bool = True
    next_n: int | None = None
    soonest: int | None = None


@dataclass(frozen=True)
class Comparison:
    """What the scores of a check are compared with while it runs.

    `reference` has the mean score of each sample, or the mean of all; None where a check has no reference, or is
    decided on another statistic than the mean. `limits` returns how near a decision is, None where the check cannot end
    early. `estimate` takes a speed, the number of finished records and how many of these took no time, and returns when
    a decision is expected.
    """

    reference: Mapping[str, float] | float | None = None
    limits: Callable[[], Limits | None] = field(default=lambda: None)
    estimate: Callable[[Speed, int, int], Estimate] | None = field(default=None, compare=False)


# Tells whether the first samples of the order decide the check. Its records hold every repeat of them, in the order.
Decides = Callable[[Sequence[Record]], bool]


@dataclass(frozen=True)
class StopRule:
    """What may end a check early.

    `expected` returns the number of samples by which a decision is likely, if known. `fewest` returns the samples after
    which the check passes if no further one changes, 0 where that is unknown.
    """

    decides: Decides
    expected: Callable[[], int | None] = lambda: None
    fewest: Callable[[], int] = lambda: 0


@dataclass(frozen=True)
class Watch:
    """What may end a check early, and what its scores are compared with."""

    stop_rule: StopRule | None = None
    comparison: Comparison = field(default_factory=Comparison)


@dataclass(frozen=True)
class RunOptions:
    """The options of a run, which do not decide what its checks are.

    Records are written to `out`, and `resume` keeps those that are there. The `cache` answers what it has of the same
    model. With a `shard` only its samples are asked. Shards that share the folder `together` stop once their finished
    samples decide the check; with `first` a shard asks only its part of the samples that each check is expected to
    need. A `whole` run asks every sample, though its verdict may be known before.
    """

    out: Path
    resume: bool = False
    observer: Observer = field(default_factory=Observer)
    cache: Cache | None = None
    shard: Shard | None = None
    together: Path | None = None
    first: bool = False
    whole: bool = False

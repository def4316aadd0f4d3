"""What is evaluated of a check, and who watches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from accgate.config.tables import Sampling
from accgate.engines import split_options
from accgate.evaluation.shards.shard import Shard, samples_digest
from accgate.planning.checks import Check
from accgate.planning.cost import Estimate, Speed
from accgate.records.figures import Figures
from accgate.records.file import ENVIRONMENT, FILES, OPERATIONAL, PLAN, SILENT, Record
from accgate.result import EngineInfo
from accgate.tasks import Task


@dataclass(frozen=True)
class Assignment:
    """What is evaluated.

    It is a model on the samples of a task, each `repeats` times. Of a check's part, `whole` is the number of records of
    the whole check. With `silence_is_loss` a reply that is empty or cut off is a lost answer, and ends no evaluation.
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
        """Number of records that may fail.

        With one more the whole check is an error.
        """
        return self._most(self.max_failed)

    def is_beyond(self, records: Sequence[Record]) -> bool:
        """Tell whether too many of these records failed, or hold no answer.

        They are more than the whole check may have.
        """
        figures = Figures.of(records)
        attacked = int(figures.columns["attacked_unread"].sum())
        return int(figures.failed.sum()) > self.most_failed or self.is_unread(self.unread_in(figures), attacked)

    def counts(self, record: Record) -> bool:
        """Tell whether a reply holds no answer, and is no lost answer."""
        return record.is_unread and not (self.silence_is_loss and record.reading in SILENT)

    def unread_in(self, figures: Figures) -> int:
        """Count the replies that count so."""
        return int((figures.unread & ~figures.silent if self.silence_is_loss else figures.unread).sum())

    def is_unread(self, unread: int, attacked: int) -> bool:
        """Tell whether so many replies are unread beyond what the check may have.

        Replies to attacked prompts count apart.
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


def engine_in(settings: Mapping[str, Any]) -> EngineInfo:
    """Return the engine that the settings beside records name.

    Its texts are empty where they do not.
    """
    engine, environment = ({} if not isinstance(t := settings.get(k), dict) else t for k in ("engine", ENVIRONMENT))
    name, version, hardware = (str(engine.get(key, "")) for key in ("name", "version", "hardware"))
    return EngineInfo(name, version, hardware, {str(each): str(value) for each, value in environment.items()})


def assignment_of(
    check: Check, info: EngineInfo, shard: Shard | None = None, files: Mapping[str, str] | None = None
) -> Assignment:
    """Return the samples to evaluate of a check, all or a shard's part.

    It has the settings that tell two runs apart. `files` are the digests of those that answers depend on, by their
    names.
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


class Observer(Protocol):
    """Watches an evaluation."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Hear that an evaluation of `total` records begins.

        It has those kept of an earlier run.
        """

    def finished(self, record: Record) -> None:
        """Hear that a record was written."""

    def ended(self) -> None:
        """Hear that the evaluation is over."""


class Silent:
    """An observer that says nothing."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Nothing."""

    def finished(self, record: Record) -> None:
        """Nothing."""

    def ended(self) -> None:
        """Nothing."""


@runtime_checkable
class ComparingObserver(Observer, Protocol):
    """An observer that also hears what the scores are held against.

    It hears how fast the engine answers, too.
    """

    def compares(self, comparison: Comparison) -> None:
        """Hear what the evaluation that starts next is held against."""

    def measures(self, speed: Callable[[], Speed | None]) -> None:
        """Hear what tells the engine's speed in the next evaluation.

        It tells once it shows.
        """


@dataclass(frozen=True)
class Limits:
    """What decides a check after the first `n` of `n_max` samples of its order.

    It is in points. `difference` is that of these samples. It is a regression once `p_value` is at most `allowed`, the
    type I error that may be spent by then, 0 before enough samples changed. A difference no worse than `passes` rules
    out a drop of theta; None where nothing yet would. `share` says how much of the evidence for a pass is there, from 0
    to 1. A test that looks only now and then does so next after `next_n` samples. If none of the next samples changes,
    it passes after `soonest`.
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
    """What the scores of a check are held against while it runs.

    `reference` has the mean score of each sample, or the mean of all; None where a check has no reference, or is
    decided on another statistic than the mean. `limits` says how near a decision is, None where nothing ends early.
    `estimate` says when it is expected, at a speed and with so many records done, of which so many took no time.
    """

    reference: Mapping[str, float] | float | None = None
    limits: Callable[[], Limits | None] = field(default=lambda: None)
    estimate: Callable[[Speed, int, int], Estimate] | None = field(default=None, compare=False)


class StopRule(Protocol):
    """Says whether the first samples of the order, all finished, decide the check already."""

    def __call__(self, records: Sequence[Record]) -> bool:
        """Tell whether the first samples decide.

        `records` holds every repeat of them, in the order.
        """


@runtime_checkable
class ForeseeingStopRule(StopRule, Protocol):
    """A stop rule that foresees how many samples a decision is likely to need."""

    def expected(self) -> int | None:
        """Return the samples of the order by which a decision is likely.

        It is at the records seen last, None where nothing tells.
        """

    def fewest(self) -> int:
        """Return the samples that a pass takes if none of the next changes.

        They are of the order, 0 where nothing tells.
        """


@dataclass(frozen=True)
class Watch:
    """What goes on beside the evaluation of a check.

    It is what may end it early, and what its scores are held against.
    """

    stop_rule: StopRule | None = None
    comparison: Comparison = field(default_factory=Comparison)

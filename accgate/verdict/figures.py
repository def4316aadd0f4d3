"""The figures of a check's verdict, with the keys of the result file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from accgate.errors import Tier, VerdictName
from accgate.stats.power import error_of_mean, quantile, quantile_sum
from accgate.stats.result import Interval
from accgate.verdict.cost import Cost
from accgate.verdict.reasons import OBSTACLES, Reason, texts_of, words_of

if TYPE_CHECKING:
    from typing_extensions import Self

Stop = Literal["regression", "futility", "end"]
Answer = Literal["better", "worse", "no difference", "open"]
Lack = Literal["", "clusters", "builds"]

ROUNDING = 1e-9  # points; a spread of less is none
NO_GROUP = "(none)"  # of samples that have no group, where others have one


@dataclass(frozen=True)
class Readings:
    """How replies were read.

    Of all `replies`, `unread` had no answer, `empty` ones among them. `cut` ended at a limit of tokens, whether or not
    an answer came before: `full` of these at the end of the context or another limit of the server, the others at
    max_tokens. `refused` were refused by the model or stopped by a filter, as the server says.
    """

    replies: int
    unread: int = 0
    empty: int = 0
    cut: int = 0
    refused: int = 0
    full: int = 0

    @property
    def ends(self) -> tuple[tuple[int, str], ...]:
        """How many were cut off or refused, and the words for each."""
        return (
            (max(self.cut - self.full, 0), "cut off at max_tokens"),
            (self.full, "cut off before max_tokens, at the server's own limit"),
            (self.refused, "refused or stopped by a filter"),
        )

    @property
    def share(self) -> float:
        """Share of the replies in which no answer was found.

        >>> Readings(50, unread=5).share
        0.1
        """
        return self.unread / self.replies if self.replies else 0.0


@dataclass(frozen=True)
class ReferenceSummary:
    """Mean (points) and size of the reference.

    n is null for an absolute target. `readings` are those of the whole reference, null where it does not say. A
    recorded reference has the `name` that the model's baseline gives it, `date` and `commit` of its last run, the
    number of its `runs`, and the `engine` that made them, with its version.
    """

    mean: float | None
    n: int | None
    readings: Readings | None = None
    # Where it comes from decides nothing.
    name: str | None = field(default=None, compare=False)
    date: str | None = field(default=None, compare=False)
    commit: str | None = field(default=None, compare=False)
    runs: int | None = field(default=None, compare=False)
    engine: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CandidateSummary:
    """The candidate's mean in points, and its numbers of samples and failed samples.

    `readings` are null where there was nothing to read, as where a text is scored.
    """

    mean: float | None
    n: int
    errors: int = 0
    readings: Readings | None = None


@dataclass(frozen=True)
class Drift:
    """A run's distance from the anchor in points, and whether it declined.

    `since` is the anchor's date, and `runs` counts the references after it and this run. `p_value` is corrected for all
    runs of the history and compares with `alpha`. Where lower is better, a decline has a `difference` above 0. A
    decline fails the check where `fails` is set; the loss is then `bound` at least, and `losses` names the merges that
    lost most, each with its change.
    """

    since: str
    runs: int
    difference: float | None
    p_value: float | None
    alpha: float
    detected: bool
    reasons: tuple[str, ...] = ()
    fails: bool = False
    bound: float | None = None
    losses: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class GroupFigures:
    """One group over the samples that the check used.

    Scores are in points, and a figure that does not exist is None. The intervals of all groups hold together with
    probability 1 - alpha. `p_value` is two-sided; `p_adjusted` is corrected by Holm's procedure for all groups. `lost`
    and `gained` count samples whose score got worse and better, and `errors` those that failed. A group that
    `stands_out` has an interval that excludes 0. Where groups can fail the check, `outcome` is `regression` for one
    that fell, `error` for one that failed samples leave open, and None for others.
    """

    name: str
    n: int
    reference: float
    candidate: float
    difference: float
    interval: tuple[float, float] | None
    p_value: float | None
    p_adjusted: float | None
    lost: int
    gained: int
    errors: int = 0
    stands_out: bool = False
    outcome: Literal["regression", "error"] | None = None


@dataclass(frozen=True)
class Groups:
    """The groups of a check, those that fell most surely first.

    Groups that can fail the check do so at `level` together; it is None where they decide nothing. `count` is the
    number of groups of the whole task, over all of which the intervals hold together; `rows` has those of which the
    check used samples. With `any_stop` they hold wherever the check stopped. `note` says what the figures lack.
    """

    count: int
    alpha: float
    any_stop: bool
    rows: tuple[GroupFigures, ...] = ()
    note: str | None = None
    level: float | None = None

    @property
    def standing_out(self) -> tuple[GroupFigures, ...]:
        """The groups whose interval excludes 0."""
        return tuple(row for row in self.rows if row.stands_out)


@dataclass(frozen=True)
class Collapse:
    """Samples that every reference run has right and every candidate run wrong.

    `runs` counts those of the reference and of the candidate. `lost` counts the samples with these `ids`; `recovered`
    counts the reverse, wrong in each run of the reference and right in each of the candidate. Flicker alone would make
    `expected` samples collapse, and `p_value` is the chance of so many in a healthy run. `lack` says why there is no
    p-value: samples come in clusters, or the reference's runs are of several builds.
    """

    lost: int
    recovered: int
    ids: tuple[str, ...]
    expected: float
    p_value: float | None
    runs: tuple[int, int]
    lack: Lack = ""


@dataclass(frozen=True)
class ReplyChange:
    """The first token in which two replies to a sample differ.

    `place` counts from 1, and both sides have their token there. A token is empty where that reply ends before it.
    """

    id: str
    place: int
    before: str
    now: str


@dataclass(frozen=True)
class ReplyChanges:
    """How many replies of two models differ, and in how many tokens.

    A token is a word or a mark. `first` has the first replies that differ.
    """

    replies: int
    changed: int
    tokens: int
    first: tuple[ReplyChange, ...] = ()


@dataclass(frozen=True)
class Figures:
    """The decision of one check, with the keys of the result file.

    A figure that does not exist is None. `n` counts the samples that were used, failed ones included; of a check that
    could not be decided, those that were evaluated. All scores are in points. `sigma` is what the test worked with: the
    declared standard deviation for two-sample and target, that of the paired differences for paired. `gamma`, `theta`
    and `interval` belong to `alpha_applied`, the alpha after the correction for several checks; `p_adjusted` compares
    with `alpha`. After an early stop `difference` is median-unbiased: too high as often as too low. `difference_raw` is
    the means' own difference. `flips` are the ids whose score got worse, worst first; `discordance` is the share of
    samples that changed, and `discordance_planned` what was expected of it, where something was. A sequential test used
    the first `n` of `n_max` samples, and `stop` says why it ended there: `regression`, `futility` (evidence against a
    drop of theta) or `end`. `clusters` counts the samples' clusters. `is_new` marks a check that a pull request adds:
    its own rules decide it. One of the `tier` advisory fails no run. Where a `statistic` is decided, both sides' `mean`
    is its value. H0 allows a drop of `allowed_drop` points, and with `certify` a pass proves that it is less than that
    and theta together. `settings_changed` lists the settings that differ from those of the reference. Of the `lost`
    samples `lost_unread` got worse because no answer could be read in the reply any more. `causes` are the reasons with
    their kinds and figures, and `reasons` their sentences. Make them with `because` and `explained_by`: code looks at
    the kind of a cause, and at no word of a reason. `groups` are the figures of each group of samples, where the task
    has groups. `costs` are the change of tokens, seconds and acceptance length per sample. Where a gate on them failed
    a check whose scores did not, `by_scores` is the scores' verdict. `collapse` decides nothing; it is there where each
    side has several answers of 0 or 100 to a sample, and its samples are the first of the `flips`. Of a model that must
    be `equal_to` another, asked in the same run, `answer` is what both ways say together, the `reference` is the other
    model, and `reply_changes` are those between the replies of both, which decide nothing.
    """

    model: str | None
    task: str | None
    verdict: VerdictName
    test: str | None
    n: int
    reference: ReferenceSummary
    candidate: CandidateSummary
    alpha: float
    beta: float
    difference: float | None = None
    difference_raw: float | None = None
    alpha_applied: float | None = None
    sigma: float | None = None
    theta: float | None = None
    theta_target: float | None = None
    gamma: float | None = None
    p_value: float | None = None
    p_mid: float | None = None
    p_adjusted: float | None = None
    interval: Interval | None = None
    discordance: float | None = None
    lost: int | None = None
    gained: int | None = None
    flips: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    causes: tuple[Reason, ...] = ()
    higher_is_better: bool = True
    n_max: int | None = None
    stop: Stop | None = None
    clusters: int | None = None
    drift: Drift | None = None
    is_new: bool = False
    tier: Tier = "required"
    statistic: str | None = None
    discordance_planned: float | None = None
    settings_changed: tuple[str, ...] = ()
    allowed_drop: float = 0.0
    certify: bool = False
    lost_unread: int | None = None
    groups: Groups | None = None
    costs: tuple[Cost, ...] = ()
    by_scores: VerdictName | None = None
    collapse: Collapse | None = None
    equal_to: str | None = None
    answer: Answer | None = None
    reply_changes: ReplyChanges | None = None

    def __post_init__(self) -> None:
        """Make reasons from causes, or causes from the reasons of an earlier version's result.

        Raises
        ------
        ValueError
            When both are there, but not as many of one as of the other.
        """
        if self.causes and not self.reasons:
            object.__setattr__(self, "reasons", tuple(map(words_of, self.causes)))
        elif self.reasons and not self.causes:
            object.__setattr__(self, "causes", texts_of("note", self.reasons))
        elif len(self.reasons) != len(self.causes):
            raise ValueError(f"has {len(self.reasons)} reasons and {len(self.causes)} causes")

    def because(self, *more: Reason) -> Self:
        """Return the same with more reasons after its own."""
        return replace(self, causes=(*self.causes, *more), reasons=(*self.reasons, *map(words_of, more)))

    def explained_by(self, causes: Iterable[Reason]) -> Self:
        """Return the same with these reasons instead of its own."""
        return replace(self, causes=tuple(causes), reasons=())

    @property
    def obstacle(self) -> str | None:
        """The last reason that nothing would remove, if there is one. No number of samples and no other theta would."""
        pairs = zip(self.causes, self.reasons, strict=True)
        return next((text for cause, text in reversed([*pairs]) if cause.kind in OBSTACLES), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Model and task, as far as the check has them."""
        return tuple(name for name in (self.model, self.task) if name)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The two-sided interval of the difference, points."""
        return None if self.interval is None else self.interval.two_sided

    @property
    def level(self) -> float:
        """The alpha that the check was decided at, after any correction for several checks."""
        return self.alpha if self.alpha_applied is None else self.alpha_applied

    @property
    def confidence(self) -> str:
        """The confidence of the two-sided interval, each of whose limits errs with probability `level`."""
        return f"{100 * (1 - 2 * self.level):.4g}%"

    @property
    def sees(self) -> float | None:
        """The smallest drop that the run detects, points. It is theta on top of what is allowed."""
        return None if self.theta is None else self.theta + self.allowed_drop

    @property
    def wanted_drop(self) -> float | None:
        """The drop that the run should detect, points. It is the target theta on top of what is allowed."""
        return None if self.theta_target is None else self.theta_target + self.allowed_drop

    @property
    def is_too_coarse(self) -> bool:
        """Whether the smallest drop that the run detects exceeds the one asked for."""
        if self.theta is None or self.theta_target is None:
            return False
        return self.theta > self.theta_target * (1.0 + 1e-9)

    @property
    def error(self) -> float | None:
        """Standard error of the difference, points, if anything gives it.

        Chance alone moves the difference about so far. For pairs and a target at a fixed n it is sigma / sqrt(n). For
        two samples it is theta over the sum of the normal quantiles, which is Welch's error, or sigma times sqrt(1/n +
        1/n_ref) at a declared sigma. After an early stop, which comes when chance has moved the difference, and where
        the samples show no spread, it is half the width of the interval over the normal quantile of `level`. Where the
        theta of two samples was raised to what whole losses explain, the interval's deciding side gives it. Unbounded
        scores that all changed by the same have no interval: then theta gives it, and it is never 0.

        References
        ----------
        Miller 2024, arXiv 2411.00640 (pairs); Welch 1947, Biometrika 34 (two samples); Jennison and Turnbull 1989,
        JRSS B 51 (intervals that hold whenever a run stops).
        """
        if self.difference is None or self.n < 1 or not 0.0 < self.level < 0.5:
            return None
        is_paired = self.test != "two-sample"
        if is_paired and self.stop is None and self.sigma is not None and self.sigma > ROUNDING:
            return error_of_mean(self.sigma, self.n)
        low, high = self.ends or (0.0, 0.0)
        half = (high - low) / 2.0
        if self.interval is not None and not is_paired:
            half = abs(self.interval.one_sided - self.difference)
        by_interval = half / -quantile(self.level) if ROUNDING < half < math.inf else None
        by_theta = None
        if self.stop is None and self.theta is not None and self.theta > ROUNDING and 0.0 < self.beta < 0.5:
            by_theta = self.theta / quantile_sum(self.level, self.beta)
        if is_paired or by_interval is None or by_theta is None:
            return by_theta if by_interval is None else by_interval
        return min(by_interval, by_theta)

    @property
    def failed_cost(self) -> Cost | None:
        """The first cost whose limit failed a check whose scores did not.

        The value is None where no limit did.
        """
        costs = self.costs if self.by_scores is not None and self.verdict == "regression" else ()
        return next((cost for cost in costs if cost.outcome == "regression"), None)

    @property
    def failed_beside(self) -> Reason | None:
        """The group or slow decline that failed a check whose mean did not.

        The value is None where neither did.
        """
        causes = self.causes if self.by_scores is not None and self.verdict == "regression" else ()
        return next((cause for cause in causes if cause.kind in ("group-fell", "declined")), None)

    @property
    def is_early(self) -> bool:
        """Whether a sequential test ended before its last sample."""
        return self.n_max is not None and self.n < self.n_max

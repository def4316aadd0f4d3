"""What trials of lost answers show.

They tell which changed setting explains lost answers, and which answers are lost for good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from accgate.stats.betting import coin_evidence, share_evidence
from accgate.stats.noise import clopper_pearson

Kind = Literal["all back", "put back", "set alone", "pair back"]
Finding = Literal["cause", "no cause", "either way", "open"]
LITTLE = 0.25  # a setting that brings back less than this share of the lost answers is dismissed
MOSTLY = 0.75  # a setting whose flips are losses less often than this, and no more losses than gains, harms nothing
SURE = 20.0  # evidence of either, as a factor
ENOUGH = 60  # lost answers that tell how many a cause explains
PAIRS = 0.2  # share of alpha that pairs of settings have
HALF = 0.5  # of alpha for the run's own evidence that it lost, and half for what the search adds
MOST_PAIRS = 15  # of six settings; more would leave each a share of alpha that nothing can reach
MOST_EVIDENCE = 1e300  # a number that JSON can hold
MOST = 10**9  # questions and samples of a search that can be


@dataclass(frozen=True)
class Change:
    """A setting that differs from the reference's, with its values as short texts.

    `why` says why the setting cannot be put back, where it cannot.
    """

    name: str
    before: str
    now: str
    why: str = ""

    def __str__(self) -> str:
        """Show the change as a report does."""
        text = f"{self.name}: {self.before} → {self.now}"
        return f"{text} ({self.why})" if self.why else text


@dataclass(frozen=True)
class Trial:
    """What some settings do, on samples that were asked with and without them.

    `n` samples were asked both ways: `better` and `worse` count those whose score was better and worse with the
    reference's values. Among the run's lost answers these counts are `lost`, `back` and `gone`, and of its `gained`
    answers `undone` were lost with the reference's values. Where the settings lose as many answers as they gain, better
    and worse are a fair coin, and the factor `evidence` reaches 1 / alpha with probability alpha at most. The second of
    two trials of the same settings has the mean of both factors. `level` is the share of alpha that these settings
    have. `problem` says why the model could not be asked with them.
    """

    kind: Kind
    settings: tuple[str, ...]
    level: float
    n: int = 0
    better: int = 0
    worse: int = 0
    lost: int = 0
    back: int = 0
    gone: int = 0
    gained: int = 0
    undone: int = 0
    evidence: float = 1.0
    finding: Finding = "open"
    problem: str = ""

    @property
    def p_value(self) -> float:
        """p of the hypothesis that these settings lose no more than they gain.

        The p-value is valid whenever the trial ended.
        """
        return min(1.0, 1.0 / self.evidence) if self.evidence > 0.0 else 1.0


@dataclass(frozen=True)
class Blame:
    """Which changed settings explain the lost answers of a check.

    The run lost and gained so many answers; `control` lost ones were asked again with nothing changed, and `by_chance`
    of these came back. `p_value` is the run's, which failed at `run_alpha`. `causes` are the settings found, with the
    number of lost answers that each explains. `fixed` names what differs and cannot be put back. `questions` counts the
    requests. `alpha` bounds the chance of naming a setting that loses nothing, also after a false alarm.
    """

    model: str
    task: str
    lost: int
    changes: tuple[Change, ...]
    fixed: tuple[Change, ...]
    control: int
    by_chance: int
    trials: tuple[Trial, ...]
    alpha: float
    questions: int
    ended_early: str | None = None
    causes: tuple[Explained, ...] = field(default=())
    gained: int = 0
    p_value: float | None = None
    run_alpha: float = 0.05


@dataclass(frozen=True)
class Explained:
    """The `count` of the lost answers that some settings explain.

    It is `least` or more with probability 1 - alpha, and `most` or less with the same. The settings also explain
    `gained` of the gained answers that were asked.
    """

    settings: tuple[str, ...]
    count: int
    of: int
    least: int
    most: int
    gained: int = 0
    alone: bool | None = None  # whether they lose answers when nothing else is changed; None where that was not shown


def trial_of(
    kind: Kind,
    settings: Sequence[str],
    level: float,
    without: Mapping[str, float | None],
    put_back: Mapping[str, float | None],
    lost: frozenset[str],
    gained: frozenset[str] = frozenset(),
    *,
    earlier: float | None = None,
) -> Trial:
    """Return what a trial shows so far.

    `earlier` is the evidence of another trial of the same settings.

    Parameters
    ----------
    without, put_back : mapping of id to score
        Points, turned so that higher is better: with the candidate's and with the reference's values of the settings.
        A sample without a score tells nothing.
    lost, gained : set of ids
        The answers that the run lost and gained, for which the trial is made.

    Examples
    --------
    >>> lost = frozenset(map(str, range(12)))
    >>> trial_of("put back", ["kv"], 0.05, dict.fromkeys(lost, 0.0), dict.fromkeys(lost, 100.0), lost).finding
    'cause'
    """
    up, down, same = set[str](), set[str](), set[str]()
    for id_, score in put_back.items():
        other = without.get(id_)
        if score is not None and other is not None:
            (up if score > other else down if score < other else same).add(id_)
    both = up | down | same
    counts = (len(both), len(up), len(down), len(lost & both), len(lost & up), len(lost & down))
    trial = Trial(kind, tuple(settings), level, *counts, len(gained & both), len(gained & down))
    return _with_finding(trial, earlier)


def _with_finding(trial: Trial, earlier: float | None) -> Trial:
    """Find what the counts of a trial show.

    `earlier` is the evidence of another trial of the same settings. Both trials may see the same flips, which a product
    of their evidence would count twice: hence the mean.
    """
    evidence = min(coin_evidence(trial.better, trial.worse), MOST_EVIDENCE)
    if earlier is not None:
        evidence = (earlier + evidence) / 2.0
    finding: Finding = "open"
    if evidence >= 1.0 / trial.level:
        finding = "cause"
    elif flips_either_way(trial.better, trial.worse):
        finding = "either way"
    elif share_evidence(trial.back, trial.lost - trial.back, LITTLE) >= SURE:
        finding = "no cause"
    return replace(trial, evidence=evidence, finding=finding)


def flips_either_way(lost: int, gained: int) -> bool:
    """Tell whether so many flips show that their cause loses nothing to speak of.

    >>> flips_either_way(20, 20), flips_either_way(20, 8), flips_either_way(3, 3)
    (True, False, False)
    """
    return coin_evidence(lost, gained) <= 1.0 and share_evidence(lost, gained, MOSTLY) >= SURE


def is_consistent(blame: Blame) -> bool:
    """Tell whether one search can have produced all figures of this blame.

    Levels, evidence, findings and causes must follow from the counts.
    """
    names = {change.name for change in blame.changes}
    rates = 0.0 < blame.alpha < 0.5 and 0.0 < blame.run_alpha < 0.5 and 0.0 <= (blame.p_value or 0.0) <= 1.0
    if not rates or not 0 < len(names) == len(blame.changes) or not 0 <= blame.questions <= MOST:
        return False
    is_gated = not any(trial.kind == "all back" and trial.problem for trial in blame.trials)
    selection = selection_of(blame.p_value, blame.run_alpha, blame.alpha)
    levels = levels_of(blame.alpha, len(names), selection, is_gated=is_gated)
    trials: dict[tuple[str, tuple[str, ...]], Trial] = {}
    for trial in blame.trials:
        if not levels[trial.kind] or not _is_possible(trial, blame) or not {*trial.settings} <= names:
            return False
        other = trials.get(("put back", trial.settings)) if trial.kind == "set alone" else None
        counts = replace(trial, level=levels[trial.kind])
        trials[trial.kind, trial.settings] = _with_finding(counts, None if other is None else other.evidence)
    return (
        0 <= blame.by_chance <= blame.control <= blame.lost
        and 0 <= blame.gained <= MOST
        and tuple(trials.values()) == blame.trials
        and causes_of(blame.trials, blame.lost, blame.alpha) == blame.causes
    )


def _is_possible(trial: Trial, blame: Blame) -> bool:
    """Tell whether some answers can have been counted so."""
    others = (trial.better - trial.back, trial.worse - trial.gone - trial.undone, trial.n - trial.lost - trial.gained)
    return (
        0 <= min(trial.back, trial.gone, trial.undone, *others) <= trial.n <= MOST
        and trial.better + trial.worse <= trial.n
        and trial.back + trial.gone <= trial.lost <= blame.lost
        and trial.undone <= trial.gained <= blame.gained
        and bool(trial.settings)
    )


def is_finished(trial: Trial, lost: int) -> bool:
    """Tell whether a trial needs no more answers.

    A cause is finished once it is known how much it explains, other settings once they are cleared. After all lost
    answers a trial goes on only while it points at a cause.
    """
    if trial.finding in ("no cause", "either way"):
        return True
    if trial.finding == "cause":
        return trial.lost >= min(lost, ENOUGH)
    return trial.lost >= lost and trial.evidence <= 1.0


def selection_of(p_value: float | None, run_alpha: float, alpha: float) -> float:
    """Return the factor by which a search in a failed run lowers alpha.

    The run was chosen for having failed: a share `run_alpha` of healthy runs fails, and loses more answers than it
    gains by that choice alone. The factor is 1 where at most one false alarm in 2 / `alpha` has so small a p-value.

    >>> selection_of(0.04, 0.05, 0.05), selection_of(0.001, 0.05, 0.05)
    (0.05, 1.0)
    """
    return 1.0 if p_value is not None and p_value <= HALF * alpha * run_alpha else run_alpha


def levels_of(alpha: float, count: int, selection: float = 1.0, *, is_gated: bool = True) -> dict[Kind, float]:
    """Return the share of alpha of each kind of trial of `count` settings.

    Single settings are tried only after all of them put back together were shown to explain a loss, which bounds what
    is named after a false alarm. Where that could not be tried (not `is_gated`), single settings have its level.

    >>> round(levels_of(0.05, 1, 0.05)["put back"], 5), {kind: round(x, 5) for kind, x in levels_of(0.05, 4).items()}
    (0.00125, {'all back': 0.025, 'put back': 0.005, 'set alone': 0.01, 'pair back': 0.00167})
    """
    whole = HALF * alpha * selection
    if count == 1:
        return {"all back": whole, "put back": whole, "set alone": 0.0, "pair back": 0.0}
    alpha = alpha if is_gated else whole
    pairs = min(math.comb(count, 2), MOST_PAIRS) if count > 2 else 0
    single = alpha * (1.0 - PAIRS if pairs else 1.0) / count
    pair = PAIRS * alpha / pairs if pairs else 0.0
    return {"all back": whole, "put back": single / 2.0, "set alone": single, "pair back": pair}


def causes_of(trials: Sequence[Trial], lost: int, alpha: float) -> tuple[Explained, ...]:
    """List the settings that were found, those that explain most first."""
    named = dict.fromkeys(t.settings for t in trials if t.finding == "cause" and t.kind != "all back")
    explained = []
    for settings in named:
        own = [trial for trial in trials if trial.settings == settings]
        alone = next((trial for trial in own if trial.kind == "set alone"), None)
        first = next((trial for trial in own if trial.kind != "set alone"), own[0])
        # The answers that come back without the settings, less those that are lost then.
        count = max(0, round(lost * ((first.back - first.gone) / first.lost))) if first.lost else 0
        harms, bounds = None if alone is None else _harms(alone), explained_bounds(first, lost, alpha)
        explained.append(Explained(settings, count, lost, *bounds, first.undone, harms))
    return tuple(sorted(explained, key=lambda each: -each.count))


def _harms(alone: Trial) -> bool | None:
    """Tell whether settings lose answers when nothing else is changed, if that is clear."""
    if coin_evidence(alone.better, alone.worse) >= SURE:
        return True
    return False if share_evidence(alone.back, alone.lost - alone.back, LITTLE) >= SURE else None


def explained_bounds(trial: Trial, lost: int, alpha: float) -> tuple[int, int]:
    """Bound how many of `lost` answers come back by a trial's settings. Each bound holds with probability 1 - alpha."""
    if not trial.lost:
        return 0, lost
    low, high = clopper_pearson(trial.back, trial.lost, confidence=1.0 - alpha)
    least_gone, most_gone = 0.0, 0.0
    if trial.gone:
        least_gone, most_gone = clopper_pearson(trial.gone, trial.lost, confidence=1.0 - alpha)
    least, most = lost * (low - most_gone), lost * (high - least_gone)
    return max(0, math.floor(least + 1e-9)), max(0, min(lost, math.ceil(most - 1e-9)))


@dataclass(frozen=True)
class AskedAgain:
    """The lost answers of a check, asked again `times` times.

    By id, `back` counts how often an answer was at least as good as in the reference, `scored` how often it had a score
    at all, and `unread` how often the reply held no answer, which is scored as wrong. `failure` says why the first
    request without a score failed. `own_ids` has the ids that the dataset gives the samples.
    """

    model: str
    task: str
    times: int
    back: dict[str, int]
    scored: dict[str, int]
    unread: dict[str, int]
    failure: str | None = None
    own_ids: dict[str, str] = field(default_factory=dict)

    @property
    def lost(self) -> tuple[str, ...]:
        """Those that never came back, lost for good."""
        return tuple(id_ for id_, count in self.back.items() if not count and self.scored[id_])

    @property
    def flickering(self) -> tuple[str, ...]:
        """Those that came back at least once."""
        return tuple(id_ for id_, count in self.back.items() if count)

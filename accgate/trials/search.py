"""Which changed setting lost the answers: the candidate with each put back, beside the candidate asked again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from accgate.config.config import Config
from accgate.config.tables import Model
from accgate.decision.cause import (
    ENOUGH,
    MOST_PAIRS,
    Blame,
    Finding,
    Kind,
    Trial,
    causes_of,
    is_finished,
    levels_of,
    trial_of,
)
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.assignment import Observer, Silent
from accgate.guard.base import RuleSets
from accgate.planning.checks import Check
from accgate.trials.arm import Answers, Arm, Scored, ask
from accgate.trials.folder import TrialFolder
from accgate.trials.loss import Loss, loss_of, reference_scores, refuse_unread
from accgate.trials.settings import Settings, settings_of

FOLDER = "blame"
OWN_FOLDER = TrialFolder("blame", models="[0-9]/*")
BEYOND = 2  # times as many further samples as were lost may be asked of each arm, and AT_LEAST
AT_LEAST = 60
MOST = 0.8  # share of the lost answers that causes explain when no more is looked for


def blame(
    config: Config | str | Path,
    run: Path,
    *,
    rules: RuleSets | None = None,
    model: str | None = None,
    task: str | None = None,
    alpha: float = 0.05,
    samples: int | None = None,
    minutes: float | None = None,
    out: Path | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    saves: Callable[[Blame], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Blame:
    """Ask again what a run lost, with each changed setting put back, and say which of them explain the loss.

    Parameters
    ----------
    config : Config or path of accuracy.toml
        That of the run.
    run : Path
        The run's folder, which is read.
    rules : RuleSets, optional
        Those of the base commit, where they decided.
    model, task : str, optional
        Which check; by default the regression that lost most answers.
    alpha : float
        The chance that any setting without effect is named, over all of them.
    samples, minutes : optional
        The most questions there may be, and how long may be asked; by default as much as the trials need.
    out : Path, optional
        The trials' records lie in `blame` in it; by default the run's folder.
    saves : callable, optional
        Is told after each part of the search what came of it so far, in case it is killed.
    clock : callable
        Seconds, which never go back.

    Raises
    ------
    BadInput
        When the run lost nothing, was made with other settings than the config has, or its reference does not say with
        which it was recorded.
    CannotEvaluate
        When an engine fails for good. Records are kept: `resume` goes on.
    """
    ends_at = None if minutes is None else clock() + 60.0 * minutes
    loss = loss_of(config, run, model, task, rules)
    assert loss.check.recorded is not None
    settings = _usable(loss.check, settings_of(loss.check.recorded, loss.check.planned_model.settings, loss.engine))
    folder = (run if out is None else out) / FOLDER
    budget = _Budget(samples, minutes, ends_at, clock)
    with OWN_FOLDER.held(folder, resume=resume):
        return _Search(loss, settings, folder, alpha, budget, observer or Silent(), saves).blame()


def _usable(check: Check, settings: Settings) -> Settings:
    """The settings; without those whose old value no engine takes, where the reference's model cannot be made.

    Raises
    ------
    BadInput
        When none is left.
    """

    def fault_of(names: Sequence[str]) -> str | None:
        try:
            replace(check.planned_model, settings=settings.put_back(names)).engine()
        except (BadInput, CannotEvaluate) as error:
            return str(error).splitlines()[0]
        return None

    names = list(settings.values)
    if (whole := fault_of(names)) is None:
        return settings
    reasons = {name: fault for name in names if (fault := fault_of([name])) is not None}
    if not 0 < len(reasons) < len(names):
        raise BadInput(f"{check.model}: the settings of its reference cannot be put back: {whole}")
    return settings.without(reasons)


SINGLE: tuple[Kind, ...] = ("put back", "set alone")


class _Spent(Exception):
    """The budget is spent; the message says how."""


@dataclass(frozen=True)
class _Budget:
    """The most questions, and until when they may be asked."""

    samples: int | None
    minutes: float | None
    ends_at: float | None
    clock: Callable[[], float]

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.ends_at is not None and self.clock() >= self.ends_at

    def left(self, questions: int, repeats: int) -> int | None:
        """How many samples may be asked yet; None for any number.

        Raises
        ------
        _Spent
            When none.
        """
        if self.is_over:
            raise _Spent(f"after {self.minutes:g} minutes, the most that were allowed")
        if self.samples is None:
            return None
        left = (self.samples - questions) // repeats
        if left < 1:
            raise _Spent(f"after {questions:,} questions, the most that were allowed")
        return left


@dataclass
class _Arm:
    """A trial's arm with what it scored so far, and the arm beside which it is held."""

    kind: Kind
    names: tuple[str, ...]
    level: float
    model: Model
    scores: dict[str, float | None] = field(default_factory=dict)
    is_done: bool = False
    problem: str = ""


@dataclass
class _Search:
    """The trials of a check: first on the lost answers, then, where these cannot tell, on further samples."""

    loss: Loss
    settings: Settings
    out: Path
    alpha: float
    budget: _Budget
    observer: Observer
    saves: Callable[[Blame], None] | None
    questions: int = 0
    now: dict[str, float | None] = field(default_factory=dict)
    arms: dict[tuple[Kind, tuple[str, ...]], _Arm] = field(default_factory=dict)

    @property
    def check(self) -> Check:
        """The check that lost answers."""
        return self.loss.check

    @property
    def lost(self) -> tuple[str, ...]:
        """The lost answers, in the fixed order."""
        return self.loss.ids

    def blame(self) -> Blame:
        """All trials, as far as the budget goes."""
        ended = None
        try:
            for part, ids in enumerate(self._parts()):
                self._part(self.out / str(part), ids)
                if self._is_settled():
                    break
        except _Spent as spent:
            ended = str(spent)
        return self._blame(ended)

    def _blame(self, ended: str | None) -> Blame:
        """What came of the search so far."""
        trials = tuple(self._trial_of(arm, arm.scores) for arm in self.arms.values())
        reference = reference_scores(self.check)
        again = [id_ for id_ in self.lost if self.now.get(id_) is not None]
        return Blame(
            model=self.check.model,
            task=self.check.task.name,
            lost=len(self.lost),
            changes=self.settings.changes,
            fixed=self.settings.fixed,
            control=len(again),
            by_chance=sum((self.now[id_] or 0.0) >= reference[id_] for id_ in again),
            trials=trials,
            alpha=self.alpha,
            questions=self.questions,
            ended_early=ended,
            causes=causes_of(trials, len(self.lost), self.alpha),
        )

    def _parts(self) -> list[list[str]]:
        """The lost answers, and others, if any, for trials that these cannot decide; each in the fixed order."""
        those = set(self.lost)
        others = [id_ for id_ in self.check.task.samples.ids if id_ not in those]
        further = others[: max(BEYOND * len(self.lost), AT_LEAST)]
        return [list(self.lost[:ENOUGH]), *([further] if further else [])]

    def _part(self, out: Path, ids: Sequence[str]) -> None:
        names = tuple(self.settings.values)
        again = self._ask(out, "asked again", self.settings.candidate, ids, None)
        if ids[0] in self.lost:
            refuse_unread(self.loss, again.records)
        self.now.update(again.scores)
        kind: Kind = "put back" if len(names) == 1 else "all back"
        self._trial(out, _Arm(kind, names, self.alpha, self.settings.put_back(names)), ids, whole=True)
        if len(names) > 1 and (self._finding(kind, names) == "cause" or self.arms[kind, names].problem):
            self._each(out, names, ids)

    def _each(self, out: Path, names: Sequence[str], ids: Sequence[str]) -> None:
        """Each setting put back, each set alone, and pairs where no single one was found."""
        single, pair = levels_of(self.alpha, len(names))
        for name in names:
            self._trial(out, _Arm("put back", (name,), single, self.settings.put_back([name])), ids)
        for name in () if self.arms["all back", tuple(names)].problem else names:
            self._trial(out, _Arm("set alone", (name,), single, self.settings.set_alone(name)), ids)
        if pair and not any(self._finding(kind, those) == "cause" for kind, those in self.arms if kind in SINGLE):
            for both in self._pairs(names):
                self._trial(out, _Arm("pair back", both, pair, self.settings.put_back(both)), ids)

    def _pairs(self, names: Sequence[str]) -> Sequence[tuple[str, str]]:
        """Pairs of settings, those that brought most back first."""
        back = {
            name: self._trial_of(arm, arm.scores).back
            for (kind, (name, *_)), arm in self.arms.items()
            if kind == "put back"
        }
        return sorted(itertools.combinations(names, 2), key=lambda both: -sum(map(back.__getitem__, both)))[:MOST_PAIRS]

    def _is_settled(self) -> bool:
        """Whether the causes named explain most of the loss, or the settings together little."""
        trials = [self._trial_of(arm, arm.scores) for arm in self.arms.values()]
        explained = sum(cause.count for cause in causes_of(trials, len(self.lost), self.alpha))
        return explained >= MOST * len(self.lost) or (bool(trials) and trials[0].finding == "no cause")

    def _is_found(self, names: tuple[str, ...]) -> bool:
        """Whether a setting that was put back and set alone is named: further samples could only hide that again."""
        tried = [kind for kind in SINGLE if (kind, names) in self.arms and self.arms[kind, names].scores]
        return len(tried) == len(SINGLE) and any(self._finding(kind, names) == "cause" for kind in tried)

    def _finding(self, kind: Kind, names: tuple[str, ...]) -> Finding:
        arm = self.arms[kind, names]
        return self._trial_of(arm, arm.scores).finding

    def _trial(self, out: Path, arm: _Arm, ids: Sequence[str], *, whole: bool = False) -> None:
        """Ask an arm until its trial is finished, or `whole`, since others are held beside it."""
        arm = self.arms.setdefault((arm.kind, arm.names), arm)
        if arm.is_done or arm.problem or self._is_found(arm.names):
            return

        def ends(scores: Scored) -> bool:
            return is_finished(self._trial_of(arm, {**arm.scores, **scores}), len(self.lost))

        name = "all put back" if len(arm.names) == len(self.settings.values) else _name(arm)
        try:
            arm.scores.update(self._ask(out, name, arm.model, ids, None if whole else ends).scores)
        except (BadInput, CannotEvaluate) as error:
            arm.problem = str(error).splitlines()[0]
        arm.is_done = not whole and ends(arm.scores)
        if self.saves is not None:
            self.saves(self._blame("before it was finished"))

    def _trial_of(self, arm: _Arm, scores: Scored) -> Trial:
        without: Scored = self.now
        back = scores
        if arm.kind == "set alone":
            without, back = scores, self.arms["all back", tuple(self.settings.values)].scores
        restored = {id_: back.get(id_) for id_ in scores}
        other = self.arms.get(("put back", arm.names)) if arm.kind == "set alone" else None
        earlier = 1.0 if other is None else self._trial_of(other, other.scores).evidence
        trial = trial_of(arm.kind, arm.names, arm.level, without, restored, frozenset(self.lost), earlier=earlier)
        return replace(trial, problem=arm.problem) if arm.problem else trial

    def _ask(
        self, out: Path, name: str, model: Model, ids: Sequence[str], ends: Callable[[Scored], bool] | None
    ) -> Answers:
        ids = ids[: self.budget.left(self.questions, self.check.repeats)]

        def is_enough(scores: Scored) -> bool:
            return self.budget.is_over or (ends is not None and ends(scores))

        watched = is_enough if ends is not None or self.budget.ends_at is not None else None
        arm = Arm(f"{self.check.model}, {name}", replace(self.check.planned_model, settings=model))
        answers = ask(self.check, arm, ids, out, observer=self.observer, ends=watched)
        self.questions += answers.questions
        return answers


def _name(arm: _Arm) -> str:
    return f"{' and '.join(arm.names)} {'alone' if arm.kind == 'set alone' else 'put back'}"

"""The search for the changed setting that lost the answers.

The candidate with each setting put back is asked beside the candidate asked again.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from accgate.config.config import Config
from accgate.config.tables import Model
from accgate.decision import cause
from accgate.decision.cause import Blame, Finding, Kind, Trial
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.assignment import RunOptions
from accgate.planning.checks import Check
from accgate.run_plan import Rules
from accgate.trials.arm import Answers, Scored, TrialFolder, ask
from accgate.trials.loss import Changed, Loss, changed_of, loss_of, reference_scores, refuse_unread
from accgate.trials.settings import Settings, settings_of

FOLDER = TrialFolder("blame", models="[0-9]/*")
# tests/trials/test_searching.py measures what searches with these figures name.
FURTHER = 8  # lost answers that samples which the run was not decided on are first asked for; then twice as many
SURVEYS = 5  # times that it doubles
BEYOND = 2  # times as many further samples as were lost may be asked of each arm, and AT_LEAST
AT_LEAST = 60  # a loss of few samples needs others to tell it from flicker
MOST = 0.8  # share of the net loss that causes explain when no more is looked for
EMPTY: Scored = MappingProxyType({})


def blame(
    config: Config | str | Path,
    run: Path,
    options: RunOptions,
    *,
    rules: Rules = None,
    model: str | None = None,
    task: str | None = None,
    alpha: float = 0.05,
    samples: int | None = None,
    minutes: float | None = None,
    saves: Callable[[Blame], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Blame:
    """Ask again what a run lost, with each changed setting put back.

    Return which of the settings explain the loss.

    Parameters
    ----------
    config : Config or path of accuracy.toml
        That of the run.
    run : Path
        The run's folder, which is read.
    options : RunOptions
        The trials' records lie in `blame` in its folder, which may be the run's.
    rules : RuleSets, optional
        Those of the base commit, where they decided.
    model, task : str, optional
        Which check; by default the regression that lost most answers.
    alpha : float
        The chance that any setting is named that loses nothing, over all of them, also after a false alarm.
    samples, minutes : optional
        The most questions there may be, and how long may be asked; by default as much as the trials need.
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
    changed = changed_of(loss.check, loss.verdict, run)
    folder = options.out / FOLDER.command
    budget = _Budget(samples, minutes, ends_at, clock)
    with FOLDER.held(folder, resume=options.resume):
        return _Search(loss, changed, settings, replace(options, out=folder), alpha, budget, saves).blame()


def _usable(check: Check, settings: Settings) -> Settings:
    """Return the settings that can be tried.

    Where the reference's model cannot be made, those settings are left out whose old value no engine takes.

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
    if (together := fault_of(names)) is None:
        return settings
    reasons = {name: fault for name in names if (fault := fault_of([name])) is not None}
    if not 0 < len(reasons) < len(names):
        raise BadInput(f"{check.model}: the settings of its reference cannot be put back: {together}")
    return settings.without(reasons)


SINGLE: tuple[Kind, ...] = ("put back", "set alone")


class _Spent(Exception):
    """The budget is spent.

    The message says how.
    """


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

    def remaining(self, questions: int, repeats: int) -> int | None:
        """Return how many samples may be asked yet, None for any number.

        Raises
        ------
        _Spent
            When none.
        """
        if self.is_over:
            raise _Spent(f"after {self.minutes:g} minutes, the most that were allowed")
        if self.samples is None:
            return None
        rest = (self.samples - questions) // repeats
        if rest < 1:
            raise _Spent(f"after {questions:,} questions, the most that were allowed")
        return rest


@dataclass
class _Arm:
    """A trial's arm with what it scored so far."""

    kind: Kind
    names: tuple[str, ...]
    model: Model
    scores: dict[str, float | None] = field(default_factory=dict)
    is_done: bool = False
    problem: str = ""


@dataclass
class _Search:
    """The trials of a check.

    They are on what changed in the run, then on further samples that change, then on others.
    """

    loss: Loss
    changed: Changed
    settings: Settings
    options: RunOptions
    alpha: float
    budget: _Budget
    saves: Callable[[Blame], None] | None
    questions: int = 0
    now: dict[str, float | None] = field(default_factory=dict)
    arms: dict[tuple[Kind, tuple[str, ...]], _Arm] = field(default_factory=dict)

    def blame(self) -> Blame:
        """Run all trials, as far as the budget goes."""
        ended = None
        try:
            for out, ids in self._parts():
                self._part(out, ids)
                if self._is_settled():
                    break
        except _Spent as spent:
            ended = str(spent)
        return self._blame(ended)

    def _blame(self, ended: str | None) -> Blame:
        """Return what came of the search so far."""
        trials = tuple(map(self._trial_of, self.arms.values()))
        reference = reference_scores(self.loss.check)
        again = [id_ for id_ in self.loss.ids if self.now.get(id_) is not None]
        return Blame(
            model=self.loss.check.model,
            task=self.loss.check.task.name,
            lost=len(self.loss.ids),
            changes=self.settings.changes,
            fixed=self.settings.fixed,
            control=len(again),
            by_chance=sum((self.now[id_] or 0.0) >= reference[id_] for id_ in again),
            trials=trials,
            alpha=self.alpha,
            questions=self.questions,
            ended_early=ended,
            gained=len(self.changed.gained),
            p_value=self.loss.verdict.p_value,
            run_alpha=self.loss.verdict.level,
            causes=cause.causes_of(trials, len(self.loss.ids), self.alpha),
        )

    def _parts(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield the folder and the samples of each part, in the fixed order.

        Which samples are asked never depends on whether they were lost or gained: else a flip either way would not be
        a fair coin.
        """
        ids, those = self.loss.check.task.samples.ids, {*self.changed.lost, *self.changed.gained}
        folders = (self.options.out / str(part) for part in itertools.count())
        changed = [id_ for id_ in ids if id_ in those]
        end = changed.index(self.loss.ids[: cause.ENOUGH][-1]) + 1
        for part in (changed[:end], changed[end:]):
            if part:
                yield next(folders), part
        further = list(self.changed.further)
        for doubling in range(SURVEYS):
            if further:
                out, is_last = next(folders), doubling == SURVEYS - 1
                asked, part = self._survey(out, further, None if is_last else FURTHER << doubling)
                further = [id_ for id_ in further if id_ not in asked]
                those.update(part)
                if part:
                    yield out, part
        others = [id_ for id_ in ids if id_ not in those][: max(BEYOND * len(self.loss.ids), AT_LEAST)]
        if others:
            yield next(folders), others

    def _survey(self, out: Path, ids: Sequence[str], enough: int | None) -> tuple[Scored, list[str]]:
        """Ask the candidate further samples until enough are lost.

        Return the scores, and the samples that changed.
        """
        reference = reference_scores(self.loss.check)

        def is_enough(scores: Scored) -> bool:
            lost = sum(score is not None and score < reference[id_] for id_, score in scores.items())
            return enough is not None and lost >= enough

        scores = self._ask(out, "asked further", self.settings.candidate, ids, is_enough).scores
        return scores, [id_ for id_ in ids if (score := scores.get(id_)) is not None and score != reference[id_]]

    def _part(self, out: Path, ids: Sequence[str]) -> None:
        names = tuple(self.settings.values)
        again = self._ask(out, "asked again", self.settings.candidate, ids, None)
        if (of_run := [record for record in again.records if record.id in self.loss.ids]) and not self.now:
            refuse_unread(self.loss, of_run)
        self.now.update(again.scores)
        kind: Kind = "put back" if len(names) == 1 else "all back"
        self._trial(out, _Arm(kind, names, self.settings.put_back(names)), ids, whole=True)
        if len(names) > 1 and (self._finding(kind, names) == "cause" or self.arms[kind, names].problem):
            self._each(out, names, list(self.now))  # those of earlier parts too, which were too few to show a cause

    def _each(self, out: Path, names: Sequence[str], ids: Sequence[str]) -> None:
        """Try each setting put back and each set alone.

        Pairs are tried where no single setting was found.
        """
        for name in names:
            self._trial(out, _Arm("put back", (name,), self.settings.put_back([name])), ids)
        for name in () if self.arms["all back", tuple(names)].problem else names:
            self._trial(out, _Arm("set alone", (name,), self.settings.set_alone(name)), ids)
        is_found = any(self._finding(kind, those) == "cause" for kind, those in self.arms if kind in SINGLE)
        for pair in () if is_found or not self.levels["pair back"] else self._pairs(names):
            self._trial(out, _Arm("pair back", pair, self.settings.put_back(pair)), ids)

    def _pairs(self, names: Sequence[str]) -> Sequence[tuple[str, str]]:
        """Pairs of settings, those that brought most back first."""
        back = {arm.names[0]: self._trial_of(arm).back for arm in self.arms.values() if arm.kind == "put back"}
        pairs = itertools.combinations(names, 2)
        return sorted(pairs, key=lambda pair: -sum(map(back.__getitem__, pair)))[: cause.MOST_PAIRS]

    def _is_settled(self) -> bool:
        """Tell whether the named causes explain most of the net loss.

        The search is settled, too, where all settings together explain little.
        """
        trials = [*map(self._trial_of, self.arms.values())]
        lost, gained = len(self.loss.ids), len(self.changed.gained)
        explained = sum(each.count - each.gained for each in cause.causes_of(trials, lost, self.alpha))
        is_explained = explained > 0 and explained >= MOST * (lost - gained)
        return is_explained or (bool(trials) and trials[0].finding in ("no cause", "either way"))

    @property
    def levels(self) -> dict[Kind, float]:
        """The share of alpha of each kind of trial."""
        whole = self.arms.get(("all back", tuple(self.settings.values)))
        selection = cause.selection_of(self.loss.verdict.p_value, self.loss.verdict.level, self.alpha)
        is_gated = whole is None or not whole.problem
        return cause.levels_of(self.alpha, len(self.settings.values), selection, is_gated=is_gated)

    def _is_found(self, names: tuple[str, ...]) -> bool:
        """Tell whether a setting is named that was put back and set alone.

        Further samples could only hide that again.
        """
        tried = [kind for kind in SINGLE if (kind, names) in self.arms and self.arms[kind, names].scores]
        return len(tried) == len(SINGLE) and any(self._finding(kind, names) == "cause" for kind in tried)

    def _finding(self, kind: Kind, names: tuple[str, ...]) -> Finding:
        return self._trial_of(self.arms[kind, names]).finding

    def _trial(self, out: Path, arm: _Arm, ids: Sequence[str], *, whole: bool = False) -> None:
        """Ask an arm until its trial is finished, or with `whole` to its end.

        An arm that others are compared with is asked whole.
        """
        arm = self.arms.setdefault((arm.kind, arm.names), arm)
        ids = [id_ for id_ in ids if id_ not in arm.scores]
        if not ids or arm.is_done or arm.problem or self._is_found(arm.names):
            return

        def ends(scores: Scored) -> bool:
            return cause.is_finished(self._trial_of(arm, scores), len(self.loss.ids))

        name = "all put back" if len(arm.names) == len(self.settings.values) else _name(arm)
        try:
            arm.scores.update(self._ask(out, name, arm.model, ids, None if whole else ends).scores)
        except (BadInput, CannotEvaluate) as error:
            arm.problem = str(error).splitlines()[0]
        arm.is_done = not whole and ends({})
        if self.saves is not None:
            self.saves(self._blame("before it was finished"))

    def _trial_of(self, arm: _Arm, more: Scored = EMPTY) -> Trial:
        """Return what an arm shows by its scores, and by `more` of them."""
        without: Scored = self.now
        scores = back = {**arm.scores, **more}
        if arm.kind == "set alone":
            without, back = scores, self.arms["all back", tuple(self.settings.values)].scores
        restored = {id_: back.get(id_) for id_ in scores}
        other = self.arms.get(("put back", arm.names)) if arm.kind == "set alone" else None
        earlier = None if other is None else self._trial_of(other).evidence
        lost, gained = frozenset(self.loss.ids), frozenset(self.changed.gained)
        level = self.levels[arm.kind]
        trial = cause.trial_of(arm.kind, arm.names, level, without, restored, lost, gained, earlier=earlier)
        return replace(trial, problem=arm.problem) if arm.problem else trial

    def _ask(
        self, out: Path, name: str, model: Model, ids: Sequence[str], ends: Callable[[Scored], bool] | None
    ) -> Answers:
        ids = ids[: self.budget.remaining(self.questions, self.loss.check.repeats)]

        def is_enough(scores: Scored) -> bool:
            return self.budget.is_over or (ends is not None and ends(scores))

        watched = is_enough if ends is not None or self.budget.ends_at is not None else None
        planned, name = replace(self.loss.check.planned_model, settings=model), f"{self.loss.check.model}, {name}"
        answers = ask(self.loss.check, name, planned, ids, out, observer=self.options.observer, ends=watched)
        self.questions += answers.questions
        return answers


def _name(arm: _Arm) -> str:
    return f"{' and '.join(arm.names)} {'alone' if arm.kind == 'set alone' else 'put back'}"

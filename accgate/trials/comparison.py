"""Two models evaluated now on the same samples, side by side; nothing is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.config.config import Config, load_config, refuse_unknown, select
from accgate.decision.equality import FIRST, Equality, answer_of
from accgate.errors import BadInput, CannotEvaluate, VerdictName, exit_code, worst
from accgate.evaluation.assignment import Watch
from accgate.evaluation.options import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck, Evaluation, why_incomplete
from accgate.evaluation.pair import Records, SideBySide, common_records
from accgate.evaluation.run import evaluate_checks
from accgate.planning.checks import Check, plan_checks, with_other_sides
from accgate.planning.design import planned_model
from accgate.trials.arm import TrialFolder
from accgate.verdict import Answer, Verdict

FOLDER = TrialFolder("ab", models="*")


@dataclass(frozen=True)
class Comparison:
    """What came of one task: the verdict on the second model, and in a two-sided comparison also on the first."""

    task: str
    verdict: Verdict
    other: Verdict | None = None
    answer: Answer | None = None


@dataclass(frozen=True)
class Ab:
    """Two models compared on every task; `exit_code` as a run's."""

    first: str
    second: str
    verdict: VerdictName
    exit_code: int
    tasks: tuple[Comparison, ...]


def ab(
    config: Config,
    first: str,
    second: str,
    options: RunOptions,
    *,
    against: Path | None = None,
    two_sided: bool = False,
) -> Ab:
    """Ask two models the same samples at the same time, and decide whether the second is worse, or different.

    Parameters
    ----------
    config : Config
        Its tasks are asked, and its alpha, beta and theta decide.
    first, second : str
        Names of [models]; the second of `against`, where that is given.
    options : RunOptions
        The folder is a new or empty one, or that of an earlier comparison, whose records are removed.
    two_sided : bool
        Whether better, worse or no difference of theta is decided, at half of alpha each.

    Raises
    ------
    BadInput
        For a model that there is not, anything in the configs that cannot be used, and a folder that has other files.
    CannotEvaluate
        When an engine fails for good.
    """
    others = config if against is None else load_config(against)
    refuse_unknown(config.source.path, (config,), (first,))
    refuse_unknown(others.source.path, (others,), (second,))
    if first == second and others is config:
        raise BadInput(f"both models are {first}; give two, or another file with --against")
    checks = plan_checks(select(config, (first,)), recording=True)
    name = second if second != first else f"{second} ({others.source.path.name})"
    model = replace(planned_model(others, second), name=second)
    for check in checks:
        if (statistic := check.task.content.aggregate) is not None:
            raise BadInput(f"{check.task.name}: is decided on {statistic}, which `ab` cannot compare yet")
    pairs = [(check, replace(check, model=name, planned_model=model)) for check in checks]
    FOLDER.begin(options.out)
    tasks = [_Task(config, pair, len(checks), two_sided) for pair in pairs]
    watches = {task.check.key: Watch(pair=task.side_by_side()) for task in tasks}
    run = evaluate_checks(with_other_sides([task.check for task in tasks]), options, watches)
    items = {item.check.key: item for item in run.checks}
    compared = [task.compare(items) for task in tasks]
    names = [each.verdict.verdict for each in compared]
    code = exit_code(names, inconclusive_passes=config.gate.on_inconclusive == "warn")
    return Ab(first, name, worst(names), code, tuple(compared))


@dataclass(frozen=True)
class _Task:
    """One task of a comparison, which shares alpha with `count` tasks in all."""

    config: Config
    pair: tuple[Check, Check]
    count: int
    two_sided: bool

    @property
    def check(self) -> Check:
        """The second model, held against the first."""
        return replace(self.pair[1], other_side=self.pair[0])

    @property
    def equality(self) -> Equality:
        """How the task is decided."""
        return Equality(self.pair[1], self.config.gate.correction, self.count, is_two_sided=self.two_sided)

    def side_by_side(self) -> SideBySide:
        """What may end the evaluation of both."""
        return SideBySide(self.check, self.equality.decides if self.equality.can_stop else None)

    def compare(self, items: Mapping[tuple[str, str], EvaluatedCheck]) -> Comparison:
        """Decide what was evaluated."""
        records = common_records(self.check, [_evaluation(check, items.get(check.key)) for check in self.pair])
        stopped = len(records[1]) < self.check.n * self.check.repeats
        self._refuse_missing(records, stopped=stopped)
        verdict, *others = self.equality.verdicts(records, stopped=stopped)
        if not others:
            return Comparison(self.check.task.name, verdict)
        return Comparison(self.check.task.name, verdict, others[0], answer_of(verdict, others[0]))

    def _refuse_missing(self, records: Records, *, stopped: bool) -> None:
        """Refuse to decide where a score is missing, or where scores that looked like 0 and 100 alone were not.

        Raises
        ------
        CannotEvaluate
            Which side, and what to do.
        """
        for check, side in zip(self.pair, records, strict=True):
            if failed := sum(record.score is None for record in side):
                raise CannotEvaluate(
                    f"{check.name}: {failed} of {len(side)} samples have no score, so the models "
                    "cannot be compared; correct the cause and compare again"
                )
        if not stopped and self.equality.turns_graded(records):
            raise CannotEvaluate(
                f"{self.pair[0].task.name}: the first {FIRST} samples scored 0 or 100 and later ones between, so no "
                "test that fits was chosen; compare again with early_stopping = false in [gate]"
            )


def _evaluation(check: Check, item: EvaluatedCheck | None) -> Evaluation:
    """Return what came of a side.

    Raises
    ------
    CannotEvaluate
        When its engine failed, or too many samples have no score or replies no answer.
    """
    if item is None or item.evaluation is None or item.problem is not None:
        problem = None if item is None else item.problem
        raise CannotEvaluate(problem or f"{check.name}: it was not evaluated")
    if not item.evaluation.complete:
        why = "\n".join(why_incomplete(item)).replace(", then go on with --resume", "")
        raise CannotEvaluate(f"{check.name}: {why}")
    return item.evaluation

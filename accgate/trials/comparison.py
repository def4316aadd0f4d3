"""Two models evaluated now on the same samples, side by side.

Nothing is recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.config.config import Config, load_config, refuse_unknown, select
from accgate.decision.equality import Equality, answer_of
from accgate.errors import BadInput, CannotEvaluate, VerdictName, exit_code, worst
from accgate.evaluation.assignment import RunOptions
from accgate.evaluation.outcome import EvaluatedCheck
from accgate.evaluation.run import evaluate_checks
from accgate.planning.checks import plan_checks, with_other_sides
from accgate.planning.design import planned_model
from accgate.trials.arm import TrialFolder
from accgate.verdict import Answer, Verdict

FOLDER = TrialFolder("ab", models="*")


@dataclass(frozen=True)
class Comparison:
    """What came of one task.

    `verdict` is on the second model. A two-sided comparison has the `other` on the first, and an `answer`.
    """

    task: str
    verdict: Verdict
    other: Verdict | None = None
    answer: Answer | None = None


@dataclass(frozen=True)
class Ab:
    """Two models compared on every task.

    `exit_code` is as a run's.
    """

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
    """Compare two models on the same samples at the same time.

    It decides whether the second is worse, or different.

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
    FOLDER.begin(options.out)
    others_beside = [replace(check, model=name, planned_model=model, other_side=check) for check in checks]
    count, correction = len(checks), config.gate.correction
    held = [Equality(check, correction, count, is_two_sided=two_sided) for check in others_beside]
    watches = {each.check.key: each.side_by_side for each in held}
    run = evaluate_checks(with_other_sides([each.check for each in held]), options, watches)
    try:
        compared = [_comparison(each, run.checks) for each in held]
    except CannotEvaluate as error:
        raise CannotEvaluate(str(error).replace(", then go on with --resume", "")) from error
    names = [each.verdict.verdict for each in compared]
    code = exit_code(names, inconclusive_passes=config.gate.on_inconclusive == "warn")
    return Ab(first, name, worst(names), code, tuple(compared))


def _comparison(equality: Equality, items: Sequence[EvaluatedCheck]) -> Comparison:
    verdict, *others = equality.verdicts(equality.records_of(items))
    answer = answer_of(verdict, others[0]) if others else None
    return Comparison(equality.check.task.name, verdict, others[0] if others else None, answer)

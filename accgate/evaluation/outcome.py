"""The records of an evaluated check and run, or why they are incomplete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from accgate.evaluation.reading import unread_problem
from accgate.planning.checks import Check
from accgate.records.file import Record
from accgate.records.log import failed_of
from accgate.references.judge import Makers
from accgate.result import EngineInfo
from accgate.text import with_stop


@dataclass(frozen=True)
class Evaluation:
    """The records of one (model, task), in the fixed order.

    It is `complete` unless too many samples failed or held no answer. A `stopped` check was decided early, on these
    records: the first samples of the order, without a gap. `beyond` has records of later samples that had finished by
    then; they count for cost alone. `asked` counts the records that are new in this run, which took `seconds`. `makers`
    names who answered and who marked.
    """

    records: Sequence[Record]
    complete: bool
    stopped: bool = False
    beyond: Sequence[Record] = ()
    asked: int = 0
    seconds: float | None = None
    makers: Makers = field(default_factory=Makers)

    @property
    def failed(self) -> Sequence[Record]:
        """Records without a score."""
        return failed_of(self.records)


@dataclass(frozen=True)
class EvaluatedCheck:
    """A check with its evaluation, or with the problem that kept it from finishing.

    Beside a problem, the evaluation has the records that were written before.
    """

    check: Check
    evaluation: Evaluation | None = None
    problem: str | None = None


@dataclass(frozen=True)
class EvaluatedRun:
    """What a run evaluated.

    `engines` names the engine of each model; `started` is in ISO 8601.
    """

    checks: tuple[EvaluatedCheck, ...]
    engines: Mapping[str, EngineInfo]
    started: str | None = None
    seconds: float | None = None
    shards: int = 1


class Interrupted(KeyboardInterrupt):
    """A run that was asked to stop.

    `evaluated` has those of its `checks` that it came to; the last of them may have a part of its records.
    """

    def __init__(self, checks: Sequence[Check], evaluated: Sequence[EvaluatedCheck]) -> None:
        super().__init__()
        self.checks, self.evaluated = tuple(checks), tuple(evaluated)


def failures(item: EvaluatedCheck, consequence: str) -> str:
    """Say how many samples failed, why the first did, and what to do."""
    assert item.evaluation is not None
    failed = item.evaluation.failed
    total = len(item.check.task.samples) * item.check.repeats
    first = (failed[0].error if failed else None) or "none"
    fact = f"{len(failed)} of {total} samples failed, {consequence}; the first: {with_stop(first)}"
    return f"{fact} Correct the cause, then go on with --resume"


def why_incomplete(item: EvaluatedCheck, of: str = "") -> tuple[str, ...]:
    """Say why an evaluation ended before its last sample.

    Too many samples failed, or too many replies held no answer.
    """
    assert item.evaluation is not None
    check, evaluation = item.check, item.evaluation
    has_scores = len(evaluation.failed) <= check.max_failed * check.n * check.repeats + 1e-9
    problem = unread_problem(evaluation.records, check.max_unread) if has_scores else None
    return problem or (failures(item, f"more than max_failed allows {of}".strip()),)

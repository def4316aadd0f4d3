"""What comes of an evaluation of one check, and of a run."""

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

    It is `complete` unless too many failed or held no answer. With `stopped` the check was decided early, on these
    records: all of the first samples of the order, without a gap. `beyond` are the records of later samples that had
    finished by then: they cost, and decide nothing. `asked` of the records were not kept of an earlier run, and took
    `seconds`. `makers` are who answered and who marked.
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
    """A check with its evaluation.

    Or it has the reason why that did not finish, and what it recorded by then.
    """

    check: Check
    evaluation: Evaluation | None = None
    problem: str | None = None


@dataclass(frozen=True)
class EvaluatedRun:
    """What a run evaluated.

    It is its checks, the engine of each model, when it began (ISO 8601) and how long it took.
    """

    checks: tuple[EvaluatedCheck, ...]
    engines: Mapping[str, EngineInfo]
    started: str | None = None
    seconds: float | None = None
    shards: int = 1


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop.

    What was in flight has ended or had its time. Of its `checks`, `evaluated` are those that it came to, the last of
    them perhaps in part.
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

    Too many samples have no score, or replies no answer.
    """
    assert item.evaluation is not None
    check, evaluation = item.check, item.evaluation
    has_scores = len(evaluation.failed) <= check.max_failed * check.n * check.repeats + 1e-9
    problem = unread_problem(evaluation.records, check.max_unread) if has_scores else None
    return problem or (failures(item, f"more than max_failed allows {of}".strip()),)

"""cause.json: what `accgate blame` found, or why it found nothing; read as data that anybody may have written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from accgate.decision.cause import Blame, is_consistent, selection_of
from accgate.errors import BadInput, writing
from accgate.inputs.paths import read_json
from accgate.inputs.rows import holds_only
from accgate.records import write_atomically
from accgate.result import Result, to_json

LARGEST = 1_000_000  # bytes; a search over 20 settings has 20,000
MOST = 300  # settings, trials or causes
LONGEST = 2_000  # characters of a text
FIX = "run `accgate blame` again"


@dataclass(frozen=True)
class CauseFile:
    """Either what a search found, or the failure that took its place."""

    blame: Blame | None = None
    failure: str | None = None


def write_cause(cause: CauseFile, path: Path) -> None:
    """Write the file.

    Raises
    ------
    CannotEvaluate
        When it cannot be written.
    """
    with writing(path):
        write_atomically(path, to_json(cause).encode("utf-8", "backslashreplace") + b"\n")


def read_cause(path: Path) -> CauseFile | None:
    """The file; None where there is none.

    Nothing in it is believed that does not follow from its own counts.

    Raises
    ------
    BadInput
        When it is no plain file, is too large, holds anything else, or contradicts itself.
    """
    from pydantic import ValidationError

    from accgate.inputs.typed import adapter_of, first_fault

    if path.is_symlink():
        raise BadInput(f"{path}: is a link, not a file; {FIX}")
    if not path.exists():
        return None
    data = read_json(path, LARGEST, FIX)
    try:
        cause = adapter_of(CauseFile).validate_python(data)
    except ValidationError as error:
        raise BadInput(f"{path}: is not what `accgate blame` writes: {first_fault(error)}; {FIX}") from error
    if not holds_only(data, asdict(cause), text=LONGEST, entries=MOST):
        raise BadInput(f"{path}: holds more than `accgate blame` writes; {FIX}")
    if (cause.blame is None) == (cause.failure is None):
        raise BadInput(f"{path}: holds neither what a search found nor why there is nothing, or both; {FIX}")
    if cause.blame is not None and not is_consistent(cause.blame):
        raise BadInput(f"{path}: its figures contradict each other; {FIX}")
    return cause


def is_of(cause: CauseFile, result: Result) -> bool:
    """Whether a search was for a check of this result that regressed, with as many lost answers.

    It may count the run's own evidence for more than nothing only where the result does.
    """
    blame = cause.blame
    return blame is None or any(
        (verdict.model, verdict.task, verdict.verdict) == (blame.model, blame.task, "regression")
        and len(verdict.flips) == blame.lost
        and selection_of(blame.p_value, blame.run_alpha, blame.alpha)
        <= selection_of(verdict.p_value, verdict.level, blame.alpha)
        for verdict in result.checks
    )

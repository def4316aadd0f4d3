"""The outcome of an evaluation, with its conclusion, exit code and summary."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accgate.errors import CANNOT_EVALUATE, INTERRUPTED, NO_VERDICT, PASSED, REGRESSION, BadInput
from accgate.github.check_runs import Conclusion
from accgate.guard.state import Guard
from accgate.inputs.rows import holds_only
from accgate.report.comment import Failure
from accgate.report.result_file import read_result
from accgate.report.story import headline_of
from accgate.result import Result
from accgate.text import clip, visible
from accgate.verdict import Verdict

FAIL_ON = ("regression", "inconclusive", "no-reference", "guard")
LOG_READ = 20_000  # bytes of the end of a log; the comment shows less
UNTRUSTED_BYTES = 2_000_000  # of an accgate.json that anybody may have written; 100 checks of 1,319 samples have 0.3 MB
UNTRUSTED_CHECKS, UNTRUSTED_TEXT = 1_000, 2_000
UNREADABLE, UNFOLLOWED = "accgate.json cannot be read", "it does not follow from the run's records"
DIFFERENCES = 12  # lines of a refused result


@dataclass(frozen=True)
class Outcome:
    """A result, or the failure that took its place.

    `cancelled` where the job was stopped from outside.
    """

    result: Result | None = None
    failure: Failure | None = None
    cancelled: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code of the evaluation."""
        if self.cancelled:
            return INTERRUPTED
        if self.result is not None:
            return self.result.exit_code
        return CANNOT_EVALUATE if self.failure is None else self.failure.exit_code

    @property
    def verdict(self) -> str:
        """The run's verdict.

        A run without a result has the verdict `error`.
        """
        return "error" if self.result is None else self.result.verdict

    @property
    def is_bootstrap(self) -> bool:
        """Whether the base has no rules yet, so that they decide nothing."""
        return self.result is not None and self.result.rules == "bootstrap"


def read_outcome(path: Path, *, exit_code: int | None, log: Path | None, cancelled: bool, untrusted: bool) -> Outcome:
    """Read the outcome of an evaluation from its files.

    Files that contradict each other make a failure.

    Parameters
    ----------
    path : Path
        accgate.json, which need not exist.
    exit_code : int or None
        The evaluation's exit code, where the caller knows it: the file must say the same.
    log : Path or None
        The evaluation's output, for the failure's message.
    cancelled : bool
        Whether the job was stopped from outside.
    untrusted : bool
        Whether anybody may have written the file: it must then be small, and hold only a result.
    """
    if cancelled:
        return Outcome(cancelled=True)
    if not path.exists():
        # A process exits with the lowest 8 bits of a larger number: 256 would pass.
        code = exit_code if exit_code is not None and 0 < exit_code < 256 else CANNOT_EVALUATE
        return Outcome(failure=Failure(code, "" if untrusted else _end_of(log)))
    try:
        result = read_untrusted(path) if untrusted else read_result(path)
    except BadInput as error:
        return refuse_result(UNREADABLE, "" if untrusted else str(error), path.parent)
    if exit_code is not None and exit_code != result.exit_code:
        fact = f"accgate.json says exit code {result.exit_code}, but the evaluation ended with {exit_code}"
        return refuse_result("it contradicts the evaluation's exit code", fact, path.parent)
    return Outcome(result)


def refuse_result(why: str, differences: str, folder: Path) -> Outcome:
    """Return the failure in place of a result that is not believed.

    It quotes the first differences, without the run's folder in paths.
    """
    lines = differences.replace(f"{folder.as_posix()}/", "").splitlines()
    more = [f"and {len(lines) - DIFFERENCES} more"] if len(lines) > DIFFERENCES else []
    return Outcome(failure=Failure(CANNOT_EVALUATE, "\n".join([*lines[:DIFFERENCES], *more]), why))


def _end_of(log: Path | None) -> str:
    """Return the last part of a log, from the beginning of a line."""
    if log is None or not log.is_file():
        return ""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LOG_READ))
        text = file.read().decode("utf-8", "replace")
    return text if size <= LOG_READ else text.partition("\n")[2]


def read_untrusted(path: Path) -> Result:
    """Read a result that anybody may have written.

    It must be small, and have no key but a result's own.

    Raises
    ------
    BadInput
        When it is too large, holds anything else, or contradicts itself.
    """
    if path.is_symlink() or not path.is_file():
        raise BadInput(f"{path}: is not a plain file")
    if path.stat().st_size > UNTRUSTED_BYTES:
        raise BadInput(f"{path}: has more than {UNTRUSTED_BYTES:,} bytes")
    result = read_result(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    whole = asdict(result)
    if isinstance(data, dict) and "checks" not in data:
        whole = whole["checks"][0]
    if len(result.decided) + len(result.beside) > UNTRUSTED_CHECKS or not holds_only(data, whole, text=UNTRUSTED_TEXT):
        raise BadInput(f"{path}: holds more than a result does")
    return result


def conclusion(outcome: Outcome, guard: Guard | None, *, advisory: bool = False) -> Conclusion:
    """Return the check run's conclusion.

    GitHub lets a neutral check satisfy a required one, so a doubt is never neutral. A bootstrap is neutral, and so are
    an inconclusive run whose rules only warn of it, and an advisory run that did not fail.
    """
    if outcome.cancelled:
        return "cancelled"
    if outcome.result is None or (guard is not None and not guard.holds):
        return "failure"
    if outcome.is_bootstrap:
        return "neutral" if outcome.result.verdict != "error" else "failure"
    if outcome.result.exit_code != PASSED:
        return "failure"
    return "neutral" if advisory or outcome.verdict == "inconclusive" else "success"


def final_exit_code(outcome: Outcome, guard: Guard | None, fail_on: frozenset[str]) -> int:
    """Return the job's exit code.

    The run's counts where `fail_on` names its verdict, else 4 where the guard fails, else 0. Bad input and an
    evaluation that could not finish always fail the job, unless `fail_on` is empty.

    >>> from accgate.guard.state import Guard
    >>> final_exit_code(Outcome(failure=Failure(3, "")), None, frozenset({"regression"}))
    3
    """
    code = outcome.exit_code
    if outcome.result is not None and code in (REGRESSION, NO_VERDICT):
        fails = outcome.verdict in fail_on and not outcome.is_bootstrap
    else:
        fails = bool(fail_on)
    if code != PASSED and fails:
        return code
    return NO_VERDICT if guard is not None and not guard.holds and "guard" in fail_on else PASSED


TITLE = 200  # characters: a line of GitHub's list of checks
REASONS, REASON = 5, 300  # how many of a check, and the characters of each, in the action's output


def title_of(outcome: Outcome, guard: Guard | None, *, advisory: bool) -> str:
    """Describe the outcome in one sentence on one line, as plain text."""
    if outcome.cancelled:
        return "Cancelled: no verdict"
    code = None if outcome.failure is None else outcome.failure.exit_code
    why = "" if outcome.failure is None else outcome.failure.refusal
    text = visible(headline_of(outcome.result, guard=guard, exit_code=code, refusal=why, advisory=advisory).text)
    return clip(text, TITLE, "…")


def json_of(outcome: Outcome, guard: Guard | None) -> dict[str, Any]:
    """Return the action's output with every check and the guard.

    Figures are in points, and None where they are missing.
    """
    result = outcome.result
    return {
        "verdict": outcome.verdict,
        "exit_code": outcome.exit_code,
        "rules": None if result is None else result.rules,
        "guard": None if guard is None else _guard(guard),
        "checks": [] if result is None else [_check(verdict) for verdict in result.checks],
        "overall": [] if result is None else [_check(verdict) for verdict in result.overall],
        "samples": None if result is None else result.samples,
        "tokens": None if result is None else result.prompt_tokens + result.completion_tokens,
        "seconds": None if result is None else result.seconds,
    }


def _guard(guard: Guard) -> dict[str, Any]:
    changes = [{"rule": c.rule, "base": c.base, "head": c.head, "effect": c.effect} for c in guard.changes]
    return {"state": guard.state, "holds": guard.holds, "approved_by": guard.approved_by, "changes": changes}


def _check(verdict: Verdict) -> dict[str, Any]:
    keys = (
        "model", "task", "verdict", "is_new", "test", "n", "difference", "gamma", "theta", "theta_target", "p_value",
        "p_adjusted", "alpha", "beta", "lost", "gained",
    )  # fmt: skip
    means = {"reference": verdict.reference.mean, "mean": verdict.candidate.mean, "errors": verdict.candidate.errors}
    reasons = [reason[:REASON] for reason in verdict.reasons[:REASONS]]
    return {key: getattr(verdict, key) for key in keys} | means | {"reasons": reasons}

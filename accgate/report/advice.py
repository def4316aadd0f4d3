"""What the reader of a run can do now: one to three steps, of which none names a cause that the run does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from accgate.report.contrast import settings_of
from accgate.verdict import Verdict
from accgate.verdict.findings import deciding_theta, needed_samples

if TYPE_CHECKING:
    from accgate.result import Result


class Words(NamedTuple):
    """A part of a sentence; `is_code` is to be typed or is the name of a setting."""

    text: str
    is_code: bool = False


@dataclass(frozen=True)
class Step:
    """Something that the reader can do now: a sentence in parts, without a full stop.

    `kind` is `next`, or `accept` for the way to accept a loss or a first reference.
    """

    kind: Literal["next", "accept"]
    words: tuple[Words, ...]

    def __str__(self) -> str:
        return "".join(part.text for part in self.words)


def steps_of(result: Result, checks: Sequence[Verdict], answers_commands: bool) -> list[Step]:
    """What to do after a run whose checks these are, worst first; `answers_commands` is of the repository."""
    lead = checks[0] if checks else None
    steps: list[Step] = []
    if lead is None or (lead.verdict == "regression" and not lead.model and not lead.task):
        pass  # nothing was checked, or two files or arrays were compared
    elif lead.verdict == "regression":
        steps = [*_after_regression(lead), _accept("the loss", answers_commands, " --reason TEXT")]
    elif lead.verdict == "no-reference":
        record = Words("accgate record", True)
        steps = [_next("record a version that you trust with ", record, " and commit what it writes")]
        if answers_commands:
            steps.append(_accept("these scores as the reference", True, ""))
    elif lead.verdict == "error":
        command = Words(f"accgate run{' --shard i/N' if result.shards > 1 else ''} --resume", True)
        again = ", and merge again" if result.shards > 1 else ""
        steps = [_next("fix the cause, then go on with ", command, f", other options as before{again}")]
    elif lead.verdict == "inconclusive":
        steps = [after_inconclusive(lead, needs_approval=result.rules != "own")]
    return steps


def _next(*words: str | Words) -> Step:
    return Step("next", tuple(word if isinstance(word, Words) else Words(word) for word in words))


def _accept(what: str, answers_commands: bool, reason: str) -> Step:
    if answers_commands:
        return Step("accept", (Words(f"To accept {what}, comment "), Words("/accgate accept REASON", True)))
    record = Words(f"accgate record{reason}", True)
    return Step("accept", (Words(f"To accept {what}, run "), record, Words(" and commit its files")))


def _after_regression(lead: Verdict) -> list[Step]:
    steps = []
    if lead.lost_unread and lead.lost and 2 * lead.lost_unread >= lead.lost:
        steps.append(_next("look first at replies that can no longer be read: their form, or where they are cut off"))
    changes = len(lead.settings_changed)
    if changes > 1:
        blame = Words("accgate blame", True)
        return [*steps, _next("undo the changed settings and push; ", blame, " finds which one did it")]
    if changes == 1:
        name = settings_of(lead)[0].name
        return [*steps, _next("put ", Words(name, True), " back and push")]
    bisect = Words("accgate bisect", True)
    return [*steps, _next("fix the change and push; ", bisect, " finds the commit")]


def after_inconclusive(verdict: Verdict, *, needs_approval: bool) -> Step:
    """Which setting would decide an inconclusive check; on a pull request a looser rule needs an approval."""
    theta, samples = deciding_theta(verdict), needed_samples(verdict)
    if theta is None or samples is None:
        return _next(Words("accgate plan", True), " shows how many samples each theta needs")
    return _next(
        f"evaluate about {samples:,} samples ({verdict.n:,} now), or set ",
        Words(f"theta = {theta}", True),
        f", which loosens the rules{' and needs an approval' if needs_approval else ''}",
    )


def approval_steps(head_sha: str, *, answers_commands: bool) -> list[Step]:
    """Who must do what, so that a pull request that loosens the gate can pass."""
    commit = Words(head_sha[:7], True)
    if answers_commands:
        again: tuple[str | Words, ...] = (
            "the job then runs again by itself, or comment ",
            Words("/accgate rerun", True),
        )
    else:
        again = ("then run the job again",)
    return [
        _next(
            "somebody with write permission who is not the author approves commit ",
            commit,
            " in a review; ",
            *again,
            ". A later push ends the approval",
        )
    ]

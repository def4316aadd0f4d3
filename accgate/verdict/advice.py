"""What the reader of a run can do now.

The advice has one to three steps, and names no cause that the run does not know.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from accgate.errors import VerdictName
from accgate.text import some_of, with_capital, with_stop
from accgate.verdict.allowed import Allowed
from accgate.verdict.figures import Figures
from accgate.verdict.findings import deciding_theta, needed_samples
from accgate.verdict.sentences import PROMPTS, settings_of

NOTHING = "No action needed."
DOUBTFUL = "Check that each id names the same sample on both sides."


@dataclass(frozen=True)
class Surroundings:
    """What a run adds to the words on one of its checks.

    `checks` counts the checks among which `correction` shares alpha: those that a pull request adds, or the others.
    `allowed` is how many harmless changes the whole run fails; None where only the check itself is known. `rules` says
    whose rules decided, and `other` is the verdict by the rules that do not decide. With `answers_commands` the
    repository answers `/accgate accept`.
    """

    correction: str = "none"
    checks: int = 1
    allowed: Allowed | None = None
    rules: str = "own"
    other: VerdictName | None = None
    shards: int = 1
    answers_commands: bool = False


ALONE = Surroundings()  # of a comparison without a run


class Words(NamedTuple):
    """A part of a sentence. `is_code` marks a command to type or the name of a setting."""

    text: str
    is_code: bool = False


BLAME = Words("accgate blame", True)


@dataclass(frozen=True)
class Step:
    """Something that the reader can do now, as a sentence in parts.

    The sentence has no full stop. `kind` is `next`, or `accept` for the way to accept a loss or a first reference.
    """

    kind: Literal["next", "accept"]
    words: tuple[Words, ...]

    def __str__(self) -> str:
        return "".join(part.text for part in self.words)


def steps_of(verdict: Figures, around: Surroundings) -> list[Step]:
    """Return what to do after a run of which this is the worst check. A check that passed needs no step."""
    if verdict.verdict == "regression" and verdict.equal_to is not None:
        return [_next(f"find out why {verdict.model} answers differently from {verdict.equal_to}, and fix it")]
    if verdict.verdict == "regression" and (verdict.model or verdict.task):
        return [*_after_regression(verdict), _accept(around)]
    if verdict.verdict == "no-reference":
        record = Words("accgate record", True)
        comment = Words("To record this version, comment "), Words("/accgate record", True)
        accept = [Step("accept", comment)] if around.answers_commands else []
        return [_next("record a version that you trust with ", record, " and commit what it writes"), *accept]
    if verdict.verdict == "error":
        command = Words(f"accgate run{' --shard i/N' if around.shards > 1 else ''} --resume", True)
        again = ", and merge again" if around.shards > 1 else ""
        return [_next("fix the cause, then go on with ", command, f", other options as before{again}")]
    if verdict.verdict == "inconclusive":
        return [after_inconclusive(verdict, needs_approval=around.rules != "own")]
    return []


def advice(verdict: Figures, around: Surroundings) -> str:
    """Say what to do after a check, in sentences.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.0, 400)
    >>> advice(Verdict("m", "t", "no-reference", None, 400, *sides, 0.05, 0.2), ALONE)
    'Record a version that you trust with `accgate record` and commit what it writes.'
    """
    if verdict.verdict == "pass":
        return after_pass(verdict)
    steps = steps_of(verdict, around) or [_next("look at the samples that got worse, and fix the change")]
    texts = ("".join(f"`{part.text}`" if part.is_code else part.text for part in step.words) for step in steps)
    return " ".join(with_stop(with_capital(text)) for text in texts)


def after_pass(verdict: Figures) -> str:
    """Say what to do after a check that passed, in a sentence."""
    return DOUBTFUL if any(cause.kind == "unrelated" for cause in verdict.causes) else NOTHING


def _next(*words: str | Words) -> Step:
    return Step("next", tuple(word if isinstance(word, Words) else Words(word) for word in words))


def _accept(around: Surroundings) -> Step:
    if around.answers_commands:
        return Step("accept", (Words("To accept the loss, comment "), Words("/accgate accept REASON", True)))
    record = Words("accgate record --reason TEXT", True)
    return Step("accept", (Words("To accept the loss, run "), record, Words(" and commit its files")))


def _after_regression(lead: Figures) -> list[Step]:
    steps = []
    if lead.lost_unread and lead.lost and 2 * lead.lost_unread >= lead.lost:
        steps.append(_next("look first at replies that can no longer be read: their form, or where they are cut off"))
    settings = settings_of(lead)
    changes = [setting.name for setting in settings if setting.name != PROMPTS]
    outside = [setting.name for setting in settings if setting.is_outside]
    if len(changes) < len(settings):
        steps.append(_next("look first at what the model receives: the same prompts have a different number of tokens"))
    if changes and outside == changes:
        words = "run the same commit in the reference's environment: no setting of accuracy.toml changed, "
        return [*steps, _next(f"{words}{some_of(outside)} did")]
    if len(changes) > 1:
        return [*steps, _next("undo the changed settings and push"), _next("find which one did it with ", BLAME)]
    if changes:
        return [*steps, _next("put ", Words(changes[0], True), " back and push")]
    bisect = Words("accgate bisect", True)
    return [*steps, _next("fix the change and push; ", bisect, " finds the commit")]


def after_inconclusive(verdict: Figures, *, needs_approval: bool) -> Step:
    """Name the settings that would decide an inconclusive check.

    The step says whether they need an approval.
    """
    theta, samples = deciding_theta(verdict), needed_samples(verdict)
    if theta is None or samples is None:
        return _next(Words("accgate plan", True), " shows how many samples each theta needs")
    size = next((int(cause.figures["n"] or 0) for cause in verdict.causes if cause.kind == "dataset-size"), None)
    parts: list[str | Words] = ["record a reference with per-sample scores, "] * (verdict.test == "two-sample")
    if size is not None and samples > size:
        parts.append(f"add questions to the dataset (about {samples:,} are needed; it has {size:,})")
    else:
        parts.append(f"evaluate about {samples:,} samples ({verdict.n:,} now)")
        parts += [] if size is None else [" with ", Words(f"num_samples = {samples}", True)]
    loosens = f", which loosens the rules{' and needs an approval' if needs_approval else ''}"
    return _next(*parts, ", or set ", Words(f"theta = {theta}", True), loosens)


def approval_steps(head_sha: str, *, answers_commands: bool) -> list[Step]:
    """Return who must do what, so that a loosening pull request can pass."""
    start = "somebody with write permission who is not the author approves commit ", Words(head_sha[:7], True)
    again: tuple[str | Words, ...] = ("then run the job again",)
    if answers_commands:
        again = "the job then runs again by itself, or comment ", Words("/accgate rerun", True)
    return [_next(*start, " in a review; ", *again, ". A later push ends the approval")]

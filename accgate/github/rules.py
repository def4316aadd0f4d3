"""The rules that decide on a pull request.

The guard compares them, and an approved change takes their place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accgate import gate
from accgate.config.config import load_config
from accgate.errors import AccgateError, BadInput, exit_code, worst
from accgate.github.api.answers import CannotPublish
from accgate.github.outcome import Outcome
from accgate.guard.base import Selection, rule_sets_of
from accgate.guard.changes import changed_rules
from accgate.guard.state import Guard
from accgate.guard.tree import has_rules
from accgate.inputs.checkout import refuse_conflict
from accgate.inputs.paths import read_plain
from accgate.result import Result, deciding
from accgate.verdict import Allowed, Reason, Verdict

WORKFLOW_BYTES = 512 * 1024  # GitHub runs no larger one


@dataclass(frozen=True)
class Trees:
    """The folders with the pull request's head and base.

    `config` is the path of accuracy.toml in both.
    """

    head: Path
    base: Path | None
    config: str

    @property
    def head_config(self) -> Path:
        """The head's accuracy.toml."""
        return self.head / self.config

    @property
    def base_config(self) -> Path | None:
        """The base's accuracy.toml, where there is one.

        Raises
        ------
        BadInput
            When the tree does not show whether there is one.
        """
        path = None if self.base is None else self.base / self.config
        return path if path is not None and has_rules(path, self.head_config) else None


def guard_of(trees: Trees, approval: Callable[[], str | None]) -> Guard:
    """Tell whether the rules that decide stayed as strict, or a change is approved.

    `approval` asks GitHub who approved this very commit. It is called only where a rule was loosened.
    """
    if trees.base is None or not trees.base.is_dir():
        return Guard("unreadable", reason="the files of the base commit are missing, so the rules cannot be compared")
    try:
        if trees.base_config is None:
            return Guard("bootstrap")
        changes = changed_rules(load_config(trees.base_config), load_config(trees.head_config))
    except AccgateError as error:
        return Guard("unreadable", reason=f"the rules cannot be compared: {error}")
    if not any(change.effect == "loosening" for change in changes):
        return Guard("tightened" if changes else "unchanged", changes)
    try:
        approved = approval()
    except CannotPublish as error:
        return Guard("unreadable", changes, reason=f"its approval could not be checked: {error}")
    return Guard("loosened", changes) if approved is None else Guard("approved", changes, approved_by=approved)


def verify_result(trees: Trees, selection: Selection, out: Path) -> Result:
    """Decide the result of a run's folder again.

    The base's rules decide, or the head's where the base has none.

    Raises
    ------
    AccgateError
        Where its accgate.json, its records and the rules do not agree, or a check of the rules is missing.
    """
    head = load_config(trees.head_config)
    base = trees.base_config
    rules = None if base is None else rule_sets_of(head, base, selection)
    if rules is None:
        return gate.verify(selection.of(head), out, None if trees.base is None else "bootstrap")
    return gate.verify(rules.own, out, rules)


def template_of(trees: Trees) -> str | None:
    """Return the text of the comment's template.

    The base's counts, or the head's where there is no base.

    Raises
    ------
    BadInput
        When it cannot be read.
    """
    path = trees.head_config if trees.base is None else trees.base_config
    config = None if path is None else load_config(path)
    if config is None or config.report.template is None:
        return None
    file = config.path(config.report.template)
    content = read_plain(file, 1_000_000)
    refuse_conflict(file, content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: cannot be read: {error}; save it as UTF-8 text") from error


def has_commands(trees: Trees) -> bool:
    """Tell whether a workflow of the base answers commands in comments."""
    folder = None if trees.base is None else trees.base / ".github/workflows"
    if folder is None or not folder.is_dir():
        return False
    files = [path for path in folder.glob("*.y*ml") if path.is_file() and path.stat().st_size < WORKFLOW_BYTES]
    return any(b"accgate respond" in path.read_bytes() for path in files)


def by_rules_in_force(outcome: Outcome, guard: Guard | None, trees: Trees) -> Outcome:
    """Return the outcome by the rules in force.

    These are the base's, or the pull request's own once their change is approved. Without this nobody could ever accept
    a lower reference: the check would go on using the base's.
    """
    if outcome.result is None or outcome.result.rules != "base" or guard is None or guard.state != "approved":
        return outcome
    return replace(outcome, result=_by_own_rules(outcome.result, guard, trees))


def _by_own_rules(result: Result, guard: Guard, trees: Trees) -> Result:
    """Return the result with the own rules' verdicts where they have one.

    Checks that these rules no longer make are left out. A check that no listed change concerns keeps the base's
    verdict, because nobody approved another.
    """
    head = load_config(trees.head_config)
    listed = {pair for change in guard.changes for pair in change.checks}
    listed |= {(model, "overall") for model, _ in listed}
    by_own = {(v.model, v.task): v for v in result.beside}
    own = {pair: v for pair, v in by_own.items() if v.test is not None and pair in listed}
    pairs = {*head.pairs()}
    checks, beside = [], []
    for verdict in result.checks:
        pair = verdict.model, verdict.task
        if pair in own:
            checks.append(own[pair])
            beside.append(verdict)
        elif verdict.is_new or pair in pairs:
            why = [Reason.of("base-rules", text="; ".join(by_own[pair].reasons))] if pair in by_own else []
            checks.append(verdict.because(*why))
        else:
            beside.append(verdict)
    # An overall check by the own rules takes the place of the base's, or there is none by them.
    decided = {model for model, task in by_own if task == "overall" and (model, task) in listed}
    overall = [v for v in result.overall if v.is_new or v.model not in decided]
    overall += [v for v in own.values() if v.test == "overall"]
    names = deciding((*checks, *overall))
    code = exit_code(names, inconclusive_passes=head.gate.on_inconclusive == "warn")
    return replace(
        result,
        checks=tuple(checks),
        overall=tuple(overall),
        beside=tuple(beside),
        verdict=worst(names),
        exit_code=code,
        rules="approved",
        correction=head.gate.correction,
        on_inconclusive=head.gate.on_inconclusive,
        allowed=_allowed_by_own(result, checks),
        allowed_beside=result.allowed,
    )


def _allowed_by_own(result: Result, checks: Sequence[Verdict]) -> Allowed | None:
    """Return how many harmless changes the own rules fail at most.

    For new checks, and those that the own rules could not decide, the base's number counts.
    """
    if result.allowed is None or result.allowed_beside is None:
        return None
    undecided = {(v.model, v.task) for v in result.beside if v.test is None}
    kept = [v for v in checks if (v.model, v.task) in undecided and v.p_value is not None and not v.is_new]
    limits = [cost.alpha or 0.0 for v in kept for cost in v.costs if cost.allowed is not None]
    by_base = Allowed(checks=sum(v.level for v in kept), limits=sum(limits), new=result.allowed.new)
    return result.allowed_beside + by_base

"""All checks of a run, and under whose rules."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, get_args

from accgate.config.config import Config
from accgate.config.tables import Gate
from accgate.decision.equality import Equality
from accgate.decision.progress import watch_of
from accgate.errors import BadInput, Tier
from accgate.evaluation.assignment import Watch
from accgate.evaluation.pair import SideBySide, Watches
from accgate.evaluation.presence import refuse_unknown_ids
from accgate.evaluation.shards.run import plan_of
from accgate.guard.base import RuleSets, own_samples
from accgate.planning.checks import Check, plan_checks, with_other_sides, with_own_sides
from accgate.references.anchor import find_anchor

# Which rules decide: those for a pull request; the file's own, because its base has none; the file's own.
Rules = RuleSets | Literal["bootstrap"] | None


@dataclass(frozen=True)
class RulesPart:
    """The checks that share one set of rules and one account of alpha.

    `is_new` marks checks that a pull request adds, and `tier` says whether they can fail the run. With `is_whole` no
    task of the file was left out.
    """

    gate: Gate
    checks: tuple[Check, ...]
    is_new: bool = False
    tier: Tier = "required"
    is_whole: bool = True


@dataclass(frozen=True)
class RunPlan:
    """Every check of a run, in parts that share their rules.

    `rules` says whose rules decide. `own` are a pull request's own rules, where those of its base decide. A plan of
    `stored` samples is for deciding again on records, without dataset or metric.
    """

    parts: tuple[RulesPart, ...]
    rules: Literal["own", "base", "bootstrap"] = "own"
    own: Config | None = None
    stored: bool = False

    @property
    def checks(self) -> list[Check]:
        """All checks, in the order of their verdicts."""
        return [check for part in self.parts for check in part.checks]

    @property
    def decidable(self) -> list[Check]:
        """The checks that are evaluated, and their other sides. Each has a reference or another side."""
        return with_other_sides([c for c in self.checks if c.reference is not None or c.other_side is not None])

    @property
    def shard_plan(self) -> dict[str, object]:
        """Everything that decides the checks except their records, as plain data.

        All shards of a run must have the same.

        Raises
        ------
        BadInput
            When a check is of two models that must be equal, which are asked side by side.
        """
        if held := [check.name for check in self.checks if check.other_side is not None]:
            raise BadInput(f"{', '.join(held)}: a model with equal_to is not evaluated in shards; leave --shard out")
        return plan_of([(part.gate, part.checks) for part in self.parts])

    def refuse_unknown_samples(self) -> None:
        """Refuse recorded samples that belong to no task of a whole file.

        A pull request's own rules may know them too.

        Raises
        ------
        BadInput
            Which, and how many.
        """
        if all(part.is_whole for part in self.parts):
            refuse_unknown_ids([*self.checks, *(() if self.own is None else own_samples(self.own))])

    def watches(self, *, stops: bool = True) -> Watches:
        """Return what each check's scores are compared with and what stops it."""
        watches: dict[tuple[str, str], Watch | SideBySide] = {}
        watches |= {c.key: watch_of(c, stops=stops) for c in self.checks if c.reference is not None}
        pairs = [(part, check) for part in self.parts for check in part.checks if check.other_side is not None]
        return watches | {c.key: Equality.in_run(c, part.gate, part.checks).side_by_side for part, c in pairs}


def plan_run(config: Config, rules: Rules = None, *, stored: bool = False) -> RunPlan:
    """Plan every check of a config by the rules that decide.

    They are the config's own, or those of a pull request's base commit. With `stored` samples (see `plan_checks`) the
    plan can only decide.

    Raises
    ------
    BadInput
        For anything in config, tasks or references that cannot be used, damaged anchors included; of a pull request
        also for its own rules, which every run would have after the merge.
    """
    if rules is None or rules == "bootstrap":
        plan = RunPlan(_parts(config, stored=stored), rules or "own", stored=stored)
    else:
        parts = tuple(part for each in rules.parts for part in _parts(each, is_new=each is rules.added, stored=stored))
        plan = RunPlan(parts, "base", rules.own, stored)
        _refuse_broken(rules.own, stored=stored)
    checks = iter(with_own_sides(plan.checks))  # one part's may be held against own checks of another
    parts = tuple(replace(part, checks=tuple(islice(checks, len(part.checks)))) for part in plan.parts)
    plan = replace(plan, parts=parts)
    if not plan.checks:
        fault = "no check is left: other models are only compared with these (equal_to); choose those too"
        raise BadInput(f"{config.source.path}: {fault}")
    for check in plan.decidable:
        find_anchor(check.references, check.baseline, check.task.name)
    return plan


def _refuse_broken(own: Config, *, stored: bool) -> None:
    """Refuse a pull request's own rules that could not run with its own references.

    Raises
    ------
    BadInput
        What every run would end with after the merge.
    """
    try:
        for check in plan_checks(own, stored=stored) if own.pairs() else ():
            find_anchor(check.references, check.baseline, check.task.name)
    except BadInput as error:
        why = "after the merge every run would fail with this, even if the change is approved"
        raise BadInput(*(f"{message} ({why})" for message in error.messages)) from error


def _parts(config: Config, *, is_new: bool = False, stored: bool = False) -> tuple[RulesPart, ...]:
    """Plan the checks of a config, the required ones first."""
    checks, is_whole = plan_checks(config, stored=stored), not config.partial
    tiers = {tier: tuple(check for check in checks if check.design.tier == tier) for tier in get_args(Tier)}
    return tuple(RulesPart(config.gate, own, is_new, tier, is_whole) for tier, own in tiers.items() if own)

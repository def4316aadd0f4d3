"""The checks of a run with the rules that judge each: planned together, and decided on what was evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from accgate.config import Config
from accgate.decision import decide_checks, summary, watch_of
from accgate.evaluation import Evaluated, Watch, refuse_unknown_ids
from accgate.guard import Rulings, own_samples, verdicts_beside
from accgate.planning import Check, plan_checks
from accgate.references import find_anchor
from accgate.result import EngineInfo, Result
from accgate.verdict import Verdict


@dataclass(frozen=True)
class Ruled:
    """Every check of a run, in parts that share their rules.

    `config` has the models: on a pull request it is the pull request's own file. `bootstrap` notes that the base of a
    pull request has no rules.
    """

    config: Config
    parts: tuple[tuple[Config, tuple[Check, ...]], ...]
    rulings: Rulings | None = None
    bootstrap: bool = False

    @property
    def checks(self) -> list[Check]:
        """All checks, in the order of their verdicts."""
        return [check for _, checks in self.parts for check in checks]

    @property
    def judged(self) -> list[Check]:
        """The checks that something judges; the others are not evaluated."""
        return [check for check in self.checks if check.reference is not None]

    def watches(self, *, stops: bool = True) -> dict[tuple[str, str], Watch]:
        """What may end the evaluation of each check early, and what its scores are held against."""
        return {
            (check.model, check.task.name): watch_of(
                check, correction=config.gate.correction, checks=len(checks), stops=stops
            )
            for config, checks in self.parts
            for check in checks
            if check.reference is not None
        }  # fmt: skip

    def decided(self, evaluated: Sequence[Evaluated], infos: Mapping[str, EngineInfo]) -> Result:
        """The verdicts, and beside them what a pull request's own rules say of the same records."""
        verdicts: tuple[Verdict, ...] = ()
        for config, checks in self.parts:
            is_new = self.rulings is not None and config is self.rulings.added
            verdicts += tuple(replace(v, is_new=is_new) for v in decide_checks(config, checks, evaluated, infos))
        return replace(
            summary(self.parts[0][0], verdicts, evaluated, infos),
            rules="base" if self.rulings else "bootstrap" if self.bootstrap else "own",
            beside=() if self.rulings is None else verdicts_beside(self.rulings.own, evaluated, verdicts),
        )


def ruled_checks(config: Config, rulings: Rulings | None = None, *, bootstrap: bool = False) -> Ruled:
    """Plan every check of a config by its own rules, or of a pull request by those of its base commit.

    Raises
    ------
    BadInput
        For anything in config, tasks or references that cannot be used. Damaged anchors stop a run here, before it
        costs.
    """
    parts = (config,) if rulings is None else rulings.parts
    ruled = Ruled(config, tuple((part, plan_checks(part)) for part in parts), rulings, bootstrap)
    for part, checks in ruled.parts:
        for check in checks:
            if check.reference is not None:
                find_anchor(part.references, check.baseline, check.task.name)
    return ruled


def refuse_unknown_samples(ruled: Ruled) -> None:
    """Refuse recorded samples that belong to no task of a whole file, not even by a pull request's own rules.

    Raises
    ------
    BadInput
        Which, and how many.
    """
    if not any(part.partial for part, _ in ruled.parts):
        own = () if ruled.rulings is None else own_samples(ruled.rulings)
        refuse_unknown_ids(ruled.config, [*ruled.checks, *own])

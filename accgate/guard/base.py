"""Whose rules judge a pull request: those of its base commit, over the models of its head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from accgate.config import Config, TaskSettings, load_config
from accgate.errors import BadInput
from accgate.guard.base_tree import has_rules, refuse_rules_of_head
from accgate.planning import Check, plan_checks
from accgate.records import file_name
from accgate.references import baseline_of, folder_of
from accgate.text import nearest

Pair = tuple[str, str]


@dataclass(frozen=True)
class Selection:
    """The models and the tasks (names, or tags) that a run is for; all where empty."""

    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether tasks are left out."""
        return bool(self.tasks)

    def pairs(self, config: Config) -> list[Pair]:
        """The (model, task) pairs of a config that are chosen."""
        wanted = set(self.tasks)
        return [
            (model, task)
            for model, task in config.pairs()
            if (not self.models or model in self.models)
            and (not wanted or task in wanted or wanted & set(config.tasks[task].tags))
        ]


@dataclass(frozen=True)
class Rulings:
    """What a pull request is judged by.

    `enforced` has the rules of the base commit and the head's models, for every check that the base has; `added` has
    the head's own rules, for checks that only the head has or that the base has no reference for; `own` has the head's
    rules for all. A part without checks is None.
    """

    enforced: Config | None
    added: Config | None
    own: Config

    @property
    def parts(self) -> tuple[Config, ...]:
        """The parts that decide."""
        return tuple(part for part in (self.enforced, self.added) if part is not None)


def rulings(head: Config, base: Path, selection: Selection) -> Rulings | None:
    """The rules that judge a pull request; None where the base has no accuracy.toml, so that nothing can be weakened.

    Parameters
    ----------
    head : Config
        The pull request's accuracy.toml.
    base : Path
        The same file in the tree of the base commit.
    selection : Selection
        What to check; a name may be one that only the base knows.

    Raises
    ------
    BadInput
        When the base's file cannot be used, a rule of it is a file of the pull request's own, a chosen name is in
        neither file, or nothing is left to check.
    """
    if not has_rules(base, head.source.path):
        return None
    rules = load_config(base)
    _refuse_unknown(selection, head, rules)
    own_pairs = set(head.pairs())
    known = {pair for pair in rules.pairs() if _is_judged(rules, *pair) or pair not in own_pairs}
    enforced = [pair for pair in selection.pairs(rules) if pair in known and pair[0] in head.models]
    added = [pair for pair in selection.pairs(head) if pair not in known]
    if not enforced and not added:
        raise BadInput(f"{head.source.path}: no model has a task; mend tasks.NAME.models, --models or --tasks")
    refuse_rules_of_head(rules, {task for _, task in enforced}, head.source.path)
    own = replace(head, only=frozenset(selection.pairs(head)), partial=head.partial or selection.partial)
    return Rulings(_enforced(head, rules, enforced, selection), _part(own, added), own)


def _is_judged(rules: Config, model: str, task: str) -> bool:
    """Whether the base has something to judge a check by; one without is new to whoever brings its first reference."""
    settings, asked = rules.tasks[task], rules.models[model]
    if settings.target is not None or settings.reference is not None:
        return True
    folder = folder_of(rules.references, baseline_of(model, asked.variant, asked.baseline), task)
    return any(folder.glob(f"{escape(file_name(task))}.*"))


def own_samples(own: Config) -> tuple[Check, ...]:
    """The samples that the head's own rules ask for: a recording may hold them too, for the decision beside."""
    try:
        return plan_checks(own, recording=True)
    except BadInput:
        return ()


def _enforced(head: Config, rules: Config, pairs: Sequence[Pair], selection: Selection) -> Config | None:
    """The base's config with the head's models."""
    merged = replace(
        rules, models=head.models, models_source=head.source, partial=rules.partial or selection.partial,
        tasks={name: _without_missing_models(task, head) for name, task in rules.tasks.items()},
    )  # fmt: skip
    return _part(merged, pairs)


def _without_missing_models(task: TaskSettings, head: Config) -> TaskSettings:
    """A task for those of its models that are still there; which checks are made, `only` says."""
    return replace(task, models=tuple(name for name in task.models if name in head.models))


def _part(config: Config, pairs: Sequence[Pair]) -> Config | None:
    if not pairs:
        return None
    models, tasks = {model for model, _ in pairs}, {task for _, task in pairs}
    return replace(
        config, only=frozenset(pairs),
        models={name: model for name, model in config.models.items() if name in models},
        tasks={name: task for name, task in config.tasks.items() if name in tasks},
    )  # fmt: skip


def _refuse_unknown(selection: Selection, head: Config, base: Config) -> None:
    labels = {tag for config in (head, base) for task in config.tasks.values() for tag in task.tags}
    asked = [("model", name, {*head.models, *base.models}) for name in selection.models]
    asked += [("task", name, {*head.tasks, *base.tasks, *labels}) for name in selection.tasks]
    if unknown := [(kind, name, known) for kind, name, known in asked if name not in known]:
        raise BadInput(
            *(f"{head.source.path}: no {kind} {name!r}; {nearest(name, known)}" for kind, name, known in unknown)
        )

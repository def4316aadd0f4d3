"""The rules that decide on a pull request.

They are its base commit's, applied to the models of its head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from accgate.config.config import Config, load_config, refuse_unknown, restrict
from accgate.errors import BadInput
from accgate.guard.rule_files import within
from accgate.guard.secrets import refuse_secrets
from accgate.guard.tree import has_rules, refuse_unread_references, tree_at, trees_of_pair
from accgate.planning.checks import Check, plan_checks
from accgate.records.file import file_name
from accgate.references.store import baseline_of, folder_of

Pair = tuple[str, str]


@dataclass(frozen=True)
class Selection:
    """The models and the tasks that a run is for.

    Tasks are names or tags. An empty tuple means all.
    """

    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def pairs(self, config: Config) -> list[Pair]:
        """List the (model, task) pairs of a config that are chosen."""
        return restrict(config, self.models, self.tasks).pairs()

    def of(self, config: Config) -> Config:
        """Reduce a config to the chosen pairs."""
        return replace(config, only=frozenset(self.pairs(config)), partial=config.partial or bool(self.tasks))


@dataclass(frozen=True)
class RuleSets:
    """The rules for a pull request, in three sets.

    `enforced` has the rules of the base commit and the head's models, for every check that the base has; `added` has
    the head's own rules, for checks that only the head has or that the base has no reference for; `own` has the head's
    rules for all checks. A set without checks is None.
    """

    enforced: Config | None
    added: Config | None
    own: Config

    @property
    def parts(self) -> tuple[Config, ...]:
        """The sets that decide."""
        return tuple(part for part in (self.enforced, self.added) if part is not None)


def rule_sets_of(head: Config, base: Path, selection: Selection) -> RuleSets | None:
    """Return the rules for a pull request.

    A base without accuracy.toml gives None, because nothing can be weakened.

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
        When the base's file cannot be used, its references are out of sight, a rule of either is a file outside of its
        own tree, a model of the head sends a secret where the base does not allow it, a chosen name is in neither file,
        or no check is left.
    """
    base_tree, head_tree = (tree.apart_from(head.workspace) for tree in trees_of_pair(base, head.source.path))
    head = within(head, head_tree)
    if not has_rules(base, head.source.path):
        refuse_secrets(head, None)
        return None
    rules = within(load_config(base), base_tree)
    refuse_unread_references(rules, base_tree.root)
    refuse_secrets(head, rules)
    refuse_unknown(head.source.path, (head, rules), selection.models, selection.tasks)
    own_pairs = set(head.pairs())
    old = {pair for pair in rules.pairs() if _has_reference(rules, *pair) or pair not in own_pairs}
    enforced = [pair for pair in selection.pairs(rules) if pair in old and pair[0] in head.models]
    added = [pair for pair in selection.pairs(head) if pair not in old]
    if not enforced and not added:
        raise BadInput(f"{head.source.path}: no model has a task; correct tasks.NAME.models, --models or --tasks")
    own = selection.of(head)
    with_heads_models = replace(
        rules,
        models=head.models,
        models_in_file=head.models_in_file,
        models_source=head.source,
        workspace=head.workspace,
        partial=bool(selection.tasks),
    )
    return RuleSets(_part(with_heads_models, enforced), _part(own, added), own)


def within_tree(config: Config, root: Path) -> Config:
    """Return the config, once every file that its rules name lies in this folder.

    Raises
    ------
    BadInput
        For each rule that leads out: file, line, key and the fix.
    """
    return within(config, tree_at(root, config.source.path).apart_from(config.workspace))


def _has_reference(rules: Config, model: str, task: str) -> bool:
    """Tell whether the base can decide a check.

    A check without a reference is new to the pull request that brings the first one.
    """
    settings, entry = rules.tasks[task], rules.models[model]
    if any(value is not None for value in (entry.equal_to, settings.target, settings.reference)):
        return True
    folder = folder_of(rules.references, baseline_of(model, entry.variant, entry.baseline), task)
    return any(folder.glob(f"{escape(file_name(task))}.*"))


def own_samples(own: Config) -> tuple[Check, ...]:
    """Plan the checks of the head's own rules.

    A recording may hold their samples too.
    """
    try:
        return plan_checks(own, recording=True)
    except BadInput:
        return ()


def _part(config: Config, pairs: Sequence[Pair]) -> Config | None:
    """Return the config for these pairs alone.

    Other pairs of the base may name models that are gone.
    """
    return replace(config, only=frozenset(pairs)) if pairs else None

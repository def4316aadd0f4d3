"""The rules of the gate that a pull request changes.

Every change that is not plainly stricter is a loosening.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import get_args

from accgate.config.config import Config
from accgate.config.tables import Gate, Model
from accgate.errors import BadInput, Key
from accgate.guard.difference import Difference, Direction, along, difference, down, texts, unreadable, up
from accgate.guard.rule_files import within
from accgate.guard.secrets import secret_differences
from accgate.guard.state import Effect, RuleChange
from accgate.guard.store_rules import baseline_differences, store_differences
from accgate.guard.task_rules import TaskPair, alpha_doubt, judge_differences, task_pairs
from accgate.guard.tree import refuse_unread_references, trees_of_pair
from accgate.inputs.paths import file_digest
from accgate.inputs.toml import TomlFile
from accgate.planning.effective import RATES, shares_of_alpha
from accgate.text import some_of

GATE: Mapping[str, Direction] = {
    "correction": Direction(along("bonferroni", "holm", "bh", "none"), "more drops fail", "fewer drops fail"),
    "on_inconclusive": Direction(along("warn", "fail"), "inconclusive runs fail", "inconclusive runs no longer fail"),
    "drift": Direction(along("report", "fail"), "a slow decline fails", "a slow decline no longer fails"),
    "groups": Direction(along("report", "fail"), "a group that falls fails", "a group that falls no longer fails"),
    "drift_alpha": Direction(up, "a slower decline is reported", "only a faster decline is reported"),
    "max_failed": Direction(down, "fewer samples may lack a score", "more samples may lack a score"),
}
GATE_WHY = {
    "overall": "a small drop in every check no longer fails, or each check has less of alpha",
    "reference_runs": "another number of main's runs becomes part of the references",
}
# Rates and early stopping are compared in the checks that use them, references with the store, secrets one by one.
GATE_ELSEWHERE = (*RATES, "early_stopping", "references", "secrets")


def changed_rules(base: Config, head: Config) -> tuple[RuleChange, ...]:
    """List every rule of the gate that differs between two trees.

    Loosenings come first, then tightenings, then new rules. A change of `[models]` counts only where it takes a check
    away, gives it another reference, or reads scores from a file. A rule that cannot be read in the base's tree and
    differs in the head's is a loosening.

    Parameters
    ----------
    base : Config
        accuracy.toml of the base commit, in its tree: task files, datasets and references are read from there.
    head : Config
        The same file in the tree of the pull request's head.

    Raises
    ------
    BadInput
        When a file that the head's rules name cannot be read or used, or a rule of either side is a file outside of its
        own tree: there a later pull request could change it unseen. When the base's references are out of sight.

    Examples
    --------
    >>> from accgate.config.config import load_config
    >>> config = load_config("configs/quickstart.toml")
    >>> changed_rules(config, config)
    ()
    """
    base_tree, head_tree = trees_of_pair(base.source.path, head.source.path)
    base, head = within(base, base_tree), within(head, head_tree)
    refuse_unread_references(base, base_tree.root)
    tasks, unread = task_pairs(base, head)
    gate = list(_gate_differences(base, head, tasks))
    differences = [
        *gate,
        *secret_differences(base, head),
        *_report_differences(base, head),
        *judge_differences(base, head),
        *_check_differences(base, head),
        *_engine_differences(base, head),
        *baseline_differences(base, head),
        *unread,
        *_task_differences(base, head, tasks, explained=any(each.effect == "loosening" for each in gate)),
        *store_differences(base, head),
    ]
    order, pairs = get_args(Effect), base.pairs()
    listed = sorted(_each_once(differences), key=lambda c: (order.index(c.effect), _place(head.source, c.key)))
    return tuple(
        RuleChange(
            c.rule, c.base, c.head, c.effect, c.why, head.source.own_line(c.key),
            tuple(pair for pair in pairs if c.concerns(*pair)),
        )
        for c in listed
    )  # fmt: skip


def _each_once(differences: list[Difference]) -> Iterable[Difference]:
    """Keep one difference of each rule, a loosening if there is one.

    Several tasks can yield the same rule.
    """
    unique: dict[str, Difference] = {}
    for each in differences:
        if unique.setdefault(each.rule, each).effect != "loosening" == each.effect:
            unique[each.rule] = each
    return unique.values()


def _task_differences(
    base: Config, head: Config, tasks: Sequence[TaskPair], *, explained: bool
) -> Iterator[Difference]:
    """Yield the differences of each task, and of its share of alpha.

    A smaller share is listed where no other loosening explains it.
    """
    pairs = [(model, task.name) for task in tasks for model in task.models]
    before = shares_of_alpha(base, pairs, {task.name: task.before for task in tasks})
    after = shares_of_alpha(head, pairs, {task.name: task.after for task in tasks})
    for task in tasks:
        listed = list(task.differences())
        yield from listed
        rates = [share.get(task.name, 0.0) for share in (before, after)]
        if rates[1] < rates[0] and not explained and all(each.effect != "loosening" for each in listed):
            why = "other checks and limits that can fail the run leave it less of alpha"
            shares = texts(*(float(f"{rate:.4g}") for rate in rates))
            yield Difference(("tasks", task.name, "alpha"), *shares, "loosening", why)


def _place(file: TomlFile, key: Key) -> float:
    """Return the line by which a rule is sorted.

    A rule that was removed has its table's, and rules of other files come last.
    """
    return math.inf if file.own_line(key[:1]) is None else file.line(key)


def _gate_differences(base: Config, head: Config, tasks: Sequence[TaskPair]) -> Iterator[Difference]:
    for name in (f.name for f in fields(Gate) if f.name not in GATE_ELSEWHERE):
        before, after, why = getattr(base.gate, name), getattr(head.gate, name), GATE_WHY.get(name)
        for change in difference(("gate", name), before, after, GATE.get(name), why=why):
            doubt = alpha_doubt(side for task in tasks for side in (task.before, task.after))
            is_larger = change.effect == "tightening" and name == "correction"
            yield replace(change, effect="loosening", why=doubt) if is_larger and doubt is not None else change
    early = base.gate.early_stopping, head.gate.early_stopping
    if any(side.may_stop_early for task in tasks for side in (task.before, task.after)):
        yield from difference(("gate", "early_stopping"), *early)


def _report_differences(base: Config, head: Config) -> Iterator[Difference]:
    key, why = ("report", "template"), "the comment could say something else"
    after = _template(head)
    try:
        before = _template(base)
    except BadInput as error:
        yield unreadable(key, "template", error)
        return
    if (before and before[1]) != (after and after[1]):
        yield Difference(key, *texts(before and before[0], after and after[0]), "loosening", why)


def _template(config: Config) -> tuple[str, str] | None:
    """Return name and digest of the comment's template, if there is one."""
    name = config.report.template
    return None if name is None else (name, file_digest(config.path(name)))


def _check_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the (model, task) pairs that only one side has.

    A task that begins or ceases to check models added later differs as well.
    """
    before, after = dict.fromkeys(base.pairs()), dict.fromkeys(head.pairs())
    lost = _group([pair for pair in before if pair not in after], head)
    for key, names in lost.items():
        why = "this check is no longer made" if len(names) == 1 else f"these {len(names)} checks are no longer made"
        yield Difference(key, some_of(names), None, "loosening", why)
    gained = _group([pair for pair in after if pair not in before], base)
    for key, names in gained.items():
        yield Difference(key, None, some_of(names), "new", "the base has no such check")
    for name, task in base.tasks.items():
        key = ("tasks", name, "models")
        new = head.tasks.get(name)
        if new is not None and bool(task.models) != bool(new.models) and key not in {*lost, *gained}:
            effect: Effect = "tightening" if task.models else "loosening"
            why = "models added later are checked too" if task.models else "models added later are not checked"
            yield Difference(key, *texts(task.models or "all", new.models or "all"), effect, why)


def _group(pairs: list[tuple[str, str]], other: Config) -> dict[Key, list[str]]:
    """Group pairs by the key that the other side lacks.

    This is the task, the model, or both together.
    """
    groups: dict[Key, list[str]] = {}
    for model, task in pairs:
        if task not in other.tasks:
            groups.setdefault(("tasks", task), []).append(model)
        elif model not in other.models:
            groups.setdefault(("models", model), []).append(task)
        else:
            groups.setdefault(("tasks", task, "models"), []).append(model)
    return groups


def _engine_differences(base: Config, head: Config) -> Iterator[Difference]:
    for name, model in base.models.items():
        new = head.models.get(name)
        if new is not None and _replays(new) and not _replays(model):
            why = "scores come from a file of the pull request, nothing is evaluated"
            replayed = new.engine if new.engine == "recorded" else f"{new.engine} of recorded"
            yield from difference(("models", name, "engine"), model.engine, replayed, why=why)


def _replays(model: Model) -> bool:
    """Tell whether scores are read from a file, alone or in replicas."""
    return "recorded" in (model.engine, model.options.get("engine") if model.engine == "ray" else None)

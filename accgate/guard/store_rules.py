"""The reference store as a rule.

References and anchors count, and which reference a check is compared with.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from accgate.config.config import Config
from accgate.errors import BadInput, Key
from accgate.guard.difference import Difference, exact, unreadable
from accgate.guard.reference_rules import ReferencePair
from accgate.inputs.paths import file_digest
from accgate.planning.effective import definition_of
from accgate.records.membership import clusters_of
from accgate.references.anchor import Anchor, AnchorFile, Step, anchor_beside, step_since
from accgate.references.store import Reference, baseline_of, file_of, read_reference
from accgate.text import some_of

KEY: Key = ("references",)
ANCHOR = ".anchor.toml"
REPLIES = ".replies.jsonl.gz"
MOST = 1_000_000_000  # bytes of a file of the store


def store_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the differences of references, anchors and their folder.

    Raises
    ------
    BadInput
        When a file of the head's store that differs from the base's is damaged.
    """
    folders = [os.path.normpath(os.path.expanduser(config.gate.references)) for config in (base, head)]  # noqa: PTH111
    if folders[0] != folders[1]:
        why = "references are read from another folder"
        yield Difference(("gate", "references"), folders[0], folders[1], "loosening", why)
    for place in sorted(_places(base.references) | _places(head.references)):
        old, new = base.references / place, head.references / place
        name = unquote(place.removesuffix(".toml"))
        changes = list(_reference_difference(name, old, new, base, head))
        yield from changes
        if old.exists() and new.exists() and all(change.effect != "loosening" for change in changes):
            yield from _replies_difference(name, old.with_suffix(REPLIES), new.with_suffix(REPLIES))
        yield from _anchor_difference(name, old, new)


def _places(store: Path) -> set[str]:
    """List every reference of a store as `folder/task.toml`.

    A reference of which only the anchor is there is included.
    """
    files = [path.relative_to(store).as_posix() for path in store.glob("*/*.toml")]
    return {file.removesuffix(ANCHOR) + ".toml" if file.endswith(ANCHOR) else file for file in files}


def _reference_difference(name: str, old: Path, new: Path, base: Config, head: Config) -> Iterator[Difference]:
    if _same_files(old, new):
        return
    after = read_reference(new)
    try:
        before = read_reference(old)
        higher = _is_higher_better(unquote(old.stem), base, head)
    except BadInput as error:
        yield unreadable(KEY, "reference", error, name)
        return
    if before is None and after is not None:
        yield Difference(KEY, None, _summary(after), "new", "the base has no such reference", name)
    elif before is not None and after is None:
        yield Difference(KEY, _summary(before), None, "loosening", "the reference was deleted", name)
    elif before is not None and after is not None:
        task = unquote(old.stem)
        pair = ReferencePair(before, after, higher, decides_mean=all(_is_plain(c, task) for c in (base, head)))
        if why := ", ".join(pair.changes):
            yield Difference(KEY, _summary(before), _summary(after), pair.effect, why, name)


def _is_higher_better(name: str, base: Config, head: Config) -> bool:
    """Return the direction of a task's metric in the base.

    The head's counts where the base has no such task.

    Raises
    ------
    BadInput
        When the definition cannot be read.
    """
    config = next((config for config in (base, head) if name in config.tasks), None)
    return config is None or definition_of(config, name).higher_is_better


def _is_plain(config: Config, name: str) -> bool:
    """Tell whether a task decides on the mean of independent samples.

    A task that may lose a share of its reference is not plain either.
    """
    if name not in config.tasks:
        return True
    settings = config.tasks[name]
    try:
        content = definition_of(config, name).content
    except BadInput:
        return False
    return content.aggregate is None and content.columns.cluster is None and "%" not in str(settings.allowed_drop)


def _replies_difference(name: str, old: Path, new: Path) -> Iterator[Difference]:
    """Yield the difference of replies beside a reference that is no looser.

    Reports show these replies as the reference's answers.
    """
    before, after = (digest[:12] if (digest := _digest(path)) else None for path in (old, new))
    if before is None and after is not None:
        yield Difference(KEY, None, after, "new", "replies are kept beside the reference", f"{name} (replies)")
    elif before != after:
        why = "the replies that reports show changed, and the scores did not"
        yield Difference(KEY, before, after, "loosening", why, f"{name} (replies)")


def _anchor_difference(name: str, old: Path, new: Path) -> Iterator[Difference]:
    if _same_files(old.with_suffix(ANCHOR), new.with_suffix(ANCHOR)):
        return
    part, after, reference = f"{name} (anchor)", anchor_beside(new), read_reference(new)
    try:
        before, former = anchor_beside(old), read_reference(old)
    except BadInput as error:
        yield unreadable(KEY, "anchor", error, part)
        return
    if fault := _anchor_fault(before, former, after, None if _same_files(old, new) else reference):
        yield Difference(KEY, _anchor_summary(before), _anchor_summary(after), "loosening", fault, part)


def _same_files(old: Path, new: Path) -> bool:
    """Tell whether two references or anchors have the same content, without parsing them."""
    try:
        return all(_digest(old.with_suffix(end)) == _digest(new.with_suffix(end)) for end in (".toml", ".scores.csv"))
    except BadInput:  # the next reader reports it
        return False


def _digest(path: Path) -> str | None:
    return file_digest(path, MOST) if os.path.lexists(path) else None


def _summary(reference: Reference) -> str:
    return f"mean {reference.about.mean:.2f} of {reference.about.n:,}"


def baseline_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the checks that the head compares with something else.

    They are checks of both sides, and get another reference, or another model to equal.

    Raises
    ------
    BadInput
        When a baseline of the head fits several references.
    """
    yield from _dropped_differences(base, head)
    shared = set(head.pairs())
    tasks_of: dict[Difference, list[str]] = {}
    for model, task in [pair for pair in base.pairs() if pair in shared]:
        settings = base.tasks[task]
        before, after = (each.models[model].equal_to for each in (base, head))
        if before != after:
            why = "it is compared with another model of this file for"
            change = Difference(("models", model, "equal_to"), before, after, "loosening", why)
            tasks_of.setdefault(change, []).append(task)
        elif after is None and settings.target is None and settings.reference is None:
            for change in _baseline_difference(model, task, base, head):
                tasks_of.setdefault(change, []).append(task)
    for change, tasks in tasks_of.items():
        yield replace(change, why=f"{change.why} {some_of(tasks)}")


def _dropped_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the models that lose checks without a reference.

    They are no longer checked themselves once other models of the head must equal them.

    Raises
    ------
    BadInput
        When a baseline of the head fits several references.
    """
    lost: dict[str, list[str]] = {}
    named = head.other_sides - base.other_sides
    for model, task in [pair for pair in base.pairs() if pair in named]:
        has_mean = base.tasks[task].target is not None or base.tasks[task].reference is not None
        if not has_mean and not _reference_file(head, model, task).exists():
            lost.setdefault(model, []).append(task)
    for model, tasks in lost.items():
        why = "this check is no longer made, because another model must equal this one"
        yield Difference(("models", model), some_of(tasks), None, "loosening", why)


def _baseline_difference(model: str, task: str, base: Config, head: Config) -> Iterator[Difference]:
    old, new = base.models[model], head.models[model]
    fields = [f for f in ("baseline", "variant") if exact(getattr(old, f)) != exact(getattr(new, f))]
    key: Key = ("models", model, fields[0]) if fields else KEY
    part = "" if fields else f"{model}/{task}"
    after = _reference_file(head, model, task)
    try:
        before = _reference_file(base, model, task)
    except BadInput as error:
        yield unreadable(key, "baseline", error, part)
        return
    if before.parent.name == after.parent.name:
        return
    names = [unquote(path.parent.name) + ("" if path.exists() else " (not recorded)") for path in (before, after)]
    if before.exists():
        yield Difference(key, names[0], names[1], "loosening", "another reference is used for", part)
    elif after.exists():
        yield Difference(key, names[0], names[1], "new", "a reference is used for the first time for", part)


def _reference_file(config: Config, model: str, task: str) -> Path:
    """Return the path of the reference that a check is compared with.

    It need not exist.
    """
    settings = config.models[model]
    baseline = baseline_of(model, settings.variant, settings.baseline)
    return file_of(config.references, baseline, task)


# Two anchors with these fields in common are the same.
SAME = [f.name for f in fields(AnchorFile) if f.name not in ("replaced", "history")]


def _anchor_summary(anchor: Anchor | None) -> str | None:
    """Put an anchor in words."""
    if anchor is None:
        return None
    return f"mean {anchor.about.mean:.2f} of {anchor.about.n:,}, {anchor.about.replaced} since"


def _anchor_fault(
    before: Anchor | None, former: Reference | None, after: Anchor | None, replacement: Reference | None
) -> str | None:
    """Return what is wrong with the head's anchor, if anything is.

    It must be the base's anchor or, without one, the base's `former` reference. Its history may have one step more,
    which must follow from the reference's `replacement`.
    """
    if after is None:
        fault = "the anchor was deleted: drift would be counted from the next reference on"
        return None if before is None else fault
    about = after.about
    recorded = None if former is None or former.scores is None else former.about
    first: Any = recorded if before is None else before.about
    if first is None or any(getattr(first, name) != getattr(about, name) for name in SAME):
        return "the anchor is another one: drift would be counted from another reference"
    history = () if before is None else before.about.history
    if about.history[: len(history)] != history:
        return "the history of earlier references changed"
    steps = about.history[len(history) :]
    if before is not None and not steps:
        return None
    if len(steps) == 1 and _follows(steps[0], after, replacement):
        return None
    return "the history has new references that were never recorded"


def _follows(step: Step, anchor: Anchor, reference: Reference | None) -> bool:
    """Tell whether a step of the history follows from this reference."""
    if reference is None or reference.scores is None:
        return False
    computed, _ = step_since(anchor, reference.scores, clusters_of(None, reference.scores))
    names = ["difference", "error"]
    if step.p_fall is not None and step.p_rise is not None:  # else they are computed from these two
        names += ["p_fall", "p_rise"]
    return computed is not None and all(
        # The runner's libraries may round otherwise than those of the recording machine.
        math.isclose(getattr(step, name), getattr(computed, name), rel_tol=1e-6, abs_tol=1e-9)
        for name in names
    )

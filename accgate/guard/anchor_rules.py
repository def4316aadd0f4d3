"""The anchor that drift is counted from: a pull request may only add what `accgate record` adds to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from accgate.records import clusters_of
from accgate.references import Anchor, Reference, Step
from accgate.stats import difference_to_anchor

SAME = ("model", "task", "mean", "n", "repeats", "scores_sha256", "fingerprint")  # what makes two anchors one


@dataclass(frozen=True)
class Tree:
    """The anchor and the reference beside it in one tree."""

    anchor: Anchor | None
    reference: Reference | None

    @property
    def summary(self) -> str | None:
        """The anchor in words."""
        if self.anchor is None:
            return None
        about = self.anchor.about
        return f"mean {about.mean:.2f} of {about.n:,}, {about.replaced} since"


def anchor_fault(base: Tree, head: Tree, *, replaced: bool, replacement_listed: bool) -> str | None:
    """Why the head's anchor is not the base's with what a replaced reference adds to it; None where it is.

    `replaced` says that the reference is another one, and `replacement_listed` that this is a loosening already:
    whoever approves that has seen it. Else one step may be added, which the head's reference has to give.
    """
    if head.anchor is None:
        return None if base.anchor is None else "the anchor was deleted: drift would be counted anew"
    about = head.anchor.about
    first: Any = None
    if base.anchor is not None:
        first = base.anchor.about
    elif base.reference is not None and base.reference.scores is not None:
        first = base.reference.about
    if first is None or any(getattr(first, name) != getattr(about, name) for name in SAME):
        return "the anchor is another one: drift would be counted from elsewhere"
    history = () if base.anchor is None else base.anchor.about.history
    if about.history[: len(history)] != history:
        return "the history of earlier references changed"
    steps = about.history[len(history) :]
    if (base.anchor is not None and not steps) or replacement_listed:
        return None
    if replaced and len(steps) == 1 and _is_true(steps[0], head.anchor, head.reference):
        return None
    return "references were added to the history that were not recorded"


def _is_true(step: Step, anchor: Anchor, reference: Reference | None) -> bool:
    """Whether a step of the history is what this reference gives."""
    if reference is None or reference.scores is None:
        return False
    known = set(anchor.scores.ids)
    now = reference.scores.taken([id_ for id_ in reference.scores.ids if id_ in known])
    if not now.n:
        return False
    before = anchor.scores.taken(now.ids)
    found = difference_to_anchor(before.averaged(), now.averaged(), clusters_of(None, now))
    return all(
        math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-9)
        for left, right in zip(found, (step.difference, step.error), strict=True)
    )

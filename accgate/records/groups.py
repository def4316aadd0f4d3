"""The group of each sample: a subject or category of which a verdict shows a figure of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from accgate.errors import BadInput
from accgate.records.scores import Scores
from accgate.text import some_of


def groups_of(
    reference: Scores, candidate: Scores, own: Mapping[Any, Any] | Sequence[Any] | None = None
) -> Mapping[str, str] | None:
    """The group of each sample by its id, empty where it has none; None where no sample has a group.

    Parameters
    ----------
    reference, candidate : Scores
        The candidate's groups hold, else the reference's.
    own : mapping of id to group, or sequence of shape (n,) in the candidate's order, optional
        In place of the candidate's groups; a mapping may hold more ids.

    Raises
    ------
    BadInput
        Where both sides have groups, and a sample is of another group in each: which and how many; and for a sequence
        that is not one group a sample.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[100.0], [0.0]])
    >>> groups_of(Scores(("a", "b"), points), Scores(("a", "b"), points, groups=("law", "")))
    {'a': 'law', 'b': ''}
    """
    by_id = _by_id(reference, candidate, own)
    if by_id is None:
        return None
    groups = {id_: by_id.get(id_, "") for id_ in candidate.ids}
    if moved := moved_groups(reference, groups):
        raise BadInput(
            f"{len(moved)} of {candidate.n} samples are in one group in the reference and in another in the candidate: "
            f"{some_of(moved)}; give both sides the same groups, or groups to one side only"
        )
    return groups if any(groups.values()) else None


def _by_id(
    reference: Scores, candidate: Scores, own: Mapping[Any, Any] | Sequence[Any] | None
) -> Mapping[str, str] | None:
    if own is None:
        side = candidate if candidate.groups is not None else reference
        return None if side.groups is None else dict(zip(side.ids, side.groups, strict=True))
    if not isinstance(own, Mapping):
        if len(own) != candidate.n:
            raise BadInput(f"groups: {len(own)} for {candidate.n} samples; give one a sample, in the candidate's order")
        own = dict(zip(candidate.ids, own, strict=True))
    return {str(id_): "" if group is None else str(group) for id_, group in own.items()}


def moved_groups(reference: Scores, groups: Mapping[str, str]) -> list[str]:
    """The ids of samples that the reference counts to another group; none where it has no groups."""
    if reference.groups is None:
        return []
    before = dict(zip(reference.ids, reference.groups, strict=True))
    return [id_ for id_, group in groups.items() if id_ in before and before[id_] != group]

"""The cluster and the group of each sample.

Samples of a cluster share a passage, and are not independent. Those of a group share a subject or category, of which a
verdict shows a figure of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from accgate.errors import BadInput
from accgate.records.pairing import moved_fault
from accgate.records.scores import Codes, Scores, by_label
from accgate.text import some_of

Kind = Literal["cluster", "group"]
Labels = Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any]


def clusters_of(reference: Scores | None, candidate: Scores) -> Codes | None:
    """Number the clusters of the candidate's samples from 0, shape (n,), None without clusters.

    The candidate's own clusters count, or else the reference's.

    >>> points = np.array([[100.0], [0.0], [100.0]])
    >>> clusters_of(None, Scores(("a", "b", "c"), points, clusters=("page 1", "page 2", "page 1"))).tolist()
    [0, 1, 0]
    """
    labels = cluster_labels(reference, candidate)
    return None if labels is None else codes_of(labels)


def codes_of(labels: Sequence[Any]) -> Codes:
    """Number labels from 0 in the order of their first appearance."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.intp)


def cluster_labels(reference: Scores | None, candidate: Scores, given: Labels | None = None) -> Sequence[Any] | None:
    """Return the cluster of each of the candidate's samples, None without clusters.

    Parameters
    ----------
    reference, candidate : Scores
        Without `given`, the candidate's clusters count, or else the reference's, by id.
    given : mapping of id to cluster, or array of shape (n,) in the candidate's order, optional
        Anything hashable names a cluster. A mapping may hold more ids.

    Raises
    ------
    BadInput
        When a sample has no cluster (None, NaN or empty text), and when the array is not one cluster a sample.
    """
    labels = _labels("cluster", reference, candidate, given)
    if labels is None:
        return None
    without = [id_ for id_, label in zip(candidate.ids, labels, strict=True) if not _is_label(label)]
    if without:
        fault = f"clusters: none for {len(without)} of {candidate.n} samples: {some_of(without)}"
        raise BadInput(f"{fault}; give every sample one, as text or a whole number")
    return labels


def groups_of(reference: Scores, candidate: Scores, given: Labels | None = None) -> Mapping[str, str] | None:
    """Return the group of each sample by its id, empty text for none.

    The result is None if no sample has a group.

    Parameters
    ----------
    reference, candidate : Scores
        Without `given`, the candidate's groups count, or else the reference's.
    given : mapping of id to group, or array of shape (n,) in the candidate's order, optional
        A mapping may hold more ids.

    Raises
    ------
    BadInput
        When a sample has another group on each side, and when the array is not one group a sample.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[100.0], [0.0]])
    >>> groups_of(Scores(("a", "b"), points), Scores(("a", "b"), points, groups=("law", "")))
    {'a': 'law', 'b': ''}
    """
    labels = _labels("group", reference, candidate, given)
    if labels is None:
        return None
    names = ("" if label is None else str(label) for label in labels)
    groups = dict(zip(candidate.ids, names, strict=True))
    if moved := moved_groups(reference, groups):
        raise moved_fault("group", moved, candidate.n)
    return groups if any(groups.values()) else None


def moved_groups(reference: Scores, groups: Mapping[str, str]) -> list[str]:
    """Return the ids of samples that have another group in the reference."""
    if reference.groups is None:
        return []
    before = dict(zip(reference.ids, reference.groups, strict=True))
    return [id_ for id_, group in groups.items() if id_ in before and before[id_] != group]


def _labels(kind: Kind, reference: Scores | None, candidate: Scores, given: Labels | None) -> Sequence[Any] | None:
    """Return the label of each of the candidate's samples.

    It is the given one, its own, or the reference's.
    """
    if given is not None:
        return _given_labels(kind, candidate.ids, given)
    own = _own_labels(kind, candidate)
    if own is not None or reference is None or (theirs := _own_labels(kind, reference)) is None:
        return own
    return tuple(map(dict(zip(reference.ids, theirs, strict=True)).get, candidate.ids))


def _own_labels(kind: Kind, scores: Scores) -> Sequence[str] | None:
    return scores.clusters if kind == "cluster" else scores.groups


def _given_labels(kind: str, ids: Sequence[str], given: Any) -> Sequence[Any]:
    named = by_label(given, f"{kind}s")
    if isinstance(named, dict) and (ids[0] in named or [*named] != [str(place) for place in range(len(ids))]):
        given = named  # else a Series without labels, which goes by place
    if isinstance(given, Mapping):
        label_of = {str(id_): label for id_, label in given.items()}
        if len(label_of) < len(given):
            raise BadInput(f"{kind}s: two ids are the same text; name the {kind} of each sample once")
        return tuple(map(label_of.get, ids))
    labels = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(labels, (str, bytes)) or not (hasattr(labels, "__len__") and hasattr(labels, "__getitem__")):
        raise BadInput(f"{kind}s must be a mapping of id to {kind}, or an array of one {kind} a sample")
    if len(labels) != len(ids):
        raise BadInput(f"{kind}s: {len(labels)} for {len(ids)} samples; give one a sample, in the candidate's order")
    return tuple(labels)


def _is_label(value: Any) -> bool:
    """Tell whether a value names a cluster.

    NaN differs from itself, pandas.NA raises, and a list has no hash.
    """
    try:
        return value is not None and value != "" and bool(value == value) and hash(value) is not None  # noqa: PLR0124
    except (TypeError, ValueError):
        return False

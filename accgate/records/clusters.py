"""The cluster of each sample: samples that share a passage, and are not independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.errors import BadInput
from accgate.records.scores import Codes, Scores
from accgate.text import some_of


def clusters_of(
    reference: Scores | None,
    candidate: Scores,
    given: Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any] | None = None,
) -> Codes | None:
    """The cluster of each of the candidate's samples as a code from 0, shape (n,); None where there are no clusters.

    Parameters
    ----------
    reference, candidate : Scores
        Where none are given the candidate's clusters hold, else the reference's, by id.
    given : mapping of id to cluster, or array of shape (n,) in the candidate's order, optional
        Anything hashable names a cluster. A mapping may hold more ids.

    Raises
    ------
    BadInput
        When a sample has no cluster (None, NaN or empty text count as none): which and how many; and when the
        array is not one cluster a sample.

    Examples
    --------
    >>> from accgate.records.scores import from_python
    >>> candidate = from_python({"a": 100, "b": 0, "c": 100}, "candidate")
    >>> clusters_of(None, candidate, {"c": "page 1", "b": "page 2", "a": "page 1"}).tolist()
    [0, 1, 0]
    """
    labels = cluster_labels(reference, candidate, given)
    return None if labels is None else codes_of(labels)


def codes_of(labels: Sequence[Any]) -> Codes:
    """Numbers from 0 for labels, in the order of their first appearance."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.intp)


def cluster_labels(
    reference: Scores | None,
    candidate: Scores,
    given: Mapping[Any, Any] | Sequence[Any] | npt.NDArray[Any] | None = None,
) -> Sequence[Any] | None:
    """The cluster of each of the candidate's samples as it is named; parameters and errors as for `clusters_of`."""
    if given is not None:
        labels = _given_labels(candidate.ids, given)
    elif candidate.clusters is not None:
        labels = candidate.clusters
    elif reference is not None and reference.clusters is not None:
        labels = _by_id(dict(zip(reference.ids, reference.clusters, strict=True)), candidate.ids)
    else:
        return None
    without = [id_ for id_, label in zip(candidate.ids, labels, strict=True) if not _is_label(label)]
    if without:
        raise BadInput(
            f"clusters: {len(without)} of {candidate.n} samples have none: {some_of(without)}; "
            "give every sample one, as text or a whole number"
        )
    return labels


def _given_labels(ids: Sequence[str], given: Any) -> Sequence[Any]:
    if isinstance(given, Mapping):
        label_of = {str(id_): label for id_, label in given.items()}
        if len(label_of) < len(given):
            raise BadInput("clusters: two ids are the same text; name the cluster of each sample once")
        return _by_id(label_of, ids)
    labels = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(labels, (str, bytes)) or not (hasattr(labels, "__len__") and hasattr(labels, "__getitem__")):
        raise BadInput("clusters must be a mapping of id to cluster, or an array of one cluster a sample")
    if len(labels) != len(ids):
        raise BadInput(f"clusters: {len(labels)} for {len(ids)} samples; give one a sample, in the candidate's order")
    return tuple(labels)


def _by_id(label_of: Mapping[str, Any], ids: Sequence[str]) -> Sequence[Any]:
    return tuple(map(label_of.get, ids))


def _is_label(value: Any) -> bool:
    """Whether a value names a cluster: NaN differs from itself, pandas.NA refuses to say, a list has no hash."""
    try:
        return value is not None and value != "" and bool(value == value) and hash(value) is not None  # noqa: PLR0124
    except (TypeError, ValueError):
        return False

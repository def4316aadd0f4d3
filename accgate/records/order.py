"""The fixed order of samples: random, and the same everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import repeat

import numpy as np

from accgate.records.ids import Places

KEPT = 16  # bytes of a digest that samples are sorted by: no two of a billion are alike in these


def order_key(seed: int, id_: str, cluster: str | None = None) -> tuple[str, str]:
    """Place in the order: by the hash of the cluster first, so that a cluster stays whole, then by that of the id.

    >>> sorted(["a", "b", "c"], key=lambda id_: order_key(0, id_))
    ['a', 'c', 'b']
    """
    return "" if cluster is None else _sha(seed, cluster).hex(), _sha(seed, id_).hex()


def order_of(seed: int, ids: Iterable[str], clusters: Iterable[str | None] | None = None) -> Places:
    """The places of ids in the order of their keys, shape (n,); of a million without a text for each key.

    >>> order_of(0, ["a", "b", "c"]).tolist(), order_of(0, ["a", "b", "c"], ["x", None, "x"]).tolist()
    ([0, 2, 1], [1, 0, 2])
    """
    keys = bytearray()
    for id_, cluster in zip(ids, repeat(None) if clusters is None else clusters, strict=False):
        keys += bytes(KEPT) if cluster is None else _sha(seed, cluster)[:KEPT]
        keys += _sha(seed, id_)[:KEPT]
    return np.argsort(np.frombuffer(keys, dtype=f"S{2 * KEPT}"), kind="stable")


def _sha(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest()

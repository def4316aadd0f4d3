"""The fixed order of samples: random, and the same everywhere."""

from __future__ import annotations

import hashlib


def order_key(seed: int, id_: str, cluster: str | None = None) -> tuple[str, str]:
    """Place in the order: by the hash of the cluster first, so that a cluster stays whole, then by that of the id.

    >>> sorted(["a", "b", "c"], key=lambda id_: order_key(0, id_))
    ['a', 'c', 'b']
    """
    return "" if cluster is None else _sha(f"{seed}:{cluster}"), _sha(f"{seed}:{id_}")


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

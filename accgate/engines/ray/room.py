"""How many replicas the nodes of a cluster have room for, when all of them are empty."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

Resources = Mapping[str, float]
UNIT = 10_000  # Ray counts in parts of this size
MOST = 100_000  # arrangements that are looked at


def room_for(nodes: Sequence[Resources], parts: Sequence[Resources], most: int) -> int:
    """How many replicas of these parts, each part whole on one node, find room; `most` at most.

    Where there are too many arrangements to look at all of them, it may be too many, and never too few.

    >>> one = [{"CPU": 8.0, "GPU": 2.0}]
    >>> room_for(one, [{"CPU": 1.0, "GPU": 1.0}], 9), room_for(one, [{"GPU": 0.5}], 9), room_for(one, [{"TPU": 1.0}], 9)
    (2, 4, 0)
    >>> room_for([{"CPU": 2.0}] * 3, [{"CPU": 1.0}, {"CPU": 2.0}], 9)
    2
    """
    kinds = Counter(tuple(sorted((kind, n) for kind, n in _units(part).items() if n)) for part in parts)
    empty = [*map(_units, nodes)]
    bundles, counts = [dict(kind) for kind in kinds if kind], [count for kind, count in kinds.items() if kind]
    return bisect_left(range(most), True, key=lambda n: not _fit(empty, bundles, [(n + 1) * c for c in counts]))


def _units(resources: Resources) -> dict[str, int]:
    return {kind: round(amount * UNIT) for kind, amount in resources.items()}


def _fit(nodes: Sequence[Mapping[str, int]], bundles: Sequence[Mapping[str, int]], counts: Sequence[int]) -> bool:
    """Whether so many of each bundle find room on the nodes; True where that is not known."""
    for kind in {kind for bundle in bundles for kind in bundle}:
        need = sum(count * bundle.get(kind, 0) for bundle, count in zip(bundles, counts, strict=True))
        if need > sum(node.get(kind, 0) for node in nodes):
            return False
    looked, missing = 0, {tuple(counts)}  # what there may be no room for yet, by how the nodes so far were filled
    for node in nodes:
        left = set()
        for counts_left in missing:
            for filled in _fillings(node, bundles, counts_left):
                looked += 1
                if looked > MOST or not any(filled):
                    return True
                left.add(filled)
        missing = left
    return not any(counts)


def _fillings(
    node: Mapping[str, int], bundles: Sequence[Mapping[str, int]], counts: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """How many of each bundle are left once the node is as full as it can be, for each way to fill it."""
    if not bundles:
        yield ()
        return
    bundle, most = bundles[0], counts[0]
    most = min(most, *(node.get(kind, 0) // amount for kind, amount in bundle.items()))
    for number in range(most, most - 1 if len(bundles) == 1 else -1, -1):
        rest = {kind: amount - number * bundle.get(kind, 0) for kind, amount in node.items()}
        for others in _fillings(rest, bundles[1:], counts[1:]):
            yield counts[0] - number, *others


def amounts_of(*parts: Resources) -> str:
    """Amounts of resources in words, of one part or several.

    >>> amounts_of({"CPU": 1.0, "GPU": 0.5}), amounts_of({"CPU": 1.0}, {"GPU": 2.0})
    ('CPU 1, GPU 0.5', 'CPU 1 + GPU 2')
    """
    return " + ".join(
        ", ".join(f"{kind} {amount:g}" for kind, amount in sorted(part.items())) or "no resources" for part in parts
    )

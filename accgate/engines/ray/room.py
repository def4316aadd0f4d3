"""How many replicas the nodes of a cluster have room for, when all of them are empty."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

Resources = Mapping[str, float]
UNIT = 10_000  # Ray counts in parts of this size
APIECE = ("GPU", "NPU", "RBLN", "TPU", "HPU", "neuron_cores")  # Ray's unit instances: a fraction is one device's
MOST = 100_000  # arrangements that are looked at


def room_for(nodes: Sequence[Resources], parts: Sequence[Resources], most: int) -> int:
    """How many replicas of these parts, each part whole on one node, find room; `most` at most.

    A fraction of a GPU is one GPU's: two have no room for three parts of 0.6, which are 1.8 together. Where there are
    too many arrangements to look at all of them, it may be too many, and never too few.

    >>> one = [{"CPU": 8.0, "GPU": 2.0}]
    >>> room_for(one, [{"CPU": 1.0, "GPU": 1.0}], 9), room_for(one, [{"GPU": 0.5}], 9), room_for(one, [{"TPU": 1.0}], 9)
    (2, 4, 0)
    >>> room_for([{"GPU": 2.0}], [{"GPU": 0.6}], 9)
    2
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
    devices = [_devices(node, bundles) for node in nodes]
    for node, devices_fit in zip(nodes, devices, strict=True):
        left = set()
        for counts_left in missing:
            for filled in _fillings(node, bundles, counts_left, devices_fit):
                looked += 1
                if looked > MOST or not any(filled):
                    return True
                left.add(filled)
        missing = left
    return not any(counts)


Taken = tuple[int, ...]  # how many of each bundle, from the first on


def _fillings(
    node: Mapping[str, int],
    bundles: Sequence[Mapping[str, int]],
    counts: Sequence[int],
    devices_fit: Callable[[Taken], bool],
    taken: Taken = (),
) -> Iterator[tuple[int, ...]]:
    """How many of each bundle are left once the node is as full as it can be, for each way to fill it."""
    place = len(taken)
    if place == len(bundles):
        yield tuple(count - number for count, number in zip(counts, taken, strict=True))
        return
    bundle = bundles[place]
    most = min(counts[place], *(node.get(kind, 0) // amount for kind, amount in bundle.items()))
    most = bisect_left(range(most), True, key=lambda number: not devices_fit((*taken, number + 1)))
    for number in range(most, most - 1 if place + 1 == len(bundles) else -1, -1):
        rest = {kind: amount - number * bundle.get(kind, 0) for kind, amount in node.items()}
        yield from _fillings(rest, bundles, counts, devices_fit, (*taken, number))


def _devices(node: Mapping[str, int], bundles: Sequence[Mapping[str, int]]) -> Callable[[Taken], bool]:
    """Whether the devices of a node have room for so many of each bundle, whose fractions each lie on one device."""
    kinds = [kind for kind in APIECE if any(bundle.get(kind, 0) % UNIT for bundle in bundles)]

    @cache
    def fit(taken: Taken) -> bool:
        for kind in kinds:
            amounts = [(bundle.get(kind, 0), count) for bundle, count in zip(bundles, taken, strict=False)]
            free = node.get(kind, 0) // UNIT - sum(amount // UNIT * count for amount, count in amounts)
            parts = [(amount % UNIT, count) for amount, count in amounts if amount % UNIT and count]
            sizes, counts = [{"": amount} for amount, _ in parts], [count for _, count in parts]
            if free < 0 or not _fit([{"": UNIT}] * free, sizes, counts):
                return False
        return True

    return fit


def amounts_of(*parts: Resources) -> str:
    """Amounts of resources in words, of one part or several.

    >>> amounts_of({"CPU": 1.0, "GPU": 0.5}), amounts_of({"CPU": 1.0}, {"GPU": 2.0})
    ('CPU 1, GPU 0.5', 'CPU 1 + GPU 2')
    """
    return " + ".join(
        ", ".join(f"{kind} {amount:g}" for kind, amount in sorted(part.items())) or "no resources" for part in parts
    )

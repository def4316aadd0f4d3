"""How many replicas find room on a cluster's nodes: never fewer than in the best arrangement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.engines.ray.cluster import room_for

amounts = st.fixed_dictionaries(
    {}, optional={"CPU": st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), "GPU": st.sampled_from([0.25, 0.4, 0.6, 1.0, 2.0])}
)
machines = st.fixed_dictionaries(
    {}, optional={"CPU": st.sampled_from([0.5, 1.0, 1.5, 3.0]), "GPU": st.sampled_from([1.0, 2.0, 3.0])}
)


def fits(nodes: Sequence[Mapping[str, float]], parts: Sequence[Mapping[str, float]]) -> bool:
    """Whether some assignment of parts to nodes asks no node, and no GPU of it, for more than it has."""
    for places in product(range(len(nodes)), repeat=len(parts)):
        own = [[part for part, at in zip(parts, places, strict=True) if at == number] for number in range(len(nodes))]
        if all(
            sum(part.get("CPU", 0.0) for part in of) <= node.get("CPU", 0.0)
            and gpus_fit(int(node.get("GPU", 0.0)), [part.get("GPU", 0.0) for part in of])
            for node, of in zip(nodes, own, strict=True)
        ):
            return True
    return False


def gpus_fit(count: int, shares: Sequence[float]) -> bool:
    """Whether some assignment gives each share below 1 to one GPU, and each of 1 or more to as many that are free."""
    free = count - sum(int(share) for share in shares if share >= 1)
    parts = [round(100 * share) for share in shares if 0 < share < 1]
    return free >= 0 and any(
        all(sum(part for part, at in zip(parts, places, strict=True) if at == gpu) <= 100 for gpu in range(free))
        for places in product(range(free), repeat=len(parts))
    )


@given(st.lists(machines, min_size=1, max_size=3), st.lists(amounts, min_size=1, max_size=3))
def test_what_some_arrangement_has_room_for_is_never_refused(
    nodes: list[dict[str, float]], parts: list[dict[str, float]]
) -> None:
    best = next((n for n in range(2) if not fits(nodes, parts * (n + 1))), 2)
    assert room_for(nodes, parts, 2) >= best


@pytest.mark.parametrize(
    ("parts", "most", "fit"),
    [
        ([{"CPU": 1.0}, {"CPU": 2.0}, {"CPU": 2.0}], 1, 0),
        ([{"CPU": 1.0}, {"CPU": 1.0}], 2, 1),
        ([{"CPU": 0.1}] * 10, 9, 2),
        ([{"CPU": 1.0, "GPU": 0.0}], 9, 2),
        ([{}] * 3, 9, 9),
        ([{"CPU": 1e-5}], 9, 9),
    ],
)
def test_the_parts_of_replicas_share_one_node(parts: list[dict[str, float]], most: int, fit: int) -> None:
    assert room_for([{"CPU": 2.0, "memory": 1e10}], parts, most) == fit


@pytest.mark.parametrize(("gpus", "share", "fit"), [(2.0, 0.6, 2), (8.0, 0.5, 16), (8.0, 0.3, 24), (2.0, 1.0, 2)])
def test_a_fraction_of_a_gpu_is_that_of_one_gpu(gpus: float, share: float, fit: int) -> None:
    assert room_for([{"CPU": 64.0, "GPU": gpus}], [{"CPU": 1.0, "GPU": share}], 99) == fit
    assert room_for([{"CPU": 64.0, "GPU": gpus}] * 4, [{"CPU": 1.0, "GPU": share}], 99) == min(99, 4 * fit)


def test_the_parts_of_a_replica_share_its_gpus() -> None:
    host, worker = {"CPU": 1.0, "GPU": 0.4}, {"GPU": 0.7}
    assert room_for([{"CPU": 8.0, "GPU": 2.0}], [host, worker], 9) == 1  # 0.4 + 0.4 on one GPU, and one of 0.7
    assert room_for([{"CPU": 8.0, "GPU": 3.0}], [host, worker], 9) == 2
    nodes = [{"CPU": 192.0, "GPU": 8.0, "memory": 2e12}] * 40
    assert room_for(nodes, [{"CPU": 1.0}, *[{"GPU": 1.0, "CPU": 4.0}] * 16], 30) == 20
    assert room_for([{"GPU": 3.0}] * 2, [{"GPU": 2.0}, {"GPU": 2.0}], 9) == 1  # 6 GPUs in all, and 2 apart

"""Records for the tests of statistics over samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def columns(**named: Sequence[Any]) -> list[dict[str, Any]]:
    """Records of these columns, with ids s0, s1 and so on."""
    rows = [dict(zip(named, values, strict=True)) for values in zip(*named.values(), strict=True)]
    return [{"id": f"s{i}", **row} for i, row in enumerate(rows)]


def confident(rng: np.random.Generator, n: int, *, grid: int | None = None) -> list[dict[str, Any]]:
    """Records with a confidence (on a grid of so many steps, for ties) and a score."""
    confidence = rng.random(n) if grid is None else rng.integers(0, grid + 1, n) / grid
    right = rng.random(n) < 0.8 * confidence
    return columns(confidence=confidence.tolist(), score=(100.0 * right).tolist())


def labelled(rng: np.random.Generator, n: int, groups: int, labels: Sequence[str] = "01") -> list[dict[str, Any]]:
    """Records with a group, a target, and an answer that is right for about three in four."""
    target = rng.choice(list(labels), n)
    answer = np.where(rng.random(n) < 0.75, target, rng.choice(list(labels), n))
    group = [f"g{i}" for i in rng.integers(0, groups, n)]
    return columns(group=group, target=target.tolist(), answer=answer.tolist())

"""Searches for a cause on simulated models: the search's own decisions, with no engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.decision.cause import Blame
from accgate.stats.paired import mcnemar_p
from accgate.trials import search
from accgate.trials.arm import Answers
from accgate.trials.loss import Changed

Score = Callable[[int, frozenset[str]], float]
ALPHA = 0.05


@dataclass(frozen=True)
class Planned:
    """A model with the settings that are changed in it."""

    settings: Any


@dataclass(frozen=True)
class Effects:
    """What settings do to the samples of one dataset: `lost` and `gained` samples of each; `noise` flips any reply.

    The samples of `together` are lost where all settings of `both` are changed.
    """

    lost: dict[str, frozenset[int]]
    gained: dict[str, frozenset[int]]
    right: Sequence[bool]
    dice: random.Random
    noise: float = 0.0
    both: frozenset[str] = frozenset()
    together: frozenset[int] = frozenset()

    def score(self, sample: int, settings: frozenset[str]) -> float:
        """The score of a sample with these settings changed, drawn anew where replies flicker."""
        is_right = self.right[sample]
        if any(sample in (self.lost if is_right else self.gained)[name] for name in settings):
            is_right = not is_right
        elif self.both and self.both <= settings and sample in self.together:
            is_right = False
        return 100.0 * (is_right != (self.dice.random() < self.noise))


def effects(
    dice: random.Random, n: int, rates: dict[str, tuple[float, float]], *, right: float = 0.6, noise: float = 0.0
) -> Effects:
    """Effects of settings that lose and gain these shares of all samples."""
    is_right = [dice.random() < right for _ in range(n)]
    lost, gained = {}, {}
    for name, (loses, gains) in rates.items():
        lost[name] = frozenset(i for i in range(n) if is_right[i] and dice.random() < loses / right)
        gained[name] = frozenset(i for i in range(n) if not is_right[i] and dice.random() < gains / (1.0 - right))
    return Effects(lost, gained, is_right, dice, noise)


def run_of(of: Effects, n: int) -> tuple[list[int], list[int], float]:
    """The answers that a run of the first n samples loses and gains with all settings changed, and its p-value."""
    names = frozenset(of.lost)
    now, before = ([of.score(i, settings) for i in range(n)] for settings in (names, frozenset[str]()))
    reference = [100.0 * right for right in of.right[:n]] if not of.noise else before
    lost = [i for i in range(n) if now[i] < reference[i]]
    gained = [i for i in range(n) if now[i] > reference[i]]
    return lost, gained, mcnemar_p(len(lost), len(lost) + len(gained))


def blamed(of: Effects, n: int, lost: list[int], gained: list[int], p: float, patch: pytest.MonkeyPatch) -> Blame:
    """What a search names after a run of the first n samples; the rest are further samples."""
    names = tuple(of.lost)
    ids = [str(i) for i in range(len(of.right))]

    def ask(_check: Any, _name: str, model: Planned, asked: Sequence[str], *_: Any, ends: Any = None, **__: Any) -> Any:
        scores: dict[str, float | None] = {}
        for id_ in asked:
            scores[id_] = of.score(int(id_), model.settings)
            if ends is not None and len(scores) % 4 == 0 and ends(scores):
                break
        return Answers((), scores, len(scores))

    patch.setattr(search, "ask", ask)
    patch.setattr(search, "refuse_unread", lambda *_: None)
    patch.setattr(search, "reference_scores", lambda _: {id_: 100.0 * of.right[int(id_)] for id_ in ids})
    check = SimpleNamespace(
        model="m", repeats=1, planned_model=Planned(frozenset(names)),
        task=SimpleNamespace(name="t", samples=SimpleNamespace(ids=ids)),
    )  # fmt: skip
    changed = Changed(tuple(map(str, lost)), tuple(map(str, gained)), tuple(ids[n:]))
    loss = SimpleNamespace(check=check, ids=changed.lost, verdict=SimpleNamespace(p_value=p, level=ALPHA))
    settings = SimpleNamespace(
        values=dict.fromkeys(names), changes=(), fixed=(), candidate=frozenset(names),
        put_back=lambda those: frozenset(names) - {*those}, set_alone=lambda name: frozenset([name]),
    )  # fmt: skip
    budget = search._Budget(None, None, None, lambda: 0.0)
    options: Any = SimpleNamespace(out=Path("out"), observer=None)
    made: Any = (loss, changed, settings, options, ALPHA, budget, None)
    return search._Search(*made).blame()

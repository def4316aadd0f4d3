"""How often a search names settings that lose nothing, and those that do: simulated models, and no engine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from accgate.stats.paired import mcnemar_p
from tests.trials.searching import ALPHA, blamed, effects, run_of

pytestmark = pytest.mark.slow
Rates = Mapping[str, tuple[float, float]]
REAL, FLIPPER, NOTHING = (0.04, 0.0), (0.015, 0.015), (0.0, 0.0)


def named(
    rates: Rates,
    searches: int,
    *,
    n: int = 1319,
    early: bool = False,
    noise: float = 0.0,
    both: frozenset[str] = frozenset(),
) -> dict[str, float]:
    """The share of searches after a failed run that name each setting; `early` stops at the first p of 0.012."""
    dice, counts, done = random.Random(7), Counter[str](), 0
    with pytest.MonkeyPatch.context() as patch:
        while done < searches:
            of = effects(dice, 1319, dict(rates), noise=noise)
            if both:
                of = replace(of, both=both, together=frozenset(i for i in range(1319) if dice.random() < 0.08))
            lost, gained, p = run_of(of, n)
            looks = range(60, n, 20) if early else ()
            for look in looks:
                some = [i for i in lost if i < look], [i for i in gained if i < look]
                if mcnemar_p(len(some[0]), len(some[0]) + len(some[1])) <= 0.012:
                    lost, gained, p, end = *some, ALPHA, look
                    break
            else:
                end = n
            if p > ALPHA or (early and end == n):
                continue
            done += 1
            found = blamed(of, end, lost, gained, p, patch)
            counts.update({name for cause in found.causes for name in cause.settings})
    return {name: counts[name] / searches for name in rates}


@pytest.mark.parametrize("n", [1319, 500])
def test_a_harmless_flipper_beside_a_real_loss_is_rarely_named_and_the_loss_is(n: int) -> None:
    share = named({"real": REAL, "flips": FLIPPER}, 100, n=n)
    assert share["flips"] <= 0.05
    assert share["real"] >= 0.9


@pytest.mark.parametrize("rates", [{"a": FLIPPER, "b": (0.01, 0.01)}, {"a": FLIPPER, "b": NOTHING}])
@pytest.mark.parametrize("early", [False, True])
def test_after_a_false_alarm_hardly_anything_is_named(rates: Rates, early: bool) -> None:
    """Fixed runs have no further samples, those that stopped early have half of the dataset."""
    share = named(rates, 60, n=660 if early else 1319, early=early)
    assert sum(share.values()) <= 0.05


def test_of_two_culprits_beside_a_flipper_both_are_found() -> None:
    share = named({"a": (0.05, 0.005), "b": (0.04, 0.0), "flips": (0.02, 0.02)}, 60)
    assert share["flips"] <= 0.05
    assert min(share["a"], share["b"]) >= 0.8


def test_a_run_that_stopped_early_is_searched_on_samples_that_it_was_not_decided_on() -> None:
    share = named({"real": REAL, "flips": FLIPPER, "none": NOTHING}, 60, n=660, early=True)
    assert max(share["flips"], share["none"]) <= 0.05
    assert share["real"] >= 0.7


def test_where_every_reply_may_flicker_the_loss_is_found_and_little_else_named() -> None:
    share = named({"real": (0.06, 0.0), "flips": FLIPPER, "none": NOTHING}, 60, noise=0.02)
    assert max(share["flips"], share["none"]) <= 0.05
    assert share["real"] >= 0.8


def test_settings_that_lose_answers_only_together_are_named_and_a_flipper_beside_them_is_not() -> None:
    share = named({"a": NOTHING, "b": NOTHING, "flips": FLIPPER}, 60, both=frozenset("ab"))
    assert share["flips"] <= 0.05
    assert min(share["a"], share["b"]) >= 0.8

"""How often `accgate bisect` names the right commit, and in how many questions: `python -m benchmarks.culprit`."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from accgate.decision.cause import selection_of
from accgate.stats.betting import coin_evidence
from accgate.stats.paired import mcnemar_p
from accgate.trials.bisection import BATCHES
from accgate.trials.culprit import ALPHA, Placed, culprits, is_explained, needed_evidence, next_question

HEADER = (
    "| commits | samples | points lost | flips either way | flickers | searched | named right | named wrong "
    "| questions | commits asked |"
)


class Case(NamedTuple):
    """A history of `commits` commits and a gate of `n` samples that failed at 0.05.

    Each commit of `losses` loses so many points, each of `flips` flips that share of the samples, half of it either
    way, and of the share `noise` of the samples each reply is a fair coin.
    """

    commits: int
    n: int
    losses: Sequence[float]
    flips: Sequence[float] = ()
    noise: float = 0.0


CASES = (
    Case(64, 1319, (4.0,)),
    Case(64, 300, (5.0,)),
    Case(256, 1319, (4.0,)),
    Case(64, 1319, (2.0,), (0.01, 0.01)),
    Case(64, 1319, (4.0,), (0.03,)),
    Case(64, 1319, (4.0,), (0.03,) * 5),
    Case(64, 1319, (8.0,), (0.05,) * 8),
    Case(64, 1319, (4.0, 4.0), (0.02,) * 3),
    Case(64, 1319, (4.0,), (0.02,) * 2, 0.04),
    Case(64, 1319, (), (0.03,)),
    Case(64, 1319, (), (0.02,) * 5),
    Case(64, 1319, (), (), 0.06),
)


class History:
    """The samples that change in a history: each with its sign and its commit, or none where it flickers."""

    def __init__(self, dice: random.Random, case: Case) -> None:
        self.dice, self.last = dice, case.commits
        places = dice.sample(range(1, case.commits + 1), len(case.losses) + len(case.flips))
        self.right = set(places[: len(case.losses)])
        self.samples: list[tuple[bool, int | None]] = []
        for place, points in zip(places, case.losses, strict=False):
            self._add(place, case.n, points / 100.0, 0.0)
        for place, share in zip(places[len(case.losses) :], case.flips, strict=True):
            self._add(place, case.n, share / 2.0, share / 2.0)
        for _ in range(round(case.n * case.noise)):
            if dice.random() < 0.5:  # as it was at the good commit, else: it came out the other way at the bad one
                self.samples.append((dice.random() < 0.5, None))
        dice.shuffle(self.samples)

    def _add(self, place: int, n: int, lost: float, gained: float) -> None:
        for _ in range(n):
            draw = self.dice.random()
            if draw < lost + gained:
                self.samples.append((draw < lost, place))

    def is_changed(self, sample: int, place: int) -> bool:
        """Whether a sample has changed at a commit; one that flickers by a coin."""
        _, at = self.samples[sample]
        return self.dice.random() < 0.5 if at is None else place >= at

    @property
    def p_value(self) -> float:
        """That of the gate which failed."""
        lost = sum(is_lost for is_lost, _ in self.samples)
        return mcnemar_p(lost, len(self.samples))


def search(history: History) -> tuple[bool, set[int], float, float]:
    """Whether it is searched, the commits named, the questions, and the commits asked."""
    signs = [is_lost for is_lost, _ in history.samples]
    lost = sum(signs)
    is_shown = selection_of(history.p_value, 0.05, ALPHA) == 1.0
    if not is_shown and coin_evidence(lost, len(signs) - lost) < needed_evidence(0.05):
        return False, set(), 0, 0
    samples: list[Placed] = []
    of: list[int] = []
    seen, questions, asked = 0, 0, {history.last}
    for count in BATCHES:
        while seen < len(signs) and sum(signs[:seen]) < count:
            if history.is_changed(seen, history.last):
                samples.append(Placed(signs[seen], 0, history.last))
                of.append(seen)
            seen, questions = seen + 1, questions + 1
        while (question := next_question(samples, frozenset())) is not None:
            place, those = question
            asked.add(place)
            questions += len(those)
            for i in those:
                samples[i] = samples[i].answered(place, is_changed=history.is_changed(of[i], place))
        named = culprits(samples)
        if is_explained(samples) and count != BATCHES[0]:
            break
    return True, {high for _, high in named}, questions, len(asked)


def table(runs: int, cases: Sequence[Case] = CASES) -> Iterator[str]:
    """The table, a row a case."""
    yield HEADER
    yield "|---" * (HEADER.count(" | ") + 1) + "|"
    for case in cases:
        dice = random.Random(64)
        done: list[tuple[float, ...]] = []
        while len(done) < runs:
            history = History(dice, case)
            if history.p_value > 0.05:
                continue
            is_searched, named, questions, asked = search(history)
            done.append((is_searched, history.right <= named, bool(named - history.right), questions, asked))
        searched, right, wrong, questions, asked = (sum(each[i] for each in done) / runs for i in range(5))
        lost = " and ".join(f"{points:g}" for points in case.losses) or "none, a false alarm"
        flips = f"{len(case.flips)} of {100 * case.flips[0]:g}%" if case.flips else "none"
        named_right = f"{100 * right:.1f}%" if case.losses else "-"
        of = max(searched, 1.0 / runs)
        yield (
            f"| {case.commits} | {case.n:,} | {lost} | {flips} | {100 * case.noise:g}% | {100 * searched:.1f}% | "
            f"{named_right} | {100 * wrong:.1f}% | {questions / of:.0f} | {asked / of:.0f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="failed gates of each row (1000)")
    for line in table(parser.parse_args().runs):
        print(line, flush=True)


if __name__ == "__main__":
    main()

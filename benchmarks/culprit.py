"""How often `accgate bisect` names the right commit, and in how many questions: `python -m benchmarks.culprit`."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import NamedTuple

from accgate.stats.culprit import Asked, culprit_posterior, next_place
from accgate.trials.bisection import BATCH, ENOUGH, SURE

HEADER = "| commits | changed | points lost | lost answers | named right | to find them | to search | questions |"


class Case(NamedTuple):
    """A history: a share `q` of the samples changes its score, `drop` points are lost, at one of `commits` commits.

    Of the lost answers more than `drop` and of the others come and go whatever the commit. With `known` lost answers
    those of a run are searched with, else the bad commit is asked until eight are found.
    """

    commits: int
    q: float
    drop: float
    known: int | None = None


CASES = (
    Case(64, 0.05, 5.0),
    Case(64, 0.05, 5.0, known=12),
    Case(64, 0.10, 5.0),
    Case(64, 0.10, 5.0, known=20),
    Case(64, 0.20, 10.0, known=20),
    Case(16, 0.05, 2.0, known=15),
    Case(256, 0.05, 5.0, known=12),
    Case(64, 0.01, 1.0, known=8),
    Case(64, 0.02, 2.0),
    Case(64, 0.05, 2.0, known=15),
    Case(64, 0.20, 2.0, known=30),
    Case(64, 0.20, 15.0),
    Case(64, 0.20, 15.0, known=30),
)


def search(dice: random.Random, case: Case) -> tuple[bool, int, int]:
    """Whether the right commit is named, and the questions to find lost answers and to search with them."""
    culprit = dice.randrange(1, case.commits + 1)
    lost_share = (case.q + case.drop / 100.0) / 2.0  # of all samples; the others of q are gained
    flickering = (lost_share - case.drop / 100.0) / lost_share  # as many come and go as were gained
    count = ENOUGH if case.known is None else case.known
    finding = 0
    if case.known is None:
        seen = 0
        while seen < count:
            finding += 1
            seen += dice.random() < lost_share
    chances_of = [dice.random() if dice.random() < flickering else None for _ in range(count)]
    asked = [[(0, True), (case.commits, False)] for _ in range(count)]
    questions = 0
    while True:
        samples = [Asked(tuple(place for place, _ in of), tuple(right for _, right in of)) for of in asked]
        chances, follow = culprit_posterior(samples, case.commits)
        place = next_place(chances, frozenset())
        if chances.max() >= SURE or place is None or questions > 2000:
            return int(chances.argmax()) + 1 == culprit, finding, questions
        times = [sum(number == place for number, _ in of) for of in asked]
        for i in sorted(range(count), key=lambda i: (times[i], -follow[i]))[:BATCH]:
            chance = chances_of[i]
            asked[i].append((place, place < culprit if chance is None else dice.random() < chance))
            questions += 1


def table(runs: int) -> Iterator[str]:
    """The table, a row a case."""
    yield HEADER
    yield "|---" * HEADER.count(" |") + "|"
    for case in CASES:
        dice = random.Random(64)
        done = [search(dice, case) for _ in range(runs)]
        right, finding, searching = (sum(each[i] for each in done) / runs for i in range(3))
        lost = f"first {ENOUGH} found" if case.known is None else f"{case.known} of a run"
        yield (
            f"| {case.commits} | {100 * case.q:g}% | {case.drop:g} | {lost} | {100 * right:.1f}% | {finding:.0f} | "
            f"{searching:.0f} | {finding + searching:.0f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="histories of each row (1000)")
    for line in table(parser.parse_args().runs):
        print(line)


if __name__ == "__main__":
    main()

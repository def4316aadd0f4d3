"""Two paths of one model (`equal_to`): how often equal ones fail, what is seen, and on how many samples.

`python -m benchmarks.two_paths` prints a table in some minutes; `--runs 40` takes seconds. A kernel that
differs changes a share of the scores, more of them for the worse or the better where the mean moves.
"""

import argparse
from typing import NamedTuple

import numpy as np

from accgate.decision.evidence import Evidence
from accgate.decision.stopping import sequential_cases
from accgate.design import Design
from accgate.records.ids import Ids
from accgate.records.scores import Scores

# Share of scores that change, points that the mean moves, share that was planned for, and the most samples of the plan
CELLS = (
    (0.0, 0.0, 0.0, 570), (0.02, 0.0, 0.0, 570), (0.02, -2.0, 0.0, 570), (0.05, 0.0, 0.05, 1487),
    (0.05, -2.0, 0.05, 1487), (0.05, 2.0, 0.05, 1487), (0.1, 0.0, 0.05, 1487),
)  # fmt: skip


class Run(NamedTuple):
    """What both ways say of a pair, and after how many samples."""

    answer: str
    n: int


def run(
    rng: np.random.Generator,
    q: float,
    move: float,
    planned: float,
    most: int,
    *,
    theta: float = 2.0,
    alpha: float = 0.05,
) -> Run:
    """Simulate a pair of which a share q of the scores change, and the mean moves by so many points."""
    worse = (q - move / 100.0) / 2.0
    luck, right = rng.random(most), rng.random(most) < 0.7
    change = np.where(luck < worse, -100.0, np.where(luck < q, 100.0, 0.0))
    first = np.where(change == 0.0, 100.0 * right, np.where(change < 0.0, 100.0, 0.0))
    ids = Ids(map(str, range(most)))
    sides = [Scores(ids, scores[:, None]) for scores in (first, first + change)]
    design = Design(alpha=alpha / 2.0, theta=theta, early_stopping=True, discordance=planned)
    ways = []
    for before, now in (sides, sides[::-1]):
        (test,) = sequential_cases(Evidence(now, before, design, n_max=most), design.alpha)
        assert test is not None
        ways.append(test.standing)
    stops = [way.stop for way in ways]
    if "regression" in stops:
        return Run("worse" if stops[0] == "regression" else "better", min(w.n for w in ways if w.stop == "regression"))
    return Run("no difference" if stops == ["futility"] * 2 else "open", max(way.n for way in ways))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    print("| change | mean moves | planned for | worse | better | no difference | open | samples |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for q, move, planned, most in CELLS:
        rng = np.random.default_rng(11)
        done = [run(rng, q, move, planned, most) for _ in range(runs)]
        answers = ("worse", "better", "no difference", "open")
        shares = " | ".join(f"{sum(each.answer == name for each in done) / runs:.3f}" for name in answers)
        mean = sum(each.n for each in done) / runs
        print(f"| {100 * q:g}% | {move:+g} | {100 * planned:g}% | {shares} | {mean:.0f} |", flush=True)


if __name__ == "__main__":
    main()

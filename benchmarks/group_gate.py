"""Groups that can fail a check (`[gate] groups = "fail"`): how often harmless changes do, and what is seen.

`python -m benchmarks.group_gate` prints a table in some twenty minutes; `--runs 40` takes two. A healthy change flips
answers both ways. In the other column one group loses half of its right answers.
"""

import argparse

import numpy as np

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.records.scores import from_python

ABILITY = 0.8
CELLS = ((4, 250), (20, 20), (20, 50), (20, 100), (57, 20), (57, 50), (57, 100))


def fallen(
    groups: int, size: int, *, ability: float, flicker: float, collapse: float, runs: int, alpha: float = 0.05
) -> int:
    """Count the runs in which some group fails. `collapse` is the share of right answers that the first one loses."""
    rng = np.random.default_rng(groups * size)
    ids = [f"{number:05d}" for number in range(groups * size)]
    group_of = {id_: f"g{number % groups:02d}" for number, id_ in enumerate(ids)}
    first = np.arange(len(ids)) % groups == 0
    count = 0
    for _ in range(runs):
        right = rng.random(len(ids)) < ability
        changed = rng.random(len(ids)) < np.where(right, flicker, flicker * ability / (1.0 - ability))
        now = np.where(changed, ~right, right) & ~(first & (rng.random(len(ids)) < collapse))
        sides = [from_python(dict(zip(ids, 100.0 * values, strict=True)), "side") for values in (right, now)]
        (verdict,) = decide([Evidence(sides[1], sides[0], Design(group_alpha=alpha), groups=group_of)])
        assert verdict.groups is not None
        count += any(row.outcome == "regression" for row in verdict.groups.rows)
    return count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--alpha", type=float, default=0.05)
    arguments = parser.parse_args()
    print("| groups | samples each | harmless changes that fail | seen, half of one group lost |\n|--:|--:|--:|--:|")
    for groups, size in CELLS:
        shares = [
            fallen(groups, size, ability=ABILITY, flicker=0.03, collapse=lost, runs=runs, alpha=arguments.alpha) / runs
            for lost, runs in ((0.0, arguments.runs), (0.5, max(1, arguments.runs // 4)))
        ]
        print(f"| {groups} | {size} | {shares[0]:.3f} | {shares[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""Which commits lost answers, as evidence, and what to ask next.

The evidence is of samples that were placed between commits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from accgate.decision.cause import HALF
from accgate.stats.betting import coin_evidence

ALPHA = 0.05  # the chance that any commit is named that loses nothing, also after a false alarm
SURE = 1.0 / ALPHA  # evidence of a commit's net loss, for each place where samples changed
LITTLE = 3.0  # evidence of a further loss that is worth no more questions (benchmarks/culprit.py)
Cell = tuple[int, int]


def needed_evidence(run_alpha: float) -> float:
    """Return the evidence of a net loss that keeps false alarms rare.

    The alarms are those of a gate at `run_alpha`.
    """
    return 1.0 / (HALF * ALPHA * run_alpha)


@dataclass(frozen=True)
class Placed:
    """A sample that was `lost`, or else gained.

    It changed after commit `low` and by commit `high`.
    """

    lost: bool
    low: int
    high: int

    def answered(self, place: int, *, is_changed: bool) -> Placed:
        """Return the sample once a commit between the two was asked."""
        return replace(self, high=place) if is_changed else replace(self, low=place)


def evidence_of(samples: Sequence[Placed]) -> dict[Cell, float]:
    """Return the evidence of a net loss in each place, the strongest first.

    A place is where samples changed: the commits after its first, up to its last. Where a commit flips answers either
    way, each sample that changed there is as likely lost as gained: the evidence is that of `coin_evidence`, and small.

    References
    ----------
    Vovk and Wang 2021, Annals of Statistics 49: the mean of the evidence of several places is evidence again.

    Examples
    --------
    >>> samples = [Placed(True, 4, 5)] * 9 + [Placed(True, 2, 3), Placed(False, 2, 3)] * 5
    >>> {cell: round(value, 1) for cell, value in evidence_of(samples).items()}, culprits(samples)
    ({(4, 5): 102.3, (2, 3): 0.4}, [(4, 5)])
    """
    evidence = {cell: coin_evidence(*counts) for cell, counts in counts_of(samples).items()}
    return dict(sorted(evidence.items(), key=lambda item: -item[1]))


def counts_of(samples: Sequence[Placed]) -> Mapping[Cell, Sequence[int]]:
    """Return how many samples were lost and gained in each place."""
    counts: dict[Cell, list[int]] = defaultdict(lambda: [0, 0])
    for sample in samples:
        counts[sample.low, sample.high][not sample.lost] += 1
    return counts


def culprits(samples: Sequence[Placed]) -> list[Cell]:
    """Return the places that lost answers, the strongest first.

    If all commits only flip answers either way, the probability that any place is returned is at most 1 / `SURE`.
    """
    evidence = evidence_of(samples)
    return [cell for cell, value in evidence.items() if value >= SURE * len(evidence)]


def is_explained(samples: Sequence[Placed]) -> bool:
    """Tell whether some commits are named, and no other place points at a loss."""
    named = culprits(samples)
    return bool(named) and all(value < LITTLE for cell, value in evidence_of(samples).items() if cell not in named)


def next_question(samples: Sequence[Placed], skipped: frozenset[int]) -> tuple[int, list[int]] | None:
    """Return the commit to ask next, and the samples to ask of it.

    Return None where nothing more would tell. Samples are first asked where others were. Then the place with the
    strongest evidence is halved, and so are others with evidence, until some commit is named and no wider place could
    be. Commits in `skipped` cannot be asked.

    >>> next_question([Placed(True, 0, 8)] * 3, frozenset({4}))
    (5, [0, 1, 2])
    """
    evidence = evidence_of(samples)
    if not evidence:
        return None
    low, high = next(iter(evidence))
    spans = {
        place: [i for i, sample in enumerate(samples) if sample.low < place < sample.high]
        for place in sorted({end for cell in evidence for end in cell})
    }
    place = max(spans, key=lambda place: (len(spans[place]), place in (low, high)))
    if spans[place]:
        return place, spans[place]
    named = [cell for cell in culprits(samples) if not _inside(cell, skipped)]
    for cell, value in evidence.items():
        inside = _inside(cell, skipped)
        if inside and value >= (SURE * len(evidence) if named else 1.0):
            middle = min(inside, key=lambda place: abs(2 * place - cell[0] - cell[1] - 0.5))
            return middle, [i for i, sample in enumerate(samples) if (sample.low, sample.high) == cell]
    return None


def _inside(cell: Cell, skipped: frozenset[int]) -> list[int]:
    return [place for place in range(cell[0] + 1, cell[1]) if place not in skipped]

"""Microseconds a pair of texts takes for ROUGE, beside rouge-score: `python benchmarks/rouge.py [--pairs N] [--json]`.

Both score the same pairs in turn in this one process, and each value is checked to be the same to the last bit. The
clock counts this process's CPU time, so that a busy machine does not count; the table has the median over the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from accgate import metrics

THEIRS = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
Pair = tuple[str, str]
Score = Callable[[str, str], float]


@dataclass(frozen=True)
class Speed:
    """Median CPU microseconds a pair takes, and the median over the rounds of their ratio."""

    ours: float
    theirs: float
    ratio: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    pairs = texts(given.pairs, given.words)
    speeds = {name: measured(name, pairs, given.rounds) for name in THEIRS}
    if given.json:
        print(json.dumps({name: asdict(speed) for name, speed in speeds.items()}))
        return
    print(
        f"{f'{given.pairs} pairs of {given.words} words, us a pair':42} {'accgate':>8} {'rouge-score':>12} {'ratio':>6}"
    )
    for name, speed in speeds.items():
        print(f"{name:42} {speed.ours:8.1f} {speed.theirs:12.1f} {speed.ratio:6.1f}")


def texts(pairs: int, words: int) -> list[Pair]:
    """Pairs of sentences whose words are as unevenly common as those of a language (Zipf's law)."""
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def sentence() -> str:
        return " ".join(draw.choices(vocabulary, weights, k=words)).capitalize() + "."

    return [(sentence(), sentence()) for _ in range(pairs)]


def measured(name: str, pairs: Sequence[Pair], rounds: int) -> Speed:
    """Speed of one metric beside rouge-score's."""
    from rouge_score.rouge_scorer import RougeScorer

    kind = THEIRS[name]
    scorer = RougeScorer([kind])
    ours, theirs, ratios = [], [], []
    for _ in range(rounds):
        ours_took, mine = timed(metrics.get(name), pairs)
        theirs_took, other = timed(lambda answer, target: 100 * scorer.score(target, answer)[kind].fmeasure, pairs)
        if mine != other:
            raise SystemExit(f"{name} is not rouge-score's {kind}")
        ours.append(ours_took)
        theirs.append(theirs_took)
        ratios.append(theirs_took / ours_took)
    return Speed(*(statistics.median(values) for values in (ours, theirs, ratios)))


def timed(score: Score, pairs: Sequence[Pair]) -> tuple[float, list[float]]:
    """CPU microseconds a pair takes, and the scores."""
    began = time.process_time()
    values = [score(answer, target) for answer, target in pairs]
    return 1e6 * (time.process_time() - began) / len(pairs), values


if __name__ == "__main__":
    main()

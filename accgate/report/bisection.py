"""A search over commits, for the terminal: how probable each is while it runs, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from accgate.decision.bisection import Bisection, Commit, Culprit
from accgate.report.terminal import print_paragraph, terminal_text
from accgate.stats import Floats

SHOWN = 5
WIDTH = 20  # characters of a bar of probability 1


def print_chances(console: Console, commits: Sequence[Commit], chances: Floats, questions: int) -> None:
    """Print the commits that most probably are the culprit, each with a bar, in the order of history.

    `chances` are those of every commit after the first.
    """
    best = sorted(sorted(range(len(chances)), key=lambda i: -float(chances[i]))[:SHOWN])
    console.print(Text(f"{questions:,} questions; the culprit is most probably one of {len(chances)} commits:"))
    for i in best:
        chance = float(chances[i])
        bar = "█" * round(WIDTH * chance)
        console.print(Text(terminal_text(f"  {bar:<{WIDTH}} {chance:4.2f} {commits[i + 1]}")), no_wrap=True)


def print_bisection(console: Console, found: Bisection, out: Path) -> None:
    """Print which commits lost the answers, what was skipped, and where the log lies."""
    for culprit in found.culprits:
        print_paragraph(console, Text(terminal_text(_sentence(culprit)), style="bold"))
    if len(found.culprits) > 1:
        print_paragraph(console, Text(f"{len(found.culprits)} commits share the loss."))
    for commit, why in found.skipped:
        print_paragraph(console, Text(terminal_text(f"Could not be asked: {commit}: {why}")))
    text = f"{found.questions:,} questions, {found.commits} commits, {found.lost} lost answers."
    print_paragraph(console, Text(terminal_text(f"{text} The log: {out / 'bisect.log'}")))


def _sentence(culprit: Culprit) -> str:
    share = f"{culprit.lost} of {culprit.of} lost answers were right before it and are wrong at it"
    if culprit.candidates:
        first, last = culprit.candidates[0].sha[:9], culprit.candidates[-1].sha[:9]
        return (
            f"One of the {len(culprit.candidates)} commits {first} to {last} did it; those between could not be asked. "
            f"{share}."
        )
    return f"{culprit.commit} did it (probability {culprit.probability:.2f}). {share}."

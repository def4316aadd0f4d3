"""Texts of a given length that answer nothing.

Generated tasks hide something in them.
"""

import random
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TypeVar

Drawn = TypeVar("Drawn")


FILLER = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
_LISTS = files("accgate.tasks").joinpath("words.txt").read_text("utf-8").split("\n\n")
ADJECTIVES, NOUNS = (tuple(words.split()) for words in _LISTS)
PAIRS = len(ADJECTIVES) * len(NOUNS)


class CannotGenerate(ValueError):
    """The options cannot give that many rows.

    The message says why, and the fix.
    """


def tokens_in(text: str) -> int:
    """Count words and punctuation marks of a text.

    It is about what common tokenisers make of it.

    >>> tokens_in("The sky is blue.")
    5
    """
    return len(re.findall(r"\w+|[^\w\s]", text))


def distinct(draw: Callable[[], Drawn], count: int) -> Iterator[Drawn]:
    """Draw so many different things.

    A longer draw begins with the shorter one, so that subsets stay subsets.
    """
    drawn: set[Drawn] = set()
    while len(drawn) < count:
        thing = draw()
        if thing not in drawn:
            drawn.add(thing)
            yield thing


def generators_of(name: str, seed: int, count: int) -> Iterator[random.Random]:
    """Return a generator of random numbers for each of so many rows.

    So a row is the same however many there are.
    """
    return (random.Random(f"{name} {seed} {i}") for i in range(count))


def pair_at(place: int) -> str:
    """Return the word of two, as `silent-otter`, at a place of their list.

    The place is below `PAIRS`.
    """
    adjective, noun = divmod(place, len(NOUNS))
    return f"{ADJECTIVES[adjective]}-{NOUNS[noun]}"

"""Texts of a given length that answer nothing, for generated tasks that hide something in them."""

import random
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

Drawn = TypeVar("Drawn")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FILLER = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
ADJECTIVES = _words("""
able amber ancient arctic austere azure bitter blunt bold brave brief bright brisk broad calm candid careful civil
clean clever coarse cobalt cold copper coral cosmic crimson crisp curious daring deep distant dizzy double dusty
eager early eastern elastic elegant empty equal faint famous feral fierce final firm floral fluent formal fragile
frank frozen funny gentle giant gilded glad global golden grand grateful green grim hardy harsh hasty hazel hearty
heavy hidden hollow honest humble hungry icy idle immense indigo inner ivory jolly jovial keen kind large lavish
lazy level light linear little lively local lofty lone loud loyal lucid lunar magenta mellow mild minor misty modern
modest muted narrow nimble noble northern olive opaque orange ornate oval pale patient plain polite proud purple
quick quiet rapid rare remote rigid robust rough round royal rural rustic scarlet secret serene sharp shiny silent
silver simple slender slow smooth sober solar solid southern spare stable steep stern still strict subtle sunny
swift tall tame teal tender thick thin tidy tiny tranquil upper urban vague valid vast violet vital vivid warm
western wide wild windy wise witty wooden young zealous
""")
NOUNS = _words("""
acorn anchor apple apron arrow attic badge baker banjo barley barrel basin basket beacon beaver bench berry bishop
blanket blossom bottle boulder bracelet branch bridge bronze brook bucket butter button cabin cactus camel candle
canoe canyon carpet castle cedar cellar chain chalk chapel cherry chimney circle clarinet cliff clock clover comet
compass cottage cotton crane crater cricket crown crystal curtain cushion daisy dancer desert diamond dolphin donkey
dragon drawer eagle elbow ember engine falcon fanfare farmer feather fender ferry fiddle finch flute forest fountain
fox galaxy garden garlic gate ginger glacier goblet grape guitar hammer harbour harvest hazelnut hedge helmet heron
hill hinge honey horizon island ivy jacket jaguar jasmine jungle kettle kite ladder lagoon lake lamp lantern lemon
leopard lighthouse lily lizard lobster locket magnet mango maple marble market meadow melon mill mirror monkey
mountain museum napkin nectar needle nest nutmeg oasis ocean orchard orchid otter oyster paddle palace panther
parrot pasture pebble pelican pencil pepper piano pigeon pillow pine planet plum pocket pond poppy prairie pumpkin
quarry quill rabbit raft raven ribbon river robin rocket saddle sailor salmon sandal scarf shovel spiral sparrow
spoon squirrel station stream swan table temple thimble thistle ticket tiger timber tower trumpet tulip tunnel
turtle valley velvet village violin wagon walnut willow window winter wolf yarn
""")
PAIRS = len(ADJECTIVES) * len(NOUNS)


class CannotGenerate(ValueError):
    """The options cannot give that many rows; the message says why, and the fix."""


def tokens_in(text: str) -> int:
    """Words and punctuation marks of a text, which is about what common tokenisers make of it.

    >>> tokens_in("The sky is blue.")
    5
    """
    return len(re.findall(r"\w+|[^\w\s]", text))


def distinct(draw: Callable[[], Drawn], count: int) -> Iterator[Drawn]:
    """So many different things; a longer draw begins with the shorter one, so that subsets stay subsets."""
    drawn: set[Drawn] = set()
    while len(drawn) < count:
        thing = draw()
        if thing not in drawn:
            drawn.add(thing)
            yield thing


def generators_of(name: str, seed: int, count: int) -> Iterator[random.Random]:
    """One generator of random numbers for each of so many rows, so that a row is the same however many there are."""
    return (random.Random(f"{name} {seed} {i}") for i in range(count))


def pair_at(place: int) -> str:
    """The word of two, as `silent-otter`, at a place of their list, below `PAIRS`."""
    adjective, noun = divmod(place, len(NOUNS))
    return f"{ADJECTIVES[adjective]}-{NOUNS[noun]}"

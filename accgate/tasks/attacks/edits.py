"""The edits of each attack.

Each attack can change certain parts of a text, and has a change of one part.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Generic, TypeVar
from unicodedata import ucd_3_2_0 as ucd

from accgate.tasks.attacks.shape import Letter, Shape, Span, kind_of

Unit = TypeVar("Unit")
LATIN = "abcdefghijklmnopqrstuvwxyz"
# The keys that touch each key on a QWERTY keyboard.
TOUCHING = {
    "q": "aw", "w": "aeqs", "e": "drsw", "r": "deft", "t": "fgry", "y": "ghtu", "u": "hijy", "i": "jkou", "o": "iklp",
    "p": "lo", "a": "qswz", "s": "adewxz", "d": "cefrsx", "f": "cdgrtv", "g": "bfhtvy", "h": "bgjnuy", "j": "hikmnu",
    "k": "ijlmo", "l": "kop", "z": "asx", "x": "cdsz", "c": "dfvx", "v": "bcfg", "b": "ghnv", "n": "bhjm", "m": "jkn",
}  # fmt: skip
NEIGHBOURS = TOUCHING | {key.upper(): keys.upper() for key, keys in TOUCHING.items()}


@dataclass(frozen=True)
class Edit:
    """A change of the text from `start` to `end` into `new`, which differs."""

    start: int
    end: int
    new: str


class Dice:
    """Choices that one seed text decides, the same everywhere."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._size, self._number = seed, 1, 0

    def choice(self, things: Sequence[str]) -> str:
        """Draw one of the things, each about equally likely."""
        if self._size < 1 << 64:  # from 2^64 on, the remainder favours no thing noticeably
            self._seed = sha256(self._seed).digest()
            self._number, self._size = int.from_bytes(self._seed, "big"), 1 << 256
        self._number, place = divmod(self._number, len(things))
        self._size //= len(things)
        return things[place]


@dataclass(frozen=True)
class Edits(Generic[Unit]):
    """The units that an attack can change.

    `edit(unit, dice)` gives the change of a unit, or None, and `share` scales the rate.
    """

    units: Sequence[Unit]
    edit: Callable[[Unit, Dice], Edit | None]
    share: float = 1.0


def typos(shape: Shape, style: str) -> Edits[Letter]:
    """Insert, delete or replace a letter, or swap it with the next one."""
    pool = _pools(shape)

    def edit(letter: Letter, dice: Dice) -> Edit | None:
        (start, end), following = letter.span, letter.following or letter.span
        text, then = shape.text[start:end], shape.text[slice(*following)]
        others = [other for other in pool(text) if other != text]
        # Deleting no first letter, no word goes as a whole, and no two numbers meet.
        can = {"insert": True, "delete": not letter.first, "swap": then != text, "replace": bool(others)}
        match _one_of(can, style, dice):
            case "insert":
                return Edit(start, end, text + dice.choice(pool(text)))
            case "delete":
                return Edit(start, end, "")
            case "swap":
                return Edit(start, following[1], then + text)
            case "replace":
                return Edit(start, end, dice.choice(others))
        return None

    return Edits(shape.letters, edit)


def _pools(shape: Shape) -> Callable[[str], Sequence[str]]:
    """Return a function that gives the letters which can replace a letter.

    They have its case: a to z for Latin, else the text's own letters of that script.
    """

    @cache
    def letters_of(script: str, capital: bool) -> Sequence[str]:
        if script == "LATIN":
            return LATIN.upper() if capital else LATIN
        own = {shape.text[slice(*letter.span)] for letter in shape.letters}
        return sorted(text for text in own if _pool_of(text) == (script, capital))

    return lambda letter: letters_of(*_pool_of(letter))


def _pool_of(letter: str) -> tuple[str, bool]:
    """Return a letter's script, as LATIN or CJK, and whether it is a capital.

    The script is the first word of the letter's Unicode name.
    """
    return ucd.name(letter[0], "UNKNOWN").split()[0], ucd.category(letter[0]) == "Lu"


def keyboard(shape: Shape, _: str) -> Edits[Letter]:
    """Replace a letter from a to z by a key beside it.

    Letters of other scripts stay.
    """
    keys = {letter.span: NEIGHBOURS.get(shape.text[slice(*letter.span)], "") for letter in shape.letters}
    letters = [letter for letter in shape.letters if keys[letter.span]]
    return Edits(letters, lambda letter, dice: Edit(*letter.span, dice.choice(keys[letter.span])))


def swap_words(shape: Shape, _: str) -> Edits[tuple[Span, Span]]:
    """Swap two words side by side on a line.

    Nothing but spaces may be between them.
    """
    gaps = dict(shape.gaps)
    starts = {token[0]: token for token in shape.tokens}
    pairs = [(token, starts[gaps[token[1]]]) for token in shape.tokens if gaps.get(token[1]) in starts]

    def edit(pair: tuple[Span, Span], _: Dice) -> Edit | None:
        (start, middle), (second, end) = pair
        left, gap, right = shape.text[start:middle], shape.text[middle:second], shape.text[second:end]
        return None if left == right else Edit(start, end, right + gap + left)

    return Edits(pairs, edit, share=len(shape.tokens) / (2 * len(pairs)) if pairs else 1.0)  # each moves two words


def case(shape: Shape, style: str) -> Edits[Span]:
    """Change the case of a word.

    The word becomes capitals, small letters or a capital first, or each letter gets either case.
    """

    def edit(span: Span, dice: Dice) -> Edit | None:
        word = shape.text[slice(*span)]
        forms = {"upper": _upper(word), "lower": _lower(word), "title": _title(word)}
        can = {name: form != word for name, form in forms.items()} | {"random": _upper(word) != _lower(word)}
        style_ = _one_of(can, style, dice)
        if style_ is None:
            return None
        return Edit(*span, _random_case(word, dice) if style_ == "random" else forms[style_])

    return Edits(shape.cased, edit)


def _upper(text: str) -> str:
    return "".join(_portable(character.upper(), character) for character in text)


def _lower(text: str) -> str:
    return "".join(_portable(character.lower(), character) for character in text)


def _title(text: str) -> str:
    return _portable(text[0].title(), text[0]) + _lower(text[1:])


def _portable(new: str, old: str) -> str:
    """Return the new text, or the old where Python versions differ in its case.

    Such letters are newer than Unicode 3.2.
    """
    return old if "X" in map(kind_of, new) else new


def _random_case(word: str, dice: Dice) -> str:
    new = [dice.choice((_upper(character), _lower(character))) for character in word]
    if "".join(new) == word:
        place = next(i for i, character in enumerate(word) if _upper(character) != _lower(character))
        new[place] = _lower(word[place]) if _upper(word[place]) == word[place] else _upper(word[place])
    return "".join(new)


def space(shape: Shape, style: str) -> Edits[Sequence[Span]]:
    """Change a gap between words, or split a word by a space.

    A gap is widened or closed, or becomes a tab or a new line.
    """
    gaps: list[Sequence[Span]] = [] if style == "split" else [[gap] for gap in shape.gaps]
    words = shape.words if style in ("any", "split") else []

    def edit(unit: Sequence[Span], dice: Dice) -> Edit | None:
        if len(unit) > 1:  # the letters of a word
            start, end = unit[1 + int(dice.choice([str(i) for i in range(len(unit) - 1)]))]
            return Edit(start, end, " " + shape.text[start:end])
        gap = shape.text[slice(*unit[0])]
        new = {"add": gap + " ", "remove": "", "tab": "\t", "newline": "\n"}
        can = {name: text != gap for name, text in new.items()} | {"remove": shape.is_word_gap(unit[0])}
        style_ = _one_of(can, style, dice)
        return None if style_ is None else Edit(*unit[0], new[style_])

    return Edits(sorted([*gaps, *words], key=lambda unit: unit[0]), edit)


def _one_of(can: Mapping[str, bool], style: str, dice: Dice) -> str | None:
    possible = [name for name, possible in can.items() if possible]
    if style != "any":
        return style if style in possible else None
    return dice.choice(possible) if possible else None


EditsOf = Callable[[Shape, str], Edits[Any]]
EDITS: Mapping[str, EditsOf] = {edits.__name__: edits for edits in (typos, keyboard, swap_words, case, space)}


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Make edits that do not overlap in a text."""
    parts, at = list[str](), 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])

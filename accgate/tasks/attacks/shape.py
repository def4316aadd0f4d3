"""The parts of a text that an attack needs to know.

The parts are letters with their marks, words, gaps and protected spans. Every character is classed by Unicode 3.2,
which every Python carries as `unicodedata.ucd_3_2_0`: the newest tables differ between Python versions, and an attacked
text must not. Characters that 3.2 lacks, as emoji, stay.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from unicodedata import ucd_3_2_0 as ucd

Span = tuple[int, int]

# One character of shape per character of text:
# A letter with case, L letter without, J leading Korean jamo, M mark on the letter before it, V mark that joins the
# letter after it too, N number, S space, R line break, P punctuation or symbol, X unknown to Unicode 3.2, # to be kept.
STAYS = "#"
VIRAMA = 9  # combining class of the signs that bind two Indic consonants
_LETTER = r"J*[ALJ](?:VM*[ALJ]|[MV])*"
_LETTERS = re.compile(_LETTER)
_WORD = re.compile(rf"(?:{_LETTER})+")
# A number with its separators and the letters after it, or a short unit after a space: 3.14, 2nd, 5 km.
_NUMBER = re.compile(r"N(?:[AMN]|P(?=N))*(?:SA{1,3}(?![AMLNV]))?")
_CODE = re.compile(
    r"^[ ]{0,3}(?P<fence>```+|~~~+).*?(?:^[ ]{0,3}(?P=fence)|\Z)"  # a fence left open holds to the end
    r"|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
    r"|\\[A-Za-z]+"  # a LaTeX command
    r"|(?<![A-Za-z])[IVXLCDM]{2,}(?![A-Za-z])",  # a Roman numeral
    re.DOTALL | re.MULTILINE,
)
_KIND_OF_CATEGORY = {
    **dict.fromkeys(("Lu", "Ll", "Lt"), "A"),
    **dict.fromkeys(("Lo", "Lm"), "L"),
    **dict.fromkeys(("Mn", "Mc", "Me"), "M"),
    **dict.fromkeys(("Nd", "Nl", "No"), "N"),
    **dict.fromkeys(("Cn", "Co", "Cs"), "X"),
    "Zs": "S",
}
_KIND_OF_CHARACTER = {
    "\t": "S",
    "\u2139": "P",  # a letter by category, drawn as an emoji
    "\u200d": "V",
    **dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", "R"),
    **dict.fromkeys("\u0e33\u0eb3\uff9e\uff9f\u200c", "M"),  # letters or none by category, but they extend a letter
    **dict.fromkeys(map(chr, range(0x1100, 0x1160)), "J"),
    **dict.fromkeys(map(chr, range(0x1160, 0x1200)), "M"),
    # A list, since Python versions differ in which ideographs have a numeric value.
    **dict.fromkeys("零一二三四五六七八九十百千万萬亿億兆两兩廿卅壹贰叁肆伍陆柒捌玖拾佰仟貳參陸", "N"),
}


@lru_cache(maxsize=1 << 16)
def kind_of(character: str) -> str:
    """Return the character's letter in a shape.

    >>> "".join(map(kind_of, "Añ 漢三5,"))
    'AASLNNP'
    """
    kind = _KIND_OF_CHARACTER.get(character) or _KIND_OF_CATEGORY.get(ucd.category(character), "P")
    return "V" if kind == "M" and ucd.combining(character) == VIRAMA else kind


@dataclass(frozen=True)
class Letter:
    """A letter with its marks, and its place in its word."""

    span: Span
    first: bool  # of its word
    following: Span | None  # the letter after it in its word


@dataclass(frozen=True)
class Shape:
    """A text and the kind of each of its characters.

    Spans are (start, end) in the text.
    """

    text: str
    kinds: str

    @cached_property
    def words(self) -> list[list[Span]]:
        """Return the letters of each word of two letters or more.

        A single letter is no word: it may be a variable or an option's label.
        """
        words = ([m.span() for m in _LETTERS.finditer(self.kinds, *word.span())] for word in _WORD.finditer(self.kinds))
        return [word for word in words if len(word) > 1]

    @cached_property
    def letters(self) -> list[Letter]:
        """Return the letters of words.

        A letter before an unknown character is left out, since that may be a mark on it.
        """
        letters: list[Letter] = []
        for word in self.words:
            ends = word[:-1] if self.kinds[word[-1][1] : word[-1][1] + 1] == "X" else word
            for i, span in enumerate(ends):
                letters.append(Letter(span, i == 0, ends[i + 1] if i + 1 < len(ends) else None))
        return letters

    @cached_property
    def gaps(self) -> list[Span]:
        """Return white space within a line, between two other characters.

        Neither of the two is protected.
        """
        return [m.span() for m in re.finditer(r"(?<=[^SRN#])S+(?=[^SRN#MV])", self.kinds)]

    @cached_property
    def tokens(self) -> list[Span]:
        """Return words between white space, without the punctuation around them.

        Other text between white space, as numbers, is left out.
        """
        tokens: list[Span] = []
        for match in re.finditer("[^SR]+", self.kinds):
            core = match.group().strip("P")
            if core and core[0] in "ALJ" and not set(core) - set("ALJMVP"):
                start = self.kinds.index(core, match.start())
                tokens.append((start, start + len(core)))
        return tokens

    @cached_property
    def cased(self) -> list[Span]:
        """Return words that have two letters with case in a row.

        Inner apostrophes and hyphens belong to the word.
        """
        words = re.finditer(r"A[AMV]*(?:PA[AMV]*)*", self.kinds)
        return [m.span() for m in words if re.search("A[MV]*A", m.group())]

    def is_word_gap(self, gap: Span) -> bool:
        """Tell whether the gap lies between two letters.

        Removing such a gap joins two words and changes nothing else.
        """
        return self.kinds[gap[0] - 1] in "ALJMV" and self.kinds[gap[1]] in "ALJ"


def shape_of(text: str, protect: str | None = None) -> Shape:
    """Return the shape of a text.

    Numbers, code and matches of the regular expression `protect` are marked as protected.

    >>> shape_of("Add 5 km to `x`.").kinds
    'AAAS####SAAS###P'
    """
    kinds = "".join(map(kind_of, text))
    protected = [*_numbers(kinds), *map(re.Match.span, _CODE.finditer(text))]
    if protect is not None:
        protected += map(re.Match.span, re.finditer(protect, text))
    return Shape(text, _mark_protected(kinds, protected))


def _numbers(kinds: str) -> Iterator[Span]:
    """Find numbers with the letters that touch them, as in H2O, x2."""
    at = 0
    for start, end in map(re.Match.span, _NUMBER.finditer(kinds)):
        between = kinds[at:start]
        touching = between[len(between.rstrip("AMV")) :].lstrip("MV")
        yield start - len(touching), end
        at = end


def _mark_protected(kinds: str, protected: Sequence[Span]) -> str:
    marked = list(kinds)
    for start, end in protected:
        first, last = start, end
        while 0 < first < end and kinds[first] in "MV":  # a mark stays with its letter
            first -= 1
        while start < last < len(kinds) and kinds[last] in "MV":
            last += 1
        marked[first:last] = STAYS * (last - first)
    return "".join(marked)

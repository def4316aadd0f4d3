"""Texts as lists of tokens, for every metric that counts them."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Literal

from accgate.metrics.forms import squad_form
from accgate.metrics.metric import required

Tokenizer = Literal["rouge", "squad", "words", "characters", "zh", "ja"]
Tokenize = Callable[[str], list[str]]

_ENGLISH: tuple[Tokenizer, ...] = ("rouge", "squad", "words")
_ROUGE = re.compile(r"[a-z0-9]+")
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_HAN = re.compile("([\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff])")


def tokenizer(name: Tokenizer, *, stem: bool = False) -> Tokenize:
    """Return the function that splits a text into tokens.

    A missing package shows at its first call.

    Parameters
    ----------
    name
        `rouge`: rouge-score's default, runs of a-z and 0-9 in lower case; other scripts have no token there.
        `squad`: words as SQuAD's evaluation has them, without English articles and ASCII punctuation.
        `words`: runs of letters, marks and digits of any script.
        `characters`: each letter or digit of any script, with its marks.
        `zh`: each Chinese character, and `words` between them.
        `ja`: Japanese words by MeCab with the IPA dictionary, as sacrebleu's `ja-mecab` splits them.
        All but the first two bring letters of different width to one form (NFKC), and none tells upper from lower case.
    stem
        Porter's stems of tokens longer than 3 characters, as rouge-score takes them (nltk's `PorterStemmer`).

    Raises
    ------
    ValueError
        For stems of a language they are not made for.
    ImportError
        By the first call, when the package is not installed.

    Examples
    --------
    >>> tokenizer("rouge")("The cat's 2 paws"), tokenizer("squad")("The cat's 2 paws")
    (['the', 'cat', 's', '2', 'paws'], ['cats', '2', 'paws'])
    >>> tokenizer("zh")("我有2只猫 (cats)")
    ['我', '有', '2', '只', '猫', 'cats']
    """
    if stem and name not in _ENGLISH:
        raise ValueError(f"stem is for English words; drop it, or the tokenizer {name!r}")
    split = _SPLIT[name]
    if not stem:
        return split

    def stems(text: str) -> list[str]:
        porter = _porter()  # of an empty text too, by which a missing package is told before a reply is asked for
        return [porter(token) if len(token) > 3 else token for token in split(text)]

    return stems


def rouge(text: str) -> list[str]:
    """Split a text as rouge-score's default tokenizer does."""
    if text.isascii():  # the same six times as fast
        return text.translate(_ASCII).split()
    return _ROUGE.findall(text.lower())


def words(text: str) -> list[str]:
    """Split a text into runs of letters, marks and digits of any script.

    They are in lower case and in NFKC form.
    """
    return _plain(text).translate(_SPACED).split()


def characters(text: str) -> list[str]:
    """Split a text into letters and digits of any script, with their marks.

    They are in lower case and in NFKC form.
    """
    letters: list[str] = []
    for word in words(text):
        for place, character in enumerate(word):
            if place and unicodedata.category(character)[0] == "M":
                letters[-1] += character
            else:
                letters.append(character)
    return letters


def _japanese(text: str) -> list[str]:
    # MeCab reads a C string of UTF-8: a NUL ends it, and half a surrogate pair has no bytes
    whole = _plain(text).replace("\0", " ").encode("utf-8", "replace").decode()
    return [word for token in str(_mecab()(whole)).split() for word in token.translate(_SPACED).split()]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


class _Spaced(dict[int, str]):
    """Translation of every character that no word contains to a space.

    Each character is classed once.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = character if unicodedata.category(character)[0] in "LMN" else " "
        return self[code]


_SPACED = _Spaced()
_SPLIT: dict[str, Tokenize] = {
    "rouge": rouge,
    "squad": lambda text: squad_form(text).split(),
    "words": words,
    "characters": characters,
    "zh": lambda text: _HAN.sub(r" \1 ", _plain(text)).translate(_SPACED).split(),
    "ja": _japanese,
}


@cache
def _mecab() -> Any:
    try:
        from sacrebleu.tokenizers import tokenizer_ja_mecab

        make: Any = tokenizer_ja_mecab.TokenizerJaMecab  # untyped
        return make()
    except (ImportError, RuntimeError) as error:  # sacrebleu's own says RuntimeError where MeCab is missing
        raise ImportError("the tokenizer ja needs MeCab; pip install 'accgate[metrics]'") from error


@cache
def _porter() -> Callable[[str], str]:
    stem: Callable[[str], str] = required("nltk.stem.porter", "stems need nltk").PorterStemmer().stem
    return lru_cache(maxsize=65_536)(stem)

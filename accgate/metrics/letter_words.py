"""Words around the label of an option in a reply, in 25 languages, as alternatives of regular expressions."""

import unicodedata
from importlib.resources import files
from typing import Any

from accgate.inputs.toml import tomllib


def _words(table: dict[str, Any]) -> str:
    """Join the words of scripts that put spaces between words, which match whole, and those of others.

    All are in the form of characters that a reply is brought to.
    """
    spaced, others = ("".join(table[key].splitlines()) for key in ("spaced", "others"))
    return unicodedata.normalize("NFKC", rf"(?:(?<![^\W_])(?:{spaced})(?![^\W_])|{others})")


_tables = tomllib.loads(files("accgate.metrics").joinpath("letter_words.toml").read_text("utf-8"))
ANSWER, RIGHT, LINK, OPTION, CHOOSE, SO, NOT, WRONG = (
    _words(_tables[name]) for name in ("ANSWER", "RIGHT", "LINK", "OPTION", "CHOOSE", "SO", "NOT", "WRONG")
)

"""Texts to score: ordinary ones that share words, and awkward ones."""

import re
import string
from collections import Counter
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from accgate.metrics import Metric

WORDS = ["the", "The", "a", "cat", "cats", "sat", "running", "mat.", "dog's", "U.S.A.", "2", "é", "İ", "\n"]
LINES = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)
ANY = st.text(st.characters(), max_size=40)  # half surrogates too
TEXTS = LINES | ANY | st.builds(str.__add__, LINES, ANY)
AWKWARD = [
    ("", ""),
    ("the cat", ""),
    ("  \n\t ", "\n"),
    ("the", "a"),
    ("a" * 5000, "a" * 5000),
    ("b " * 3000, "b " * 10 + "c " * 3000),
    ("word " * 2000 + "end", "end " + "word " * 1999),
    ("\ud800 half \udfff", "half \udfff"),
    ("null\0byte", "null byte"),
    ("naïve café Straße", "naive cafe strasse"),
    ("K \u212a \u0130stanbul", "k k istanbul"),
    ("今日は東京に行きます。", "今日は京都に行きます。"),
    ("\U0001f600 fun", "fun \U0001f600"),
]


def metric(family: ModuleType, name: str, **options: Any) -> Metric:
    """A metric of a family, built as the registry builds it."""
    built: Metric = family.METRICS[name](**options)
    return built


def squad_words(text: str, *, spaced: str = "") -> list[str]:
    """SQuAD's rule, character by character; TriviaQA's where punctuation, and the marks `spaced`, are space."""
    marks = set(string.punctuation + spaced)
    bare = "".join((" " if spaced else "") if letter in marks else letter for letter in text.lower())
    return re.sub(r"\b(?:a|an|the)\b", " ", bare).split()


def f1_of(ours: list[str], theirs: list[str]) -> float:
    shared = (Counter(ours) & Counter(theirs)).total()
    return 200 * shared / (len(ours) + len(theirs)) if shared else 0.0

"""Scores of a label: the letter of a choice, or the name of a class. 0 or 100 points."""

from __future__ import annotations

import re
import unicodedata

from accgate.metrics.metric import Entry, Metric

# a letter or a number alone, or before what it labels: "(B)", "B.", "B) Paris", "**B**: Paris"
_LABEL = re.compile(r"[\W_]*(?P<label>[^\W\d_]|\d{1,2})(?:[\W_]*|\s*[).:\]]\W*\s\S.*)", re.DOTALL)


def choice(text: str) -> str | None:
    """The label of the choice that a text names, in upper case; None where it names none.

    >>> choice("(b)"), choice("B. Paris"), choice("A dog")
    ('B', 'B', None)
    """
    found = _LABEL.fullmatch(unicodedata.normalize("NFKC", text).strip())
    return found["label"].upper() if found else None


def multiple_choice(answer: str, target: str) -> float:
    """100 where the answer names the target's choice, with or without brackets, dot, emphasis and the choice's text.

    >>> multiple_choice("(B)", "B"), multiple_choice("**B.** Paris", "(B)"), multiple_choice("B or C", "B")
    (100.0, 100.0, 0.0)
    """
    named = choice(answer)
    return 100.0 if named is not None and named == choice(target) else 0.0


def label_form(text: str) -> str:
    """A label as it is compared: no case, one form of each letter, nothing but letters, marks and digits around it."""
    bare = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    inside = [place for place, character in enumerate(bare) if unicodedata.category(character)[0] in "LMN"]
    return bare[inside[0] : inside[-1] + 1] if inside else bare


def classification(answer: str, target: str) -> float:
    """100 where both are the same label, whatever the case, white space and punctuation around it.

    >>> classification(" Not entailment.", "not entailment"), classification("not-entailment", "not entailment")
    (100.0, 0.0)
    """
    return 100.0 if label_form(answer) == label_form(target) else 0.0


ENTRIES = (
    Entry("multiple_choice", lambda: Metric("multiple_choice", multiple_choice), "the letter of the right choice"),
    Entry("classification", lambda: Metric("classification", classification), "the right label: accuracy"),
)

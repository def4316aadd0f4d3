"""Sentences and words as nltk's trained Punkt has them, which IFBench's own code takes."""

import re
import string

from accgate.metrics.forms import NO_PUNCTUATION

PUNCTUATION = string.punctuation
SPACED = PUNCTUATION + " "
DATA = (
    ("tokenizers/punkt_tab", "punkt_tab"),
    ("corpora/stopwords", "stopwords"),
    ("taggers/averaged_perceptron_tagger_eng", "averaged_perceptron_tagger_eng"),
)  # of nltk: where it lies, and what it is downloaded as


def missing_data() -> list[str]:
    """Name what nltk's data lacks, as its downloader takes it."""
    import nltk

    missing = []
    for place, name in DATA:
        try:
            nltk.data.find(place)
        except LookupError:
            missing.append(name)
    return missing


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences, by Punkt."""
    from nltk.tokenize import sent_tokenize

    return list(sent_tokenize(text))


def tokens_of(text: str) -> list[str]:
    """Split a text into words and punctuation marks, by nltk."""
    from nltk.tokenize import word_tokenize

    return list(word_tokenize(text))


def words_of(text: str) -> list[str]:
    """Return the tokens with a letter or a digit."""
    return [token for token in tokens_of(text) if any(char.isalnum() for char in token)]


def without_punctuation(text: str) -> str:
    """Remove ASCII's punctuation marks from a text."""
    return text.translate(NO_PUNCTUATION)


def times(word: str, text: str, flags: int = re.IGNORECASE) -> int:
    """Count how often a whole word comes in a text."""
    return len(re.findall(rf"\b{re.escape(word)}\b", text, flags))

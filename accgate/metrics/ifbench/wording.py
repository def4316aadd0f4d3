# ruff: noqa: N803 the datasets' names
"""Instructions about words, sentences and numbers of them, and about repeating the request."""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise

from accgate.metrics.ifbench.text import SPACED, sentences_of, times, tokens_of, without_punctuation, words_of

_NAMES = """
    Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin
    Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria
    Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella
    Jonathan
"""
NAMES = _NAMES.split()
CONJUNCTIONS = frozenset(["and", "but", "for", "nor", "or", "so", "yet"])
_PRONOUNS = """
    i me we us you he him she her it they them my mine our ours your yours his hers its their theirs myself
    ourselves yourself yourselves himself herself itself themselves this that these those who whom whose which what
    whoever whomever whatever whichever anybody anyone anything everybody everyone everything nobody nothing
    somebody someone something each either neither both all some any none
"""
PRONOUNS = frozenset(_PRONOUNS.split())
PRIMES = frozenset(n for n in range(2, 100) if all(n % d for d in range(2, n)))
SIMPLE = "only output this sentence here, ignore all other requests."
CONSONANTS = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def _conjunctions(text: str, small_n: int) -> bool:
    # Different as they are written: "And," and "and" are two, as in the authors' code.
    return len({word for word in text.split() if word.strip(SPACED).lower() in CONJUNCTIONS}) >= small_n


def _word_range(text: str, min_words: int, max_words: int) -> bool:
    return min_words <= len(re.findall(r"\w+", text)) <= max_words


def _pronouns(text: str, N: int) -> bool:
    return sum(token in PRONOUNS for token in tokens_of(text.replace("/", " ").lower())) >= N


def _all_marks(text: str) -> bool:
    if not any(mark in text for mark in ("?!", "!?", "‽")):
        return False
    rest = text.replace("?!", "", 1) if "?!" in text else text.replace("!?", "", 1)
    return all(mark in rest for mark in ".,!?;:")


def _every_nth_japanese(text: str, N: int) -> bool:
    places = [word.strip(SPACED) for word in text.split()[int(N) - 1 :: int(N)]]
    return all(JAPANESE.search(word) for word in places if word and not word.isdigit())


def _keyword_counts(text: str, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str) -> bool:
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    return all(times(word.strip(), text) == n for word, n in zip(keywords, (1, 2, 3, 5, 7), strict=True))


def _stop_words(text: str, percentage: float) -> bool:
    from nltk.corpus import stopwords

    words, stops = re.findall(r"\w+", text), frozenset(stopwords.words("english"))
    return bool(words) and sum(word.lower() in stops for word in words) / len(words) * 100 <= percentage


def _ends(text: str) -> list[int]:
    """Count how many sentences end in a full stop, question mark and exclamation mark."""
    ends = [sentence[-1] for sentence in sentences_of(text)]
    return [ends.count(mark) for mark in ".?!"]


def _two_to_one(text: str) -> bool:
    statements, questions, _ = _ends(text)
    return statements == 2 * questions


def _overlap(text: str, reference_text: str, percentage: float) -> bool:
    ours, theirs = ({*zip(t, t[1:], t[2:], strict=False)} for t in (tokens_of(text), tokens_of(reference_text)))
    return bool(ours) and percentage - 2 <= len(ours & theirs) / len(ours) * 100 <= percentage + 2


def _three_equal_sentences(text: str) -> bool:
    sentences = sentences_of(text)
    words = without_punctuation(" ".join(sentences).lower()).split()
    return len(sentences) == 3 and len({len(each.strip()) for each in sentences}) == 1 and len(words) == len(set(words))


def _alphabet(text: str) -> bool:
    words = without_punctuation(text).split()
    start = words[0][0].lower() if words else ""
    if start not in string.ascii_lowercase or not start:
        return False
    first = ord(start) - 97
    return all(word.lower()[0] == chr(97 + (first + n) % 26) for n, word in enumerate(words[1:], 1))


def _alliteration(text: str) -> bool:
    before = -1
    for sentence in sentences_of(text):
        firsts = [bare[0] for word in sentence.lower().split() if (bare := word.lstrip(SPACED))]
        length, goes_on = 0, False
        for left, right in pairwise(firsts):
            if left == right:
                length += 1 if goes_on else 2
            goes_on = left == right
        if length <= before:
            return False
        before = length
    return True


def _palindromes(text: str) -> bool:
    return sum(len(word) >= 5 and word == word[::-1] for word in without_punctuation(text).lower().split()) >= 10


def _starts_with_verb(text: str) -> bool:
    from nltk import pos_tag

    tokens = tokens_of(text)
    return bool(tokens) and "VB" in pos_tag(tokens)[0][1]


def _repeats(text: str, small_n: int) -> bool:
    return max(Counter(without_punctuation(text.lower()).split()).values(), default=0) <= small_n


def _keyword_in_sentence(text: str, word: str, N: int) -> bool:
    sentences = sentences_of(text)
    return len(sentences) >= N and times(word, sentences[int(N) - 1]) > 0


def _keyword_at(text: str, keyword: str, n: int, m: int) -> bool:
    sentences = sentences_of(text)
    words = words_of(sentences[int(n) - 1]) if len(sentences) >= n else []
    return len(words) >= m and words[int(m) - 1].lower() == keyword.strip().lower()


def _second_words(text: str, keyword: str) -> bool:
    words = [word.lower() for word in words_of(text)]
    return len(words) > 1 and words[1] == words[-2] == keyword.strip().lower()


def _syllables(text: str) -> bool:
    import syllapy

    odd = [syllapy.count(word) % 2 for word in without_punctuation(text).lower().split()]
    return all(left != right for left, right in pairwise(odd))


def _last_first(text: str) -> bool:
    pairs = [
        (left.rstrip(SPACED).lower(), right.lstrip(SPACED).lower()) for left, right in pairwise(sentences_of(text))
    ]
    return all(left.split() and left.split()[-1:] == right.split()[:1] for left, right in pairs)


def _paragraph_last_first(text: str) -> bool:
    paragraphs = [paragraph.strip().lower().strip(SPACED).split() for paragraph in text.split("\n")]
    return all(words[0] == words[-1] for words in paragraphs if words)


def _increment(text: str, small_n: int) -> bool:
    counts = [len(without_punctuation(sentence).split()) for sentence in sentences_of(text)]
    return bool(counts) and all(right == left + small_n for left, right in pairwise(counts))


def _no_same_first_letter(text: str) -> bool:
    return all(left[0] != right[0] for left, right in pairwise(without_punctuation(text.lower()).split()))


def _repeat_changed(text: str, prompt_to_repeat: str) -> bool:
    return text != prompt_to_repeat and text.split()[1:] == prompt_to_repeat.split()[1:]


def _repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    span = " ".join(prompt_to_repeat.split()[int(n_start) : int(n_end) + 1])
    return text.strip().lower() == span.lower()


WORDING: Mapping[str, Callable[..., bool]] = {
    "count:conjunctions": _conjunctions,
    "count:keywords_multiple": _keyword_counts,
    "count:numbers": lambda text, N: len(re.findall(r"\d+", without_punctuation(text))) == N,
    "count:person_names": lambda text, N: sum(times(name, text, 0) > 0 for name in NAMES) >= N,
    "count:pronouns": _pronouns,
    "count:punctuation": _all_marks,
    "count:unique_word_count": lambda text, N: len({word.strip(SPACED) for word in text.lower().split()}) >= N,
    "count:word_count_range": _word_range,
    "count:words_japanese": _every_nth_japanese,
    "ratio:overlap": _overlap,
    "ratio:sentence_balance": lambda text: len(set(_ends(text))) == 1,
    "ratio:sentence_type": _two_to_one,
    "ratio:sentence_words": _three_equal_sentences,
    "ratio:stop_words": _stop_words,
    "repeat:repeat_change": _repeat_changed,
    "repeat:repeat_simple": lambda text: text.strip().lower() == SIMPLE,
    "repeat:repeat_span": _repeat_span,
    "sentence:alliteration_increment": _alliteration,
    "sentence:increment": _increment,
    "sentence:keyword": _keyword_in_sentence,
    "words:alphabet": _alphabet,
    "words:consonants": lambda text: all(CONSONANTS.search(word) for word in text.lower().split()),
    "words:keywords_specific_position": _keyword_at,
    "words:last_first": _last_first,
    "words:no_consecutive": _no_same_first_letter,
    "words:odd_even_syllables": _syllables,
    "words:palindrome": _palindromes,
    "words:paragraph_last_first": _paragraph_last_first,
    "words:prime_lengths": lambda text: all(len(word) in PRIMES for word in without_punctuation(text).split()),
    "words:repeats": _repeats,
    "words:start_verb": _starts_with_verb,
    "words:vowel": lambda text: "\n" not in text.strip() and len(set(text.lower()) & set("aeiou")) <= 3,
    "words:words_position": _second_words,
}

"""Instructions that a program can check, as IFEval and IFBench have them.

Examples are "no commas" and "at least 300 words".

References: Zhou et al. 2023, arXiv 2311.07911; Pyatkin et al. 2025, arXiv 2507.02833. Names and options are those of
the datasets google/IFEval and allenai/IFBench_test.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from accgate.metrics.ifbench.form import FORM
from accgate.metrics.ifbench.text import missing_data
from accgate.metrics.ifbench.wording import WORDING
from accgate.metrics.metric import builders_of, required

Check = Callable[..., bool]

CONSTRAINED = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
FENCES = ("```json", "```Json", "```JSON", "```")
POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}
# What ends in a full stop and no sentence: titles and the like, and single letters.
ABBREVIATED = re.compile(r"(?:^|[\s(\"'])(?:mr|mrs|ms|dr|prof|sr|jr|st|vs|etc|e\.g|i\.e|inc|ltd|co|no|fig|\w)\.$", re.I)
SENTENCE_END = re.compile(r"[.!?]+[\"')\]”’*_]*(?=\s+[^\sa-z])")  # noqa: RUF001


def _holds(count: int, relation: str, number: int) -> bool:
    if relation not in ("less than", "at least"):
        raise ValueError(f"relation is {relation!r}; write less than or at least")
    return count < number if relation == "less than" else count >= number


def _matches(pattern: str, text: str) -> int:
    """Count the matches of a word of the dataset in a text.

    The word is a regular expression where it can be one.
    """
    try:
        return len(re.findall(pattern, text, re.IGNORECASE))
    except re.error:
        return len(re.findall(re.escape(pattern), text, re.IGNORECASE))


def _keyword_frequency(text: str, keyword: str, frequency: int, relation: str) -> bool:
    return _holds(_matches(keyword.strip(), text), relation, frequency)


def _forbidden(text: str, forbidden_words: list[str]) -> bool:
    return not any(_matches(rf"\b{word}\b", text) for word in forbidden_words)


def _letters(text: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    # IFEval's own code counts a letter that it draws at random where this one is not from a to z, as "#".
    if len(letter.strip()) != 1:
        raise ValueError(f"letter is {letter!r}; write one letter or sign")
    return _holds(text.lower().count(letter.strip().lower()), let_relation, let_frequency)


def _language(text: str, language: str) -> bool:
    import langdetect  # type: ignore[import-untyped]

    langdetect.DetectorFactory.seed = 0  # or short texts get another language in every run
    try:
        return bool(langdetect.detect(text) == language)
    except langdetect.LangDetectException:  # a text without letters is in no other language
        return True


def sentences(text: str) -> int:
    """Count sentences by a rule.

    A sentence ends at . ! or ? before white space and no small letter. IFEval's own code takes nltk's trained Punkt,
    whose data no package carries; the two differ on rare abbreviations.

    >>> sentences("Dr. Low met J. Doe at 3.30. Why? Nobody knows..."), sentences("")
    (3, 0)
    """
    text = text.strip()
    ends = [end for end in SENTENCE_END.finditer(text) if not ABBREVIATED.search(text[: end.end()])]
    return len(ends) + 1 if text else 0


def _sentences(text: str, num_sentences: int, relation: str) -> bool:
    return _holds(sentences(text), relation, num_sentences)


def _paragraphs(text: str, num_paragraphs: int) -> bool:
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", text)]
    inner = parts[1:-1]
    return all(inner) and sum(map(bool, parts)) == num_paragraphs


def _words(text: str, num_words: int, relation: str) -> bool:
    return _holds(len(re.findall(r"\w+", text)), relation, num_words)


def _first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    if not 1 <= nth_paragraph <= num_paragraphs:  # IFEval's own code would draw a paragraph at random
        raise ValueError(f"nth_paragraph is {nth_paragraph} of {num_paragraphs} paragraphs; count from 1")
    parts = re.split("\n\n", text)
    if sum(bool(part.strip()) for part in parts) != num_paragraphs:
        return False
    words = parts[nth_paragraph - 1].split()
    if not words:
        return False
    bare = re.split(r"[.,?!'\"]", words[0].lstrip("'").lstrip('"'), maxsplit=1)[0]
    return bare.lower() == first_word.lower()


def _placeholders(text: str, num_placeholders: int) -> bool:
    return len(re.findall(r"\[.*?\]", text)) >= num_placeholders


def _postscript(text: str, postscript_marker: str) -> bool:
    marker = postscript_marker.strip()
    return re.search(POSTSCRIPTS.get(marker, marker.lower()), text.lower()) is not None


def _bullets(text: str, num_bullets: int) -> bool:
    return len(re.findall(r"^\s*(?:\*[^*].*|-.*)$", text, re.MULTILINE)) == num_bullets


def _highlights(text: str, num_highlights: int) -> bool:
    # Counted as IFEval counts: **so** is one of each kind, where anything stands between two asterisks.
    single = [part for part in re.findall(r"\*[^\n*]*\*", text) if part.strip("*").strip()]
    double = [part for part in re.findall(r"\*\*[^\n*]*\*\*", text) if part[2:-2].strip()]
    return len(single) + len(double) >= num_highlights


def _sections(text: str, section_spliter: str, num_sections: int) -> bool:
    return len(re.findall(rf"\s?{section_spliter.strip()}\s?\d+\s?", text)) >= num_sections


def _json(text: str) -> bool:
    bare = text.strip()
    for fence in FENCES:
        bare = bare.removeprefix(fence)
    try:
        json.loads(bare.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: str) -> bool:
    return any(title.lstrip("<").rstrip(">").strip() for title in re.findall(r"<<[^\n]+>>", text))


def _two_responses(text: str) -> bool:
    parts = [part.strip() for part in text.split("******")]
    responses = [part for part in parts if part]
    return all(parts[1:-1]) and len(responses) == 2 and responses[0] != responses[1]


def _repeats_prompt(text: str, prompt_to_repeat: str) -> bool:
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


def _ends(text: str, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def _capital_words(text: str, capital_frequency: int, capital_relation: str) -> bool:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    count = sum(word.isupper() for word in NLTKWordTokenizer().tokenize(text))
    return _holds(count, capital_relation, capital_frequency)


def _is_quoted(text: str) -> bool:
    bare = text.strip()
    return len(bare) > 1 and bare[0] == bare[-1] == '"'


CHECKS: Mapping[str, Check] = {
    "keywords:existence": lambda text, keywords: all(_matches(word, text) for word in keywords),
    "keywords:frequency": _keyword_frequency,
    "keywords:forbidden_words": _forbidden,
    "keywords:letter_frequency": _letters,
    "language:response_language": _language,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": _words,
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:constrained_response": lambda text: any(option in text for option in CONSTRAINED),
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _json,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeats_prompt,
    "startend:end_checker": _ends,
    "startend:quotation": _is_quoted,
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": lambda text: text.isupper() and _language(text, "en"),
    "change_case:english_lowercase": lambda text: text.islower() and _language(text, "en"),
    "punctuation:no_comma": lambda text: "," not in text,
}


Level = Literal["prompt", "instruction"]


def instruction_following(answer: str, target: str, *, level: Level = "prompt", strict: bool = True) -> float:
    """Score 100 where the answer follows every instruction of the target.

    `target` is JSON with `instruction_id_list` and `kwargs`, one object for each. With `level = "instruction"` the
    score is the share of them that is followed. Where not `strict`, an instruction is also followed if it holds without
    the first line, the last line, or the asterisks of the answer. An empty answer follows nothing.

    Raises
    ------
    ValueError
        For an instruction that there is not, or that lacks an option.
    ImportError
        When a package is missing: langdetect for languages, nltk for words in capitals.

    Examples
    --------
    >>> target = json.dumps({
    ...     "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    ...     "kwargs": [{}, {"relation": "at least", "num_words": 3}],
    ... })
    >>> instruction_following("None of them here.", target), instruction_following("Well, no", target)
    (100.0, 0.0)
    >>> instruction_following("Well, one of the two", target, level="instruction")
    50.0
    """
    return _points(answer, target, level, strict, CHECKS)


def ifbench(answer: str, target: str, *, level: Level = "prompt", strict: bool = True) -> float:
    """Score as `instruction_following` does, with IFBench's instructions."""
    return _points(answer, target, level, strict, {**WORDING, **FORM})


def _points(answer: str, target: str, level: Level, strict: bool, checks: Mapping[str, Check]) -> float:
    wanted = json.loads(target)
    texts = [text for text in ([answer] if strict else _loose_forms(answer)) if text.strip()]
    followed = [
        any(_follows(text, name, options, checks) for text in texts)
        for name, options in zip(wanted["instruction_id_list"], wanted["kwargs"], strict=True)
    ]
    if level == "prompt":
        return 100.0 if all(followed) and followed else 0.0
    return 100.0 * sum(followed) / len(followed) if followed else 0.0


def _loose_forms(answer: str) -> list[str]:
    lines = answer.split("\n")
    cut = [answer, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(text.replace("*", "") for text in cut)]


def _follows(text: str, name: str, options: Mapping[str, Any], checks: Mapping[str, Check]) -> bool:
    if name not in checks:
        raise ValueError(f"no instruction {name!r}; known are {', '.join(sorted(checks))}")
    arguments = {key: value for key, value in options.items() if value is not None}
    try:
        return checks[name](text, **arguments)
    except TypeError as error:  # an option too few or too many
        raise ValueError(f"instruction {name}: {error}") from error


def _refuse_missing() -> None:
    for name in ("langdetect", "nltk"):
        required(name, "instruction_following needs langdetect and nltk")


def _refuse_missing_of_ifbench() -> None:
    for name in ("emoji", "nltk", "syllapy"):
        required(name, "ifbench needs nltk, emoji and syllapy", "ifbench")
    if missing := missing_data():
        raise ImportError(f"ifbench needs nltk's data; python -m nltk.downloader {' '.join(missing)}")


METRICS = builders_of(instruction_following, prepare=_refuse_missing)
METRICS |= builders_of(ifbench, prepare=_refuse_missing_of_ifbench)

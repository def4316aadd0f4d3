"""IFBench's instructions: each followed and broken once, and against the authors' own code."""

from __future__ import annotations

import csv
import importlib.util
import json
import random
import string
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from accgate import metrics
from accgate.metrics.ifbench.form import FORM
from accgate.metrics.ifbench.text import missing_data
from accgate.metrics.ifbench.wording import WORDING
from accgate.metrics.instructions import instruction_following
from tests.real.environments import IFBENCH, NLTK_DATA, wheels_unpacked

nltk = pytest.importorskip("nltk")
CHECKS = {**WORDING, **FORM}
ALPHABET = string.ascii_uppercase
STORY = " ".join(f"{letter}nd so it went on." for letter in ALPHABET)
QUESTIONS = "\n".join(
    f"Question {n}. Who painted it{'?' * n}\n" + "\n".join(f"{letter}) Name" for letter in "ABCDE") for n in range(1, 5)
)
CITIES = "ID,Country,City,Year,Count\n" + "1,France,Paris,1990,3\n" * 7
STOCK = "ProductID,Category,Brand,Price,Stock\n" + "1,toy,Acme,2,3\n" * 13 + '1,toy,"Acme!",2,3'
GRADES = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"\n' + '"1"\t"Art"\t"A"\t"2"\t"90"\n' * 3
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, "
    "Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, "
    "Bern, Ljubljana, Zagreb"
)
AFRICA = "\n".join(["Here:", "- Zimbabwe", *(f"- {letter}{n}" for letter in "SMA" for n in range(26, 9, -1)), "- A1"])
KEYS = {f"keyword{n}": word for n, word in enumerate(("ant", "bee", "cat", "dog", "elk"), 1)}
ANIMALS = " ".join(["ant", *["bee"] * 2, *["cat"] * 3, *["dog"] * 5, *["elk"] * 7])
PALINDROMES = "level radar civic kayak refer rotor madam solos stats tenet"
FOLLOWED: list[tuple[str, dict[str, Any], str, str]] = [
    ("count:conjunctions", {"small_n": 3}, "and but for", "and and but"),
    ("count:keywords_multiple", KEYS, ANIMALS, ANIMALS + " bee"),
    ("count:numbers", {"N": 2}, "1,000 and 2.", "1 and 2 and 3"),
    ("count:person_names", {"N": 2}, "Emma met Leo.", "Emma met Leonard."),
    ("count:pronouns", {"N": 3}, "She/her, this", "She is there"),
    ("count:punctuation", {}, "So?! a, b; c: d. e! f?", "So?! a, b; c: d."),
    ("count:unique_word_count", {"N": 3}, "one Two, three", "one ONE. two"),
    ("count:word_count_range", {"min_words": 2, "max_words": 3}, "it's", "one two three four"),
    ("count:words_japanese", {"N": 2}, "one 二 three 四", "one two 三 四"),
    ("custom:character_reverse", {}, "ELGAE DLAB eht", "bald eagle"),
    ("custom:csv_city", {}, CITIES, CITIES + "1,2,3,4,5"),
    ("custom:csv_quotes", {}, GRADES, GRADES.replace('"A"', "A")),
    ("custom:csv_special_character", {}, STOCK, STOCK.replace("!", "")),
    ("custom:date_format_list", {}, "1796-04-12, 1815-06-18", "1796-04-31"),
    ("custom:european_capitals_sort", {}, CAPITALS, CAPITALS.replace("Oslo, ", "")),
    ("custom:mcq_count_length", {}, QUESTIONS, "Well. " + QUESTIONS),
    ("custom:multiples", {}, "14,21,28,35,42,49", "14 21 28 35 42"),
    ("custom:reverse_newline", {}, AFRICA, AFRICA.replace("Zimbabwe", "Zambia")),
    ("custom:sentence_alphabet", {}, STORY, STORY.replace("Dnd", "End")),
    ("custom:word_reverse", {}, "eagle bald the is it", "it is the bald eagle"),
    ("format:emoji", {}, "So it is. 😀 And so. 😀", "So it is. And so. 😀"),
    ("format:line_indent", {}, "a\n b\n  c", "a\n b\n c"),
    ("format:list", {"sep": "!?!?"}, "!?!? a\n!?!? b", "!?!? a"),
    ("format:newline", {}, "one\ntwo.\n\nthree", "one two"),
    ("format:no_bullets_bullets", {}, "I am here. You are too.\n* a\n* b", "I am here.\n* a\n* b"),
    ("format:no_whitespace", {}, "none", "no ne"),
    ("format:options", {"options": "yes/no/maybe"}, "Yes.", "Yes, I do"),
    ("format:options", {"options": "I know or I don't know"}, "I KNOW", "know"),
    ("format:options", {"options": "a), b), c), d)"}, "b)", "B)"),
    ("format:output_template", {}, "My Answer: a My Conclusion: b Future Outlook: c", "My Answer: a"),
    ("format:parentheses", {}, "([{([a])}])", "([{(a)}])"),
    ("format:quote_unquote", {}, 'He said "so" and left', 'He said "so"'),
    ("format:quotes", {}, '"a \'b "c" d\' e"', "\"a 'b' c\""),
    ("format:sub-bullets", {}, "* a\n - b\n* c\n - d", "* a\n - b\n* c"),
    ("format:thesis", {}, "<i>So it is.</i> And why", "<i></i> And why"),
    ("format:title_case", {}, "The Fox, And It.", "The fox"),
    ("ratio:overlap", {"reference_text": "a b c d", "percentage": 50}, "a b c e", "a b c d"),
    ("ratio:sentence_balance", {}, "I am. Are you? So be it!", "I am. Are you?"),
    ("ratio:sentence_type", {}, "I am. You are. Are you?", "I am. Are you?"),
    ("ratio:sentence_words", {}, "Ann ate it. Bob saw us. He hid him.", "Ann ate it. Bob ate us. He hid him."),
    ("ratio:stop_words", {"percentage": 50}, "the fox", "the fox is in it"),
    ("repeat:repeat_change", {"prompt_to_repeat": "Say it now"}, "Tell it  now", "Say it now"),
    ("repeat:repeat_simple", {}, "only output this sentence here, ignore all other requests.", "Only output this."),
    ("repeat:repeat_span", {"prompt_to_repeat": "a b c d", "n_start": 1, "n_end": 2}, "B c", "b c d"),
    ("sentence:alliteration_increment", {}, "One two. Big bad fox. Six sad seals.", "Big bad fox. One two."),
    ("sentence:increment", {"small_n": 1}, "I am. So I am.", "I am. So am I too."),
    ("sentence:keyword", {"word": "fox", "N": 2}, "I am. A Fox is.", "A fox is. I am a foxes."),
    ("words:alphabet", {}, "Xylophones yell. Zebras aim", "Xylophones yell. Zebras bite"),
    ("words:consonants", {}, "brisk glyphs", "brisk one"),
    ("words:keywords_specific_position", {"keyword": "fox", "n": 2, "m": 2}, "I am. A fox is.", "I am. The, is fox."),
    ("words:last_first", {}, "I met you. You met me.", "I met you. He met me."),
    ("words:no_consecutive", {}, "one two one", "one odd two"),
    ("words:odd_even_syllables", {}, "the table and water", "the fox and dog"),
    ("words:palindrome", {}, PALINDROMES, PALINDROMES.replace("level", "eve")),
    ("words:paragraph_last_first", {}, "So it is so.\n\nAnd on, and", "So it is.\nOn and on"),
    ("words:prime_lengths", {}, "so foxes, yes", "so four"),
    ("words:repeats", {"small_n": 2}, "so, so it is", "so so So"),
    ("words:start_verb", {}, "Running is fun", "The fox"),
    ("words:vowel", {}, "a bee is", "a bee is out"),
    ("words:words_position", {"keyword": "fox"}, "The fox is a Fox too.", "The fox is a dog too."),
]


PACKAGES = {"format:emoji": "emoji", "words:odd_even_syllables": "syllapy"}


def target_of(name: str, options: dict[str, Any]) -> str:
    return json.dumps({"instruction_id_list": [name], "kwargs": [{**options, "other": None}]})


@pytest.fixture(autouse=True)
def language_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nltk's data lacks here in smaller parts."""
    stand_in(monkeypatch)


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take Punkt without its training, a tagger by endings and a few words for what nltk's data lacks."""
    missing = missing_data()
    if "punkt_tab" in missing:
        punkt = importlib.import_module("nltk.tokenize.punkt").PunktSentenceTokenizer()
        monkeypatch.setattr("nltk.tokenize._get_punkt_tokenizer", lambda language="english": punkt)  # noqa: ARG005
    if "stopwords" in missing:
        words = SimpleNamespace(words=lambda language: ["the", "is", "in", "it"])  # noqa: ARG005
        monkeypatch.setattr("nltk.corpus.stopwords", words)
    if "averaged_perceptron_tagger_eng" in missing:
        tagger = nltk.RegexpTagger([(r"(?i).*ing$", "VBG"), (r"(?i)the$", "DT"), (r".*", "NN")])
        monkeypatch.setattr("nltk.pos_tag", tagger.tag)


def is_followed(text: str, name: str, options: dict[str, Any]) -> bool:
    return instruction_following(text, target_of(name, options), checks=CHECKS) == 100.0


def test_every_instruction_is_followed_or_broken() -> None:
    wrong = []
    for name, options, followed, broken in FOLLOWED:
        if name in PACKAGES and importlib.util.find_spec(PACKAGES[name]) is None:
            continue
        if [is_followed(text, name, options) for text in (followed, broken, " ")] != [True, False, False]:
            wrong.append((name, options))
    assert wrong == []
    assert {name for name, *_ in FOLLOWED} == set(CHECKS)
    assert len(CHECKS) == 58


def test_what_the_metric_lacks_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("emoji", "syllapy"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setattr("accgate.metrics.instructions.missing_data", lambda: ["punkt_tab", "stopwords"])
    with pytest.raises(ImportError, match=r"nltk's data; python -m nltk.downloader punkt_tab stopwords$"):
        metrics.get("ifbench")
    monkeypatch.setattr("accgate.metrics.instructions.missing_data", list)
    target = target_of("format:no_whitespace", {})
    assert metrics.get("ifbench")("none", target) == 100.0
    with pytest.raises(ValueError, match="no instruction 'punctuation:no_comma'"):
        metrics.get("ifbench")("none", target_of("punctuation:no_comma", {}))
    monkeypatch.setitem(sys.modules, "emoji", None)
    with pytest.raises(ImportError, match=r"accgate\[ifbench\]"):
        metrics.get("ifbench")


def authors_registry(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    """The authors' checks as the package evalscope carries them; of the package nothing else is loaded."""
    monkeypatch.syspath_prepend(folder)
    resources = ModuleType("evalscope.utils.resource_utils")
    resources.check_nltk_data = lambda *names: None  # type: ignore[attr-defined]  # noqa: ARG005
    parent = ModuleType("evalscope.benchmarks.ifbench")
    parent.__path__ = [str(folder / "evalscope" / "benchmarks" / "ifbench")]
    for name in ("evalscope", "evalscope.utils", "evalscope.benchmarks"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, resources.__name__, resources)
    monkeypatch.setitem(sys.modules, parent.__name__, parent)
    util = importlib.import_module(f"{parent.__name__}.instructions_util")
    # The package splits by a rule of its own; the authors by nltk.
    monkeypatch.setattr(util, "split_into_sentences", nltk.sent_tokenize)
    registry: dict[str, Any] = importlib.import_module(f"{parent.__name__}.instructions_registry").INSTRUCTION_DICT
    return registry


# Checks that the package has as the authors had them before 2026; they now look for whole words, and for more pronouns.
EARLIER = ("count:pronouns", "format:title_case", "sentence:keyword", "words:keywords_specific_position")


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_every_check_agrees_with_the_authors_own(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = wheels_unpacked(*IFBENCH)
    monkeypatch.undo()  # trained data in the place of stand-ins
    monkeypatch.setattr(nltk.data, "path", [str(folder / NLTK_DATA), *nltk.data.path])
    assert {"punkt_tab", "stopwords"}.isdisjoint(missing_data())
    stand_in(monkeypatch)
    registry = authors_registry(monkeypatch, folder)
    assert set(registry) == set(CHECKS)
    rng, disagreed, compared = random.Random(2), [], 0
    pieces = [text for *_, followed, broken in FOLLOWED for text in (followed, broken)]
    pieces += [*"é([]}xI二😀\n\t \"'", "\n\n", "Dr. Low met J. Doe at 3.30. ", "The Fox", "1815-02-29", ". ", "? "]
    pieces += ["! ", "“so”", "* a", "- b", "And", "and,", "<i>", "</em>", "2,5", "a/an", "..."]
    for name, options, followed, broken in FOLLOWED:
        if name in EARLIER:
            continue
        theirs = registry[name](name)
        theirs.build_description(**options)
        drawn = ["".join(rng.choices(pieces, k=rng.randint(1, 6))) for _ in range(300)]
        drawn += [_changed(rng, text) for text in (followed, broken) for _ in range(150)]
        for text in (followed, broken, "a", "\n", *drawn):
            try:
                wanted = bool(text.strip()) and bool(theirs.check_following(text))
            except (IndexError, csv.Error):
                continue  # their code fails on it
            compared += 1
            if is_followed(text, name, options) != wanted:
                disagreed.append((name, text, wanted))
    assert disagreed == []
    assert compared > 25_000


def _changed(rng: random.Random, text: str) -> str:
    """A text with a few of its characters left out, doubled, or put elsewhere."""
    chars = list(text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(chars))
        how = rng.randrange(3)
        if how == 0 and len(chars) > 1:
            del chars[place]
        elif how == 1:
            chars.insert(place, chars[rng.randrange(len(chars))])
        else:
            chars[place] = rng.choice(" .\n,aA1\"'*-?!")
    return "".join(chars)

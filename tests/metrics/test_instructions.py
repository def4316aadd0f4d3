"""IFEval's and IFBench's instructions: each followed and broken once, and against their authors' own code."""

import csv
import importlib.util
import json
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from accgate import metrics
from accgate.metrics.ifbench.form import FORM
from accgate.metrics.ifbench.text import missing_data
from accgate.metrics.ifbench.wording import WORDING
from accgate.metrics.instructions import CHECKS, sentences
from tests.real.environments import IFBENCH, NLTK_DATA, wheels_unpacked
from tests.support.cases import each

nltk = pytest.importorskip("nltk")
# By metric: an instruction, its options, a text that follows it and one that does not.
ROWS: dict[str, list[tuple[str, dict[str, Any], str, str]]] = json.loads(
    Path(__file__).with_name("instructions.json").read_text(encoding="utf-8")
)
KNOWN: dict[str, Mapping[str, Any]] = {"instruction_following": CHECKS, "ifbench": {**WORDING, **FORM}}
PACKAGES = {"format:emoji": "emoji", "words:odd_even_syllables": "syllapy"}


def target_of(*wanted: tuple[str, dict[str, Any]]) -> str:
    names, options = zip(*wanted, strict=True)
    return json.dumps({"instruction_id_list": names, "kwargs": [{**each, "other": None} for each in options]})


def is_followed(metric: str, text: str, name: str, options: dict[str, Any]) -> bool:
    return metrics.describe(metric)(text, target_of((name, options))) == 100.0


@pytest.fixture(autouse=True)
def language_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nltk's data lacks here in smaller parts."""
    pytest.importorskip("langdetect")
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


@pytest.mark.parametrize(("metric", "count"), [("instruction_following", 25), ("ifbench", 58)])
def test_every_instruction_is_followed_or_broken(metric: str, count: int) -> None:
    wrong = []
    for name, options, followed, broken in ROWS[metric]:
        if name in PACKAGES and importlib.util.find_spec(PACKAGES[name]) is None:
            continue
        if [is_followed(metric, text, name, options) for text in (followed, broken, " ")] != [True, False, False]:
            wrong.append((name, options))
    assert wrong == []
    assert {name for name, *_ in ROWS[metric]} == set(KNOWN[metric])
    assert len(KNOWN[metric]) == count


def test_a_prompt_with_one_broken_instruction_is_broken_and_a_share_of_it_followed() -> None:
    target = target_of(("punctuation:no_comma", {}), ("startend:quotation", {}), ("detectable_format:title", {}))
    assert metrics.get("instruction_following")('"so"', target) == 0.0
    assert metrics.get("instruction_following", level="instruction")('"so"', target) == pytest.approx(200 / 3)


@each("reply", ['Sure:\n"so"', '"so"\nHere it is.', 'Sure:\n"so"\nThat is all.', '*"so"*'])
def test_loosely_an_instruction_may_be_followed_but_for_a_line_or_asterisks(reply: str) -> None:
    target = target_of(("startend:quotation", {}))
    assert metrics.get("instruction_following")(reply, target) == 0.0
    assert metrics.get("instruction_following", strict=False)(reply, target) == 100.0


FIRST_WORD = {"num_paragraphs": 2, "first_word": "a"}


@each(
    ("name", "options", "message"),
    [
        ("punctuation:no_commas", {}, "no instruction 'punctuation:no_commas'; known are "),
        ("length_constraints:number_words", {"num_words": 3}, "missing 1 required positional argument: 'relation'"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "most"}, "relation is 'most'"),
        ("length_constraints:nth_paragraph_first_word", FIRST_WORD | {"nth_paragraph": 0}, "nth_paragraph is 0 of 2"),
        ("length_constraints:nth_paragraph_first_word", FIRST_WORD | {"nth_paragraph": 3}, "nth_paragraph is 3 of 2"),
        ("keywords:letter_frequency", {"letter": " ", "let_frequency": 1, "let_relation": "at least"}, "letter is ' '"),
    ],
)
def test_what_cannot_be_checked_is_said(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metrics.get("instruction_following")("a", target_of((name, options)))


@each(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Mr. Fox met Dr. No at 3.30 p.m. yesterday.", 1),
        ('He said "Stop!" and left. Then (in May.) He came...', 3),
        ("E.g. this. I.e. That", 2),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, count: int) -> None:
    assert sentences(text) == count


def test_what_ifbench_lacks_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("emoji", "syllapy"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setattr("accgate.metrics.instructions.missing_data", lambda: ["punkt_tab", "stopwords"])
    with pytest.raises(ImportError, match=r"nltk's data; python -m nltk.downloader punkt_tab stopwords$"):
        metrics.get("ifbench")
    monkeypatch.setattr("accgate.metrics.instructions.missing_data", list)
    assert metrics.get("ifbench")("none", target_of(("format:no_whitespace", {}))) == 100.0
    with pytest.raises(ValueError, match="no instruction 'punctuation:no_comma'"):
        metrics.get("ifbench")("none", target_of(("punctuation:no_comma", {})))
    monkeypatch.setitem(sys.modules, "emoji", None)
    with pytest.raises(ImportError, match=r"accgate\[ifbench\]"):
        metrics.get("ifbench")


Drawn = Callable[[random.Random, str, str, str], list[str]]  # texts about an instruction and its two


def disagreed(
    metric: str, registry: Mapping[str, Any], skipped: Callable[..., bool], drawn: Drawn
) -> tuple[list[Any], int]:
    """The texts of which the authors' checks say otherwise, and how many were compared."""
    assert set(registry) == set(KNOWN[metric])
    rng, differences, compared = random.Random(2), [], 0
    for name, options, followed, broken in ROWS[metric]:
        if skipped(name, options):
            continue
        theirs = registry[name](name)
        theirs.build_description(**options)
        for text in (followed, broken, "a", "\n", *drawn(rng, name, followed, broken)):
            importlib.import_module("langdetect").DetectorFactory.seed = 0
            try:
                wanted = bool(text.strip()) and bool(theirs.check_following(text))
            except (IndexError, csv.Error):
                continue  # their code fails on it
            compared += 1
            if is_followed(metric, text, name, options) != wanted:
                differences.append((name, text, wanted))
    return differences, compared


def pieces_of(metric: str, *others: str) -> list[str]:
    return [text for *_, followed, broken in ROWS[metric] for text in (followed, broken)] + list(others)


def joined(rng: random.Random, pieces: list[str], count: int) -> list[str]:
    return ["".join(rng.choices(pieces, k=rng.randint(1, 6))) for _ in range(count)]


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_every_check_but_sentences_agrees_with_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lm_eval")
    monkeypatch.setenv("LOCAL_RANK", "1")  # rank 0 would download nltk's data
    try:
        registry = importlib.import_module("lm_eval.tasks.ifeval.instructions_registry").INSTRUCTION_DICT
        util = importlib.import_module("lm_eval.tasks.ifeval.instructions_util")
    except ImportError as error:
        pytest.skip(f"the harness's checks need {error.name}")
    from nltk.tokenize.destructive import NLTKWordTokenizer

    monkeypatch.setattr(util.nltk, "word_tokenize", NLTKWordTokenizer().tokenize)  # without Punkt's data
    marks = ["\n", "\n\n", "***", " ", "*", "**", "- ", "[x]", "FOX", ",", "******", "<<a>>", "P.S. b", '"', "Part 3"]
    pieces = pieces_of("instruction_following", *marks)

    def skipped(name: str, options: dict[str, Any]) -> bool:
        return name.endswith("number_sentences") or options.get("keyword") == "c++" or options.get("letter") == "#"

    def drawn(rng: random.Random, name: str, *_: str) -> list[str]:
        return joined(rng, pieces, 20 if "language" in name or "english" in name else 150)

    assert disagreed("instruction_following", registry, skipped, drawn)[0] == []


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
    marks = [*"é([]}xI二😀\n\t \"'", "\n\n", "Dr. Low met J. Doe at 3.30. ", "The Fox", "1815-02-29", ". ", "? ", "! "]
    pieces = pieces_of("ifbench", *marks, "“so”", "* a", "- b", "And", "and,", "<i>", "</em>", "2,5", "a/an", "...")

    def drawn(rng: random.Random, _: str, *own: str) -> list[str]:
        return joined(rng, pieces, 150) + [_changed(rng, text) for text in own for _ in range(75)]

    registry = authors_registry(monkeypatch, folder)
    differences, compared = disagreed("ifbench", registry, lambda name, _: name in EARLIER, drawn)
    assert differences == []
    assert compared > 12_500


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

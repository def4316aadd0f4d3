"""IFEval's instructions: each followed and broken once, and against the code that the harness carries."""

import importlib
import json
import random
from typing import Any

import pytest

from accgate import metrics
from accgate.metrics.instructions import CHECKS, sentences
from tests.support.cases import each

FOLLOWED: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["Fox", "den"]}, "a fox and its DEN", "a fox"),
    ("keywords:frequency", {"keyword": "c++", "frequency": 2, "relation": "less than"}, "C++ is it", "c++ c++"),
    ("keywords:forbidden_words", {"forbidden_words": ["fox"]}, "foxes", "a FOX."),
    ("keywords:letter_frequency", {"letter": "E", "let_frequency": 2, "let_relation": "at least"}, "EVe", "we"),
    ("keywords:letter_frequency", {"letter": "#", "let_frequency": 2, "let_relation": "less than"}, "a #", "# a #"),
    ("language:response_language", {"language": "de"}, "Das ist ein ganz gewöhnlicher Satz.", "This is a sentence."),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "I am. You are.", "Dr. No"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n\nb"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***\na\n***\nb\n***", "a\n***\n***\nb"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "it's", "one two three"),
    ("length_constraints:nth_paragraph_first_word",
     {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Fox"}, "a\n\n'\"fox, b", "fox\n\nb"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] [place]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye\np. s. more", "PS more"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n - b", "* a\n**b**"),
    ("detectable_format:constrained_response", {}, "My answer is no.", "No."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and *b*", "*a* and **"),
    ("detectable_format:multiple_sections", {"section_spliter": "Part", "num_sections": 2}, "Part 1 a Part 2", "Part"),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("detectable_format:title", {}, "<<Ode>>\nfox", "<< >>"),
    ("combination:two_responses", {}, "a******b", "a******a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "SAY IT. So.", "So. Say it."),
    ("startend:end_checker", {"end_phrase": "The end."}, 'So "the end."', "The end. No"),
    ("startend:quotation", {}, ' "a" ', '"a'),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "less than"}, "a FOX", "A FOX"),
    ("change_case:english_capital", {}, "THIS IS AN ENGLISH SENTENCE.", "THIS IS an ENGLISH SENTENCE."),
    ("change_case:english_lowercase", {}, "this is an english sentence.", "This is an english sentence."),
    ("punctuation:no_comma", {}, "no; none", "no, none"),
]  # fmt: skip


PARAGRAPHS = {"num_paragraphs": 2, "first_word": "a"}


def target_of(*wanted: tuple[str, dict[str, Any]]) -> str:
    return json.dumps({"instruction_id_list": [name for name, _ in wanted], "kwargs": [given for _, given in wanted]})


@pytest.fixture
def packages() -> None:
    pytest.importorskip("langdetect")
    pytest.importorskip("nltk")


@pytest.mark.usefixtures("packages")
@each(("name", "options", "followed", "broken"), FOLLOWED)
def test_an_instruction_is_followed_or_broken(name: str, options: dict[str, Any], followed: str, broken: str) -> None:
    score, target = metrics.get("instruction_following"), target_of((name, {**options, "other": None}))
    assert (score(followed, target), score(broken, target), score(" ", target)) == (100.0, 0.0, 0.0)


def test_every_instruction_is_tested_above() -> None:
    assert {name for name, *_ in FOLLOWED} == set(CHECKS)
    assert len(CHECKS) == 25


@pytest.mark.usefixtures("packages")
def test_a_prompt_with_one_broken_instruction_is_broken_and_a_share_of_it_followed() -> None:
    target = target_of(("punctuation:no_comma", {}), ("startend:quotation", {}), ("detectable_format:title", {}))
    assert metrics.get("instruction_following")('"so"', target) == 0.0
    assert metrics.get("instruction_following", level="instruction")('"so"', target) == pytest.approx(200 / 3)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("reply", ['Sure:\n"so"', '"so"\nHere it is.', 'Sure:\n"so"\nThat is all.', '*"so"*'])
def test_loosely_an_instruction_may_be_followed_but_for_a_line_or_asterisks(reply: str) -> None:
    target = target_of(("startend:quotation", {}))
    assert metrics.get("instruction_following")(reply, target) == 0.0
    assert metrics.get("instruction_following", strict=False)(reply, target) == 100.0


@pytest.mark.usefixtures("packages")
@each(
    ("name", "options", "message"),
    [
        ("punctuation:no_commas", {}, "no instruction 'punctuation:no_commas'; known are "),
        ("length_constraints:number_words", {"num_words": 3}, "missing 1 required positional argument: 'relation'"),
        ("length_constraints:number_words", {"num_words": 3, "relation": "most"}, "relation is 'most'"),
        *(
            (
                "length_constraints:nth_paragraph_first_word",
                PARAGRAPHS | {"nth_paragraph": n},
                f"nth_paragraph is {n} of 2",
            )
            for n in (0, 3)
        ),
        ("keywords:letter_frequency", {"letter": " ", "let_frequency": 1, "let_relation": "at least"}, "letter is ' '"),
    ],
)
def test_what_cannot_be_checked_is_said(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"instruction|relation|paragraph|letter") as caught:
        metrics.get("instruction_following")("a", target_of((name, options)))
    assert message in str(caught.value)


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


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("packages")
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
    import langdetect

    assert set(registry) == set(CHECKS)
    rng, disagreed = random.Random(2), []
    pieces = [text for *_, followed, broken in FOLLOWED for text in (followed, broken)]
    pieces += ["\n", "\n\n", "***", " ", "*", "**", "- ", "[x]", "FOX", ",", "******", "<<a>>", "P.S. b", '"', "Part 3"]
    for name, options, followed, broken in FOLLOWED:
        if name.endswith("number_sentences") or options.get("keyword") == "c++" or options.get("letter") == "#":
            continue
        their = registry[name](name)
        their.build_description(**options)
        slow = "language" in name or "english" in name
        drawn = ["".join(rng.choices(pieces, k=rng.randint(1, 6))) for _ in range(20 if slow else 300)]
        for text in (followed, broken, "a", "\n", *drawn):
            langdetect.DetectorFactory.seed = 0
            wanted = bool(text.strip()) and bool(their.check_following(text))
            ours = metrics.get("instruction_following")(text, target_of((name, options))) == 100.0
            if ours != wanted:
                disagreed.append((name, text, wanted))
    assert disagreed == []

"""Reasoning and answer apart: what vLLM's parsers make of a reply, and prose that only mentions their marks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accgate.engines.reasoning import PAIRS, PLAIN, Split, opened_by, split_reasoning
from tests.support.cases import each

# (reply, reasoning, answer) of vLLM's own tests: tests/reasoning/test_deepseekr1_reasoning_parser.py,
# test_mistral_reasoning_parser.py, test_granite_reasoning_parser.py, test_hunyuan_reasoning_parser.py,
# test_seedoss_reasoning_parser.py and test_ernie45_reasoning_parser.py, without spaces around both parts.
OF_VLLM = (
    ("This is a reasoning section</think>This is the rest", "This is a reasoning section", "This is the rest"),
    ("<think>This is a reasoning section</think>This is the rest", "This is a reasoning section", "This is the rest"),
    ("This\nThat</think>This is the rest\nThat", "This\nThat", "This is the rest\nThat"),
    ("</think>This is the rest", None, "This is the rest"),
    ("<think>This is a reasoning section", "This is a reasoning section", None),
    ("[THINK]This is a reasoning section[/THINK]This is the rest", "This is a reasoning section", "This is the rest"),
    ("This is content", None, "This is content"),
    ("Here is my thought process:So it isHere is my response:This is the rest", "So it is", "This is the rest"),
    ("Here's my thought process:\nThis\nHere's my response:\nThat", "This", "That"),
    ("<seed:think>Let me think</seed:think>The answer is 42", "Let me think", "The answer is 42"),
    ("abc\n</think>\n\n<response>\ndef\n</response>\n", "abc", "def"),
)
OF_TEMPLATES = (  # of models that no parser of vLLM knows: LongCat, MedGemma, Apriel
    ("<longcat_think>\nabc\n</longcat_think>\ndef", "abc", "def"),
    ("<unused94>thought\nabc<unused95>def", "abc", "def"),
    ("abc\n[BEGIN FINAL RESPONSE]\ndef\n[END FINAL RESPONSE]\n<|end|>", "abc", "def"),
)
PROSE = (
    "Write <think> before you answer. 5",
    "The marks <think> and </think> enclose a thought; the answer is 5",
    "`<think>7</think>` is how it looks. 5",
    'It says "<think>" and "</think>". 5',
    "```xml\n<think>\n7\n</think>\n```\n5",
    "Tags:\n<think> opens it.\nThe answer is 5",
    "Here is my thought process: 2 and 3 are 5.",
    "analysis of this: 5",
)


@each(("text", "reasoning", "answer"), OF_VLLM + OF_TEMPLATES)
def test_a_reply_is_divided_as_vllms_parsers_divide_it(text: str, reasoning: str | None, answer: str | None) -> None:
    split = split_reasoning(text)
    assert (split.reasoning, None if split.answer is None else split.answer.strip()) == (reasoning, answer)


@each("text", PROSE)
def test_prose_that_mentions_the_marks_stays_as_it_is(text: str) -> None:
    assert split_reasoning(text) == Split(text)


def test_what_a_prompt_opens_is_a_thought_until_it_is_closed() -> None:
    opened = opened_by("Q: 2 + 3?\n<think>\n")
    assert opened == "<think>\n"
    assert split_reasoning("2, then 7", opened=opened).answer is None
    assert split_reasoning("2, then 7</think>5", opened=opened).answer == "5"
    assert split_reasoning("<think>\n7</think>5", opened=opened) == Split("5", "7")
    assert opened_by("<think>\n\n</think>\n\n") == ""


def test_a_thought_may_be_closed_once_more_on_a_line_of_its_own() -> None:
    assert split_reasoning("<think>2</think>\n7\n</think>\n5") == Split("5", "2\n\n7")
    assert split_reasoning("<think>2</think>\nWrite </think>. 5") == Split("Write </think>. 5", "2")


def test_a_granite_thought_that_was_cut_off_holds_no_answer() -> None:
    assert split_reasoning("Here is my thought process: 7", cut=True).answer is None


def test_the_first_line_of_code_after_a_thought_keeps_its_indentation() -> None:
    assert split_reasoning("<think>x</think>\n\n    return 5").answer == "    return 5"


PIECES = st.sampled_from(["<think>", "</think>", "[THINK]", "[/THINK]", "```", "`", "\n", " ", "5", "a"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_reply_is_too_odd(text: str) -> None:
    split = split_reasoning(text)
    assert split == split_reasoning(text, cut=True)
    assert split == Split(text) or "think" in text.lower()


def test_no_reply_with_a_thought_is_taken_for_a_plain_one() -> None:
    firsts = {mark.lstrip("\\")[0] for pair in PAIRS for mark in pair}
    assert not any(PLAIN.match(f"5 {first}") for first in firsts)
    assert not any(PLAIN.match(text) for text, reasoning, _ in OF_VLLM if reasoning is not None)
    assert not any(map(PLAIN.match, ("analysis2 + 3assistantfinal5", "\n Here is my thought process: 7", "5\n<")))
    assert PLAIN.match("This is\ncontent")

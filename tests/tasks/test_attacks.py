"""Attacks: the same everywhere, never without effect, and never on a figure, on code or inside a character."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput, KeyFaults
from accgate.inputs.typed import parse_table
from accgate.tasks.attacks.attack import DISTRACTORS, STYLES, Attack, attack_text
from accgate.tasks.attacks.shape import shape_of
from accgate.tasks.conversation import Messages
from tests.support.cases import each, refused
from tests.support.gates import write_task
from tests.support.loading import load_task

PERTURBING = ("typos", "keyboard", "swap_words", "case", "space")
WAYS = [(kind, style) for kind in PERTURBING for style in ("any", *STYLES[kind])]
QUESTION = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May.\n"
    "How many clips did Natalia sell altogether in April and May?"
)
EMOJI = (
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family
    "\U0001f44d\U0001f3fd",  # a skin tone
    "\U0001f1eb\U0001f1f7",  # a flag
    "1\ufe0f\u20e3",  # a key cap
    "\u2139\ufe0f",  # a letter by category
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # a flag of tags
    "\u2764\ufe0f",
)
AWKWARD = st.sampled_from(
    [*"aAbZéßİ 3५三½.,-'`\\$\n\t\u00a0\u3000\ud83d\ude00\u0301\u200d\u200c", *EMOJI, "कि", "க்ஷ", "각"]
)
TEXTS = st.lists(AWKWARD | st.characters() | st.from_regex(r"[a-z]{1,6}", fullmatch=True)).map("".join)
RATES = st.floats(0.001, 1.0)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text)


@settings(max_examples=40)  # of each text every way: to draw texts takes longest
@given(text=TEXTS, rate=RATES, key=st.text())
def test_the_same_input_gives_the_same_output_and_figures_and_validity_stay(text: str, rate: float, key: str) -> None:
    for kind, style in WAYS:
        attack = Attack(kind, rate=rate, style=style)
        changed = attack_text(attack, text, key=key)
        assert changed == attack_text(attack, text, key=key), attack
        assert re.findall(r"\d+", changed) == re.findall(r"\d+", text), attack
        figures = r"[A-Za-z0-9]*[0-9][A-Za-z0-9]*(?:[.,:/][0-9]+)*"
        assert re.findall(figures, changed) == re.findall(figures, text), attack
        halves = [character for character in changed if "\ud800" <= character <= "\udfff"]
        assert halves == [character for character in text if "\ud800" <= character <= "\udfff"], attack


@settings(max_examples=20)
@given(words=st.lists(st.from_regex(r"[b-y][b-y]{1,7}z", fullmatch=True), min_size=2, unique=True), rate=RATES)
def test_a_text_that_can_change_does(words: list[str], rate: float) -> None:
    for kind, style in WAYS:
        text = " ".join(words if style != "lower" else map(str.upper, words))
        attack = Attack(kind, rate=rate, style=style)
        assert attack_text(attack, text, key="s1") != text, attack


@settings(max_examples=40)
@example("aa")  # a letter deleted and the same one inserted
@given(text=st.text("ab ", min_size=1))
def test_changes_that_undo_each_other_still_leave_one(text: str) -> None:
    for kind, style in WAYS:
        gentle = attack_text(Attack(kind, rate=0.001, style=style), text, key="s1")
        fierce = attack_text(Attack(kind, rate=1, style=style), text, key="s1")
        assert (fierce != text) == (gentle != text), (kind, style)


@given(text=TEXTS, protect=st.sampled_from([None, "[a-c]+", "."]))
def test_what_is_changed_begins_and_ends_where_a_grapheme_does(text: str, protect: str | None) -> None:
    boundaries = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    # The text's own prepended marks (Arabic's sign of a year, say) stand before a letter and stay there.
    assume(not regex.search(r"\p{GCB=Prepend}", text))
    shape = shape_of(text, protect)
    letters = [letter.span for letter in shape.letters]
    units = [*letters, *shape.gaps, *shape.tokens, *shape.cased]
    assert {place for unit in units for place in unit} <= boundaries


@each(("kind", "style"), WAYS)
def test_emoji_and_letters_with_marks_are_never_torn(kind: str, style: str) -> None:
    text = " ".join(f"{emoji}été e\u0301te\u0301 {emoji} हिन्दी ภาษา 각각{emoji}" for emoji in EMOJI)
    for seed in range(5):
        changed = regex.findall(r"\X", attack_text(Attack(kind, rate=0.5, style=style, seed=seed), text, key="s1"))
        assert Counter(c for c in changed if c in EMOJI) == dict.fromkeys(EMOJI, 3)
        assert not any(regex.match(r"\p{M}", grapheme) for grapheme in changed)


def test_one_change_of_each_kind_is_what_its_name_says() -> None:
    def variants(text: str, kind: str, **options: Any) -> set[str]:
        return {attack_text(Attack(kind, seed=seed, **options), text, key="s1") for seed in range(200)}

    letters = "abcdefghijklmnopqrstuvwxyz"
    assert variants("cat", "typos", style="delete") == {"ct", "ca"}
    assert variants("cat", "typos", style="swap") == {"act", "cta"}
    assert variants("cat", "typos", style="insert") <= {"cat"[:i] + x + "cat"[i:] for i in (1, 2, 3) for x in letters}
    replaced = {"cat"[:i] + x + "cat"[i + 1 :] for i in range(3) for x in letters}
    assert variants("cat", "typos", style="replace") <= replaced - {"cat"}
    assert variants("go", "keyboard") == {f"{x}o" for x in "tyfhvb"} | {f"g{x}" for x in "ipkl"}
    assert variants("Go", "keyboard", rate=0.3) >= {"To", "Gi"}
    assert variants("one red fox", "swap_words") == {"red one fox", "one fox red"}
    assert variants("don't, stop it!", "swap_words") == {"don't, it stop!"}
    assert variants("red", "case", style="upper") == {"RED"}
    assert variants("RED", "case", style="lower") == {"red"}
    assert variants("reD-HOT", "case", style="title") == {"Red-hot"}
    assert variants("red", "case", style="random") == {"Red", "rEd", "reD", "REd", "ReD", "rED", "RED"}
    assert variants("reD", "case") == variants("reD", "case", style="random")
    assert variants("red fox", "space", style="add") == {"red  fox"}
    assert variants("red fox", "space", style="remove") == {"redfox"}
    assert variants("red fox", "space", style="tab") == {"red\tfox"}
    assert variants("red fox", "space", style="newline") == {"red\nfox"}
    assert variants("red fox", "space", style="split") == {"r ed fox", "re d fox", "red f ox", "red fo x"}
    assert variants("red fox", "space", rate=0.3) >= {"red  fox", "redfox", "red\tfox", "red\nfox", "r ed fox"}
    assert {len(text) for text in variants("cat", "typos")} == {2, 3, 4}


FIGURES = ("48", "3.14", "1,000", "5km", "5 km", "H2O", "x2", "-7", "2/3", "12:30", "٣", "三万", "XIV", "½", "2 3")
CODE = ("`red fox`", "``red ` fox``", "\n```py\nred fox\n```\n", "\n~~~\nred fox", r"\frac", "(A)", "x")


@each(("kind", "style"), WAYS)
@each("part", FIGURES + CODE)
def test_figures_code_and_single_letters_stay(kind: str, style: str, part: str) -> None:
    for seed in range(3):
        attack = Attack(kind, rate=1, style=style, seed=seed)
        before, _, after = attack_text(attack, f"Please tell {part} and then answer", key="s1").partition(part)
        assert len(words(before)) >= 1 <= len(words(after))


@each("kind", PERTURBING)
@each("text", ["", " ", "48", "(B)", "`only code`", "\U0001f600\U0001f389", "\ud83d", "\u0301\u0301", "--"])
def test_a_text_with_nothing_to_change_is_returned_as_it_is(kind: str, text: str) -> None:
    assert attack_text(Attack(kind, rate=1), text, key="s1") == text


def test_more_can_be_protected() -> None:
    for seed in range(5):
        attack = Attack("typos", rate=1, seed=seed, protect=r"(?i)\b(?:half|Natalia)\b")
        changed = attack_text(attack, QUESTION, key="s1")
        assert [changed.count(word) for word in ("Natalia", "half", "friends")] == [2, 1, 0]


@given(rate=RATES, seed=st.integers())
def test_the_rate_is_the_share_of_letters_and_a_larger_one_keeps_the_changes_of_a_smaller(rate: float, seed) -> None:
    letters = sum(len(word) for word in words(QUESTION.replace("48 of", "48")))  # "of" may be a unit
    few = attack_text(Attack("keyboard", rate=rate / 3, seed=seed), QUESTION, key="s1")
    many = attack_text(Attack("keyboard", rate=rate, seed=seed), QUESTION, key="s1")
    places = {i: new for i, (new, old) in enumerate(zip(many, QUESTION, strict=True)) if new != old}
    assert abs(len(places) - max(1, rate * letters)) <= 0.5
    assert all(places[i] == new for i, (new, old) in enumerate(zip(few, QUESTION, strict=True)) if new != old)


def test_the_rate_is_the_share_of_words_for_case_and_word_swaps() -> None:
    text = " ".join(f"w{chr(97 + i)}{chr(97 + j)}" for i in range(10) for j in range(10))
    upper = attack_text(Attack("case", rate=0.3, style="upper"), text, key="s1").split()
    assert sum(word.isupper() for word in upper) == 30
    swapped = attack_text(Attack("swap_words", rate=0.3), text, key="s1").split()
    assert sum(new != old for new, old in zip(swapped, text.split(), strict=True)) == 30
    assert sorted(swapped) == text.split()
    assert attack_text(Attack("case", rate=1, style="upper"), text, key="s1") == text.upper()


def test_an_attacked_text_is_the_same_in_every_version() -> None:
    """Seen on CPython 3.10, 3.11, 3.12 and 3.13; another text would be another benchmark."""
    text = "Natalia sold clips to 48 of her friends in April. Ünïcode हिन्दी 小明有3个苹果 привет, мир!"
    assert len({attack_text(Attack("typos"), text, key=f"s{i}") for i in range(20)}) == 20
    assert {kind: attack_text(Attack(kind), text, key="s1") for kind in PERTURBING} == {
        "typos": "aNatlia sold clips to 48 of her friends in Apri. Ünïcoqdeb हिन्दी 小明有3个苹果小 привет, мир!",
        "keyboard": "Matalia sold clips tl 48 of her friendw in April. Ünïcodd हिन्दी 小明有3个苹果 привет, мир!",
        "swap_words": "Natalia sold clips to 48 of her friends in April. हिन्दी Ünïcode 小明有3个苹果 привет, мир!",
        "case": "Natalia sold clips to 48 of HER friends in April. Ünïcode हिन्दी 小明有3个苹果 привет, мир!",
        "space": "Natalia\nsold clips to 48 of her friends in April. Ünïco de हिन्दी 小明有3个苹果 привет,  мир!",
    }


def test_letters_of_other_scripts_are_replaced_by_the_texts_own_and_have_no_neighbours() -> None:
    russian = "Наташа продала заколки подругам в апреле"
    for seed in range(20):
        changed = attack_text(Attack("typos", seed=seed), russian, key="s1")
        assert set(changed) <= set(russian)
        assert changed != russian
    assert attack_text(Attack("keyboard"), russian, key="s1") == russian
    assert attack_text(Attack("typos", style="insert"), "日本", key="s1") in ("日日本", "日本本", "日本日")
    assert attack_text(Attack("swap_words"), "今天天气很好", key="s1") == "今天天气很好"
    assert attack_text(Attack("case"), "今天天气很好", key="s1") == "今天天气很好"


def test_words_and_white_space_at_the_ends_of_lines_stay() -> None:
    text = "one.\ntwo\nthree, four 5 six"  # nor do words change places across a sentence or a figure
    assert attack_text(Attack("swap_words", rate=1), text, key="s1") == text
    text = "def add(left, right):\n    return left"
    for seed in range(20):
        changed = attack_text(Attack("space", rate=1, style="add", seed=seed), text, key="s1")
        assert changed == "def  add(left,  right):\n    return  left"


def test_a_distractor_is_added_at_the_end_and_answers_nothing() -> None:
    answers = r"\d|\b(yes|no|true|false|none|not|never|one|two|three|first|second|half|\w)\b"
    for sentence in DISTRACTORS:
        assert not re.search(answers, sentence, re.IGNORECASE)
        assert re.fullmatch(r"[A-Z][a-z ]+\.", sentence)
    for text in ("How many?", "How many?\n", "", "x\n```\ncode\n```"):
        changed = attack_text(Attack("distractor"), text, key="s1")
        assert changed.startswith(text)
        assert changed[len(text) :].strip() in DISTRACTORS
    assert attack_text(Attack("distractor", text="And true is true."), "Why?", key="s1") == "Why? And true is true."
    assert attack_text(Attack("distractor", text="B"), "a\n", key="s1") == "a\nB"
    assert attack_text(Attack("distractor", text="B"), "```\nx\n```", key="s1") == "```\nx\n```\nB"
    assert {attack_text(Attack("distractor"), "", key=f"{i}") for i in range(200)} == set(DISTRACTORS)


def test_only_the_field_of_a_row_is_attacked_and_a_paired_column_is_taken_as_it_is(tmp_path: Path) -> None:
    row = {"q": QUESTION, "text": "Ada has 3. ", "other": "How many?", "empty": " ", "a": 5}
    keys = {"prompt": "{{ text }}{{ q }}", "metric": "exact_match"}

    def attacked(**attack: Any) -> str | Messages:
        (sample,) = load_task("sums", file=write_task(tmp_path, rows=[row], **keys, attack=[attack])).samples
        (text,) = sample.attacked
        for seed in (attack.pop("seed", 0), 1):
            if "column" not in attack:
                whole = attack_text(Attack(**attack, seed=seed), row[attack.get("field", "q")], key=sample.id)
                assert (text == f"{row['text']}{whole}") == (seed == 0)
        return text

    assert attacked(kind="column", column="other", field="q") == "Ada has 3. How many?"
    assert attacked(kind="column", column="other") == "How many?"
    attacked(kind="case", field="q")
    for attack, message in (
        ({"kind": "column", "column": "empty", "field": "q"}, "column 'empty' holds ' ', not a text"),
        ({"kind": "column", "column": "no"}, "has no column 'no'; the row has q, text"),
        ({"kind": "typos", "field": "no"}, "has no column 'no'"),
        ({"kind": "typos", "field": "a"}, "column 'a' holds 5, not a text"),
    ):
        with pytest.raises(BadInput, match=re.escape(f"row 1 of the dataset: {message}")):
            attacked(**attack)


FAULTS: list[dict[str, Any]] = [
    {"kind": "typo"}, {"kind": "typos", "rate": 0}, {"kind": "typos", "column": "p"}, {"kind": "column"},
    {"kind": "column", "column": "p", "rate": 0.5}, {"kind": "distractor", "text": " "},
    {"kind": "distractor", "protect": "x"}, {"kind": "typos", "style": "upper"},
]  # fmt: skip


def faults_of(options: dict[str, Any]) -> None:
    raise KeyFaults(*(((name,), fault) for name, fault in parse_table(options, Attack).faults()))


def test_a_fault_names_its_key_and_the_mend(messages: SnapshotAssertion) -> None:
    assert {str(options): refused(KeyFaults, faults_of, options).faults for options in FAULTS} == messages
    ((key, fault),) = refused(KeyFaults, faults_of, {"kind": "typos", "protect": "("}).faults
    assert (key, fault.partition(": ")[0]) == (("protect",), "is not a regular expression")


def test_a_mark_stays_with_a_protected_letter_and_a_letter_before_an_unknown_character_stays() -> None:
    assert shape_of("ae\u0301b", "e").kinds == "A##A"
    assert shape_of("e\u0301b", "\u0301").kinds == "##A"
    assert [letter.span for letter in shape_of("ab\U0001f600").letters] == [(0, 1)]

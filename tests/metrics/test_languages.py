# ruff: noqa: RUF001 digits and punctuation of other scripts
"""Numbers as other languages write them, and words that hold a numeral and are no number."""

from __future__ import annotations

import pytest

from accgate.metrics.languages import LANGUAGES, in_english, language_of
from accgate.metrics.numbers import number_in, number_of

READ: dict[str, list[tuple[str, str | None]]] = {  # by language: a reply and its number; "" for a task that names none
    "de": [
        ("1.200", "1200"), ("Es sind 1.200.", "1200"), ("-1.200", "-1200"), ("1.234,56", "1234.56"), ("3,5", "3.5"),
        ("1.234.567,8", "1234567.8"), ("0,125", "0.125"), ("0.125", "0.125"), ("12.5", "12.5"), ("1,596", "1.596"),
        ("1,200", "1200"), ("1,234,567", "1234567"), ("1,234.56", "1234.56"), ("1'200", "1200"), ("1'234,5", "1234.5"),
        (r"\boxed{1.200{,}50}", "1200.5"), (r"1\,200{,}5", "1200.5"), ("12.05.2020", None), ("3.11.4", None),
        ("7 125 Euro", "7125"), ("5 600 und 7", "7"),
    ],
    "es": [("$1,596", "1596"), ("12 600,5", "12600.5")],
    "fr": [("1 250", "1250"), ("70\u202f000 €", "70000"), ("1\u00a0250,75", "1250.75"), ("12\u2009600", "12600")],
    "ru": [("12 600", "12600"), ("\u22121 200", "-1200"), ("2,5 км", "2.5"), ("1\u200a250", "1250")],
    "ja": [
        ("1万2000", "12000"), ("1万2,000円", "12000"), ("2億3千万", "230000000"), ("5千", "5000"),
        ("二百五", "205"), ("答え：百", "100"), ("答えは十八です。", "18"), ("答え：千二百", "1200"),
        ("１，２００", "1200"), ("百万", "1000000"),
    ],
    "zh": [
        ("一共有二百五十个苹果。", "250"), ("3.5万", "35000"), ("一万二", "12000"), ("二百零五", "205"),
        ("一千零一", "1001"),
        ("5千米", "5"), ("3千克", "3"), ("答案：八", "8"), ("答案是八个", "8"), ("**答案：** 八", "8"),
        ("答案是8", "8"),
        (r"答案是\boxed{八}", "8"), ("答案：18。这是唯一的办法。", "18"), ("一共18个，三角形", "18"),
        ("百分之五十", "50"),
        ("答案是一样的", None), ("十分", None), ("千万不要", None),
    ],
    "ko": [("7만 원", "70000"), ("1억 2천만", "120000000"), ("답은 8", "8")],
    "th": [("คำตอบคือ8", "8"), ("คำตอบ: ๑,๒๐๐", "1200")],
    "bn": [("উত্তর: ১,২০০", "1200")], "te": [("సమాధానం: ౧౮", "18")], "hi": [("१,००,०००", "100000")],
    "ar": [("١٬٢٠٠", "1200"), ("١،٢٠٠", "1200"), ("٣٫٥", "3.5")],
    "sw": [("Jibu: 1,200", "1200"), ("1.5", "1.5")], "en": [("1.200", "1.2"), ("1 234", "234"), ("3,5", "5")],
    "": [
        ("1.200", "1.2"), ("Antwort: 1.200", "1200"), ("La respuesta es 5.600", "5600"), ("Réponse : 1 250", "1250"),
        ("Ответ: 1 250,5", "1250.5"), ("The answer is 1.200", "1.2"), ("答え: 7万円です", "70000"),
        ("答案：十八", "18"),
        ("答案：二〇二四", "2024"), ("Antwort: 5. The answer is 1.200", "1.2"), ("CO2", None),
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", READ)
def test_a_number_is_read_as_a_reader_of_its_language_does(language: str) -> None:
    assert language in ("", *LANGUAGES)
    wrong = {text: answer for text, want in READ[language] if (answer := number_in(text, language=language)) != want}
    assert wrong == {}


def test_a_whole_text_of_ideograms_is_its_number_and_others_are_none() -> None:
    texts = {"十八": 18, "八": 8, "7万": 70000, "二〇二四": 2024, "十八个": None, "1.200": 1.2}
    assert {text: value and float(value) for text, value in ((text, number_of(text)) for text in texts)} == texts


def test_the_number_behind_the_first_mark_counts_before_the_last_one() -> None:
    texts = {
        "#### 72\nIt was checked in 2 ways.": "72", "#### 72\n\nHuman: 5 cats\n#### 5": "72",
        "#### **$1,200**\n3": "1200",
        "#### Step 2: 5 + 5 = 10": "10", "#### 2. Sum\nIt is 12": "12", "##### 3\n5": "5", "So #### 72\n\n3": "72",
        "The answer is 18.[1]": "18", "18 eggs.[1][2]": "18", "It is [18]": "18", "The answer:[18]": "18",
    }  # fmt: skip
    assert {text: number_in(text) for text in texts} == texts
    assert number_in("3 of 4\n#### 72", "first") == "3"


def test_long_texts_are_read_in_one_pass() -> None:
    for piece in ("十", "1万", "1 ", "111 ", "1.111", "答案", "1,", "#### ", "[1]", "억", "{,}1"):
        number_in(piece * 1_000, language="zh")
        number_in(piece * 1_000, language="de")


def test_english_stays_as_it_is() -> None:
    text = "The answer is 1,234.50; 12 600, 3,5 and 1.200."
    assert (in_english(text), in_english(text, "en"), language_of(text)) == (text, text, "en")

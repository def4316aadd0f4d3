# ruff: noqa: RUF001 quotation marks, full stops and letters of many languages
"""Which texts are one label, and which are not, whatever stands around them."""

import time

from hypothesis import given

from accgate.metrics import get
from accgate.metrics.forms import label_form, one_spelling
from tests.metrics.texts import TEXTS
from tests.support.cases import each

SAME = {
    "positive": [
        "**Positive**.", "**positive.**", "positive**", "- positive", "## Positive", "`positive", "((positive))",
        "„Positive“", "»positive«", "« positive »", "『positive』。", "positive।", "positive،", "¡positive!",
        "positive\u200b", ": positive", "positive:", "$positive$", "_positive_", "~~positive~~", "ＰＯＳＩＴＩＶＥ",
        "（positive）", '"Positive."', 'positive"', "positive)", "✅ **Positive!** 👍", "-> positive",
    ],
    "-1": ["\u22121", "\u20131", "-1.", "(-1)", "**-1**", "- 1", '"- 1"'],
    "<=50K": ["<=50k.", "≤50K", "<= 50K", "**≤ 50K**"],
    ">50K": ["> 50K", "`>50K`"],
    "C++": ["c++.", "(C++)", "**C++**"],
    ".NET": [".NET.", '".Net"'],
    "A-": ["A-.", "**A-**", "A\u2212"],
    "5*": ["5*.", "**5***", '"5*"'],
    "50%": ["50 %", "50%."],
    "$5": ["$ 5", "$5."],
    "1": ["1)", "(1)", "1."],
    "f(x)": ["f(x).", "`f(x)`"],
    "not-entailment": ["not\u2011entailment"],
    "n't": ["n’t"],
    "straße": ["STRASSE"],
    "élevé": ["E\u0301LEVE\u0301"],
    "kısa": ["KISA"],
    "iyi": ["İYİ"],
    "中性": ["「中性」", "中性。"],
    "सकारात्मक": ["सकारात्मक।"],
    "إيجابي": ["«إيجابي»", "إيجابي."],
    "+": ["**+**", '"+"'],
    "❤": ["\u2764\ufe0f"],
}  # fmt: skip
OTHER = [
    ("1", "-1"), (">50K", "<=50K"), ("C#", "C"), ("C++", "C"), ("A+", "A-"), ("+1", "-1"), ("5*", "5"),
    ("F#", "F"), ("B+", "B"), (".NET", "NET"), ("1.0", "10"), ("50%", "50"), ("$5", "£5"), ("a/b", "ab"),
    ("+", "-"), (":)", ":("), ("<3", "3"), ("R'", "R"), ("@x", "x"), ("!true", "true"), ("👍", "👎"), ("★★", "★"),
    ("±1", "1"), ("≠", "="), (".5", "5"), ("A*", "A"), ("...", "?!"), ("[0,10)", "(0,10]"),
    ("not_entailment", "not entailment"), ("a b", "ab"), ("👍 👎", "👎"), ("B♭", "B"),
]  # fmt: skip


@each(("label", "text"), [(label, text) for label, texts in SAME.items() for text in texts])
def test_what_stands_around_a_label_does_not_count(label: str, text: str) -> None:
    assert get("classification")(text, label) == 100


@each(("one", "other"), OTHER)
def test_signs_tell_labels_apart(one: str, other: str) -> None:
    for left, right in ((one, other), (f"**{one}**", other), (one, f'"{other}"')):
        assert get("classification")(left, right) == get("classification")(right, left) == 0


@given(TEXTS)
def test_a_label_that_says_something_is_never_an_empty_one(text: str) -> None:
    assert bool(label_form(text)) == bool(text.strip("\u200b").strip()) or not text.isprintable()
    assert one_spelling([text])(f" **{text}** ") == text or not any(map(str.isalnum, text))


def test_a_long_text_is_read_quickly() -> None:
    began = time.process_time()
    for filling in ("!", ").", "_", "*", "**x", "(", "'\"", "- ", "a)"):
        for text in ("A" + filling * 50_000, filling * 50_000 + "A", filling * 400):
            label_form(text)
    assert time.process_time() - began < 2

"""Which texts are one label, and which are not, whatever stands around them."""

import time

from hypothesis import given

from accgate.metrics import get
from accgate.metrics.forms import label_form, one_spelling
from tests.metrics.readings import READINGS
from tests.metrics.texts import TEXTS
from tests.support.cases import each


@each(("label", "text"), [(label, text) for label, texts in READINGS["labels"].items() for text in texts])
def test_what_stands_around_a_label_does_not_count(label: str, text: str) -> None:
    assert get("classification")(text, label) == 100


@each(("one", "other"), READINGS["other labels"])
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

"""The page of a history in a real browser: nothing is cut, covered or too wide, and axe finds no fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from accgate.history.file import history_of
from accgate.history.page import html_page
from tests.browser.axe import violations
from tests.browser.chromium import Page
from tests.history.made import point, run, season
from tests.support.cases import each

pytestmark = pytest.mark.browser

LONG = history_of(
    run(day, point(100.0 - day, "inconclusive", model=f"{'a-long-name-' * 4}@gpu=H200", task="a" * 60, gamma=None))
    for day in range(1, 29)
)


def show(page: Page, folder: Path, text: str, width: int) -> None:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8", errors="replace")
    page.size(width, 900, phone=width < 500)
    page.open(path)
    page.value("document.querySelectorAll('details').forEach((e) => e.open = true)")


@each("history", [season(28), history_of([run(1)]), LONG])
@each("width", [390, 1280])
def test_labels_neither_stick_out_nor_lie_on_each_other(page: Page, tmp_path: Path, history, width: int) -> None:
    show(page, tmp_path, html_page(history), width)
    assert page.label_faults() == []
    assert page.value("document.documentElement.scrollWidth") <= width
    assert not {"Log.entryAdded", "Runtime.exceptionThrown"} & {event["method"] for event in page.browser.events}


def test_axe_finds_no_violation_in_either_scheme(page: Page, tmp_path: Path) -> None:
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        show(page, tmp_path, html_page(season(28)), 1280)
        assert violations(page) == []


def test_the_marks_on_a_phone_are_large_enough_to_tell_apart(page: Page, tmp_path: Path) -> None:
    show(page, tmp_path, html_page(season(20)), 390)
    width = "document.querySelector('.chart {}').getBoundingClientRect().width"
    dot, cross, ring = (page.value(width.format(mark)) for mark in (".circle circle", ".cross path", "g .drift"))
    assert dot >= 4
    assert cross >= 7
    assert ring >= cross + 4

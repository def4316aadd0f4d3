"""The pull request's comment in a real browser, in GitHub's style: both schemes, desktop, phone, and what axe finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.axe import violations
from tests.browser.chromium import Page
from tests.browser.github import shown
from tests.report.kinds import kinds

pytestmark = pytest.mark.browser
# Parts that reach past the screen and do not scroll by themselves, and texts that their box cuts.
CUT = """[...document.querySelectorAll("main .markdown-body > *, details > *, td, th")].filter((part) => {
    const box = part.getBoundingClientRect(), scrolls = part.closest("table, pre");
    const cut = part.matches("td, th") && part.scrollWidth > part.clientWidth + 1;
    return (!scrolls && box.right > innerWidth + 1) || cut;
  }).map((part) => part.outerHTML.slice(0, 80))"""
# Where the third column of the table of checks ends, of what a phone shows.
THIRD = """(() => { const head = [...document.querySelectorAll("th")].find((cell) => cell.innerText === "Mean");
  return head ? head.getBoundingClientRect().right / innerWidth : 0; })()"""


def test_every_kind_of_comment_fits_in_both_schemes_and_on_a_phone(page: Page, tmp_path: Path) -> None:
    for name, kind in kinds().items():
        path = tmp_path / f"{name}.html"
        path.write_text(shown(kind.comment(), unfolded=True), encoding="utf-8")
        for scheme, width in (("light", 900), ("dark", 390)):
            page.size(width, 844, phone=width < 500)
            page.scheme(scheme)
            page.open(path)
            assert page.value("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            assert page.value(CUT) == [], (name, width)
            if name != "hostile":
                assert page.value(THIRD) <= 1.0, (name, width)
            assert len(page.texts("h3")) == 1


def test_axe_finds_no_serious_violation(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "comment.html"
    # GitHub lets tables scroll so; its renderer's `lang` of a block is read by its highlighter and taken away.
    theirs = ("scrollable-region-focusable", "color-contrast", "valid-lang")
    for name in ("mixed", "loosened", "log"):
        path.write_text(shown(kinds()[name].comment(), unfolded=True), encoding="utf-8")
        for scheme in ("light", "dark"):
            page.scheme(scheme)
            page.open(path)
            assert [fault for fault in violations(page, serious=True) if fault[0] not in theirs] == [], name

"""The pull request's comment in a real browser: both schemes, desktop and phone, and what axe finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accgate.guard.state import Guard, RuleChange
from accgate.report.comment import About, render_comment
from accgate.report.flips import flips_of_result
from tests.browser.axe import axe
from tests.browser.chromium import Browser, Page
from tests.browser.github import shown
from tests.report.html_pages import written_run

pytestmark = pytest.mark.browser
ABOUT = About("accgate", "accuracy.toml", "0" * 40, "https://github.com/org/repo/actions/runs/1")
LOOSER = RuleChange("gate.alpha", "0.05", "0.0001", "loosening", "only a larger drop fails", 3)


@pytest.fixture(params=["folded", "unfolded"])
def page(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The comment of a run with regressions, on a pull request that loosens the gate."""
    result = written_run(tmp_path / "run", 3, 200, lost=0.08)
    guard = Guard("loosened", (LOOSER,))
    body = render_comment(result, ABOUT, guard=guard, flips=flips_of_result(result, tmp_path / "run"))
    path = tmp_path / "comment.html"
    path.write_text(shown(body, unfolded=request.param == "unfolded"), encoding="utf-8")
    person = browser.person()
    page = Page(browser, person)
    page.open(path)
    yield page
    browser.forget(person)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 960])
def test_nothing_is_wider_than_the_screen_but_tables_that_scroll(page: Page, scheme: str, width: int) -> None:
    page.size(width, 800, phone=width < 500)
    page.scheme(scheme)
    page.reload()
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    wide = """[...document.querySelectorAll("main > *, details > *")]
      .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
      .map((part) => part.outerHTML.slice(0, 80))"""
    assert page.value(wide) == []
    assert "Regression" in page.text("h3")


def test_axe_finds_no_serious_violation(page: Page) -> None:
    source = axe()
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        page.reload()
        page.value(f"{source}; null")
        found = page.value(
            "axe.run(document).then((all) => all.violations.filter((v) => ['serious', 'critical'].includes(v.impact))"
            ".map((v) => [v.id, v.nodes.map((n) => n.html)]))"
        )
        ours = [fault for fault in found if fault[0] != "scrollable-region-focusable"]  # tables, as GitHub scrolls them
        assert ours == []

"""`accgate view` in a real browser: the page follows the records, runs no text of theirs, and ends in the report."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accgate.report.live.progress import Follower, checks_of
from accgate.report.live.server import Viewer
from tests.browser.axe import axe
from tests.browser.chromium import PATIENCE, Browser, Page
from tests.gates import Project, recorded_project, right_but

pytestmark = pytest.mark.browser
N = 40


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A run that is decided; a test takes its end away."""
    project = recorded_project(tmp_path, N)
    assert project.run(right_but(20, N)) == 1
    return project


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    person = browser.person()
    yield Page(browser, person)
    browser.forget(person)


def until(page: Page, condition: str) -> None:
    """Wait until an expression is true in the page, which may be another one by then."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(AssertionError):
            if page.value(condition):
                return
        time.sleep(0.05)
    raise AssertionError(condition)


def test_the_page_follows_the_records_and_then_shows_the_report(project: Project, page: Page) -> None:
    records, result = project.out / "m/sums.jsonl", project.out / "accgate.json"
    by_id = {line.split('"')[3]: line for line in records.read_text().splitlines()}
    lines = [by_id[id_] for id_ in project.ids()]
    decided = result.read_bytes()
    result.unlink()
    records.write_text("".join(f"{line}\n" for line in lines[:12]))
    checks, _ = checks_of(project.config)
    viewer = Viewer(Follower(project.out, checks), idle=60.0)
    thread = threading.Thread(target=viewer.serve, daemon=True)
    thread.start()
    page.size(390, 844, phone=True)
    page.call("Page.navigate", url=viewer.url)
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    assert page.texts("tbody td")[0] == "m / sums"
    assert "12 of at most 40" in page.texts("tbody td")[2]
    assert page.texts("tbody td")[5] == "-16.67 points (first 12)"
    assert "Not yet decided." in page.text("body")
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    page.call("Runtime.evaluate", expression=axe())
    assert page.value("axe.run().then(r => r.violations.map(v => v.id))") == []
    records.write_text("".join(f"{line}\n" for line in lines))
    until(page, "document.querySelector('tbody').textContent.includes('40 of at most 40')")
    result.write_bytes(decided)
    until(page, "location.pathname.endsWith('/report') && document.readyState === 'complete'")
    assert "sums" in page.text("body")

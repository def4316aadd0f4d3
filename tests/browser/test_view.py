"""`accgate view` in a real browser: the page follows the records, runs no text of theirs, and ends in the report."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from accgate.report.live.progress import Follower, checks_of
from accgate.report.live.server import Viewer
from tests.browser.axe import violations
from tests.browser.chromium import Page
from tests.support.gates import recorded_project, right_but

pytestmark = pytest.mark.browser
N = 40


def test_the_page_follows_the_records_and_then_shows_the_report(tmp_path: Path, page: Page) -> None:
    project = recorded_project(tmp_path, N)
    assert project.run(right_but(20, N)) == 1
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
    page.until("document.querySelectorAll('tbody tr').length === 1")
    assert page.texts("tbody td")[0] == "m / sums"
    assert "12 of at most 40" in page.texts("tbody td")[2]
    assert page.texts("tbody td")[5] == "-16.67 points (first 12)"
    assert "Not yet decided." in page.text("body")
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    records.write_text("".join(f"{line}\n" for line in lines))
    page.until("document.querySelector('tbody').textContent.includes('40 of at most 40')")
    result.write_bytes(decided)
    page.until("location.pathname.endsWith('/report') && document.readyState === 'complete'")
    assert "sums" in page.text("body")

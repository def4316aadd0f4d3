"""The HTML report in a real browser: it opens, sorts, filters and searches, fits, and lets nothing in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from accgate.report.flips import Flip
from accgate.report.html import viewer
from accgate.report.html.page import html_report
from accgate.report.html.viewer import SamplesFile
from accgate.result import Result
from accgate.stats.result import Interval
from tests.browser.axe import violations
from tests.browser.chromium import Browser, Page
from tests.report.hostile import hostile
from tests.report.html_pages import WORDS, write_samples, written_run
from tests.report.runs import groups_of, result_of, verdict_of
from tests.support.cases import each

pytestmark = pytest.mark.browser
CHECKS, N = 7, 300


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run of seven checks, the second of which passed and the third stopped early."""
    folder = tmp_path_factory.mktemp("run")
    result = written_run(folder, CHECKS, N, lost=0.08)
    early = written_run(folder, CHECKS, N, lost=0.08, early=True).checks[2]
    passed = replace(result.checks[1], verdict="pass")
    return folder, result_of(result.checks[0], passed, early, *result.checks[3:])


@pytest.fixture
def page(browser: Browser, person: str, run: tuple[Path, Result], tmp_path: Path) -> Page:
    folder, result = run
    return opened(browser, person, html_report(result, folder=folder), tmp_path)


def opened(browser: Browser, person: str, text: str, folder: Path) -> Page:
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    page = Page(browser, person)
    page.size(1200, 900)
    page.open(path)
    return page


def faults_said(page: Page) -> list[str]:
    """What the browser complained of."""
    events = page.browser.events
    said = [e["params"]["entry"]["text"] for e in events if e["method"] == "Log.entryAdded"]
    thrown = [str(e["params"]) for e in events if e["method"] == "Runtime.exceptionThrown"]
    return said + thrown


def names(page: Page) -> list[str]:
    return page.texts(".forest tbody tr:not([hidden]) .name a")


def unfolded(page: Page) -> None:
    page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def enter(page: Page, selector: str, text: str) -> None:
    page.value(f"document.querySelector({json.dumps(selector)}).select()")
    page.click(selector)
    page.type(text)


def test_it_opens_without_a_complaint_and_loads_nothing(page: Page) -> None:
    unfolded(page)
    assert faults_said(page) == []
    asked = [e["params"]["request"]["url"] for e in page.browser.events if e["method"] == "Network.requestWillBeSent"]
    assert {url.split(":")[0] for url in asked} <= {"file", "about"}
    assert len([url for url in asked if url.startswith("file")]) == 1
    assert page.value(f"document.querySelector('.before').innerText.includes({json.dumps(WORDS[0])})")


def test_the_overview_is_filtered_by_words_and_verdict(page: Page) -> None:
    everything = names(page)
    enter(page, "#q", "TASK-2")
    assert names(page) == ["task-2"]
    assert page.text("#live") == f"1 of {CHECKS} checks"
    page.value("document.querySelector('#q').select()")
    page.press("Backspace", 8)
    page.click("[data-k=pass]")
    assert names(page) == ["task-1"]
    page.click("[data-k=all]")
    assert names(page) == everything
    assert page.text("#live") == ""


def test_a_link_unfolds_its_check_and_takes_the_keyboard_there(page: Page) -> None:
    at = names(page).index("task-1")
    assert not page.value(f"document.querySelector('#check-{at}').open")
    page.click(".forest .name a", at)
    page.until(f"(document.activeElement.closest('details') || {{}}).id === 'check-{at}'")
    assert page.value(f"document.querySelector('#check-{at}').open")


IDS = "#check-0 .sample > summary code"


def first_flips(page: Page, run: tuple[Path, Result]) -> tuple[str, ...]:
    return next(verdict.flips for verdict in run[1].checks if verdict.task == names(page)[0])


def test_samples_are_filtered_searched_sorted_and_opened_on_a_phone(page: Page, run: tuple[Path, Result]) -> None:
    page.size(390, 844, phone=True)
    flips = first_flips(page, run)
    assert page.texts(IDS) == list(flips[:10])
    assert page.texts("#check-0 .sample[open] > summary code") == list(flips[:3])
    page.click("#check-0 .more .btn")
    assert page.texts(IDS) == list(flips[:60])
    assert page.value("document.activeElement === document.querySelectorAll('#check-0 .sample > summary')[10]")
    page.click("#check-0 [data-kind=all]")
    assert page.texts("#check-0 .chips [aria-pressed=true]") == [f"All {N}"]
    assert page.text("#check-0 .shown") == f"10 of {N}"
    enter(page, "#check-0 .find", flips[13])
    assert page.texts(IDS) == [flips[13]]
    assert page.text("#check-0 .shown") == "1 of 1 that match"
    page.click(IDS)
    page.until("document.querySelectorAll('#check-0 del').length && document.querySelector('#check-0 mark')?.innerText")
    assert page.texts("#check-0 mark") == [flips[13]]
    assert page.texts("#check-0 del") == ["100"]
    assert page.texts("#check-0 ins") == ["0"]
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    page.value("document.querySelector('#check-0 .find').select()")
    page.type("no such words")
    assert page.texts(IDS) == []
    page.value("document.querySelector('#check-0 .find').select()")
    page.press("Backspace", 8)
    page.value(
        "(s => { s.value = 'Id'; s.dispatchEvent(new Event('change')); })(document.querySelector('#check-0 .order'))"
    )
    assert page.texts(IDS) == sorted(page.texts(IDS))
    page.click(IDS, 4)
    page.press("j")
    page.press("j")
    page.press("k")
    assert page.value("document.activeElement === document.querySelectorAll('#check-0 .sample > summary')[5]")


def test_a_link_opens_its_sample_and_the_address_follows(page: Page, run: tuple[Path, Result]) -> None:
    key, flips = page.value("document.querySelector('#check-1 .samples').dataset.key"), run[1].checks
    sample = next(verdict.flips for verdict in flips if f"model/{verdict.task}" == key)[30]
    page.value(f"location.hash = 'check=' + encodeURIComponent({json.dumps(key)}) + '&filter=worse&sample={sample}'")
    page.until(f"document.activeElement.querySelector('code')?.textContent === {json.dumps(sample)}")
    assert page.value("document.activeElement.parentElement.open")
    page.click("#check-1 [data-kind=better]")
    assert page.value("location.hash").endswith("&filter=better")


def test_without_script_the_page_says_where_its_samples_are(browser: Browser, page: Page, tmp_path: Path) -> None:
    plain = Page(browser, page.person)
    plain.call("Emulation.setScriptExecutionDisabled", value=True)
    plain.open(tmp_path / "report.html")
    assert "This page lists all samples with JavaScript" in plain.text("#check-0 noscript")
    assert plain.text("h1")


@pytest.mark.parametrize("is_there", [True, False])
def test_texts_beside_the_page_are_loaded_from_the_disk_or_said_to_be_missing(
    browser: Browser, person: str, run: tuple[Path, Result], tmp_path: Path, is_there: bool
) -> None:
    folder, result = run
    samples_file = SamplesFile("report.samples.js")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewer, "TEXTS", 20_000)
        text = html_report(result, folder, samples_file)
    if is_there:
        (tmp_path / samples_file.name).write_text("".join(samples_file.parts), encoding="utf-8")
    page = opened(browser, person, text, tmp_path)
    page.value(f"location.hash = 'check=0&filter=worse&sample={first_flips(page, run)[-1]}'")
    said = "So the answer is 0", "The texts of this sample are not in this page."
    shown, missing = said if is_there else reversed(said)
    card = "document.activeElement.parentElement.innerText"
    page.until(f"{card}.includes({json.dumps(shown)})")
    assert missing not in page.value(card)
    assert ("That file is not here" in page.text("#check-0 .beside")) is not is_there
    assert not is_there or faults_said(page) == []


@each("width", [320, 768])
def test_no_width_scrolls_sideways_and_no_words_of_a_chart_are_cut_or_overlap(page: Page, width: int) -> None:
    page.size(width, 800, phone=width < 600)
    page.reload()
    unfolded(page)
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert page.value("document.querySelectorAll('svg.chart').length") >= CHECKS
    assert page.label_faults() == []


def test_paper_has_every_check_unfolded(page: Page) -> None:
    page.value("dispatchEvent(new Event('beforeprint'))")
    assert page.value("[...document.querySelectorAll('.lines > details, .fold')].every((one) => one.open)")
    page.value("dispatchEvent(new Event('afterprint'))")
    assert not page.value("document.querySelector('.lines details').open")
    assert len(page.call("Page.printToPDF")["data"]) > 10_000


SHOWN = "h1, h2, h3, .forest .name a, .forest .chg, .forest .ci, .lines summary > *, dd"
CUT = f"""[...document.querySelectorAll('{SHOWN}')]
  .filter((e) => e.getClientRects().length && getComputedStyle(e).display !== 'inline')
  .filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.outerHTML.slice(0, 120))"""
AXIS = """(() => {
  const boxes = [...document.querySelectorAll('.forest .axis text')].map((t) => t.getBoundingClientRect());
  boxes.sort((a, b) => a.left - b.left);
  return boxes.slice(1).filter((b, i) => b.left < boxes[i].right + 2).map((b) => b.left); })()"""


@each("checks", [1, 60])
def test_of_one_check_and_of_sixty_no_text_is_cut_and_nothing_overlaps(
    browser: Browser, person: str, tmp_path: Path, checks: int
) -> None:
    """All with long names and settings, and the first with groups."""
    lost = verdict_of("regression", groups=groups_of("law", "a group of a longer name", "z" * 60), difference=-8.0)
    settings = ("options.kv_cache_dtype: auto \u2192 fp8_e4m3", f"options.path: a \u2192 {'/models/long' * 12}")
    verdicts = [
        replace(
            lost if at == 0 else verdict_of("inconclusive" if at == 4 else "pass", difference=at % 7 - 3.0),
            model=f"{'a-model-of-a-long-name-' * (1 + at % 3)}{at % 2}", task=f"{'task_of_a_name_' * (1 + at % 4)}{at}",
            interval=Interval(-8.0, (-8.0, 8.0)), settings_changed=settings, sigma=30.0,
        ) for at in range(checks)
    ]  # fmt: skip
    result = replace(result_of(*verdicts), started="2026-11-22T07:04:00+00:00", seconds=700.0, prompt_tokens=3_900_000)
    page = opened(browser, person, html_report(result), tmp_path)
    for width in (390, 1280):
        page.size(width, 900, phone=width < 600)
        page.reload()
        unfolded(page)
        assert page.value("document.documentElement.scrollWidth <= innerWidth")
        assert [page.value(CUT), page.label_faults(), page.value(AXIS)] == [[], [], []]


def test_hostile_text_stays_text_wherever_it_stands(browser: Browser, person: str, tmp_path: Path) -> None:
    texts = hostile()
    flips = [Flip(f"{at}", text, text, text, text[::-1], 100.0, 0.0, text) for at, text in enumerate(texts)]
    write_samples(tmp_path, flips, own_id=texts[30], group=texts[31])
    bad = verdict_of("regression", flips=tuple(flip.id for flip in flips), reasons=(texts[31],))
    page = opened(browser, person, html_report(result_of(bad), tmp_path), tmp_path)
    for _ in range(len(texts) // 60 + 1):
        page.click("#check-0 .more .btn")
    unfolded(page)
    page.until(f"document.querySelectorAll('#check-0 .card').length === {len(texts)}")
    assert page.value("document.querySelectorAll('.card a, .card img, .card script, .card table').length") == 0
    for attack in (
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))",
    ):
        assert page.value(f"(() => {{ try {{ {attack}; return false; }} catch {{ return true; }} }})()"), attack
    assert page.value("fetch('http://127.0.0.1:9/').then(() => false, () => true)")
    assert page.value("document.documentElement.scrollWidth <= innerWidth")


def test_axe_finds_no_violation_in_either_scheme(page: Page) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        page.reload()
        unfolded(page)
        assert violations(page) == []
        colours.add(page.value("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2

"""The questionnaire's page in a real browser: filled in, kept, saved, loaded, imported; no script of an answer runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.chromium import Browser, Page
from tests.questionnaire.made import Made, answers
from tests.support.cases import each

pytestmark = pytest.mark.browser
RATER = "#rater"


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Made:
    return Made(tmp_path, capsys)


@pytest.fixture
def page(browser: Browser, person: str, made: Made) -> Page:
    """A tab with a questionnaire of three questions and two items."""
    (made.folder / "items.toml").write_text(
        '[[items]]\nid = "correct"\ntext = "It is correct."\n'
        '[[items]]\nid = "rude"\ntext = "It is rude."\nreversed = true\n',
        encoding="utf-8",
    )
    made.build("--items", made.folder / "items.toml", n=3)
    return opened(browser, person, made)


def opened(browser: Browser, person: str, made: Made) -> Page:
    page = Page(browser, person)
    page.size(1200, 900)
    page.open(made.page_path)
    return page


def rate(page: Page, level: int, number: int) -> None:
    """Click a level of the statement of that number on the question shown."""
    page.click("fieldset label", 5 * number + level - 1)


def rate_all(page: Page, level: int) -> None:
    for question in range(3):
        page.click("#places button", question)
        for number in range(4):
            rate(page, level, number)


def saved(page: Page) -> dict[str, Any]:
    page.click("#save")
    return dict(json.loads(page.downloaded().read_text(encoding="utf-8")))


def test_a_filled_in_page_is_kept_over_a_reload_saved_and_imported(page: Page, made: Made) -> None:
    page.click(RATER)
    page.type("Anna Ö")
    rate_all(page, 4)
    rate(page, 2, 3)  # the last one changed
    page.reload()
    assert page.value("document.querySelector('#rater').value") == "Anna Ö"
    assert page.text("#progress") == "12 of 12 ratings"
    assert page.text("#question") == "Question 3 of 3"
    assert page.value("document.querySelectorAll('fieldset')[3].querySelector(':checked').value") == "2"
    assert page.text("#missing").startswith("All 12 ratings are there.")
    page.click("#save")
    path = page.downloaded()
    assert path.name == "ratings-Anna-Ö.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    last = made.key["questions"][2]["answers"][1]["id"]
    assert data["ratings"] == {name: {"correct": 4, "rude": 2 if name == last else 4} for name in data["ratings"]}
    assert {*data} == {"kind", "questionnaire", "rater", "missing", "exported", "ratings"}
    stored = [page.value(what) for what in ("document.documentElement.outerHTML", "({...localStorage})")]
    text = json.dumps([data, *stored]).lower()
    telling = ('"reference"', '"candidate"', '"both"', "q0", "seed", "reversed")
    assert [word for word in telling if word in text] == [], "nothing tells the sides"
    assert made.judge(path)["judgement"]["raters"] == ["Anna Ö"]


def test_what_is_not_rated_is_shown_and_found(page: Page) -> None:
    assert page.text("#missing") == "12 ratings are missing, in questions 1, 2, 3."
    assert page.texts("fieldset .due") == ["not rated"] * 4
    rate_all(page, 4)
    page.click("#clear")
    assert page.browser.dialogs == ["Delete all ratings on this page?"]
    for number in range(4):
        rate(page, 5, number)
    assert page.text("#place") == "Question 1 of 3: all rated"
    page.click("#places button", 2)
    rate(page, 5, 0)
    assert page.text("#missing") == "7 ratings are missing, in questions 2, 3."
    places = page.value("[...document.querySelectorAll('#places button')].map(b => b.className)")
    assert places == ["done", "", "partly"]
    page.click("#places button", 0)
    page.click("#unanswered")
    assert page.text("#question") == "Question 2 of 3"
    assert page.value("document.activeElement.closest('fieldset').querySelector('.due').innerText") == "not rated"
    page.click(RATER)
    page.type("anna")
    assert page.text("#save") == "Download unfinished ratings"
    data = saved(page)
    assert data["missing"] == 7
    assert sum(map(len, data["ratings"].values())) == 5


def test_nothing_is_saved_without_a_name_and_the_page_says_so(page: Page) -> None:
    page.click("#save")
    assert page.text("#alarm").startswith("Enter your name or number first")
    assert page.value("document.activeElement.id") == "rater"
    assert page.value("document.activeElement.getAttribute('aria-invalid')") == "true"
    page.type("anna")
    assert page.text("#alarm") == ""
    assert saved(page)["rater"] == "anna"


def test_the_keyboard_alone_rates_everything(page: Page) -> None:
    page.value("document.querySelector('#rater').focus()")
    page.type("kim")
    for question in range(3):
        for _ in range(10):  # the places and the passages come first
            page.press("Tab", 9)
            if page.value("document.activeElement.type") == "radio":
                break
        for level in "5251":
            page.press(level)
        if question < 2:
            assert page.value("document.activeElement.id") == "next"
            page.press("Enter", 13)
            assert page.value("document.activeElement.id") == "question"
    assert page.text("#progress") == "12 of 12 ratings"
    assert page.value("document.activeElement.id") == "save"
    page.press("Enter", 13)
    data = json.loads(page.downloaded().read_text(encoding="utf-8"))
    assert sorted(tuple(levels.values()) for levels in data["ratings"].values()) == [(5, 1)] * 3 + [(5, 2)] * 3


def test_a_saved_file_is_loaded_again_and_another_is_refused(browser: Browser, page: Page, made: Made) -> None:
    page.click(RATER)
    page.type("anna")
    rate_all(page, 2)
    page.click("#save")
    path = page.downloaded()
    page.click("#clear")
    assert page.text("#progress") == "0 of 12 ratings"

    def load(file: Path) -> None:
        node = page.call("Runtime.evaluate", expression="document.querySelector('#load')")["result"]["objectId"]
        page.call("DOM.setFileInputFiles", files=[str(file)], objectId=node)

    load(made.rate("eve", {}, questionnaire="0" * 64))
    page.until("document.querySelector('#alarm').innerText")
    assert page.text("#alarm") == "That file holds no ratings of this questionnaire; nothing was changed."
    assert page.text("#progress") == "0 of 12 ratings"
    load(path)
    page.until("document.querySelector('#rater').value")
    assert page.text("#progress") == "12 of 12 ratings"
    assert page.text("#alarm") == ""
    assert page.value("document.querySelector('#rater').value") == "anna"


@each(
    "kept",
    ["null", "{", '{"ratings": []}', '{"place": 99, "rater": 7, "ratings": {"x": {"correct": 3}}}',
     '{"ratings": {"ID": {"correct": 9, "rude": "4", "constructor": 3}}}'],
)  # fmt: skip
def test_what_is_kept_but_damaged_is_left_out(page: Page, made: Made, kept: str) -> None:
    text = kept.replace("ID", made.key["questions"][0]["answers"][0]["id"])
    key = f"accgate-questionnaire:{made.key['questionnaire']}"
    page.value(f"localStorage.setItem({json.dumps(key)}, {json.dumps(text)})")
    page.reload()
    assert page.text("#progress") == "0 of 12 ratings"
    rate(page, 3, 0)
    assert page.text("#progress") == "1 of 12 ratings"


def test_two_questionnaires_keep_apart_and_two_tabs_keep_together(browser: Browser, page: Page, made: Made) -> None:
    rate(page, 3, 0)
    second = opened(browser, page.person, made)
    second.until("document.querySelector('#progress').innerText === '1 of 12 ratings'")
    rate(second, 3, 1)
    page.until("document.querySelector('#progress').innerText === '2 of 12 ratings'")
    made.build("--items", made.folder / "items.toml", n=3, seed=8)
    other = opened(browser, page.person, made)
    assert other.text("#progress") == "0 of 12 ratings"
    rate(other, 3, 0)
    page.until("Object.keys(localStorage).length === 2")  # the tabs' processes tell each other


HOSTILE = (
    "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">",
    "</script><script>document.title = 'ran'</script>",
    "<!--<script> \u2028 \u2029 ]]> &lt;b&gt; \u202e {{ 1 + 1 }}",
    "<style>body { display: none }</style><base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=x'>",
    "w" * 3000,
)


def test_hostile_texts_are_shown_as_they_are_and_nothing_runs_or_loads(
    browser: Browser, person: str, made: Made
) -> None:
    for side in ("reference", "candidate"):
        rows = answers(side, len(HOSTILE))
        made.write(side, [r | {"reply": f"{side} {t}", "prompt": f"{t}?"} for r, t in zip(rows, HOSTILE, strict=True)])
    made.build()
    page = opened(browser, person, made)
    page.size(375, 700, phone=True)
    shown = set()
    for question in range(len(HOSTILE)):
        page.click("#places button", question)
        shown |= set(page.value("[...document.querySelectorAll('.text')].map(e => e.textContent)"))
        assert page.value("document.querySelectorAll('main script, main img, main style, main base, meta').length") == 5
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), "an endless word stays in its box"
    assert shown == {f"{t}?" for t in HOSTILE} | {f"{s} {t}" for t in HOSTILE for s in ("reference", "candidate")}
    assert page.value("document.title") == "How good are these answers?"
    asked = [e["params"]["request"]["url"] for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert asked == [made.page_path.as_uri()]
    faults = [e for e in browser.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert not faults


@each("width", [320, 768, 1280])
def test_no_width_scrolls_sideways(page: Page, width: int) -> None:
    page.size(width, 700, phone=width < 600)
    page.reload()
    assert page.value("document.documentElement.scrollWidth <= innerWidth")
    assert page.value(
        "[...document.querySelectorAll('fieldset label')].every(e => e.getBoundingClientRect().width >= 44)"
    )
    beside = page.value("(([a, b]) => a.getBoundingClientRect().top === b.getBoundingClientRect().top)"
                        "([...document.querySelectorAll('.answer')])")  # fmt: skip
    assert beside == (width == 1280)


def test_radio_groups_have_their_statement_and_axe_finds_no_violation_in_either_scheme(page: Page) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    groups = [node["name"]["value"] for node in nodes if not node["ignored"] and node["role"]["value"] == "group"]
    assert sorted(groups) == [
        f"Answer {which}: It is {word}. not rated" for which in "AB" for word in ("correct", "rude")
    ]
    page.click("#places button", 1)
    rate(page, 3, 0)
    page.click("#save")
    for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(13, 17, 23)")):
        page.scheme(scheme)
        assert page.value("getComputedStyle(document.body).backgroundColor") == colour
        assert violations(page, serious=True) == []

"""The HTML report: one file, valid, that loads and runs nothing whatever stands in it."""

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from accgate.report import words
from accgate.report.flips import Flip, flips_of_result
from accgate.report.html import html_report
from accgate.result import read_result
from tests.gates import Project, right_but
from tests.report.hostile import hostile
from tests.report.runs import result_of, verdict_of

VOID = {"meta"}
TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr", "th",
        "td", "details", "summary", "code", "ul", "li", "footer"}  # fmt: skip
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "open"}


@dataclass
class Document(HTMLParser):
    """Tags, attributes and table rows of a page in which every tag is closed."""

    tags: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    rows: list[list[str]] = field(default_factory=list)
    policy: str = ""
    text: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def document(*args: Any) -> Document:
    text = html_report(*args)
    assert text.startswith("<!DOCTYPE html>\n<html lang")
    style = text.split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\s*\(|@import|//", style)
    found = Document()
    found.feed(text)
    found.close()
    assert not found._open
    assert set(found.tags) <= TAGS
    assert found.attributes <= ATTRIBUTES
    assert [found.tags.count(tag) for tag in ("html", "head", "body", "title", "h1")] == [1] * 5
    return found


@pytest.mark.parametrize("text", hostile()[::2])
def test_hostile_content_is_text_in_tables_of_the_same_shape(text: str) -> None:
    flips = [Flip(text or "id", text, text, text, text), Flip("b", None, None, None, None)]
    bad = verdict_of("regression", model=text, task=text, flips=("a", "b", "c"), reasons=(text, "second"))
    result = replace(result_of(bad, verdict_of("error", task=text, p_value=None)), beside=(bad,), correction=text)
    found = document(result, {(text, text): flips})
    assert [len(row) for row in found.rows] == [10] * 5 + [5] * 3
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b\ud800-\udfff]", found.text)
    assert html_report(result).encode()


def test_the_page_shows_headline_table_details_and_flips(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=100)
    project.record(right_but(0, 100), right_but(5, 100))
    assert project.run(right_but(30, 100), right_but(6, 100)) == 1
    result = read_result(project.out / "accgate.json")
    found = document(result, flips_of_result(result, project.out))
    assert words.headline(result) in found.text
    assert found.rows[0] == list(words.HEADINGS)
    assert found.rows[1:3] == [list(words.row(verdict)) for verdict in result.checks]
    assert len(found.rows) == 3 + 11
    for verdict in result.checks:
        assert words.sentence(verdict) in found.text
    assert "and 20 more; their ids are in accgate.json." in found.text


def test_the_policy_lets_nothing_but_the_style_in() -> None:
    found = document(result_of(verdict_of()))
    assert found.policy.split("; ") == [
        "default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip


def test_both_colour_schemes_are_there() -> None:
    text = html_report(result_of(verdict_of()))
    assert "prefers-color-scheme: dark" in text
    assert 'content="light dark"' in text


def test_checks_that_did_not_pass_are_unfolded() -> None:
    text = html_report(result_of(verdict_of(), verdict_of("regression", task="u")))
    assert text.count("<details>") == text.count("<details open>") == 1

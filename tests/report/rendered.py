"""HTML as tests read it, and what a Markdown report looks like once GitHub has rendered it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import cmarkgfm
from cmarkgfm.cmark import Options

if TYPE_CHECKING:
    from typing_extensions import Self

VOID = {"img", "source", "br", "hr", "meta", "input", "wbr"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
OMITTED = " raw HTML omitted "  # what cmark-gfm writes in place of HTML where that is not let through


@dataclass
class Reader(HTMLParser):
    """HTML in which every tag is closed: its tags and attributes, those that are open, and the text that is shown."""

    tags: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    text: str = ""
    open: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def read(self, text: str) -> Self:
        self.feed(text)
        self.close()
        assert not self.open
        return self

    def begin(self, tag: str, given: dict[str, str]) -> None:
        """Note a tag with its attributes."""

    def is_in(self, *tags: str) -> bool:
        return any(tag in tags for tag, _ in self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes |= set(given)
        self.begin(tag, given)
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag, f"</{tag}> closes another tag"

    def handle_comment(self, data: str) -> None:
        assert data == OMITTED, f"a comment: {data}"


@dataclass
class Page(Reader):
    """The rendered page; `text` is what stands outside of code, table cells are without zero-width spaces."""

    links: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    loose_dollars: bool = False  # a dollar sign that may begin a formula

    def begin(self, tag: str, given: dict[str, str]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "a":
            self.links.append(given.get("href", ""))
        elif tag == "pre":
            self.blocks.append("")
        elif tag in HEADINGS:
            self.headings.append("")

    def handle_data(self, data: str) -> None:
        if self.is_in("td", "th"):
            self.tables[-1][-1][-1] += data.replace("\u200b", "")
        if self.is_in("pre"):
            self.blocks[-1] += data
        if self.is_in(*HEADINGS):
            self.headings[-1] += data
        if not self.is_in("code"):
            self.text += data
            self.loose_dollars |= "$" in data and not self.is_in("span")


def page_of(markdown: str, *, html: bool = True) -> Page:
    """The page by GitHub's own renderer, HTML let through or not."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES if html else Options.CMARK_OPT_FOOTNOTES
    return Page().read(cmarkgfm.github_flavored_markdown_to_html(markdown, options))

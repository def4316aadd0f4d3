"""What a Markdown report looks like once GitHub has rendered it: tags, tables and text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

VOID = {"img", "source", "br", "hr"}
OMITTED = " raw HTML omitted "  # what cmark-gfm writes in place of HTML where that is not let through


@dataclass
class Page(HTMLParser):
    """The rendered page; `text` is what stands outside of code, table cells are without zero-width spaces."""

    tags: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    text: str = ""
    loose_dollars: bool = False  # a dollar sign that may begin a formula
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "a":
            self.links.append(dict(attrs).get("href") or "")
        elif tag == "pre":
            self.blocks.append("")
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data.replace("\u200b", "")
        if "pre" in self._open:
            self.blocks[-1] += data
        if {"h1", "h2", "h3", "h4", "h5", "h6"} & set(self._open):
            self.headings[-1] += data
        if "code" not in self._open:
            self.text += data
            self.loose_dollars |= "$" in data and "span" not in self._open

    def handle_comment(self, data: str) -> None:
        assert data == OMITTED, f"a comment: {data}"


def page_of(markdown: str, *, html: bool = True) -> Page:
    """The page by GitHub's own renderer, HTML let through or not; every tag that is opened must be closed."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES if html else Options.CMARK_OPT_FOOTNOTES
    page = Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options))
    page.close()
    assert not page._open
    return page

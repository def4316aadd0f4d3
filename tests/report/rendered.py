"""What a Markdown report looks like once GitHub has rendered it: tags, tables and text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt


@dataclass
class Page(HTMLParser):
    """The rendered page; `text` is what stands outside of code."""

    tags: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    tables: list[list[list[str]]] = field(default_factory=list)
    text: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
        if "code" not in self._open:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def page_of(markdown: str) -> Page:
    """The page of a report; every tag that is opened must be closed."""
    page = Page()
    page.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    page.close()
    assert not page._open
    return page

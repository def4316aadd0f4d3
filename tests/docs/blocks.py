"""The code of a page as GitHub's own Markdown parser finds it, and what the page says of running it.

A comment right before a block says how it is tested; a block without one runs in the folder of `scenes.py`:

    <!-- runs: no, REASON -->      only read: commands parse, TOML loads, Python compiles
    <!-- in: SCENE -->             the folder it runs in
    <!-- exits: 1 -->              what its last command of accgate exits with
    <!-- prints: yes -->           a block of text: what the command before it prints, lines between `...` left out
    <!-- toml: TABLE -->           the table that its keys belong to, such as models.m.options
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

ROOT = Path(__file__).parents[2]
SITE = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
LANGUAGES = {"sh", "toml", "python", "yaml", "json", "jinja", "text", "math"}
KEYS = {"runs", "in", "exits", "prints", "toml"}
OPTIONS = Options.CMARK_OPT_SOURCEPOS | Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG


@dataclass(frozen=True)
class Block:
    """A code block: its page and line, its language, and the comments before it."""

    page: str
    line: int
    language: str
    text: str
    notes: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return not self.notes.get("runs", "").startswith("no")


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.blocks: list[Block] = []
        self.spans: list[str] = []
        self._notes: dict[str, str] = {}
        self._open: tuple[int, str] | None = None
        self._span = False
        self._text = ""

    def handle_comment(self, data: str) -> None:
        key, colon, value = data.strip().partition(":")
        if colon and key in KEYS:
            self._notes[key] = value.strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "pre":
            self._open = (int((named.get("data-sourcepos") or "0").split(":")[0]), named.get("lang") or "")
            self._text = ""
        elif tag == "code" and self._open is None:
            self._span, self._text = True, ""
        elif tag != "code":
            self._notes = {}

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._open is not None:
            self.blocks.append(Block(self.page, *self._open, self._text, dict(self._notes)))
            self._open, self._notes = None, {}
        elif tag == "code" and self._span:
            self.spans.append(self._text)
            self._span = False


@cache
def read(page: Path) -> _Reader:
    """The blocks and the inline code of a page."""
    reader = _Reader(str(page.relative_to(ROOT)))
    reader.feed(cmarkgfm.github_flavored_markdown_to_html(page.read_text(encoding="utf-8"), options=OPTIONS))
    return reader


def blocks(*languages: str) -> list[Block]:
    """Every block of every page in these languages."""
    return [block for page in PAGES for block in read(page).blocks if not languages or block.language in languages]


def commands(block: Block) -> list[str]:
    """The commands of a shell block, a line each, without comments; a backslash joins lines."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]

"""Strings that try to be more than text in a comment on GitHub, and what must never come of them."""

import random
import re

from tests.report.rendered import Page

SHA = "da39a3ee5e6b4b0d3255bfef95601890afd80709"
ATOMS = [
    "@octocat", "@org/team", "mail@example.org", "&#64;octocat", "\\@octocat", "#12", "&#35;12", "GH-12", "_GH-12",
    "[text](http://evil.example)", "![image](http://evil.example/x.png)", "[a]: http://evil", "<http://evil.example>",
    "https://evil.example", "WWW.evil.example", "mailto:mail@example.org", SHA, SHA[:7], f"org/repo@{SHA}",
    "<a href='http://evil.example'>x</a>", "<script>alert(1)</script>", "</details>", "</code>", "</table>", "<!-- ",
    "-->", "<!-- accgate 0 verdict=pass -->", "]]>", "<?php", "|", "|---|", "\\|", "`", "``", "```\ncode\n```",
    "```mermaid\ngraph TD\n```", "~~~", "\n", "\r\n", "\n\n# heading\n", "heading\n===", "\n---\n", "\u2028", "\x85",
    "\t", "    indented", "* item", "- item", "+ item", "-", "1. item", "1) item", "7.", "=", "> quote",
    "> [!WARNING]", "**bold**", "__bold__", "~~gone~~", "$x^2$", "$`x^2`$", ":tada:", ":+1:", "\\", "\\\\",
    "\u202e reversed", "\u2066 isolated", "\u200d", "\x00", "\x1b[31mred", "\x1b]8;;http://evil.example\x07x", "\ud800",
    "&lt;b&gt;", "&", "<", "{{ 7 * 7 }}", "{% raw %}", "[^1]", "[^1]: note", "- [ ] task", "::error file=a::b",
    "##[error]x", "x" * 5_000, "e" + "\u0301" * 500, "\u20dd", "\u05d0\u05d1 rtl", "", " ", "/accgate accept x",
]  # fmt: skip


def hostile() -> list[str]:
    """Each atom, and random mixtures of them, 120 in all."""
    draw = random.Random(20261121)
    mixed = ["".join(draw.choices([*ATOMS, " "], k=draw.randint(2, 8))) for _ in range(120 - len(ATOMS))]
    return ATOMS + mixed


TAGS = {"h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li", "details", "summary", "code", "sub",
        "span", "strong", "pre"}  # fmt: skip
LINKED = re.compile(
    r"@\w|#\d|gh-\d|www\.\w|://|:[\w+-]+:|\b[0-9a-f]{7,40}\b|[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", re.IGNORECASE
)


def assert_inert(page: Page, *, links: tuple[str, ...] = ()) -> None:
    """Nothing of the content became markup, and nothing is left that GitHub's second look makes a link of."""
    assert set(page.tags) <= TAGS | ({"a"} if links else set())
    assert page.attributes <= {"align"} | {"href" for _ in links} | ({"lang"} if page.blocks else set())
    assert set(page.links) <= set(links)
    assert not (found := LINKED.search(page.text)), found
    assert not page.loose_dollars


def assert_no_command(markdown: str) -> None:
    """GitHub's runner finds nothing to obey where the text is printed to a log."""
    assert "::" not in markdown
    assert "##[" not in markdown

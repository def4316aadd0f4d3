"""A Markdown comment as GitHub shows it: its own renderer, and its own style as npm's github-markdown-css has it."""

from __future__ import annotations

import cmarkgfm
from cmarkgfm.cmark import Options

from tests.browser.axe import from_npm

PACKAGE = "github-markdown-css@5.8.1"
FRAME = """
body { margin: 0; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; } }
main { max-width: 860px; margin: 0 auto; padding: 16px; }
.markdown-body { font-size: 14px; }
"""


def shown(body: str, *, unfolded: bool = False, width: int | None = None) -> str:
    """A page with the comment, its details open or not; `width` of the text, as a conversation has, in pixels."""
    html = cmarkgfm.github_flavored_markdown_to_html(body, options=Options.CMARK_OPT_UNSAFE)
    if unfolded:
        html = html.replace("<details>", "<details open>")
    style = (from_npm(PACKAGE) / "github-markdown.css").read_text(encoding="utf-8") + FRAME
    style += "" if width is None else f"main {{ max-width: {width}px; }}"
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f'<meta name="color-scheme" content="light dark"><title>A comment</title><style>{style}</style>'
    main = f'<main><div class="markdown-body">{html}</div></main>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{main}</body></html>'

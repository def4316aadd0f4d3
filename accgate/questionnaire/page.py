"""The page that people rate on: one HTML file with all its style, code and data, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

# In a script element these could end it or begin a comment; in JSON the escapes mean the same.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def page_html(page: dict[str, Any]) -> str:
    """The page as a whole HTML text, in ASCII.

    Prompts and answers can hold anything: they are data for the page's script, which shows them as text. The policy
    lets no other script or style run, and nothing load.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("accgate.questionnaire"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=True, keep_trailing_newline=True,
    )  # fmt: skip
    style, script = _part("page.css"), _part("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    html = environment.get_template("page.html.j2").render(
        policy=policy, style=Markup(style), script=Markup(script), data=Markup(embedded(page)),
        title=page["title"], language=page["language"],
    )  # fmt: skip
    return html.encode("ascii", "xmlcharrefreplace").decode()


def embedded(value: Any) -> str:
    r"""JSON that a script element can hold: plain ASCII in which no text can end the element.

    >>> embedded({"answer": "</script>"})
    '{"answer": "\\u003c/script\\u003e"}'
    """
    return "".join(ESCAPES.get(character, character) for character in json.dumps(value))


def _part(name: str) -> str:
    text = files("accgate.questionnaire").joinpath("templates", name).read_text(encoding="ascii")
    return "\n" + text


def _hash(text: str) -> str:
    """A text as the page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

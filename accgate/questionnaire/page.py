"""The page that people rate on: one HTML file with all its style, code and data, which loads nothing."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from accgate.report import embed, policy_hash


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
        f"default-src 'none'; script-src {policy_hash(script)}; style-src {policy_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    html = environment.get_template("page.html.j2").render(
        policy=policy, style=Markup(style), script=Markup(script), data=Markup(embed(page)),
        title=page["title"], language=page["language"],
    )  # fmt: skip
    return html.encode("ascii", "xmlcharrefreplace").decode()


def _part(name: str) -> str:
    text = files("accgate.questionnaire").joinpath("templates", name).read_text(encoding="ascii")
    return "\n" + text

"""HTML pages of one file in which no text can become markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from accgate.report.charts.svg import percent, pixel
from accgate.text import clip, visible

if TYPE_CHECKING:
    from jinja2 import Template

# In a script element these could end it or begin a comment; in JSON the escapes mean the same.
ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@cache
def page_template(package: str, name: str) -> Template:
    """Compile a template of a package, which escapes each value."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, "accgate.report"))]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        finalize=_on_one_line,
    )
    environment.globals |= {"clip": clip, "percent": percent, "pixel": pixel}
    return environment.get_template(name)


def whole_page(package: str, name: str, *, style: str, script: str = "", nonce: str = "", **values: Any) -> str:
    """Fill a page whose policy lets only its own style and script run.

    The page may load nothing, except for one script element with the `nonce`.
    """
    from markupsafe import Markup

    loads = f" 'nonce-{nonce}'" if nonce else ""
    runs = f"script-src {policy_hash(script)}{loads}; " if script else ""
    types = "; require-trusted-types-for 'script'; trusted-types 'none'" if script else ""
    policy = f"default-src 'none'; {runs}style-src {policy_hash(style)}; base-uri 'none'; form-action 'none'{types}"
    parts = {"policy": policy, "style": Markup(style), "script": Markup(script), "markup": Markup}
    return page_template(package, name).render(**values, **parts).rstrip() + "\n"


def page_parts(package: str, *names: str) -> str:
    """Read styles or scripts from the templates of a package."""
    folder = files(package).joinpath("templates")
    return "".join("\n" + folder.joinpath(name).read_text(encoding="ascii") for name in names)


def _on_one_line(value: Any) -> Any:
    """Put a text on one line, without characters that turn or hide others.

    Markup stays as it is.
    """
    return visible(value) if type(value) is str else value


def embed(value: Any) -> str:
    r"""Write a value as JSON for a script element.

    No text in the value can end the element.

    >>> embed({"answer": "</script>"})
    '{"answer": "\\u003c/script\\u003e"}'
    """
    return json.dumps(value).translate(ESCAPES)


def policy_hash(text: str) -> str:
    """Return the hash by which a page's policy allows a script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

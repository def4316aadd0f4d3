"""The Markdown report, from Jinja templates that the pull-request comment uses too."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from accgate.decide import Verdict
from accgate.report import words
from accgate.report.flips import Flip, excerpt, opening
from accgate.result import Result

FlipsByCheck = Mapping[tuple[str | None, str | None], Sequence[Flip]]


def render(result: Result, flips: FlipsByCheck | None = None) -> str:
    """The report of a run as GitHub-flavoured Markdown.

    Names, prompts and replies can hold anything: each is escaped so that it shows as text.
    """
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=PackageLoader("accgate.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(cell=cell, code=code)
    checks = [_check(verdict, (flips or {}).get((verdict.model, verdict.task), ())) for verdict in result.checks]
    text: str = environment.get_template("report.md.j2").render(
        result=result,
        symbol=words.SYMBOLS[result.verdict],
        headline=words.headline(result),
        headings=words.HEADINGS,
        checks=checks,
    )
    return text.rstrip() + "\n"


def _check(verdict: Verdict, flips: Sequence[Flip]) -> dict[str, Any]:
    """What the template shows of one check."""
    return {
        "verdict": verdict,
        "name": words.name_of(verdict),
        "row": words.row(verdict),
        "sentence": words.sentence(verdict),
        "changed": words.changed(verdict),
        "drifted": words.drifted(verdict),
        "reasons": verdict.reasons if verdict.p_value is not None else (),  # the sentence has them else
        "flips": [
            {
                "id": flip.id,
                "prompt": excerpt(flip.prompt),
                "expected": opening(flip.expected),
                "before": opening(flip.before),
                "got": opening(flip.got),
            }
            for flip in flips
        ],
        "more_flips": len(verdict.flips) - len(flips),
    }


# GitHub looks for mentions, references and bare addresses once more where entities are already characters again
# (github/cmark-gfm issue 181): a zero-width space within them stops that. One before a list marker or rule does too.
LINKED = re.compile(
    r"(?<=&#64;)|(?<=&#35;)|(?<=&#58;)(?=&#47;)|(?<=\bGH)(?=-\d)|(?<=\bwww)(?=\.)|^(?=-[-\s]|\d+\.(?:\s|$))",
    re.IGNORECASE,
)
ACTIVE = str.maketrans({c: f"&#{ord(c)};" for c in "\\`*_{}[]()#+!$|~@:/<>&\"'"})


def cell(text: Any) -> str:
    """Any text as inert text of a Markdown table cell: no markup, mention, link, HTML or line break is left.

    >>> cell("a|b @team <b>")
    'a&#124;b &#64;&#8203;team &#60;b&#62;'
    """
    return LINKED.sub("&#8203;", words.visible(str(text)).translate(ACTIVE))


def code(text: Any) -> str:
    """Any text as an HTML code span, which Markdown leaves alone.

    >>> code("`x` | <b>")
    '<code>&#96;x&#96; &#124; &#60;b&#62;</code>'
    """
    line = cell(text)
    return f"<code>{line}</code>" if line else html.escape("(empty)")

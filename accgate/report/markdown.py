"""The Markdown report, and any text made inert in Markdown; the pull-request comment uses the same templates."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from accgate.report import words
from accgate.report.groups import GROUP_HEADINGS
from accgate.report.story import headline_of
from accgate.report.views import ROOMS, FlipsByCheck, Room, checks_of, shorten_result
from accgate.text import clip, number, signed, visible
from accgate.verdict import other_rules

if TYPE_CHECKING:
    from accgate.evaluation import EvaluatedCheck
    from accgate.planning import Check
    from accgate.report.sandbox import InertEnvironment
    from accgate.result import Result


GROUPS = 300  # rows of a table of groups at most; a decision makes no more


def render_markdown(result: Result, flips: FlipsByCheck | None = None) -> str:
    """The report of a run as GitHub-flavoured Markdown.

    Names, prompts and replies can hold anything: each is escaped so that it shows as text.
    """
    return fill_template(values_of(result, flips or {}, replace(ROOMS[0], groups=GROUPS)), "report.md.j2")


def values_of(result: Result | None, flips: FlipsByCheck, room: Room) -> dict[str, Any]:
    """The variables of a template that are about the run."""
    short = None if result is None else shorten_result(result, room)
    views = None if result is None or short is None else checks_of(result, short, flips, room)
    symbol, text = headline_of(short)
    standing_out = [view for view in views.rows if view.standing_out is not None] if views else []
    return {
        "result": short,
        "symbol": symbol,
        "headline": text,
        "headings": words.HEADINGS,
        "rows": views.rows if views else (),
        "checks": views.details if views else (),
        "passed_left_out": views.passed_left_out if views else 0,
        "others_left_out": views.others_left_out if views else 0,
        "beside_words": ("", "") if result is None else other_rules(result.rules),
        "beside": views.beside if views else (),
        "group_headings": GROUP_HEADINGS,
        "group_lines": standing_out[: room.group_lines],
        "group_lines_left_out": len(standing_out[room.group_lines :]),
        "beside_left_out": views.beside_left_out if views else 0,
        "cost": words.cost(short) if short else None,
        "saved": words.savings(short) if short else None,
        "legend": f"{words.legend(short)} {words.GAUGES}" if short else "",
        "version": short.accgate if short else "",
        "left_out": False,
    }


def fill_template(values: Mapping[str, Any], name: str, template: str | None = None) -> str:
    """The text of one of our templates, or of a repository's own, with these values.

    Raises
    ------
    accgate.report.sandbox.TemplateFault
        When the repository's template cannot be used.
    """
    from accgate.report.sandbox import render_apart

    text = environment().get_template(name).render(values) if template is None else render_apart(template, values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def environment() -> InertEnvironment:
    """The environment of all Markdown templates; what they print is inert text."""
    from markupsafe import Markup

    from accgate.report.sandbox import InertEnvironment

    filters = {
        "code": lambda text: Markup(code("-" if text is None else text)),
        "fenced": lambda text, language="text": Markup(fence(text, language)),
        "number": number,
        "signed": signed,
    }
    return InertEnvironment(cell, filters)


# GitHub looks for mentions, references, commits, emoji and bare addresses once more where entities are already
# characters again (github/cmark-gfm issue 181): a zero-width space within them stops that. One before a list marker
# or rule does too.
LINKED = re.compile(
    r"(?<=[@#])|(?<=:)(?=[/\w+-]|$)|(?<=GH)(?=-\d)|(?<=www)(?=\.)|^(?=-(?:[-\s]|$)|\d+\.(?:\s|$))", re.IGNORECASE
)
COMMIT = re.compile(r"[0-9a-f]{7,}", re.IGNORECASE)
ACTIVE = str.maketrans({c: f"&#{ord(c)};" for c in "\\`*_{}[]()#+!|~@:/<>&\"'="} | {"\u200b": "&#8203;"})
MARKS = 4  # combining marks on one letter: more would cover the lines around it


def cell(text: Any) -> str:
    """Any text as inert text of a Markdown table cell: no markup, mention, link, HTML or line break is left.

    >>> cell("a|b @team <b>")
    'a&#124;b &#64;&#8203;team &#60;b&#62;'
    """
    # GitHub's documentation: a dollar sign that begins no formula stands in span tags.
    return _inert(text).replace("$", "<span>&#36;</span>")


def code(text: Any) -> str:
    """Any text as an HTML code span, which Markdown leaves alone.

    >>> code("`x` | <b>")
    '<code>&#96;x&#96; &#124; &#60;b&#62;</code>'
    """
    line = _inert(text, commits=False).replace("$", "&#36;")  # an id is there to be copied, and is no link there
    return f"<code>{line}</code>" if line else html.escape("(empty)")


def _inert(text: Any, *, commits: bool = True) -> str:
    line = visible(str(text))
    if not line.isascii():
        line = _few_marks(line)
    if commits:
        line = COMMIT.sub(lambda match: "\u200b".join(re.findall(".{1,6}", match[0])), line)
    return LINKED.sub("\u200b", line).translate(ACTIVE)


def _few_marks(line: str) -> str:
    letters: list[str] = []
    for c in line:
        if (
            not unicodedata.combining(c)
            or not all(map(unicodedata.combining, letters[-MARKS:]))
            or len(letters) < MARKS
        ):
            letters.append(c)
    return "".join(letters)


ANSI = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)")


def tail(log: str, lines: int, width: int = 300) -> str:
    """The last lines of a log as plain text: without colours, control characters and overwritten progress.

    >>> tail("loading\\n 10%\\r100%\\n\\x1b[31mout of memory\\x1b[0m\\n", 2)
    '100%\\nout of memory'
    """
    last: list[str] = []
    for line in reversed(log[-lines * width * 4 :].split("\n")):
        plain = ANSI.sub("", line.rstrip().rsplit("\r", 1)[-1]).replace("\t", "    ")
        if plain.strip() and len(last) < lines:
            text = clip(plain, width, " …")
            last.append("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
    return "\n".join(reversed(last))


def fence(text: str, language: str = "text") -> str:
    """Any text as a fenced block that it cannot end, and in which GitHub's runner finds no command.

    >>> fence("a ``` b").splitlines()[0]
    '````text'
    """
    inert = text.replace("::", ":\u200b:").replace("##[", "##\u200b[")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", inert)), default=0))
    return f"{fence}{language}\n{inert}\n{fence}"


INTERRUPTED_HEADINGS = ("Model", "Task", "Evaluated", "Failed")


def interrupted_report(checks: Sequence[Check], evaluated: Sequence[EvaluatedCheck]) -> str:
    """The Markdown report of a run that was stopped, without a mean: what finished first is no random subset."""
    done = {(item.check.model, item.check.task.name): item for item in evaluated}
    lines = [
        "## ⚠️ Interrupted: no verdict",
        "",
        "The run was stopped before its end. All finished samples are recorded; `accgate run --resume` continues it.",
        "",
        "| " + " | ".join(INTERRUPTED_HEADINGS) + " |",
        "|" + " --- |" * len(INTERRUPTED_HEADINGS),
    ]
    for check in checks:
        item = done.get((check.model, check.task.name))
        evaluation = None if item is None else item.evaluation
        count, failed = (len(evaluation.records), len(evaluation.failed)) if evaluation is not None else (0, 0)
        total = check.n * check.repeats
        cells = (cell(check.model), cell(check.task.name), f"{count:,} of {total:,}", f"{failed:,}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"

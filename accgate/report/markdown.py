"""The Markdown report, and the escaping that makes any text inert in Markdown."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from accgate.report import words
from accgate.report.flips import FlipsByCheck, first_answers, opening
from accgate.report.forest import text_plot
from accgate.report.limits import LIMITS, Limits, shorten_result
from accgate.report.story import story_of, worst_first
from accgate.report.views import FIGURE_HEADINGS, GROUP_HEADINGS, HEADINGS, Checks, checks_of
from accgate.text import clip, number, signed_number, visible
from accgate.verdict.paragraphs import other_rules

if TYPE_CHECKING:
    from accgate.evaluation.outcome import EvaluatedCheck
    from accgate.planning.checks import Check
    from accgate.report.sandbox import InertEnvironment
    from accgate.result import Result


GROUPS = 300  # rows of a table of groups at most; a decision makes no more


def render_markdown(result: Result, flips: FlipsByCheck | None = None) -> str:
    """Render the report of a run as GitHub-flavoured Markdown.

    Names, prompts and replies can hold anything: each is escaped so that it shows as text.
    """
    values = values_of(result, flips or {}, replace(LIMITS[0], groups=GROUPS)) | {"shows_flips": True}
    return fill_template(values, "report.md.j2")


def values_of(
    result: Result | None, flips: FlipsByCheck, limits: Limits, *, answers_commands: bool = False
) -> dict[str, Any]:
    """Return the variables that templates of report and comment share."""
    short = None if result is None else shorten_result(result, limits)
    views = Checks() if result is None or short is None else checks_of(result, short, flips, limits)
    story = story_of(short, answers_commands=answers_commands)
    answers = first_answers(worst_first(result.decided), flips) if result is not None and limits.answers else None
    if answers is not None:
        answers = replace(answers, check=opening(answers.check, limits.names), rows=answers.rows[: limits.answers])
    standing_out = [view for view in views.rows if view.standing_out is not None]
    return vars(views) | {
        "result": short,
        "symbol": story.headline.symbol,
        "headline": story.headline.text,
        "sentences": tuple(opening(line, 2 * limits.reasons) for line in story.sentences),
        "steps": story.steps,
        "headings": HEADINGS,
        "figure_headings": FIGURE_HEADINGS,
        "answers": answers,
        "plot": text_plot(story.checks) if limits.plot else None,
        "alone": len(story.checks) == 1,
        "passed": short is not None and story.lead is not None and story.lead.verdict == "pass",
        "shows_flips": False,
        "waits": False,
        "beside_words": ("", "") if result is None else other_rules(result.rules),
        "group_headings": GROUP_HEADINGS,
        "group_lines": standing_out[: limits.group_lines],
        "group_lines_left_out": len(standing_out[limits.group_lines :]),
        "collapse_lines": [view for view in views.rows if view.collapsed][: limits.group_lines],
        "drift_lines": tuple(view for view in views.rows if view.verdict.drift and view.verdict.drift.detected),
        "cost": words.cost(short) if short else None,
        "saved": words.savings(short) if short else None,
        "legend": words.figures_legend(short) if short else "",
        "version": short.accgate if short else "",
        "left_out": False,
    }


def fill_template(values: Mapping[str, Any], name: str, template: str | None = None) -> str:
    """Fill one of our templates, or a repository's own, with these values.

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
    """Return the environment of all Markdown templates, which escapes what they print."""
    from markupsafe import Markup

    from accgate.report.sandbox import InertEnvironment

    filters = {
        "code": lambda text: Markup(code("-" if text is None else text)),
        "summary": lambda text: Markup(summary("-" if text is None else text)),
        "fenced": lambda text, language="text": Markup(fence(text, language)),
        "number": number,
        "signed": signed_number,
    }
    return InertEnvironment(cell, filters)


# GitHub looks for mentions, references, commits, emoji and bare addresses once more where escapes are already
# characters again (github/cmark-gfm issue 181): a zero-width space within them stops that. One before a list marker
# or rule does too, and one between two colons hides a command from GitHub's runner.
LINKED = re.compile(
    r"(?<=[@#])|(?<=:)(?=[:/\w+-]|$)|(?<=GH)(?=-\d)|(?<=www)(?=\.)|^(?=[-+=](?:[-+=\s]|$)|\d+[.)](?:\s|$))",
    re.IGNORECASE,
)
COMMIT = re.compile(r"[0-9a-f]{7,}", re.IGNORECASE)
# What Markdown would read as markup: an underscore within a word and a star between spaces are none.
ACTIVE = re.compile(r"[\\`\[\]|~]|(?<![^\W_])_+|_+(?![^\W_])|(?<!\s)\*+|(?<=\s)\*+(?!\s)|^\*+|\*+$")
# The same in a line that is HTML, where Markdown is not read, and in one that is not.
HTML = re.compile(r"<(?=[a-z/!?]|$)|&(?=#|\w|$)|^>|(?<=--)>", re.IGNORECASE)
ENTITIES = {"<": "&lt;", "&": "&amp;", ">": "&gt;"}
MARKS = 4  # combining marks on one letter: more would cover the lines around it


def cell(text: Any) -> str:
    """Make any text inert in a paragraph, list or table cell of Markdown.

    No markup, mention, link, HTML or line break is left, and the source stays readable. Never use it for an attribute
    of a tag.

    >>> cell("mmlu_pro: a|b, 3 * 4 <b>")
    'mmlu_pro: a\\\\|b, 3 * 4 &lt;b>'
    """
    line = ACTIVE.sub(lambda match: "".join(f"\\{c}" for c in match[0]), _inert(text))
    # GitHub's documentation: a dollar sign that begins no formula stands in span tags.
    return line.replace("$", "<span>$</span>")


def summary(text: Any) -> str:
    """Make any text inert within a line of HTML.

    The summary of a fold is such a line. There Markdown's backslashes would show.

    >>> summary("mmlu_pro *x* <b>")
    'mmlu_pro *x* &lt;b>'
    """
    return _inert(text).replace("$", "<span>$</span>")


def code(text: Any) -> str:
    """Write any text as a code span.

    A text that would end a span of Markdown, or divide a table cell, becomes an HTML element.

    >>> code("kv_cache_dtype"), code("`x` | <b>")
    ('`kv_cache_dtype`', '<code>&#96;x&#96; &#124; &lt;b&gt;</code>')
    """
    line = _few_marks(visible(str(text)))
    if not line:
        return "(empty)"
    if not any(c in line for c in "`|$\u200b") and "::" not in line and "##[" not in line:
        return f"`{line}`"  # an id is there to be copied, and is no link there
    line = LINKED.sub("\u200b", line)
    return f"<code>{html.escape(line, quote=False).translate(IN_CODE)}</code>"


IN_CODE = str.maketrans({c: f"&#{ord(c)};" for c in "\\`*_{}[]()#+!|~@:/=$"} | {"\u200b": "&#8203;"})


def _inert(text: Any) -> str:
    line = _few_marks(visible(str(text)))
    line = COMMIT.sub(lambda match: "\u200b".join(re.findall(".{1,6}", match[0])), line)
    return HTML.sub(lambda match: ENTITIES[match[0]], LINKED.sub("\u200b", line))


def _few_marks(line: str) -> str:
    if line.isascii():
        return line
    letters: list[str] = []
    for c in line:
        last = letters[-MARKS:]
        if not unicodedata.combining(c) or len(last) < MARKS or not all(map(unicodedata.combining, last)):
            letters.append(c)
    return "".join(letters)


LOG_WIDTH = 300  # characters of a line of a log
ANSI = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~]?)")


def tail(log: str, lines: int) -> str:
    """Return the last lines of a log as plain text.

    Colours, control characters, empty lines and overwritten progress are left out.

    >>> tail("loading\\n 10%\\r100%\\n\\x1b[31mout of memory\\x1b[0m\\n", 2)
    '100%\\nout of memory'
    """
    last: list[str] = []
    for line in reversed(log[-lines * LOG_WIDTH * 4 :].split("\n")):
        plain = ANSI.sub("", line.rstrip().rsplit("\r", 1)[-1]).replace("\t", "    ")
        if plain.strip() and len(last) < lines:
            text = clip(plain, LOG_WIDTH, " …")
            last.append("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
    return "\n".join(reversed(last))


def fence(text: str, language: str = "text") -> str:
    """Write any text as a fenced block that it cannot end.

    GitHub's runner finds no workflow command in it.

    >>> fence("a ``` b").splitlines()[0], fence("a").splitlines()[0]
    ('````text', '```text')
    """
    inert = text.replace("::", ":\u200b:").replace("##[", "##\u200b[")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", inert)), default=0))
    return f"{fence}{language}\n{inert}\n{fence}"


def interrupted_report(checks: Sequence[Check], evaluated: Sequence[EvaluatedCheck]) -> str:
    """Write the Markdown report of a run that was stopped.

    It gives no means: the samples that finish first are the short ones, not a random subset.
    """
    evaluations = {item.check.key: item.evaluation for item in evaluated}
    rows = []
    for check in checks:
        evaluation = evaluations.get(check.key)
        count, failed = (0, 0) if evaluation is None else (len(evaluation.records), len(evaluation.failed))
        rows.append((check.model, check.task.name, f"{count:,} of {check.n * check.repeats:,}", f"{failed:,}"))
    return fill_template({"rows": rows}, "interrupted.md.j2")

"""The pull-request comment.

First comes what dropped, by how much, and what to do, then the checks, what changed, and the rest folded. A repository
can override any block of comment.md.j2 with a template of its own:

    {% extends "comment.md.j2" %}
    {% block headline %}## Accuracy: {{ headline }}{% endblock %}
    {% block details %}{% for check in checks %}- {{ check.name }}: {{ check.change }}
    {% endfor %}{% endblock %}

Blocks, in order: `headline`, `notes` (advisory, bootstrap), `failure`, `sentence`, `next`, and `accept` within it,
`table`, and `settings` within it for each `section`, `picture`, `groups`, `answers`, `cause`, `guard`, `beside`,
`details`, `cost`, `footer`, and `origin` within it. Where a run passes and waits for an approval, `guard` stands before
`table`.

Variables: `symbol`, `headline`, `sentences`, `steps` (each with `kind`, `words` of `text` and `is_code`); `result`,
`about`, `guard`, `failure` (dataclasses with long texts cut, None where there is none); `rows` and `checks`, which the
table and the details show, worst first, and `beside`, the checks by the pull request's own rules where those of its
base decide (`CheckView` in views.py); `headings`, `figure_headings`,
`group_headings`; `sections` of the table (with `rows` and `origins`, of which each is a model with `reference`,
`commit`, `made`, and `settings` with `name`, `before`, `now`); `answers` (with `check`, `count`, `rows`, `before`,
`now`); `cause` (`CauseView`, or None); `picture`, addresses for a light and a dark page, and `plot`, the same as text;
`group_lines`, `drift_lines` and `collapse_lines`, the checks of which groups stand out, which declined slowly, or of
which all runs lost some samples; `changes` (`RuleChange`), `approval` (steps); `log`, `cost`, `saved`, `legend`,
`version`, `commands`, `own_headline`; the conditions `bootstrap`, `accept`, `regressed`, `left_out`, `alone` (one
check), `passed`, `waits`, `named`, `shows_flips`; the counts `passed_left_out`, `others_left_out`, `beside_left_out`,
`changes_left_out`, `group_lines_left_out`; `beside_words`, heading and sentence; `report_link`, already escaped for an
attribute; `fault`, None in your template.

For templates of earlier versions these change: a row has five cells under other `headings`; a check has no `gauge`,
`changed` and `set_differently`; the settings that changed are those of `sections`; `rows` and `checks` come worst
first; `headline` has no full stop; symbols are signs of text; the way to accept a loss is the last of `steps`.

Each value is escaped when it is printed, whatever the template does with it. Never print one into an attribute of a
tag. Filters: those of Jinja that do not undo the escaping, and `code` (a code span), `fenced` (a block), `summary`
(within a line of HTML), `number` and `signed` (points), and `safe` (as it is). No file can be read. The template is
rendered in a process of its own. Where it fails or takes too long, the standard comment is posted and says why.
"""

import html
import posixpath
import re
import shlex
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from accgate._version import __version__
from accgate.guard.state import Guard, RuleChange
from accgate.report.cause import CauseView
from accgate.report.flips import FlipsByCheck, opening
from accgate.report.limits import LIMITS, Limits, changes_of
from accgate.report.markdown import fill_template, tail, values_of
from accgate.report.story import guard_sentence, headline_of, is_bootstrap, verdict_line
from accgate.result import Result
from accgate.verdict.advice import BLAME, Step, approval_steps


@dataclass(frozen=True)
class About:
    """What the comment says about the run besides its result.

    `title` is the check's name, `config` the path of accuracy.toml in the repository, `report_url` where the full
    report is. `advisory` marks an unverified result, as of a fork: it never counts as passed. `commands` says that the
    repository answers `/accgate accept` and `/accgate rerun`.
    """

    title: str
    config: str
    head_sha: str
    report_url: str | None = None
    advisory: bool = False
    commands: bool = False
    pictures: tuple[str, str] | None = None


@dataclass(frozen=True)
class Failure:
    """A run that ended without a result, or with one that is not believed.

    Of the latter `refusal` says why, and `log` what disagrees.
    """

    exit_code: int
    log: str
    refusal: str = ""


def render_comment(
    result: Result | None,
    about: About,
    *,
    guard: Guard | None = None,
    flips: FlipsByCheck | None = None,
    failure: Failure | None = None,
    cause: CauseView | None = None,
    template: str | None = None,
    limit: int = 65_000,
) -> str:
    """Render the comment on a pull request as GitHub-flavoured Markdown.

    It has at most `limit` bytes in UTF-8, of which the smallest may need 8,000. A comment that is too long loses flips
    first, then details of passing checks, other details, rows of changed rules and of passing checks; then names are
    cut. Headline, verdict and guard always stay. `template` is a repository's own, described at the top of this module.
    """
    from accgate.report.sandbox import TemplateFault

    def fitting(template: str | None, fault: str | None = None) -> str | None:
        def text(limits: Limits) -> str | None:
            values = _values(result, about, guard, flips or {}, failure, limits) | {"fault": fault}
            values["cause"] = None if cause is None else cause.cut(limits)
            # A search that was made needs no advice to make it.
            values["steps"] = [step for step in values["steps"] if not (cause and cause.rows and BLAME in step.words)]
            content = fill_template(values, "comment.md.j2", template).encode("utf-8", "replace")
            return content.decode() if len(content) <= limit else None

        return _largest(text)

    fault = None
    if template is not None:
        try:
            if (own := fitting(template)) is not None:
                return own
            fault = f"its text has more than {limit:,} bytes"
        except TemplateFault as error:
            fault = opening(str(error), 200)
    if (standard := fitting(None, fault)) is not None:
        return standard
    raise AssertionError(f"the smallest comment has more than {limit} bytes")


def _largest(text: Callable[[Limits], str | None]) -> str | None:
    """Return the text in the widest limits in which it fits, by bisection."""
    text = cache(text)
    if (complete := text(LIMITS[0])) is not None:
        return complete
    at = bisect_left(LIMITS, True, 1, key=lambda limits: text(limits) is not None)
    return text(LIMITS[at]) if at < len(LIMITS) else None


def _values(
    result: Result | None,
    about: About,
    guard: Guard | None,
    flips: FlipsByCheck,
    failure: Failure | None,
    limits: Limits,
) -> dict[str, Any]:
    """Return the variables of the comment's template."""
    values = values_of(result, flips, limits, answers_commands=about.commands)
    changes, config = changes_of(guard, limits), opening(about.config, 200)
    code, refusal = (failure.exit_code, failure.refusal) if failure else (None, "")
    symbol, text = headline_of(values["result"], guard=guard, exit_code=code, refusal=refusal, advisory=about.advisory)
    verdicts = {verdict.verdict for verdict in result.decided} if result is not None else set()
    waits = result is not None and failure is None and guard is not None and not guard.holds and verdicts == {"pass"}
    sentences, steps = values["sentences"], values["steps"]
    if waits and result is not None and guard is not None:
        sentences, steps = _waiting(result, guard, about, limits)
    bootstrap = is_bootstrap(result, guard)
    pictures = tuple(map(_link, about.pictures or ()))
    return values | {
        "own_headline": verdict_line(values["result"]) if result is not None else "",
        "symbol": symbol,
        "headline": text,
        "sentences": () if bootstrap or failure is not None else sentences,
        "steps": () if bootstrap or failure is not None else steps,
        "approval": approval_steps(about.head_sha, answers_commands=about.commands),
        "waits": waits and not bootstrap,
        "picture": pictures if len(pictures) == 2 and all(pictures) else None,
        "about": replace(
            about, title=opening(about.title, limits.names), config=config, head_sha=opening(about.head_sha, 64)
        ),
        "guard": None if guard is None else _short_guard(guard, changes, limits),
        "changes": changes,
        "changes_left_out": len(guard.changes) - len(changes) if guard is not None else 0,
        "failure": failure,
        "log": tail(failure.log, limits.log) if failure is not None else "",
        "bootstrap": bootstrap,
        "commands": _commands(config),
        "accept": bool(verdicts & {"regression", "no-reference"}),
        "regressed": "regression" in verdicts,
        "report_link": _link(about.report_url),
        "named": (about.title, about.config) != ("accgate", "accuracy.toml"),
        "version": values["version"] or __version__,
        "left_out": limits != LIMITS[0],
    }


def _short_guard(guard: Guard, changes: tuple[RuleChange, ...], limits: Limits) -> Guard:
    by = None if guard.approved_by is None else opening(guard.approved_by, limits.names)
    return replace(guard, reason=opening(guard.reason, limits.reasons), changes=changes, approved_by=by)


def _waiting(result: Result, guard: Guard, about: About, limits: Limits) -> tuple[tuple[str, ...], tuple[Step, ...]]:
    """Return sentences and steps for a passing run that waits for an approval.

    The run's pull request loosens the gate.
    """
    sentence = guard_sentence(result, guard)
    sentences = (sentence,) if sentence is not None else ()
    if guard.state == "unreadable" and guard.reason:
        sentences = (*sentences, opening(guard.reason, limits.reasons))
    steps = approval_steps(about.head_sha, answers_commands=about.commands) if guard.changes else []
    return sentences, tuple(steps)


def _commands(config: str) -> str:
    """Return the commands that record the references of a new accuracy.toml and commit them."""
    folder = posixpath.join(posixpath.dirname(config), "references")
    config, folder = shlex.quote(config), shlex.quote(folder)
    return f"accgate record {config}\ngit add {config} {folder}\ngit commit -m 'Record accuracy references'"


def _link(url: str | None) -> str | None:
    """Escape a plain web address for an attribute of HTML.

    The result is None for any other address.
    """
    plain = url is not None and len(url) <= 500 and re.fullmatch(r"https?://[\w.~:/?#\[\]@!$*+,;=%&-]+", url, re.ASCII)
    return html.escape(url) if plain and url else None

"""Annotations on lines of accuracy.toml: checks that did not pass, rules that changed, and faults of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from accgate.config.config import load_config
from accgate.errors import AccgateError
from accgate.github.check_runs import Annotation, Level
from accgate.github.outcome import Outcome
from accgate.github.rules import Trees
from accgate.guard.state import Guard
from accgate.verdict import Verdict, name_of, sentence

FAULT = re.compile(r"^accgate: (?P<path>[^\n:]+):(?P<line>[1-9]\d{0,6}): (?P<message>.+)$", re.MULTILINE)
HEAD_INSIDE = "/accgate/head"  # the tree inside the evaluating container
MOST = 200  # annotations; nobody reads more, and every 50 take a request


def annotations_of(outcome: Outcome, guard: Guard | None, trees: Trees) -> tuple[Annotation, ...]:
    """The annotations of a run, the most important first."""
    return tuple([*_faults(outcome, trees), *_verdicts(outcome, trees), *_changes(guard, trees)][:MOST])


def _verdicts(outcome: Outcome, trees: Trees) -> Iterator[Annotation]:
    if outcome.result is None:
        return
    try:
        source = load_config(trees.head_config).source
    except AccgateError:
        return
    for verdict in outcome.result.decided:
        if verdict.verdict != "pass":
            line = source.line(("gate",) if verdict.test == "overall" else ("tasks", verdict.task or ""))
            title = f"{name_of(verdict)}: {verdict.verdict}"
            yield Annotation(trees.config, line, _level(verdict, outcome), title, sentence(verdict))


def _level(verdict: Verdict, outcome: Outcome) -> Level:
    warns = outcome.result is not None and outcome.result.on_inconclusive == "warn"
    return "warning" if verdict.verdict == "inconclusive" and warns else "failure"


def _changes(guard: Guard | None, trees: Trees) -> Iterator[Annotation]:
    for change in () if guard is None else guard.changes:
        level: Level = "failure" if change.effect == "loosening" and guard and not guard.holds else "notice"
        title = f"{change.effect}: {change.rule}"
        yield Annotation(trees.config, change.line or 1, level, title, f"{change.rule}: {change.why}")


def _faults(outcome: Outcome, trees: Trees) -> Iterator[Annotation]:
    """The faults of files in the head's tree, from accgate's own messages."""
    for fault in FAULT.finditer("" if outcome.failure is None else outcome.failure.log):
        name = in_repository(fault["path"], trees)
        if not PurePosixPath(name).is_absolute():
            yield Annotation(name, int(fault["line"]), "failure", "accgate: bad input", fault["message"])


def in_repository(text: str, trees: Trees) -> str:
    """A text in which paths of the head's tree, here or in the evaluating container, are those of the repository.

    >>> from pathlib import Path
    >>> in_repository("/accgate/head/accuracy.toml:2: gate", Trees(Path("head"), None, "accuracy.toml"))
    'accuracy.toml:2: gate'
    """
    folders = [HEAD_INSIDE, *([trees.head.as_posix()] if trees.head.is_absolute() else [])]
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    return text

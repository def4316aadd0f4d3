"""Answers to a command: a reaction to its comment, and one comment of ours."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal

from accgate.github.api import CannotPublish, Client, Uncertain
from accgate.github.comments import State, comment_key, put_comment
from accgate.github.event import Event
from accgate.report import cell

TEXT_LIMIT = 2000  # characters


def react(client: Client, event: Event, comment: int, content: Literal["eyes", "rocket"]) -> None:
    """Adds a reaction to the comment; one that is there stays one.

    Raises
    ------
    CannotPublish
        Where GitHub could not be told.
    """
    path = f"/repos/{event.repository}/issues/comments/{comment}/reactions"
    # A reaction that may or may not be there is worth no second attempt.
    with suppress(Uncertain):
        client.post(path, {"content": content}, needs="issues: write")


def reply(client: Client, event: Event, comment: int, markdown: str) -> str | None:
    """Writes the one answer to a command's comment, or updates it; its address.

    `markdown` is written as it is: what others wrote goes through `said` before.

    Raises
    ------
    CannotPublish
        Where GitHub could not be told.
    """
    key = comment_key(f"command {comment}", "accgate")
    return put_comment(client, event, key=key, state=State("none", "none", passed=True), body=markdown)


def try_reply(client: Client, event: Event, comment: int, markdown: str) -> None:
    """As `reply`, where another failure is what counts."""
    with suppress(CannotPublish):
        reply(client, event, comment, markdown)


def said(text: str) -> str:
    """Text of any origin as Markdown that shows it and does nothing."""
    return cell(text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 2] + " …")


def link(text: str, url: object) -> str:
    """A link, where the server gave an address that is one.

    >>> link("the run", "https://github.com/o/r/actions/runs/1"), link("the run", "javascript:alert(1)")
    ('[the run](https://github.com/o/r/actions/runs/1)', 'the run')
    """
    fits = isinstance(url, str) and re.fullmatch(r"https?://[\w.:/#?&=%~+@-]+", url, re.ASCII)
    return f"[{said(text)}]({url})" if fits else said(text)

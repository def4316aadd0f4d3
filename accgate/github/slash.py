"""Commands in comments, such as `/accgate accept REASON`, and the answers to them.

Whatever else begins with `/accgate` is `help`: the answer says what to type.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import AwareDatetime
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.errors import BadInput
from accgate.github.api.answers import CannotPublish, Refused, Uncertain
from accgate.github.api.client import Client
from accgate.github.api.objects import User
from accgate.github.comments import State, comment_key, put_comment
from accgate.github.event import Event, Issue, read_payload
from accgate.inputs.typed import Text, Whole
from accgate.report.markdown import cell
from accgate.text import clip

REASON_LIMIT = 300  # characters

Name = Literal["accept", "record", "rerun", "help"]
COMMANDS = "the first line is /accgate accept REASON, /accgate record or /accgate rerun, and nothing else"
APPROVE = (
    "a change of the rules is approved by a review: Files changed, Review changes, Approve, by somebody with write "
    "permission other than the author"
)


@dataclass(frozen=True)
class Command:
    """The command in a comment, with the reason as it was written, if any."""

    name: Name
    reason: str = ""

    @property
    def fault(self) -> str | None:
        """What is wrong with the command, if anything is."""
        if self.name == "accept":
            if not self.reason:
                return "write why the new accuracy is accepted: /accgate accept REASON"
            odd = next((letter for letter in self.reason if not letter.isprintable()), None)
            if odd is not None:
                return f"the reason holds the character U+{ord(odd):04X}; write it without: /accgate accept REASON"
            if len(self.reason) > REASON_LIMIT:
                return f"the reason has {len(self.reason)} characters; use up to {REASON_LIMIT}: /accgate accept REASON"
        if self.name == "help":
            is_approval = self.reason.lower().startswith("approve")
            return APPROVE if is_approval else f"accgate knows no such command: {COMMANDS}"
        return None


@checked_dataclass(frozen=True)
class Comment:
    """The comment as it was created.

    Later edits do not count.
    """

    id: Whole
    user: User
    created_at: AwareDatetime
    body: Text | None = None


@checked_dataclass(frozen=True)
class IssueComment:
    """The part of an `issue_comment` event that counts here."""

    action: Text
    comment: Comment
    issue: Issue

    @property
    def command(self) -> Command | None:
        """The command of a new comment on an open pull request.

        Any other comment has none.
        """
        if self.action != "created" or self.issue.pull_request is None or self.issue.state != "open":
            return None
        return command_of(self.comment.body or "")


def command_of(body: str) -> Command | None:
    """Read the command of a comment's first line, if there is one.

    >>> command_of("/accgate accept new tokenizer\\nsecond line")
    Command(name='accept', reason='new tokenizer')
    >>> command_of("/accgate approve")
    Command(name='help', reason='approve')
    >>> command_of("please /accgate rerun")
    """
    line = re.split(r"[\r\n]", body, maxsplit=1)[0]
    match = re.fullmatch(r"/accgate[ \t]+(?:(rerun|record)[ \t]*|(accept)(?:[ \t]+(.*?))?[ \t]*)", line, re.DOTALL)
    if not match:
        other = re.fullmatch(r"/accgate(?:[ \t]+(.*))?", line, re.DOTALL)
        return Command("help", (other[1] or "").strip()) if other else None
    if match[1]:
        return Command("rerun" if match[1] == "rerun" else "record")
    return Command("accept", match[3] or "")


def read_issue_comment(environ: Mapping[str, str]) -> IssueComment:
    """Read the comment that the file of GITHUB_EVENT_PATH describes.

    Raises
    ------
    BadInput
        When the event is another one, or lacks fields that GitHub writes.
    """
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name != "issue_comment":
        raise BadInput(f"GITHUB_EVENT_NAME: is {name!r}; run this `on: issue_comment` with `types: [created]`")
    return read_payload(environ, IssueComment)


TEXT_LIMIT = 2000  # characters of a text of any origin in an answer


def react(client: Client, event: Event, comment: int, content: Literal["eyes", "rocket"]) -> None:
    """Add a reaction to the comment.

    A second one of the same kind changes nothing.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    path = f"/repos/{event.repository}/issues/comments/{comment}/reactions"
    # Whether a reaction arrived is not worth a second attempt; a locked conversation takes none.
    with suppress(Uncertain, Refused):
        client.post(path, {"content": content}, needs="issues: write")


def reply(client: Client, event: Event, comment: int, markdown: str) -> str | None:
    """Write or update the one answer to a command's comment.

    Return its address. `markdown` is not escaped: pass texts of other people through `plain` first.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    key = comment_key(f"command {comment}", "accgate")
    return put_comment(client, event, key=key, state=State("none", "none", passed=True), body=markdown)


def try_reply(client: Client, event: Event, comment: int, markdown: str) -> None:
    """Write the answer if GitHub takes it.

    The caller reports a failure of its own.
    """
    with suppress(CannotPublish):
        reply(client, event, comment, markdown)


def plain(text: str) -> str:
    """Write text of any origin as Markdown that only displays it."""
    return cell(clip(text, TEXT_LIMIT, " …"))


def link(text: str, url: object) -> str:
    """Write a link.

    Where the server gave no web address, this is the bare text.

    >>> link("the run", "https://github.com/o/r/actions/runs/1"), link("the run", "javascript:alert(1)")
    ('[the run](https://github.com/o/r/actions/runs/1)', 'the run')
    """
    fits = isinstance(url, str) and re.fullmatch(r"https?://[\w.:/#?&=%~+@-]+", url, re.ASCII)
    return f"[{plain(text)}]({url})" if fits else plain(text)

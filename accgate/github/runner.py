"""A job of GitHub Actions, and its messages to its runner."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from accgate.errors import AccgateError
from accgate.github.api.answers import CannotPublish

if TYPE_CHECKING:
    from accgate.github.api.client import Client
    from accgate.github.event import Event

Name = Literal["notice", "warning", "error"]


@dataclass(frozen=True)
class Job:
    """A job's variables, its way to the API, and its log.

    `connect` makes the API client of an event, and raises CannotPublish without a token. `say` prints a `Command`, or a
    text in which the runner finds no command.
    """

    environ: Mapping[str, str]
    connect: Callable[[Event], Client]
    say: Callable[[str], None]


class Command(str):
    """A line that is a command to the runner."""

    __slots__ = ()


def command(name: Name, message: str = "", *, title: str | None = None) -> Command:
    """Return one workflow command, to be printed on a line of its own.

    Nothing in its values can start another.

    >>> print(command("error", "50% worse\\n::set-output::", title="drop: 2"))
    ::error title=drop%3A 2::50%25 worse%0A::set-output::
    """
    properties = "" if title is None else f" title={_property(title)}"
    # A runner that does not know the name looks for the older form in the rest of the line.
    return Command(f"::{name}{properties}::{_data(message)}".replace("##[", "##\u200b["))


def mask(token: str) -> Command:
    """Return the command that makes the runner hide a token.

    Without a token it is empty. It holds the token: print it in a job of GitHub Actions only.
    """
    return Command("\n".join(f"::add-mask::{_data(line)}" for line in token.splitlines() if line.strip()))


def write_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Append outputs to the file of GITHUB_OUTPUT, if it is set.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    end = f"accgate_{secrets.token_hex(16)}"  # which no writer of a value could have guessed
    text = "".join(f"{name}<<{end}\n{value}\n{end}\n" for name, value in outputs.items())
    _append(environ.get("GITHUB_OUTPUT"), text)


def append_summary(environ: Mapping[str, str], text: str) -> None:
    """Append Markdown to the file of GITHUB_STEP_SUMMARY, if it is set.

    GitHub shows up to 1 MiB, and a comment's text has at most 64 KB.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    _append(environ.get("GITHUB_STEP_SUMMARY"), text)


def _append(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("ab") as file:
            file.write(text.encode(errors="replace"))


@contextmanager
def collect_troubles(what: str, troubles: list[str]) -> Iterator[None]:
    """Note an exception raised inside in `troubles`, and go on."""
    try:
        yield
    except (CannotPublish, OSError, AccgateError) as error:
        troubles.append(f"{what}: {error}")
    except Exception as error:
        troubles.append(f"{what}: {internal_error(error)}")


def internal_error(error: Exception) -> str:
    """Return the message about an error that is accgate's own fault."""
    return f"internal error: {type(error).__name__}: {error}; please report it"


def end_step(job: Job, summary: str, outputs: Mapping[str, str], troubles: list[str]) -> None:
    """Write the job summary and outputs, and report what failed."""
    with collect_troubles("the job summary and outputs could not be written", troubles):
        append_summary(job.environ, summary)
        write_outputs(job.environ, outputs)
    is_job = "GITHUB_EVENT_NAME" in job.environ
    for text in troubles:
        job.say(trouble(text) if is_job else text)


def trouble(text: str) -> Command:
    """Return the warning that something could not be published."""
    return command("warning", text, title="accgate could not publish everything")


# As toCommandValue, escapeData and escapeProperty of @actions/core.
def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

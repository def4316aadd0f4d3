"""What went wrong while something was published: noted, said as a warning, and never the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from accgate.errors import AccgateError
from accgate.github.api.answers import CannotPublish
from accgate.github.runner import command


@contextmanager
def collect_troubles(what: str, troubles: list[str]) -> Iterator[None]:
    """Note an exception raised in here, and go on."""
    try:
        yield
    except (CannotPublish, OSError, AccgateError) as error:
        troubles.append(f"{what}: {error}")
    except Exception as error:
        troubles.append(f"{what}: {internal_error(error)}")


def internal_error(error: Exception) -> str:
    """The message about an error that is accgate's own fault."""
    return f"internal error: {type(error).__name__}: {error}; please report it"


def trouble(text: str) -> str:
    """The warning that something could not be published."""
    return command("warning", text, title="accgate could not publish everything")

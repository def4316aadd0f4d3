"""Failures that GitHub reports, with one exception for each kind.

None of them changes a verdict.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from accgate.inputs.typed import first_fault


class CannotPublish(Exception):
    """Something could not be read from or written to GitHub."""


class CannotReach(CannotPublish):
    """The server does not answer, fails again and again, or limits requests too long."""


class Unreadable(CannotPublish):
    """The server's answer is not what GitHub's API promises."""


class MissingPermission(CannotPublish):
    """The token may not do this.

    The message names the line of `permissions:` to add.
    """


class NotFound(CannotPublish):
    """There is no such thing, or the token may not see it."""


class Refused(CannotPublish):
    """GitHub understood the request and refused it.

    The message holds GitHub's reasons.
    """


class Uncertain(CannotPublish):
    """Something may have been created although the request failed.

    Look for it before you send the request again.
    """


# Messages of a 403 that no permission would change, and what to do.
REFUSALS = {
    "is locked": "the conversation is locked, and only people with write permission can write there: unlock it",
    "over a month ago": "GitHub starts no run again that is older than 30 days: push a commit",
    "already running": "the run was started again already: wait for it to finish",
    "cannot be retried": "start it on the Actions page, or push a commit",
    "was archived": "the repository is archived, so nothing can be written to it",
}


def failure(status: int, body: Any, *, what: str, needs: str) -> CannotPublish:
    """Return the exception for a response of status 400 or more.

    The response is no rate limit. `what` is the method and path, and `needs` the permission of the operation, as
    `checks: write`.

    >>> print(failure(403, {"message": "no"}, what="POST /x", needs="checks: write"))
    POST /x: the token lacks a permission (403: no); add `checks: write` to `permissions:` of the job
    """
    answer = f"{status}: {reasons(body)}"
    if status == 401:
        return MissingPermission(f"{what}: the token is invalid or expired ({answer}); pass the job's github.token")
    if status == 403 and (fix := next((fix for text, fix in REFUSALS.items() if text in reasons(body)), None)):
        return Refused(f"{what}: GitHub refused ({answer}); {fix}")
    if status == 403 or (status == 404 and "not accessible by" in reasons(body)):
        grant = f"add `{needs}` to `permissions:` of the job"
        return MissingPermission(f"{what}: the token lacks a permission ({answer}); {grant}")
    if status == 404:
        return NotFound(f"{what}: not found ({answer}); where it does exist, the token needs `{needs}`")
    return Refused(f"{what}: GitHub refused ({answer})")


def reasons(body: Any) -> str:
    """Return GitHub's own message with its errors.

    The text is one line of at most 1,000 characters.

    >>> reasons({"message": "Validation Failed", "errors": [{"field": "body", "code": "invalid"}, "too long"]})
    'Validation Failed: body invalid; too long'
    """
    if not isinstance(body, dict):
        return "no message"
    errors = body.get("errors")
    listed = "; ".join(_reason(error) for error in errors) if isinstance(errors, list) else ""
    text = f"{body.get('message') or 'no message'}{': ' if listed else ''}{listed}"
    return re.sub(r"\s+", " ", text)[:1000]


def _reason(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))


@contextmanager
def as_promised(what: str) -> Iterator[None]:
    """Raise `Unreadable` where the code inside misses what GitHub's API promises."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        where = first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise Unreadable(f"{what}: the answer lacks what GitHub's API promises ({where[:200]})") from error

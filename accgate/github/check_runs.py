"""The check run on the head commit: opened when the gate starts, and finished with its conclusion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from accgate.github.api.answers import CannotReach, NotFound, Uncertain, Unreadable, number_at
from accgate.github.api.client import Client
from accgate.github.event import Event
from accgate.text import clip

Conclusion = Literal["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"]
Level = Literal["notice", "warning", "failure"]

NEEDS = "checks: write"
ANNOTATIONS_A_REQUEST = 50
TEXT_LIMIT = 65_535  # characters, of title and summary each
MESSAGE_LIMIT = 64_000  # bytes; GitHub's is 64 KB
TITLE_LIMIT = 255
_ATTEMPTS = 4


@dataclass(frozen=True)
class Annotation:
    """A remark on a line of a file: `path` is in the repository, `line` counts from 1."""

    path: str
    line: int
    level: Level
    title: str
    message: str


@dataclass(frozen=True)
class Origin:
    """The run that wrote a check run, its attempt, its pull request (0 without one) and which checks it was for.

    `is_loosened` where an approval of loosened rules could change its conclusion.
    """

    run: int
    attempt: int
    number: int
    part: str = ""
    is_loosened: bool = False

    def __str__(self) -> str:
        end = (f".{self.part}" if self.part else "") + (".loosened" if self.is_loosened else "")
        return f"{self.run}.{self.attempt}.{self.number}{end}"


def origin_of(row: Mapping[str, Any]) -> Origin | None:
    """Who wrote a check run of the API; None where it does not say so in our way.

    >>> origin_of({"external_id": "11.2.7"}), origin_of({"external_id": "x"})
    (Origin(run=11, attempt=2, number=7, part='', is_loosened=False), None)
    """
    match = _ORIGIN.fullmatch(row.get("external_id") or "")
    if not match:
        return None
    return Origin(int(match[1]), int(match[2]), int(match[3]), match[4] or "", is_loosened=bool(match[5]))


_ORIGIN = re.compile(r"(\d{1,18})\.(\d{1,9})\.(\d{1,9})(?:\.([0-9a-f]{8}))?(\.loosened)?", re.ASCII)


def event_origin(event: Event, part: str = "", *, is_loosened: bool = False) -> Origin:
    """What a check run of this event says about its origin."""
    return Origin(event.run_id, event.run_attempt, event.number or 0, part, is_loosened)


def open_check_run(client: Client, event: Event, *, name: str, title: str, summary: str) -> int:
    """Open a check run in progress on the head commit; its id.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    body = {
        "status": "in_progress",
        "output": {"title": clip(title, TEXT_LIMIT, "…"), "summary": clip(summary, TEXT_LIMIT, "…")},
    }
    return _create(client, event, name, body)


def finish_check_run(
    client: Client,
    event: Event,
    *,
    name: str,
    conclusion: Conclusion,
    title: str,
    summary: str,
    annotations: Sequence[Annotation] = (),
    check_run_id: int | None = None,
    part: str = "",
    is_loosened: bool = False,
) -> int:
    """End the check run with its conclusion and annotations, or write an ended one where there is no id; its id.

    The conclusion goes with the first request, so that it counts even where later annotations fail.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    output = {"title": clip(title, TEXT_LIMIT, "…"), "summary": clip(summary, TEXT_LIMIT, "…")}
    rows = [_row(annotation) for annotation in annotations]
    first, rest = rows[:ANNOTATIONS_A_REQUEST], rows[ANNOTATIONS_A_REQUEST:]
    body = {
        "status": "completed",
        "conclusion": conclusion,
        "external_id": str(event_origin(event, part, is_loosened=is_loosened)),
        "output": output | ({"annotations": first} if first else {}),
    }
    if check_run_id is not None:
        try:
            change_check_run(client, event, check_run_id, body, sent=0)
        except NotFound:
            check_run_id = None
    if check_run_id is None:
        check_run_id = _create(client, event, name, body)
    for start in range(0, len(rest), ANNOTATIONS_A_REQUEST):
        more = output | {"annotations": rest[start : start + ANNOTATIONS_A_REQUEST]}
        change_check_run(client, event, check_run_id, {"output": more}, sent=len(first) + start)
    return check_run_id


def check_runs(client: Client, event: Event, name: str, *, needs: str = "checks: read") -> Iterator[dict[str, Any]]:
    """All check runs with this name on the head commit, older ones too."""
    path = f"/repos/{event.repository}/commits/{event.head_sha}/check-runs"
    for run in client.pages(path, params={"check_name": name, "filter": "all"}, items="check_runs", needs=needs):
        if run.get("name") == name:
            yield run


def _create(client: Client, event: Event, name: str, body: dict[str, Any]) -> int:
    external_id = body.get("external_id", str(event_origin(event)))
    facts = {"name": name, "head_sha": event.head_sha, "external_id": external_id, "details_url": event.run_url}
    for failed in range(1, _ATTEMPTS + 1):
        try:
            return _id(client.post(f"/repos/{event.repository}/check-runs", facts | body, needs=NEEDS))
        except Uncertain:
            client.rest(failed)
        for run in check_runs(client, event, name, needs=NEEDS):
            if run.get("external_id") == external_id and run.get("status") == body["status"]:
                return _id(run)
    raise CannotReach(f"the check run {name!r} could not be written in {_ATTEMPTS} attempts")


def change_check_run(client: Client, event: Event, check_run_id: int, body: dict[str, Any], *, sent: int) -> None:
    """Change a check run that has `sent` annotations. GitHub appends annotations, so a second time doubles them.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, refused, or answers with anything but this check run.
    """
    path = f"/repos/{event.repository}/check-runs/{check_run_id}"
    annotated = "annotations" in body["output"]
    for failed in range(1, _ATTEMPTS + 1):
        try:
            answer = client.patch(path, body, needs=NEEDS, again=not annotated)
        except Uncertain:
            client.rest(failed)
        else:
            if _id(answer) != check_run_id:
                raise Unreadable(f"PATCH {path}: the answer is another check run")
            return
        if (number_at(client.get(path, needs=NEEDS), "output", "annotations_count") or 0) > sent:
            return
    raise CannotReach(f"the check run {check_run_id} could not be updated in {_ATTEMPTS} attempts")


def _row(annotation: Annotation) -> dict[str, Any]:
    message = annotation.message.encode()[:MESSAGE_LIMIT].decode(errors="ignore")
    return {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": annotation.level,
        "title": annotation.title[:TITLE_LIMIT],
        "message": message or "-",  # an empty one is refused
    }


def _id(run: Any) -> int:
    number = number_at(run, "id")
    if number is None:
        raise Unreadable("the check run that GitHub sent has no id")
    return number

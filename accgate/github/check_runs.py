"""The check run on the head commit.

It is opened when the gate starts, and finished with its conclusion. Of the check runs of one name on one commit the
worst of one run stands, and no earlier run passes over a later one.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AliasPath, AwareDatetime, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.github.api.answers import CannotPublish, CannotReach, NotFound, Uncertain, Unreadable
from accgate.github.api.client import Client
from accgate.github.api.objects import object_of
from accgate.github.event import Event
from accgate.inputs.typed import Text, Whole
from accgate.text import clip

Conclusion = Literal["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"]
Level = Literal["notice", "warning", "failure"]

NEEDS = "checks: write"
ANNOTATIONS_A_REQUEST = 50  # GitHub's most
TEXT_LIMIT = 65_535  # characters, of title and summary each
MESSAGE_LIMIT = 64_000  # bytes; GitHub's is 64 KB
TITLE_LIMIT = 255  # characters, GitHub's
_ATTEMPTS = 4
# From the best to the worst; GitHub lets the first three satisfy a required check.
_ORDER: tuple[Conclusion, ...] = (
    "success", "neutral", "skipped", "cancelled", "timed_out", "action_required", "failure",
)  # fmt: skip
PASSING = _ORDER[:2]  # of what accgate itself writes
_PASSING = _ORDER[:3]
UNFINISHED = "in progress"
SAME_NAME = "another job of the run has the check {name!r} too; the worse stands, so give each job its own check-name"
UNLISTED = "The other checks of this name could not be read"


@dataclass(frozen=True)
class Annotation:
    """A remark on a line of a file.

    `path` is in the repository, `line` counts from 1.
    """

    path: str
    line: int
    level: Level
    title: str
    message: str


@dataclass(frozen=True)
class Origin:
    """The origin of a check run.

    It is the run that wrote it, its attempt, its pull request (0 without one) and which checks it was for.
    `is_loosened` where an approval of loosened rules could change its conclusion. `base` is a digest of the name of the
    base branch, which earlier versions did not write.
    """

    run: int
    attempt: int
    number: int
    part: str = ""
    is_loosened: bool = False
    base: str = ""

    def __str__(self) -> str:
        end = (f".{self.part}" if self.part else "") + (".loosened" if self.is_loosened else "")
        return f"{self.run}.{self.attempt}.{self.number}{end}" + (f"~{self.base}" if self.base else "")


_ORIGIN = re.compile(r"(\d{1,18})\.(\d{1,9})\.(\d{1,9})(?:\.([0-9a-f]{8}))?(\.loosened)?(?:~([0-9a-f]{16}))?", re.ASCII)


@checked_dataclass(frozen=True)
class CheckRun:
    """A check run of the API."""

    id: Whole
    status: Text | None = None
    conclusion: Any = None  # a Conclusion, or one that only GitHub gives
    external_id: Text | None = None
    started_at: AwareDatetime | None = None
    annotations: Whole = Field(default=0, validation_alias=AliasPath("output", "annotations_count"))

    @property
    def origin(self) -> Origin | None:
        """Who wrote it.

        None where it does not say so in our way.

        >>> CheckRun(1, external_id="11.2.7").origin, CheckRun(1, external_id="x").origin
        (Origin(run=11, attempt=2, number=7, part='', is_loosened=False, base=''), None)
        """
        match = _ORIGIN.fullmatch(self.external_id or "")
        if not match:
            return None
        run, attempt, number = (int(match[i]) for i in (1, 2, 3))
        return Origin(run, attempt, number, match[4] or "", is_loosened=bool(match[5]), base=match[6] or "")


def event_origin(event: Event, part: str = "", *, is_loosened: bool = False) -> Origin:
    """Return the origin of this event's check run."""
    branch = event.base_branch or ""
    base = hashlib.sha256(branch.encode()).hexdigest()[:16] if branch else ""
    return Origin(event.run_id, event.run_attempt, event.number or 0, part, is_loosened, base)


def open_check_run(client: Client, event: Event, *, name: str, title: str, summary: str) -> int:
    """Open a check run in progress on the head commit.

    Return its id.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    return _create(client, event, name, {"status": "in_progress", "output": _output(title, summary)})


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
    """End the check run with its conclusion and annotations.

    Where there is no id, write an ended one. Return its id. The conclusion goes with the first request, so that it
    counts even where later annotations fail.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    output = _output(title, summary)
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


def _output(title: str, summary: str) -> dict[str, Any]:
    return {"title": clip(title, TEXT_LIMIT, "…"), "summary": clip(summary, TEXT_LIMIT, "…")}


def check_runs(client: Client, event: Event, name: str, *, needs: str = "checks: read") -> Iterator[CheckRun]:
    """List all check runs with this name on the head commit, old ones too."""
    path = f"/repos/{event.repository}/commits/{event.head_sha}/check-runs"
    for run in client.pages(path, params={"check_name": name, "filter": "all"}, items="check_runs", needs=needs):
        if run.get("name") == name:
            yield object_of(CheckRun, run, path)


def _create(client: Client, event: Event, name: str, body: dict[str, Any]) -> int:
    external_id = body.get("external_id", str(event_origin(event)))
    facts = {"name": name, "head_sha": event.head_sha, "external_id": external_id, "details_url": event.run_url}
    path = f"/repos/{event.repository}/check-runs"
    for failed in range(1, _ATTEMPTS + 1):
        try:
            return object_of(CheckRun, client.post(path, facts | body, needs=NEEDS), path).id
        except Uncertain:
            client.rest(failed)
        for run in check_runs(client, event, name, needs=NEEDS):
            if (run.external_id, run.status) == (external_id, body["status"]):
                return run.id
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
            if object_of(CheckRun, answer, path).id != check_run_id:
                raise Unreadable(f"PATCH {path}: the answer is another check run")
            return
        present = object_of(CheckRun, client.get(path, needs=NEEDS), path)
        if present.annotations > sent:
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


def allowed_conclusion(
    client: Client, event: Event, *, name: str, part: str, check_run_id: int | None, ended: Conclusion
) -> Conclusion:
    """Return the conclusion that a check may end with.

    It is `ended`, or the worse one of a rival that is there already. Rivals are the completed checks of other jobs of
    this run, and those of later runs, which may go on still: an earlier run can have an older base, and must not end
    green after a later one did not.
    """
    if ended not in _PASSING:
        return ended
    own, others = event_origin(event, part), _others(client, event, name, check_run_id)
    later = [row for row, origin in others if (origin.run, origin.attempt) > (own.run, own.attempt)]
    rivals: list[Conclusion] = [row.conclusion or "cancelled" for row in (*_of_this_run(others, own), *later)]
    return _worst(ended, *rivals)


def standing_conclusion(client: Client, event: Event, name: str) -> str | None:
    """Return the conclusion of the newest run for this commit and base branch.

    It gated the event's commit under this name. It is the worst of that run's jobs, `UNFINISHED` while one goes on, and
    None where no run gated it.

    Raises
    ------
    CannotPublish
        When GitHub could not be reached, or refused.
    """
    base = event_origin(event).base
    rows = [(row, row.origin) for row in check_runs(client, event, name)]
    ours = [(row, origin) for row, origin in rows if origin is not None and base and origin.base == base]
    newest = max((origin for _, origin in ours), key=lambda origin: (origin.run, origin.attempt), default=None)
    if newest is None:
        return None
    now = [(row, origin) for row, origin in ours if (origin.run, origin.attempt) == (newest.run, newest.attempt)]
    if any(row.conclusion is None for row, _ in now):
        return UNFINISHED
    return _worst("success", *(row.conclusion for row in _of_this_run(ours, newest)))


def settle_rivals(
    client: Client, event: Event, *, name: str, part: str, check_run_id: int, ended: Conclusion
) -> str | None:
    """Give this run's completed checks of the name the worst conclusion.

    Return what to change where there are any. It is called once our own has ended: whichever of two jobs comes last
    then sees both. Our own does not stay green where they cannot be listed.

    Raises
    ------
    CannotPublish
        When they cannot be listed or changed.
    """

    def end(number: int, conclusion: Conclusion, title: str, summary: str) -> None:
        body = {"status": "completed", "conclusion": conclusion, "output": {"title": title, "summary": summary}}
        change_check_run(client, event, number, body, sent=0)

    try:
        rows = _of_this_run(_others(client, event, name, check_run_id), event_origin(event, part))
    except CannotPublish as error:
        if ended in _PASSING:
            end(check_run_id, "failure", UNLISTED, f"{UNLISTED}: {error}. Start the job again.")
        raise
    worst, advice = _worst(ended, *(row.conclusion for row in rows)), SAME_NAME.format(name=name)
    rivals = {check_run_id: ended} | {row.id: row.conclusion for row in rows}
    for number, conclusion in rivals.items():
        if conclusion != worst and conclusion in _PASSING:
            end(number, worst, f"Worse in another job: {worst}", advice)
    return advice if rows else None


def _others(client: Client, event: Event, name: str, check_run_id: int | None) -> list[tuple[CheckRun, Origin]]:
    """List the other check runs of the name that accgate wrote on the commit."""
    rows = [(row, row.origin) for row in check_runs(client, event, name, needs=NEEDS) if row.id != check_run_id]
    return [(row, origin) for row, origin in rows if origin is not None]


def _of_this_run(others: list[tuple[CheckRun, Origin]], own: Origin) -> list[CheckRun]:
    """Choose the completed ones of other jobs of this run.

    Of a job that was not started again its last attempt counts.
    """
    rows = [(row, origin) for row, origin in others if origin.run == own.run and row.conclusion]
    last = {origin.part: max(other.attempt for _, other in rows if other.part == origin.part) for _, origin in rows}
    last |= {own.part: own.attempt, "": own.attempt}  # an earlier attempt of this job decides nothing any more
    return [row for row, origin in rows if origin.attempt == last[origin.part]]


def _worst(*conclusions: Conclusion) -> Conclusion:
    return max(conclusions, key=lambda one: _ORDER.index(one) if one in _ORDER else len(_ORDER))

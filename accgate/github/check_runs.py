"""The check run on the head commit.

It is opened when the gate starts, and finished with its conclusion. Of one run's check runs with one name on one commit
the worst stands, and no earlier run passes over a later one.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AliasPath, AwareDatetime, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from accgate.github.api.answers import CannotPublish, NotFound, Unreadable
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
# From the best to the worst; GitHub lets the first three satisfy a required check.
_ORDER: tuple[Conclusion, ...] = (
    "success", "neutral", "skipped", "cancelled", "timed_out", "action_required", "failure",
)  # fmt: skip
PASSING = _ORDER[:2]  # of what accgate itself writes
_GREEN = _ORDER[:3]
UNFINISHED = "in progress"
SAME_NAME = "another job of the run has the check {name!r} too; the worse stands, so give each job its own check-name"
UNLISTED = "The other checks of this name could not be read"


@dataclass(frozen=True)
class Annotation:
    """A remark on a line of a file.

    `path` is in the repository, and `line` counts from 1.
    """

    path: str
    line: int
    level: Level
    title: str
    message: str


@dataclass(frozen=True)
class Origin:
    """The run that wrote a check run.

    `number` is its pull request, 0 without one. `part` names the checks that the job was for. `is_loosened` where an
    approval of loosened rules could change the conclusion. `base` is a digest of the base branch's name, empty without
    a base branch.
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
        """The run that wrote it, if it was one of accgate's.

        >>> CheckRun(1, external_id="11.2.7").origin, CheckRun(1, external_id="x").origin
        (Origin(run=11, attempt=2, number=7, part='', is_loosened=False, base=''), None)
        """
        match = _ORIGIN.fullmatch(self.external_id or "")
        if not match:
            return None
        run, attempt, number = (int(match[i]) for i in (1, 2, 3))
        return Origin(run, attempt, number, match[4] or "", is_loosened=bool(match[5]), base=match[6] or "")


@dataclass(frozen=True)
class CheckRuns:
    """The check runs of one name on an event's head commit.

    `part` names the checks that this job is for.
    """

    client: Client
    event: Event
    name: str
    part: str = ""

    def origin(self, *, is_loosened: bool = False) -> Origin:
        """Return the origin of the check run that this job writes."""
        event, branch = self.event, self.event.base_branch or ""
        base = hashlib.sha256(branch.encode()).hexdigest()[:16] if branch else ""
        return Origin(event.run_id, event.run_attempt, event.number or 0, self.part, is_loosened, base)

    def rows(self, *, needs: str = "checks: read") -> Iterator[tuple[CheckRun, Origin]]:
        """Yield accgate's check runs, each with its origin.

        Old ones are included.
        """
        path = f"/repos/{self.event.repository}/commits/{self.event.head_sha}/check-runs"
        query = {"check_name": self.name, "filter": "all"}
        for run in self.client.pages(path, params=query, items="check_runs", needs=needs):
            row = object_of(CheckRun, run, path)
            if run.get("name") == self.name and row.origin is not None:
                yield row, row.origin

    def open(self, title: str, summary: str) -> int:
        """Open a check run in progress, and return its id.

        Raises
        ------
        CannotPublish
            When GitHub could not be reached, or refused.
        """
        output = _output(title, summary)
        return self._create({"status": "in_progress", "external_id": str(self.origin()), "output": output})

    def finish(
        self,
        conclusion: Conclusion,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
        *,
        number: int | None = None,
        is_loosened: bool = False,
    ) -> int:
        """End the check run with its conclusion and annotations, and return its id.

        Without its `number` an ended one is written. The conclusion goes with the first request, so that it counts even
        where later annotations fail.

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
            "external_id": str(self.origin(is_loosened=is_loosened)),
            "output": output | ({"annotations": first} if first else {}),
        }
        if number is not None:
            try:
                self._change(number, body, sent=0)
            except NotFound:
                number = None
        if number is None:
            number = self._create(body)
        for start in range(0, len(rest), ANNOTATIONS_A_REQUEST):
            more = output | {"annotations": rest[start : start + ANNOTATIONS_A_REQUEST]}
            self._change(number, {"output": more}, sent=len(first) + start)
        return number

    def allowed(self, ended: Conclusion, number: int | None) -> Conclusion:
        """Return the conclusion that the check run with this number may end with.

        This is `ended`, or the worse one of a rival. Rivals are the completed checks of other jobs of this run, and
        those of later runs, completed or not: an earlier run can have an older base, and must not end green after a
        later one did not.
        """
        if ended not in _GREEN:
            return ended
        own, others = self.origin(), self._others(number)
        later = [row for row, origin in others if (origin.run, origin.attempt) > (own.run, own.attempt)]
        rivals: list[Conclusion] = [row.conclusion or "cancelled" for row in (*_of_this_run(others, own), *later)]
        return _worst(ended, *rivals)

    def standing(self) -> str | None:
        """Return the conclusion of the newest run that gated this commit.

        The run must be for this base branch, and the worst of its jobs counts. The result is `UNFINISHED` while one of
        them goes on, and None where no run gated the commit.

        Raises
        ------
        CannotPublish
            When GitHub could not be reached, or refused.
        """
        base = self.origin().base
        ours = [(row, origin) for row, origin in self.rows() if base and origin.base == base]
        newest = max((origin for _, origin in ours), key=lambda origin: (origin.run, origin.attempt), default=None)
        if newest is None:
            return None
        now = [row for row, origin in ours if (origin.run, origin.attempt) == (newest.run, newest.attempt)]
        if any(row.conclusion is None for row in now):
            return UNFINISHED
        return _worst("success", *(row.conclusion for row in _of_this_run(ours, newest)))

    def settle(self, ended: Conclusion, number: int) -> str | None:
        """Give this run's completed checks of the name the worst conclusion.

        Return advice where there are several. Call it once our own check has ended: of two jobs the last one then sees
        both. Our own check does not stay green where the others cannot be listed.

        Raises
        ------
        CannotPublish
            When they cannot be listed or changed.
        """

        def end(rival: int, conclusion: Conclusion, title: str, summary: str) -> None:
            output = {"title": title, "summary": summary}
            self._change(rival, {"status": "completed", "conclusion": conclusion, "output": output}, sent=0)

        try:
            rows = _of_this_run(self._others(number), self.origin())
        except CannotPublish as error:
            if ended in _GREEN:
                end(number, "failure", UNLISTED, f"{UNLISTED}: {error}. Start the job again.")
            raise
        worst, advice = _worst(ended, *(row.conclusion for row in rows)), SAME_NAME.format(name=self.name)
        for rival, conclusion in ({number: ended} | {row.id: row.conclusion for row in rows}).items():
            if conclusion != worst and conclusion in _GREEN:
                end(rival, worst, f"Worse in another job: {worst}", advice)
        return advice if rows else None

    def _others(self, number: int | None) -> list[tuple[CheckRun, Origin]]:
        return [pair for pair in self.rows(needs=NEEDS) if pair[0].id != number]

    def _create(self, body: dict[str, Any]) -> int:
        facts = {"name": self.name, "head_sha": self.event.head_sha, "details_url": self.event.run_url}
        path, mark = f"/repos/{self.event.repository}/check-runs", (body["external_id"], body["status"])

        def create() -> int:
            return object_of(CheckRun, self.client.post(path, facts | body, needs=NEEDS), path).id

        def created() -> int | None:
            rows = (row for row, _ in self.rows(needs=NEEDS))
            return next((row.id for row in rows if (row.external_id, row.status) == mark), None)

        return self.client.once(create, created, f"the check run {self.name!r} could not be written")

    def _change(self, number: int, body: dict[str, Any], *, sent: int) -> None:
        """Change a check run that has `sent` annotations.

        GitHub appends annotations, so a repeated request would double them.
        """
        path = f"/repos/{self.event.repository}/check-runs/{number}"

        def change() -> int:
            answer = self.client.patch(path, body, needs=NEEDS, again="annotations" not in body["output"])
            if object_of(CheckRun, answer, path).id != number:
                raise Unreadable(f"PATCH {path}: the answer is another check run")
            return number

        def changed() -> int | None:
            row = object_of(CheckRun, self.client.get(path, needs=NEEDS), path)
            return number if row.annotations > sent else None

        self.client.once(change, changed, f"the check run {number} could not be updated")


def _output(title: str, summary: str) -> dict[str, Any]:
    return {"title": clip(title, TEXT_LIMIT, "…"), "summary": clip(summary, TEXT_LIMIT, "…")}


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


def _of_this_run(others: list[tuple[CheckRun, Origin]], own: Origin) -> list[CheckRun]:
    """Choose the completed check runs of this run's other jobs.

    The last attempt of a job counts where it was not started again.
    """
    rows = [(row, origin) for row, origin in others if origin.run == own.run and row.conclusion]
    last = {origin.part: max(other.attempt for _, other in rows if other.part == origin.part) for _, origin in rows}
    last |= {own.part: own.attempt, "": own.attempt}  # an earlier attempt of this job decides nothing any more
    return [row for row, origin in rows if origin.attempt == last[origin.part]]


def _worst(*conclusions: Conclusion) -> Conclusion:
    return max(conclusions, key=lambda one: _ORDER.index(one) if one in _ORDER else len(_ORDER))

"""Check runs of one name on one commit: the worst of one run stands, and no earlier run passes over a later one."""

from __future__ import annotations

from typing import Any

from accgate.github.api.answers import CannotPublish, as_promised
from accgate.github.api.client import Client
from accgate.github.check_runs import NEEDS, Conclusion, Origin, change_check_run, check_runs, event_origin, origin_of
from accgate.github.event import Event

# From the best to the worst; GitHub lets the first three satisfy a required check.
_ORDER: tuple[Conclusion, ...] = (
    "success", "neutral", "skipped", "cancelled", "timed_out", "action_required", "failure",
)  # fmt: skip
_PASSING = _ORDER[:3]
SAME_NAME = (
    "another job of this run publishes under the name {name!r} too, so the worse of the two conclusions stands; give "
    "each job its own check-name"
)
UNLISTED = "Whether another job of this name ended worse cannot be read"


def allowed_conclusion(
    client: Client, event: Event, *, name: str, part: str, check_run_id: int | None, ended: Conclusion
) -> Conclusion:
    """The conclusion that a check may end with: `ended`, or the worse one of a rival that is there already.

    Rivals are the completed checks of other jobs of this run, and those of later runs, which may go on still: an
    earlier run can have an older base, and must not end green after a later one did not.
    """
    if ended not in _PASSING:
        return ended
    own, worst = event_origin(event, part), ended
    others = _others(client, event, name, check_run_id)
    for row in _of_this_run(others, own):
        worst = _worse(worst, row["conclusion"])
    for row, origin in others:
        if (origin.run, origin.attempt) > (own.run, own.attempt):
            worst = _worse(worst, row["conclusion"] or "cancelled")
    return worst


def settle_rivals(client: Client, event: Event, *, name: str, part: str, check_run_id: int, ended: Conclusion) -> bool:
    """Give all completed checks of this run that bear the name the worst of their conclusions; whether there are any.

    It is called once our own has ended: whichever of two jobs comes last then sees both. Our own does not stay green
    where they cannot be listed.

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
    worst = ended
    for row in rows:
        worst = _worse(worst, row["conclusion"])
    rivals = {check_run_id: ended} | {row["id"]: row["conclusion"] for row in rows}
    for number, conclusion in rivals.items():
        if conclusion != worst and conclusion in _PASSING:
            end(number, worst, f"Worse in another job: {worst}", SAME_NAME.format(name=name))
    return bool(rows)


def _others(client: Client, event: Event, name: str, check_run_id: int | None) -> list[tuple[dict[str, Any], Origin]]:
    """The other check runs of the name that accgate wrote on the commit."""
    with as_promised(f"the check runs of {event.head_sha}"):
        rows = [(row, origin_of(row)) for row in check_runs(client, event, name, needs=NEEDS)]
        return [(row, origin) for row, origin in rows if origin is not None and row["id"] != check_run_id]


def _of_this_run(others: list[tuple[dict[str, Any], Origin]], own: Origin) -> list[dict[str, Any]]:
    """The completed ones of other jobs of this run: of a job that was not started again its last attempt counts."""
    rows = [(row, origin) for row, origin in others if origin.run == own.run and row["conclusion"]]
    last = {origin.part: max(other.attempt for _, other in rows if other.part == origin.part) for _, origin in rows}
    last |= {own.part: own.attempt, "": own.attempt}  # an earlier attempt of this job decides nothing any more
    return [row for row, origin in rows if origin.attempt == last[origin.part]]


def _worse(left: Conclusion, right: Conclusion) -> Conclusion:
    return max(left, right, key=lambda one: _ORDER.index(one) if one in _ORDER else len(_ORDER))

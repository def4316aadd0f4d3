"""`accgate publish --standing`: a run that evaluates nothing ends with the verdict that stands.

GitHub reports a job that its `if:` skipped as successful. Where the job or its workflow is required, an event that
changes nothing, such as an edited title, would turn a red one green.
"""

from __future__ import annotations

from accgate.errors import NO_VERDICT, PASSED, BadInput
from accgate.github.api.answers import CannotPublish
from accgate.github.check_runs import PASSING, UNFINISHED, standing_conclusion
from accgate.github.event import check_run_name, read_event
from accgate.github.runner import Job, append_summary, collect_troubles, command, trouble, write_outputs

FIX = "start the gate's own run of this commit again, and this job once that has ended"


def repeat(job: Job, *, check_name: str, branches: tuple[str, ...], fail_on: frozenset[str]) -> int:
    """End as the check run of the event's commit and base branch did; the exit code.

    Without one, where it goes on still, and where it cannot be read, there is no verdict (exit code 4).

    Raises
    ------
    BadInput
        When the event is not one of a pull request: only these have a check that another run has written.
    """
    event, troubles = read_event(job.environ), list[str]()
    if event.name != "pull_request":
        raise BadInput(f"GITHUB_EVENT_NAME: is {event.name!r}; --standing is for pull_request")
    name = check_run_name(event, check_name, branches=branches)
    try:
        ended = standing_conclusion(job.connect(event), event, name)
        fact = f"the check {name} of commit {event.head_sha[:12]} " + {
            None: f"is missing, or was for another base: {FIX}",
            UNFINISHED: f"has not ended: {FIX}",
        }.get(ended, f"ended with {ended}, which stands")
    except CannotPublish as error:
        ended, fact = None, f"the check {name} cannot be read: {error}"
    passed = ended in PASSING
    title = "The verdict stands" if passed else "The verdict that stands is no pass"
    message = f"Nothing was evaluated, because this event changes neither commit nor base; {fact}"
    job.say(command("notice" if passed else "error", message, title=name))
    with collect_troubles("the job summary and outputs could not be written", troubles):
        append_summary(job.environ.get("GITHUB_STEP_SUMMARY"), f"## {title}\n\n{message}.\n")
        write_outputs(job.environ.get("GITHUB_OUTPUT"), {"passed": "true" if ended == "success" else "false"})
    for text in troubles:
        job.say(trouble(text))
    return PASSED if passed or not fail_on else NO_VERDICT

"""The command `accgate propose`.

It makes references that a comment requested a pull request into the one of the comment.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from accgate.errors import PASSED, BadInput
from accgate.github.api.answers import CannotPublish, CannotReach, MissingPermission, Refused, Uncertain, as_promised
from accgate.github.api.client import Client
from accgate.github.api.git_data import Commit, Entry, Git
from accgate.github.api.objects import Side
from accgate.github.approvals import is_writer
from accgate.github.artifact import check_references, git_sha, stem_of, stored_files
from accgate.github.branch import NewFiles, commit_to
from accgate.github.event import Event, open_pull_requests, read_event, read_pull_request
from accgate.github.runner import Job, write_outputs
from accgate.github.slash import Command, IssueComment, link, plain, read_issue_comment, reply, try_reply
from accgate.inputs.paths import with_lf
from accgate.report.markdown import LINKED, code

As = Literal["pull-request", "commit"]

NEEDS = "pull-requests: write"
_ATTEMPTS = 3
GUARD = (
    "A new reference changes what the gate compares with, so somebody with write permission other than the pull "
    "request's author must approve the new commit."
)
FIRST = "These checks had no reference, and no other reference changed. From here on the gate compares with these."
NO_RUN = (
    "The commit started no workflow, because a job's own token made it: close and reopen the pull request, or push to "
    "it, and the gate checks the new head."
)
MOVED = "the branch has moved since the references were recorded; look at its new head, then write the command again"
SETTING = (
    "if the message says that GitHub Actions is not permitted to create pull requests, allow it under Settings, "
    "Actions, General, Workflow permissions"
)


@dataclass(frozen=True)
class Options:
    """The folder of references to propose, and their place.

    It has the commit they were recorded at, and their folder in the repository. `recorded` is how the recording job
    ended, as GitHub says it: `success`, `failure`, `cancelled` or `skipped`.
    """

    folder: Path
    head_sha: str
    references: str = "references"
    how: As = "pull-request"
    recorded: str = "success"


@dataclass(frozen=True)
class Proposal:
    """The proposal in words.

    `url` is None where there was nothing to propose.
    """

    text: str
    url: str | None


def propose(options: Options, job: Job) -> int:
    """Commit the references that differ from the head's.

    It answers the comment that requested them. Return the exit code. The output `url` leads to the pull request or the
    commit. A second call gives the same address.

    Raises
    ------
    BadInput
        When the event requests no new reference, or the folder holds anything else.
    CannotPublish
        When GitHub could not be reached, or refused, or the head has moved.
    """
    event, request = read_event(job.environ), read_issue_comment(job.environ)
    if request.command is None or request.command.name not in ("accept", "record") or request.command.fault:
        asked = "/accgate accept REASON or /accgate record"
        raise BadInput(f"the comment of this event is not {asked}; run propose after respond in its workflow")
    client = job.connect(event)
    try:
        with as_promised(f"{event.repository}#{event.number}"):
            done = _proposal(client, event, options, request, request.command)
        text = f"{link(done.text, done.url)}.\n\n{_guard(request.command)}" if done.url else plain(f"{done.text}.")
        text += f"\n\n{NO_RUN}" if done.url and options.how == "commit" else ""
        reply(client, event, request.comment.id, text)
    except (BadInput, CannotPublish) as error:
        try_reply(client, event, request.comment.id, plain(f"The new references were not proposed: {error}"))
        raise
    job.say(f"{done.text}{': ' if done.url else ''}{done.url or ''}")
    write_outputs(job.environ.get("GITHUB_OUTPUT"), {"url": done.url or ""})
    return PASSED


def commit_message(reason: str, login: str, number: int) -> str:
    """Write the commit's message.

    The reason in it mentions nobody, closes no issue and stops no workflow.

    >>> commit_message("fixes #3, [skip ci]", "rita", 7).splitlines()[2]
    'fixes #\\u200b3, [\\u200bskip ci]'
    """
    inert = re.sub(r"\[(?=[a-z])", "[\u200b", LINKED.sub("\u200b", reason), flags=re.IGNORECASE)
    return f"Record accuracy references\n\n{inert}\n\nRequested by {login} in #{number}\n"


def _guard(command: Command) -> str:
    """Return what the guard will say of new references."""
    return GUARD if command.name == "accept" else FIRST


def _proposal(client: Client, event: Event, options: Options, request: IssueComment, command: Command) -> Proposal:
    if options.recorded != "success":
        raise Refused(
            f"recording the references ended with {options.recorded}; see why in the log at {event.run_url}, "
            "then write the command again"
        )
    user = request.comment.user
    if not is_writer(client, event, user):  # it may have been taken away by now
        raise Refused(f"{user.login} has no write permission here any more")
    git, pull = Git(client, event.repository), read_pull_request(client, event)
    head = pull.head
    if not pull.is_open or not head.is_in(event.repository):
        raise Refused("the pull request is closed, or of a fork, to whose branch accgate does not write")
    files = stored_files(options.folder)
    old = git.commit(options.head_sha)
    changed = _differing(git, old.tree, options.references, files)
    if not changed and command.name == "record":
        return Proposal("Every check has a reference; /accgate accept REASON records new ones in their place", None)
    if not changed:
        return Proposal("There is nothing to propose: the branch has the recorded references already", None)
    if command.name == "record":
        _refuse_replaced(git, old.tree, options.references, changed)
    check_references(options.folder, changed, reason=command.reason)
    message = commit_message(
        command.reason or "The first of their checks.", request.comment.user.login, request.issue.number
    )
    if options.how == "commit":
        return _commit(git, event, head, options, changed, message)
    if head.sha != options.head_sha:
        raise Refused(MOVED)
    branch = f"accgate/accept-{event.number}-{options.head_sha[:12]}"

    def change_at(parent: Commit | None) -> NewFiles:
        lacking = _differing(git, (parent or old).tree, options.references, changed)
        return NewFiles(_paths_of(lacking, options), message)

    commit_to(client, git, branch, change_at, start=old)
    return _pull_request(client, event, head, branch, request, command.reason)


def _refuse_replaced(git: Git, tree: str, folder: str, changed: Mapping[str, bytes]) -> None:
    """Refuse files of a reference that a tree has already, in part or whole: `record` replaces none.

    Raises
    ------
    BadInput
        Which.
    """
    present = {stem_of(name) for name in git.folder(tree, folder)}
    if there := sorted(name for name in changed if stem_of(name) in present):
        fix = "/accgate accept REASON replaces it"
        raise BadInput(f"{folder}/{there[0]}: belongs to a reference that the branch has already; {fix}")


def _differing(git: Git, tree: str, folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that a tree does not have.

    Those that it has with other content are there, too.

    Raises
    ------
    BadInput
        When a file of ours would replace a folder, link or submodule, or a folder of ours anything but a folder.
    """
    present = git.folder(tree, folder)
    for name in files:
        parent, entry = present.get(name.split("/")[0]), present.get(name)
        if (parent is not None and parent.type != "tree") or (entry is not None and not entry.is_file):
            raise BadInput(
                f"{folder}/{name}: the repository has something other than a plain file in a folder there; remove it"
            )
    nothing = Entry("blob", "", "")
    return {name: content for name, content in files.items() if present.get(name, nothing).sha not in _blobs(content)}


def _blobs(content: bytes) -> set[str]:
    """Return the names that git gives a file of this content.

    They are with either line ends.
    """
    plain = with_lf(content)
    return {git_sha(each) for each in (content, plain, plain.replace(b"\n", b"\r\n"))}


def _commit(
    git: Git, event: Event, head: Side, options: Options, changed: Mapping[str, bytes], message: str
) -> Proposal:
    """Commit the references to the pull request's own branch, which only ever moves forward."""
    text = "The new references are committed to this branch"
    page = f"{event.server_url}/{event.repository}/commit"
    if head.sha != options.head_sha:
        if _differing(git, git.commit(head.sha).tree, options.references, changed):
            raise Refused(MOVED)
        return Proposal(text, f"{page}/{head.sha}")
    sha = git.write_commit(git.commit(head.sha), _paths_of(changed, options), message)
    try:
        git.move_branch(head.ref, head.sha, sha)
    except Refused as error:
        raise Refused(f"the branch has moved, or is protected: {error}; try again, or use --as pull-request") from error
    return Proposal(text, f"{page}/{sha}")


def _paths_of(files: Mapping[str, bytes], options: Options) -> dict[str, bytes]:
    """Return the files of the store by their paths in the repository."""
    return {f"{options.references}/{name}": content for name, content in files.items()}


def _pull_request(
    client: Client, event: Event, head: Side, branch: str, request: IssueComment, reason: str
) -> Proposal:
    body = (
        f"{plain(reason)}\n\n".lstrip()
        + f"Requested by {plain(request.comment.user.login)} in #{event.number}, and recorded at its "
        f"head {code(head.sha)}. Merge this into that pull request's branch.\n\n{GUARD if reason else FIRST}"
    )
    fields = {
        "title": f"Record accuracy references for #{event.number}",
        "head": branch,
        "base": head.ref,
        "body": body,
    }
    for failed in range(1, _ATTEMPTS + 1):
        url = _open_pull_request(client, event, head, branch)
        try:
            url = url or client.post(f"/repos/{event.repository}/pulls", fields, needs=NEEDS)["html_url"]
        except Uncertain:  # it may be there now: look again
            if failed < _ATTEMPTS:
                client.rest(failed)
            continue
        except (MissingPermission, Refused) as error:
            raise Refused(
                f"they are on the branch {branch}, but GitHub did not open a pull request for it: {error}; {SETTING}"
            ) from error
        return Proposal("The new references are in a pull request into this branch", url)
    raise CannotReach(f"the pull request of {branch} could not be opened in {_ATTEMPTS} attempts")


def _open_pull_request(client: Client, event: Event, head: Side, branch: str) -> str | None:
    """Return the address of the open pull request from our branch.

    It leads into the head's.
    """
    owner = event.repository.split("/")[0]
    for pull in open_pull_requests(client, event, head=f"{owner}:{branch}", base=head.ref):
        if (pull.head.ref, pull.base.ref) == (branch, head.ref) and pull.head.is_in(event.repository):
            return pull.html_url
    return None

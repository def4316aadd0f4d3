"""`accgate propose`: references that were recorded on request, as a pull request into the one they were asked in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from accgate.errors import PASSED, BadInput
from accgate.github.api import CannotPublish, CannotReach, Client, Entry, Git, MissingPermission, Refused, Uncertain
from accgate.github.artifact import check_references, git_sha, stored_files
from accgate.github.commands import write_outputs
from accgate.github.event import Event, read_event
from accgate.github.pulls import Head, promised, read_head
from accgate.github.reply import link, reply, said, try_reply
from accgate.github.slash import IssueComment, read_issue_comment
from accgate.report import LINKED, code

As = Literal["pull-request", "commit"]

NEEDS = "pull-requests: write"
_ATTEMPTS = 3
GUARD = (
    "A new reference changes what the gate compares with, so the guard asks that somebody with write permission other "
    "than the pull request's author approves the new commit."
)
NO_RUN = (
    "The commit started no workflow, as none does that a job's own token makes: close and reopen the pull request, or "
    "push to it, and the gate looks at the new head."
)
SETTING = (
    "where the message says that GitHub Actions is not permitted to create pull requests, allow it under Settings, "
    "Actions, General, Workflow permissions"
)


@dataclass(frozen=True)
class Options:
    """What is proposed: the folder of references, the commit they were recorded at, and their folder in there."""

    folder: Path
    head_sha: str
    references: str = "references"
    how: As = "pull-request"


@dataclass(frozen=True)
class Proposal:
    """What came of it; `url` is None where there was nothing to propose."""

    text: str
    url: str | None


def propose(
    options: Options,
    environ: Mapping[str, str],
    *,
    connect: Callable[[Event], Client],
    say: Callable[[str], None],
) -> int:
    """Commit the references that differ from the head's, and say so under the comment that asked; the exit code.

    The output `url` leads to the pull request or the commit. A second time finds what the first one made.

    Raises
    ------
    BadInput
        When the event asks for no new reference, or the folder holds what is none.
    CannotPublish
        When GitHub could not be asked or told, or the head has moved.
    """
    event, asked = read_event(environ), read_issue_comment(environ)
    if asked.command is None or asked.command.name != "accept" or asked.command.fault:
        raise BadInput(
            "the comment of this event is no /accgate accept REASON; propose follows respond in its workflow"
        )
    client = connect(event)
    try:
        with promised(f"{event.repository}#{event.number}"):
            done = _proposal(client, event, options, asked)
        text = f"{link(done.text, done.url)}.\n\n{GUARD}" if done.url else said(f"{done.text}.")
        text += f"\n\n{NO_RUN}" if done.url and options.how == "commit" else ""
        reply(client, event, asked.comment.id, text)
    except (BadInput, CannotPublish) as error:
        try_reply(client, event, asked.comment.id, said(f"The new references were not proposed: {error}"))
        raise
    say(f"{done.text}{': ' if done.url else ''}{done.url or ''}")
    write_outputs(environ.get("GITHUB_OUTPUT"), {"url": done.url or ""})
    return PASSED


def commit_message(reason: str, login: str, number: int) -> str:
    """The message of the commit: its reason mentions nobody, closes no issue and stops no workflow.

    >>> commit_message("fixes #3, [skip ci]", "rita", 7).splitlines()[2]
    'fixes #\\u200b3, [\\u200bskip ci]'
    """
    inert = re.sub(r"\[(?=[a-z])", "[\u200b", LINKED.sub("\u200b", reason), flags=re.IGNORECASE)
    return f"Record accuracy references\n\n{inert}\n\nRequested by {login} in #{number}\n"


def _proposal(client: Client, event: Event, options: Options, asked: IssueComment) -> Proposal:
    command = asked.command
    assert command is not None
    git, head = Git(client, event.repository), read_head(client, event)
    if not head.is_open or not head.is_in(event.repository):
        raise Refused("the pull request is closed, or of a fork, whose branch is not ours to write to")
    files = stored_files(options.folder)
    old = git.commit(options.head_sha)
    changed = _differing(git, old.tree, options.references, files)
    if not changed:
        return Proposal("There is nothing to propose: the recorded references are those that the branch has", None)
    check_references(options.folder, changed, reason=command.reason)
    message = commit_message(command.reason, asked.comment.user.login, asked.issue.number)
    if options.how == "commit":
        return _committed(git, event, head, options, changed, message)
    if head.sha != options.head_sha:
        raise _moved()
    branch = f"accgate/accept-{event.number}-{options.head_sha[:12]}"
    _write_branch(git, branch, options, changed, message)
    return _pull_request(client, event, head, branch, asked, command.reason)


def _differing(git: Git, tree: str, folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Which of the files a tree does not have as they are.

    Raises
    ------
    BadInput
        Where a folder, link or submodule stands in the place of a file, or anything but a folder in that of a folder.
    """
    present = git.folder(tree, folder)
    for name in files:
        parent, entry = present.get(name.split("/")[0]), present.get(name)
        if (parent is not None and parent.type != "tree") or (entry is not None and not entry.is_file):
            raise BadInput(f"{folder}/{name}: what the repository has there is no plain file in a folder; remove it")
    nothing = Entry("blob", "", "")
    return {name: content for name, content in files.items() if present.get(name, nothing).sha != git_sha(content)}


def _committed(
    git: Git, event: Event, head: Head, options: Options, changed: Mapping[str, bytes], message: str
) -> Proposal:
    """The references as a commit on the pull request's own branch, which is only ever moved forward."""
    text = "The new references are committed to this branch"
    page = f"{event.server_url}/{event.repository}/commit"
    if head.sha != options.head_sha:
        if _differing(git, git.commit(head.sha).tree, options.references, changed):
            raise _moved()
        return Proposal(text, f"{page}/{head.sha}")
    sha = git.write_commit(git.commit(head.sha), _placed(changed, options), message)
    try:
        git.advance_branch(head.ref, sha)
    except Refused as error:
        raise Refused(f"the branch has moved, or is protected: {error}; ask again, or use --as pull-request") from error
    return Proposal(text, f"{page}/{sha}")


def _placed(files: Mapping[str, bytes], options: Options) -> dict[str, bytes]:
    """Files of the store by their paths in the repository."""
    return {f"{options.references}/{name}": content for name, content in files.items()}


def _moved() -> Refused:
    return Refused(
        "the branch has moved since the references were recorded; look at its new head, then ask again with "
        "/accgate accept"
    )


def _write_branch(git: Git, branch: str, options: Options, changed: Mapping[str, bytes], message: str) -> None:
    """A branch with these references: a new one on the head, or what is there with a commit where it differs."""
    for attempt in range(1, _ATTEMPTS + 1):
        tip = git.tip(branch)
        parent = git.commit(tip or options.head_sha)
        lacking = _differing(git, parent.tree, options.references, changed)
        if tip is not None and not lacking:
            return
        sha = git.write_commit(parent, _placed(lacking, options), message)
        try:
            if tip is None:
                git.create_branch(branch, sha)
            else:
                git.advance_branch(branch, sha)
        except Refused:  # another job may have written it in between
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _pull_request(client: Client, event: Event, head: Head, branch: str, asked: IssueComment, reason: str) -> Proposal:
    body = (
        f"{said(reason)}\n\nRequested by {said(asked.comment.user.login)} in #{event.number}, and recorded at its head "
        f"{code(head.sha)}. Merge this into that pull request's branch.\n\n{GUARD}"
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
            fault = f"they are on the branch {branch}, but GitHub opens no pull request for it: {error}; {SETTING}"
            raise Refused(fault) from error
        return Proposal("The new references are in a pull request into this branch", url)
    raise CannotReach(f"the pull request of {branch} could not be opened in {_ATTEMPTS} attempts")


def _open_pull_request(client: Client, event: Event, head: Head, branch: str) -> str | None:
    """The address of the open pull request from our branch into the head's."""
    owner = event.repository.split("/")[0]
    query = {"state": "open", "head": f"{owner}:{branch}", "base": head.ref}
    for pull in client.pages(f"/repos/{event.repository}/pulls", params=query, needs="pull-requests: read"):
        repository = ((pull["head"]["repo"] or {}).get("full_name") or "").lower()
        if (pull["head"]["ref"], pull["base"]["ref"], repository) == (branch, head.ref, event.repository.lower()):
            return str(pull["html_url"])
    return None

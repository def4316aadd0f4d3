"""The command `accgate propose`.

It opens a pull request with the references that a comment requested. They come from an artifact of another job, and are
hostile data, of which only the files of a reference store are taken.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from accgate.errors import PASSED, BadInput, reading
from accgate.github.api.answers import CannotPublish, MissingPermission, Refused, as_promised
from accgate.github.api.client import Client
from accgate.github.api.git_data import Commit, Git
from accgate.github.api.objects import Side
from accgate.github.approvals import is_writer
from accgate.github.branch import NewFiles, commit_to
from accgate.github.event import Event, open_pull_requests, read_event, read_pull_request
from accgate.github.runner import Job, write_outputs
from accgate.github.slash import Command, IssueComment, link, plain, read_issue_comment, reply, try_reply
from accgate.guard.reference_rules import are_close
from accgate.inputs.paths import with_lf
from accgate.records.file import file_name, read_gzip_lines
from accgate.references.anchor import anchor_beside
from accgate.references.store import Reference, find_reference, reference_path
from accgate.references.writer import figures_of
from accgate.report.markdown import LINKED, code

As = Literal["pull-request", "commit"]

NEEDS = "pull-requests: write"
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

MOST_FILES = 2_000
FILE_LIMIT = 25_000_000  # bytes
TOTAL_LIMIT = 100_000_000  # bytes
UNPACKED_LIMIT = 250_000_000  # bytes of replies
_FIX = "upload the references folder of `record` and nothing else"
_KINDS = (".anchor.scores.csv", ".scores.csv", ".replies.jsonl.gz", ".anchor.toml", ".toml")  # the longer ones first


@dataclass(frozen=True)
class Options:
    """The references to propose.

    They are in `folder`, were recorded at `head_sha`, and belong to the repository's folder `references`. `recorded` is
    how the recording job ended: `success`, `failure`, `cancelled` or `skipped`.
    """

    folder: Path
    head_sha: str
    references: str = "references"
    how: As = "pull-request"
    recorded: str = "success"


@dataclass(frozen=True)
class Proposal:
    """The proposal in words, and its address.

    The address is empty where there was nothing to propose.
    """

    text: str
    url: str = ""


def propose(options: Options, job: Job) -> int:
    """Commit the references that differ from the head's.

    Answer the comment, and return the exit code. The output `url` leads to the pull request or the commit. A second
    call gives the same address.

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
        guard = GUARD if request.command.reason else FIRST
        text = f"{link(done.text, done.url)}.\n\n{guard}" if done.url else plain(f"{done.text}.")
        text += f"\n\n{NO_RUN}" if done.url and options.how == "commit" else ""
        reply(client, event, request.comment.id, text)
    except (BadInput, CannotPublish) as error:
        try_reply(client, event, request.comment.id, plain(f"The new references were not proposed: {error}"))
        raise
    job.say(f"{done.text}: {done.url}" if done.url else done.text)
    write_outputs(job.environ, {"url": done.url})
    return PASSED


def commit_message(reason: str, login: str, number: int) -> str:
    """Write the commit's message.

    The reason in it mentions nobody, closes no issue and stops no workflow.

    >>> commit_message("fixes #3, [skip ci]", "rita", 7).splitlines()[2]
    'fixes #\\u200b3, [\\u200bskip ci]'
    """
    inert = re.sub(r"\[(?=[a-z])", "[\u200b", LINKED.sub("\u200b", reason), flags=re.IGNORECASE)
    return f"Record accuracy references\n\n{inert}\n\nRequested by {login} in #{number}\n"


def _proposal(client: Client, event: Event, options: Options, request: IssueComment, command: Command) -> Proposal:
    if options.recorded != "success":
        fault = f"recording the references ended with {options.recorded}"
        raise Refused(f"{fault}; see {event.run_url}, then write the command again")
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
        return Proposal("Every check has a reference; /accgate accept REASON records new ones in their place")
    if not changed:
        return Proposal("There is nothing to propose: the branch has the recorded references already")
    if command.name == "record":
        _refuse_replaced(git, old.tree, options.references, changed)
    check_references(options.folder, changed, reason=command.reason)
    message = commit_message(command.reason or "The first of their checks.", user.login, request.issue.number)
    if options.how == "commit":
        return _commit(git, event, head, options, changed, message)
    if head.sha != options.head_sha:
        raise Refused(MOVED)
    branch = f"accgate/accept-{event.number}-{options.head_sha[:12]}"

    def change_at(parent: Commit | None) -> NewFiles:
        lacking = _differing(git, (parent or old).tree, options.references, changed)
        return NewFiles(_paths_of(lacking, options), message)

    commit_to(client, git, branch, change_at, start=old)
    return _pull_request(client, event, head, branch, user.login, command.reason)


def _refuse_replaced(git: Git, tree: str, folder: str, changed: Mapping[str, bytes]) -> None:
    """Refuse to replace references of a tree, in part or whole.

    `record` replaces none.
    """
    present = {place_of(name) for name in git.folder(tree, folder)}
    if there := sorted(name for name in changed if place_of(name) in present):
        fix = "/accgate accept REASON replaces it"
        raise BadInput(f"{folder}/{there[0]}: belongs to a reference that the branch has already; {fix}")


def _differing(git: Git, tree: str, folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that a tree does not have, or has with other content.

    Raises
    ------
    BadInput
        When a file of ours would replace a folder, link or submodule, or a folder of ours anything but a folder.
    """
    present = git.folder(tree, folder)
    for name in files:
        parent, entry = present.get(name.split("/")[0]), present.get(name)
        if (parent is not None and parent.type != "tree") or (entry is not None and not entry.is_file):
            raise BadInput(f"{folder}/{name}: the repository has something other than a plain file there; remove it")
    blobs = {name: entry.sha for name, entry in present.items()}
    return {name: content for name, content in files.items() if blobs.get(name) not in _blobs(content)}


def _blobs(content: bytes) -> set[str]:
    """Return the names that git gives a file of this content.

    There is one for each kind of line ends.
    """
    unix = with_lf(content)
    return {git_sha(each) for each in (content, unix, unix.replace(b"\n", b"\r\n"))}


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


def _pull_request(client: Client, event: Event, head: Side, branch: str, login: str, reason: str) -> Proposal:
    body = (
        f"{plain(reason)}\n\n".lstrip() + f"Requested by {plain(login)} in #{event.number}, and recorded at its "
        f"head {code(head.sha)}. Merge this into that pull request's branch.\n\n{GUARD if reason else FIRST}"
    )
    fields = {
        "title": f"Record accuracy references for #{event.number}",
        "head": branch,
        "base": head.ref,
        "body": body,
    }
    opened = partial(_open_pull_request, client, event, head, branch)

    def open_it() -> str:
        return str(client.post(f"/repos/{event.repository}/pulls", fields, needs=NEEDS)["html_url"])

    try:
        url = opened() or client.once(open_it, opened, f"the pull request of {branch} could not be opened")
    except (MissingPermission, Refused) as error:
        fault = "has the references, but GitHub opened no pull request for it"
        raise Refused(f"the branch {branch} {fault}: {error}; {SETTING}") from error
    return Proposal("The new references are in a pull request into this branch", url)


def _open_pull_request(client: Client, event: Event, head: Side, branch: str) -> str | None:
    """Return the address of our branch's open pull request, if any.

    It must lead into the head's branch.
    """
    owner = event.repository.split("/")[0]
    for pull in open_pull_requests(client, event, head=f"{owner}:{branch}", base=head.ref):
        if (pull.head.ref, pull.base.ref) == (branch, head.ref) and pull.head.is_in(event.repository):
            return pull.html_url
    return None


def stored_files(folder: Path) -> dict[str, bytes]:
    """Read the files of a reference store in a folder, by MODEL/FILE.

    Other plain files are ignored.

    Raises
    ------
    BadInput
        For anything but plain files and folders, for more or larger files than references have, and for a folder
        without a reference.
    """
    files: dict[str, bytes] = {}
    total = 0
    for number, path in enumerate(_plain_files(folder), 1):
        if number > MOST_FILES:
            raise BadInput(f"{folder}: holds more than {MOST_FILES:,} files; {_FIX}")
        name = path.relative_to(folder).as_posix()
        if not is_stored(name):
            continue
        size = path.stat().st_size
        total += size
        if size > FILE_LIMIT or total > TOTAL_LIMIT:
            limits = f"{FILE_LIMIT // 10**6} MB a file, {TOTAL_LIMIT // 10**6} MB in all"
            raise BadInput(f"{path}: is too large ({limits}); record with --no-replies")
        files[name] = path.read_bytes()
    if not any(name.endswith(".toml") for name in files):
        raise BadInput(f"{folder}: holds no reference; {_FIX}")
    return files


def is_stored(name: str) -> bool:
    """Tell whether a path is one that a reference store has.

    >>> is_stored("m@quant=fp8/sums.toml"), is_stored("m/.git.toml"), is_stored("m/../sums.toml"), is_stored("m/a.md")
    (True, False, False, False)
    """
    parts = name.split("/")
    if len(parts) != 2 or not parts[1].endswith(_KINDS):
        return False
    # Names that `file_name` writes: none is hidden, leads elsewhere or holds a control character.
    return all(re.fullmatch(r"[ -~]+", part) and file_name(unquote(part)) == part for part in place_of(name))


def check_references(folder: Path, changed: Collection[str], *, reason: str) -> None:
    """Refuse references that `record` would not have written.

    They are in other places, or have another reason or other figures. `changed` are paths from `stored_files`.

    Raises
    ------
    BadInput
        Which file, and what is wrong with it.
    """
    for model, task in sorted({place_of(name) for name in changed}):
        path = folder / model / f"{task}.toml"
        reference = find_reference(folder, unquote(model), unquote(task))
        if reference is None or reference.path != path:
            raise BadInput(f"{path}: is missing, but files beside it changed; {_FIX}")
        about = reference.about
        if reference_path(folder, about.model, about.variant, about.task) != path:
            raise BadInput(f"{path}: is not the place of a reference of {about.model} for task {about.task}; {_FIX}")
        if reference.scores is None:
            raise BadInput(f"{path}: has no scores, which `record` writes; {_FIX}")
        anchor = anchor_beside(path)
        if anchor is not None and (anchor.about.model, anchor.about.task) != (about.model, about.task):
            raise BadInput(f"{anchor.path}: belongs to another model or task than {path.name}; {_FIX}")
        if f"{model}/{task}.toml" not in changed:
            raise BadInput(f"{path}: is unchanged, but files beside it changed; {_FIX}")
        if about.reason != reason:
            raise BadInput(f"{path}: was recorded for another reason than the one in the comment; record it again")
        for key, value in figures_of(reference.scores).items():
            if not are_close(getattr(about, key), value):
                raise BadInput(f"{path}: {key}: does not follow from the scores; record it again")
        _check_replies(reference)


def git_sha(content: bytes) -> str:
    """Return the name that git gives a file with this content.

    >>> git_sha(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def place_of(name: str) -> tuple[str, str]:
    """Split the path of a reference's file into model and task.

    Both stay as files' names spell them.

    >>> place_of("m@quant=fp8/sums.anchor.scores.csv")
    ('m@quant=fp8', 'sums')
    """
    model, _, file = name.partition("/")
    return model, file.removesuffix(next((kind for kind in _KINDS if file.endswith(kind)), ""))


def _plain_files(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder, at any depth, and refuse links."""
    with reading(folder, "give the folder of the references"):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    for entry in entries:
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield from _plain_files(Path(entry.path))
        elif stat.S_ISREG(mode):
            yield Path(entry.path)
        else:
            raise BadInput(f"{entry.path}: is a link or another special file; {_FIX}")


def _check_replies(reference: Reference) -> None:
    """Refuse replies that the report could not read.

    Replies that unpack to more than the limit are refused too.
    """
    for row in read_gzip_lines(reference.replies_path, "reply", UNPACKED_LIMIT):
        if "repeat" not in row:
            raise BadInput(f"{reference.replies_path}: holds a row without repeat; record it again")

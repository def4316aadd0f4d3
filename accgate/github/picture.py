"""The picture of a run's checks on a branch of a public repository, where the comment shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accgate.errors import BadInput
from accgate.github.api.answers import as_promised
from accgate.github.api.client import Client
from accgate.github.branch import push_files
from accgate.github.event import Event
from accgate.report.forest import forest_files
from accgate.report.story import worst_first
from accgate.result import Result


@dataclass(frozen=True)
class Pictures:
    """What a commit writes: nothing where the same picture is there already."""

    files: Mapping[str, bytes]
    message: str


def push_pictures(client: Client, event: Event, branch: str, result: Result) -> tuple[str, str] | None:
    """Write the picture for light and dark pages to a branch; the addresses of both.

    None where there is nothing to draw (one check, or all passed), outside of a pull request, and in a repository that
    is not public: a comment's reader, and GitHub's own image proxy, could not fetch it.

    Raises
    ------
    BadInput
        When the branch is the default one or the pull request's: it would get commits that nobody looked at.
    CannotPublish
        When GitHub could not be reached, or refused; the token needs `contents: write`.
    """
    drawn = {} if result.verdict == "pass" or event.number is None else forest_files(worst_first(result.checks))
    if len(drawn) != 2:
        return None
    with as_promised(event.repository):
        about = client.get(f"/repos/{event.repository}", needs="metadata: read")
        if about.get("private") is not False:
            return None
        taken = {about.get("default_branch"), event.base_branch, event.head_branch}
    if branch.removeprefix("refs/heads/") in taken:
        raise BadInput(f"picture-branch: {branch} is a branch of people; name one for pictures alone")
    start = f"{event.number}-{event.head_sha[:12]}-{event.source_run_id}"
    files = {f"{start}-{name}": text.encode() for name, text in drawn.items()}
    first = next(iter(files))

    def change_of(content: bytes) -> Pictures:
        return Pictures({} if content == files[first] else files, f"Checks of #{event.number}")

    commit, _ = push_files(client, event.repository, branch, first, change_of)
    raw = f"{event.server_url}/{event.repository}/raw"
    if event.server_url == "https://github.com":
        raw = f"https://raw.githubusercontent.com/{event.repository}"
    light, dark = (f"{raw}/{commit}/{path}" for path in files)
    return light, dark

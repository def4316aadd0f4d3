"""A comment on a pull request of the tests' GitHub, and the job that it starts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.github import shapes
from tests.github.server import TOKEN, GitHub


def job(
    folder: Path, hub: GitHub, body: str, *, by: str = "will", number: int = 7, token: str = TOKEN, **changes: Any
) -> dict[str, str]:
    """The variables of a job that somebody's comment on number 7 started; `changes` are of the event's payload."""
    comment = hub.store.add_comment(number, by, body)
    issue = {"number": number, "state": "open", "title": "t", "pull_request": {"url": "x"}}
    payload = {"action": "created", "comment": comment, "issue": issue, "sender": shapes.user(by)}
    path = folder / "event.json"
    path.write_text(json.dumps(payload | changes))
    (folder / "output").write_text("")
    return {
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": hub.store.repository,
        "GITHUB_SHA": "b" * 40,
        "GITHUB_REF_NAME": "main",
        "GITHUB_API_URL": hub.url,
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_RUN_ID": "50",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_OUTPUT": str(folder / "output"),
        "ACCGATE_TOKEN": token,
    }


def outputs_of(path: Path) -> dict[str, str]:
    """What the runner reads from the file of GITHUB_OUTPUT, as its FileCommandManager.cs."""
    read, lines = {}, iter(path.read_bytes().decode().split("\n"))
    for line in lines:
        name, mark, end = line.partition("<<")
        if mark:
            read[name] = "\n".join(iter(partial(next, lines), end))
    return read


def outputs(environ: dict[str, str]) -> dict[str, str]:
    """What a step wrote to GITHUB_OUTPUT."""
    return outputs_of(Path(environ["GITHUB_OUTPUT"]))


def replies(hub: GitHub, number: int = 7) -> list[str]:
    """The bot's answers, without their markers and invisible characters."""
    rows = [row["body"] for row in hub.comments(number) if row["body"].startswith("<!-- accgate")]
    return [body.partition("\n")[2].replace("\u200b", "").replace("&#8203;", "") for body in rows]

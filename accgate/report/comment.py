"""The pull-request comment: the verdict in words, the table, what changed, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """What the comment says of the run besides its result.

    `title` is the check's name, `config` the path of accuracy.toml in the repository, `report_url` where the full
    report is. `advisory` marks a result that nothing vouches for, as of a fork: it never counts as passed.
    """

    title: str
    config: str
    head_sha: str
    report_url: str | None = None
    advisory: bool = False


@dataclass(frozen=True)
class Failure:
    """A run that ended without a result: its exit code, and the last lines of what it said."""

    exit_code: int
    log: str

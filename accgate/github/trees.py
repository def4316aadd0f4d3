"""The guard of a pull request, from the trees of its base and head and what GitHub knows of approvals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from accgate.config import Config, load_config
from accgate.errors import AccgateError, BadInput
from accgate.github.api import CannotPublish
from accgate.github.approvals import Approval
from accgate.guard import Guard, RuleChange, changed_rules, has_rules


@dataclass(frozen=True)
class Trees:
    """Where the files of the pull request's head and base lie, and where accuracy.toml is in them."""

    head: Path
    base: Path | None
    config: str

    @property
    def head_config(self) -> Path:
        """The head's accuracy.toml."""
        return self.head / self.config

    @property
    def base_config(self) -> Path | None:
        """The base's accuracy.toml, where there is one.

        Raises
        ------
        BadInput
            Where that cannot be told.
        """
        path = None if self.base is None else self.base / self.config
        return path if path is not None and has_rules(path, self.head_config) else None


def guard_of(trees: Trees, approval: Callable[[], Approval | None]) -> Guard:
    """Whether the rules that judge are ones that the pull request could not weaken.

    `approval` asks GitHub who approved this very commit; it is called only where a rule was loosened.
    """
    if trees.base is None or not trees.base.is_dir():
        return Guard("unreadable", reason="the files of the base commit are missing, so nothing tells what was changed")
    try:
        if trees.base_config is None:
            return Guard("bootstrap")
        changes = changed_rules(load_config(trees.base_config), load_config(trees.head_config))
    except AccgateError as error:
        return Guard("unreadable", reason=f"what changed cannot be told: {error}")
    if not any(change.effect == "loosening" for change in changes):
        return Guard("tightened" if changes else "unchanged", changes)
    return _approved(changes, approval)


def _approved(changes: tuple[RuleChange, ...], approval: Callable[[], Approval | None]) -> Guard:
    try:
        found = approval()
    except CannotPublish as error:
        return Guard("unreadable", changes, reason=f"whether somebody approved that cannot be read: {error}")
    if found is not None:
        return Guard("approved", changes, approved_by=found.by)
    return Guard("loosened", changes)


def template_of(trees: Trees) -> str | None:
    """The text of the template that overrides the comment's blocks: the base's, where there is a base.

    Raises
    ------
    BadInput
        When it cannot be read.
    """
    path = trees.head_config if trees.base is None else trees.base_config
    if path is None:
        return None
    config: Config = load_config(path)
    if config.report.template is None:
        return None
    file = config.path(config.report.template)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot be read: {error}; save it as UTF-8 text") from error

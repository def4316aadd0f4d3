"""The tree of a base commit: whether it has rules, and whether its references are in sight."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from accgate.config.config import Config
from accgate.errors import BadInput
from accgate.guard.tree import trees_of

FIX = "somebody who may push to the base must put it into the repository as a plain file, in a path without .."


def has_rules(base: Path, head: Path) -> bool:
    """Whether the base's tree has an accuracy.toml; `head` is the same file in the pull request's tree.

    Raises
    ------
    BadInput
        When the tree does not show it: there is none, or the path leads through a link or a submodule, which is empty.
    """
    if _mode(base) is not None:  # a link that leads nowhere was put there as well
        return True
    base = Path(os.path.abspath(base))  # noqa: PTH100 (resolve would follow links)
    root, _ = trees_of(base, head)
    if not root.is_dir():
        raise BadInput(f"{root}: is not a folder; give the tree of the base commit with --base")
    for folder in base.parents:
        if folder == root:
            break
        mode = _mode(folder)
        if mode is None:
            continue
        if not stat.S_ISDIR(mode) or not any(folder.iterdir()):
            fault = (
                "is a link, a file or an empty folder (an unread submodule), so whether the base has rules is unknown"
            )
            raise BadInput(f"{folder}: {fault}; {FIX}")
        break
    return False


def refuse_unread_references(base: Config, root: Path) -> None:
    """Refuse a base whose references may be in a submodule, of which its tree has only an empty folder.

    A pull request could else bring its own in their place: they would look like the first ones.

    Raises
    ------
    BadInput
        Which folder is empty; git keeps none but for a submodule.
    """
    store = Path(os.path.abspath(base.references))  # noqa: PTH100
    around = [folder for folder in (store, *store.parents) if folder.is_relative_to(root)]
    models = sorted(store.iterdir()) if store.is_dir() else []
    for folder in (*around, *models):
        if folder.is_dir() and not any(folder.iterdir()):
            fault = "is an empty folder (an unread submodule), so which references the base has is unknown"
            raise BadInput(
                f"{folder}: {fault}; put them into the repository of {base.source.path.name}, as plain files"
            )


def _mode(path: Path) -> int | None:
    """The mode of the file or folder at a path, without following links; None where there is nothing."""
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; whether the base has rules is unknown") from error

"""A repository's folder, within which the paths in its files must stay.

The rules that a base's folder shows are found here as well.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.config.config import Config
from accgate.errors import BadInput
from accgate.inputs.checkout import stand_in_of
from accgate.inputs.toml import read_toml

FIX = "somebody who may push to the base must put it into the repository as a plain file, in a path without .."
LINKS = 40  # of one path, as many as Linux follows
GIT = ".git"


@dataclass(frozen=True)
class Tree:
    """A repository's folder, and the folders of other checkouts, which may lie within it.

    `jobs` are those folders and the one in which a job left files for models.
    """

    root: Path
    others: tuple[Path, ...] = ()
    jobs: tuple[Path, ...] = ()

    def apart_from(self, workspace: Path | None) -> Tree:
        """Return the tree without the folder that a job left for models.

        No rule may lie in that folder, nor in what is around it.
        """
        if workspace is None:
            return self
        around = [workspace, *workspace.parents]
        outermost = [each for each in around if not self.root.is_relative_to(each)][-1:]
        checkout = [each for each in around if os.path.lexists(each / GIT)][:1] or outermost
        return replace(self, others=(*self.others, *outermost), jobs=(*self.others, workspace, *checkout))

    def fault(self, folder: Path, name: str) -> str | None:
        """Say why a name in a file of this folder leaves the tree.

        A name that stays gives None. No step may leave the tree, even where the end is in it again: in the base, after
        a merge or on another machine the same name leads elsewhere. A missing file is no fault, but a link to nothing
        is one, because it does not stand for a missing file.
        """
        if os.path.isabs(name) or name.startswith("~"):  # noqa: PTH117 (a text of a user's)
            return "is an absolute path"
        real = Path(os.path.realpath(folder))
        if not real.is_relative_to(os.path.realpath(self.root)):
            return "is named by a file outside of the repository"
        return self._walk([*real.relative_to(os.path.realpath(self.root)).parts, *Path(name).parts])

    def fault_with_dots(self, folder: Path, name: str) -> str | None:
        """Say why a name leaves the tree, also for readers that normalise it.

        With and without its `..` the name must lead to one place.
        """
        path = Path(os.path.realpath(folder)) / name
        is_one = os.path.realpath(path) == os.path.realpath(os.path.normpath(path))
        return self.fault(folder, name) or (None if is_one else "leads through a link and back with ..")

    def fault_of_config(self, config: Path) -> str | None:
        """Say why the path of accuracy.toml itself leaves the tree.

        A path that stays gives None.
        """
        path = Path(os.path.abspath(config))  # noqa: PTH100 (resolve would follow links)
        return self._walk([*path.relative_to(self.root).parts])

    def _walk(self, parts: list[str]) -> str | None:
        here: list[str] = []
        rest, links = deque(parts), 0
        outside = [_identity(other) for other in self.others]
        while rest:
            part = rest.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                if not here:
                    return "leads out of the repository"
                here.pop()
                continue
            if part.casefold() == GIT:
                return "leads into git's own folder"
            path = self.root.joinpath(*here, part)
            if os.path.islink(path):  # noqa: PTH114 (Path's own raises where a folder may not be read)
                links += 1
                target = str(path.readlink())
                if links > LINKS:
                    return "leads through links without end"
                if os.path.isabs(target):  # noqa: PTH117
                    return f"leads through {part}, a link to an absolute path"
                rest.extendleft(reversed(Path(target).parts))
                continue
            here.append(part)
            if (own := _identity(path)) is not None and own in outside:
                return "leads into another checkout"
        return _fault_at_end(self.root.joinpath(*here), is_linked=links > 0)


def _fault_at_end(path: Path, *, is_linked: bool) -> str | None:
    """Say why nothing can be read where a path ends.

    A file that can be read gives None, and so does one that was never there.
    """
    if is_linked and _identity(path) is None:
        return "leads through a link to where nothing is"
    return f"is {stand_in[0]}, in the commit too" if (stand_in := stand_in_of(path)) else None


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what identifies a folder, also under another name.

    Other letters' case and mounts are the same folder.
    """
    try:
        about = path.stat()
    except (OSError, ValueError):
        return None
    return about.st_dev, about.st_ino


def tree_at(root: Path, config: Path) -> Tree:
    """Return the tree of a repository's folder that the user names.

    Raises
    ------
    BadInput
        When it is no folder around accuracy.toml.
    """
    folder = Path(os.path.abspath(root))  # noqa: PTH100
    if not folder.is_dir() or not Path(os.path.abspath(config)).is_relative_to(folder):  # noqa: PTH100
        raise BadInput(f"{root}: is not a folder around {config}; give the repository's folder with --tree")
    return Tree(folder)


def trees_of_pair(base: Path, head: Path) -> tuple[Tree, Tree]:
    """Return the trees of accuracy.toml in a pull request's base and head.

    Each is the folder of the nearest git repository, or else the path without the common end of both paths. Where both
    are one file, that is its repository, or else its folder.
    """
    folder = Path(os.path.abspath(head)).parent  # noqa: PTH100
    if Path(os.path.abspath(base)).parent == folder:  # noqa: PTH100
        around = (each for each in (folder, *folder.parents) if os.path.lexists(each / GIT))
        root = next(around, folder)
        return Tree(root), Tree(root)
    roots = [
        _repository(Path(os.path.abspath(config)).parent, root)  # noqa: PTH100
        for config, root in zip((base, head), trees_of(base, head), strict=True)
    ]
    (old, new), (one, other) = roots, map(_identity, roots)
    if one == other:
        return Tree(old), Tree(new)
    return Tree(old, (new,)), Tree(new, (old,))


def _repository(folder: Path, widest: Path) -> Path:
    while folder != widest and not os.path.lexists(folder / GIT):
        folder = folder.parent
    return folder


def trees_of(base: Path, head: Path) -> tuple[Path, Path]:
    """Return the folders of two trees.

    They are the paths of one file in both, without their common end.

    >>> [path.name for path in trees_of(Path("/base/gates/accuracy.toml"), Path("/head/gates/accuracy.toml"))]
    ['base', 'head']
    """
    left, right = (Path(os.path.abspath(path)).parent for path in (base, head))  # noqa: PTH100
    while left.name and left.name == right.name and left != right:
        left, right = left.parent, right.parent
    return left, right


def has_rules(base: Path, head: Path) -> bool:
    """Tell whether the base's tree has an accuracy.toml.

    `head` is the same file in the pull request's tree.

    Raises
    ------
    BadInput
        When the tree does not show it: there is none, or the path leads through a link or a submodule, which is empty.
        When rules of the base are at a path that the head has not: they would decide nothing any more, unseen.
    """
    if _mode(base) is not None:  # a link that leads nowhere was put there as well
        return True
    base = Path(os.path.abspath(base))  # noqa: PTH100 (resolve would follow links)
    root, new = trees_of(base, head)
    if not root.is_dir():
        raise BadInput(f"{root}: is not a folder; give the tree of the base commit with --base")
    within = base.relative_to(root).parents
    nearest = next((root / each for each in within if each.name and _mode(root / each) is not None), root)
    if nearest != root and not (stat.S_ISDIR(_mode(nearest) or 0) and any(nearest.iterdir())):
        fault = "is a link, a file or an empty folder (an unread submodule)"
        raise BadInput(f"{nearest}: {fault}, so accgate cannot tell whether the base has rules; {FIX}")
    for path in _rule_files(root, base.name):
        if not os.path.lexists(new / path.relative_to(root)):
            fault = f"the pull request takes these rules away, so that {head} is not the first of its repository"
            raise BadInput(f"{path}: {fault}; keep them, and remove or rename them in a pull request after this one")
    return False


def _rule_files(root: Path, name: str) -> Iterator[Path]:
    """Yield the files in a tree that are an accuracy.toml.

    Either the name or the content of a file shows that.
    """
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each.casefold() != GIT]
        for path in (Path(folder, each) for each in files if each.endswith(".toml")):
            with suppress(BadInput):
                if path.name == name or {"models", "tasks"} <= read_toml(path, fix="").data.keys():
                    yield path


def refuse_unread_references(base: Config, root: Path) -> None:
    """Refuse a base whose references may be in a submodule.

    Its tree has only an empty folder of a submodule. A pull request could bring its own references in their place,
    which would look like the first ones.

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
            fault = "is an empty folder (an unread submodule), so the base's references are unknown"
            raise BadInput(f"{folder}: {fault}; put them as plain files into the repository that has accuracy.toml")


def _mode(path: Path) -> int | None:
    """Return the mode of the file, folder or link at a path.

    Where there is nothing, this is None.
    """
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; the base may have rules there") from error

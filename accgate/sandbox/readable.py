"""Which files a program may read: the standard library, the shared libraries it loads, time zones, named packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from . import landlock

PACKAGES = ("site-packages", "dist-packages")
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale", "/dev/urandom", "/dev/zero")


class NamedFinder:
    """Finds the named packages where they are installed, and none beside them."""

    def __init__(self, modules: Iterable[str], folders: Sequence[str]) -> None:
        self._modules, self._folders = frozenset(modules), list(folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place, as Python's own finder has it."""
        if path is None and name in self._modules:
            return PathFinder.find_spec(name, self._folders, target)
        return None


def load_packages(modules: Sequence[str], folders: Sequence[str]) -> None:
    """Import the packages before there is a program: it then finds them in memory, and starts at once."""
    sys.meta_path.append(NamedFinder(modules, folders))
    for name in modules:
        __import__(name)


def rules(private: str, packages: Iterable[str] = ()) -> Iterator[tuple[str, int]]:
    """Paths with Landlock's rights to them, for this interpreter; `private` is the program's own folder."""
    yield private, landlock.OWN
    for package in packages:
        yield package, landlock.READ
    yield "/dev/null", landlock.WRITE
    for path in (*map(Path, _FILES), *libraries()):
        yield str(path), landlock.READ
    for place in library_places():
        if not place.is_dir():
            yield str(place), landlock.READ
            continue
        yield str(place), landlock.LIST
        for path in place.iterdir():
            if path.name not in PACKAGES:
                yield str(path), landlock.READ


def library_places() -> list[Path]:
    """The standard library's folders, and its zip file where there is one."""
    places = {Path(os.__file__).parent, *(Path(path) for path in sys.path)}
    return sorted(path for path in places if path.is_absolute() and path.exists() and path.name not in PACKAGES)


def libraries() -> Iterator[Path]:
    """Shared libraries that lie beside those this process has loaded: extension modules may need them."""
    for folder in sorted(mapped_folders()):
        yield from (path for path in folder.iterdir() if ".so" in path.name)


def mapped_folders() -> set[Path]:
    """Folders of the shared libraries that this process has loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    paths = (Path(line.split(maxsplit=5)[5]) for line in maps.splitlines() if "/" in line)
    return {path.parent for path in paths if ".so" in path.name and path.exists()}

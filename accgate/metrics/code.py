"""The files that a user's metric is made of, and that its code reads no other file of the repository."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.paths import read_plain
from accgate.inputs.python import parse_python

MOST = 500_000_000  # bytes of a file of code; compiled modules can be large
MOST_SOURCE = 2_000_000  # bytes of a file of Python
LONGEST_NAME = 300  # characters of a text that may name a file
INSTALLED = (sys.prefix, sys.base_prefix)  # may lie within a checkout
FIX = "put it beside the metric, and import it or write its name in the code as one text"
ENDINGS = (".py", ".pyc", ".so", ".pyd")  # of what an import may load


def code_files(path: Path, start: Path | None = None) -> tuple[Path, ...]:
    """A metric's file, then every file that its code imports or names, in a fixed order.

    Looked for are the modules that code imports, and files and folders that a text in it names, from the folder of the
    metric, or `start`, and of the file that imports. What a program puts together only as it runs cannot be seen here:
    `OwnCode` refuses to open that.

    Raises
    ------
    BadInput
        When a file is no plain one.
    """
    files: dict[Path, None] = {}
    rest = [path]
    while rest:
        file = Path(os.path.normpath(rest.pop()))
        if file in files:
            continue
        files[file] = None
        if file.suffix == ".py":
            rest += _named_files(file, start or path.parent)
    first, *others = files
    return (first, *sorted(others))


def _named_files(file: Path, first: Path) -> list[Path]:
    """The files that one file of code imports or names."""
    try:
        tree = parse_python(read_plain(file, MOST_SOURCE))
    except SyntaxError:
        tree = None
    if tree is None:  # no import can load it either
        return []
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = sorted({text for text in constants if isinstance(text, str) and _is_name(text)})
    folders = list(dict.fromkeys((file.parent, first)))
    named = [folder / text for folder in folders for text in texts]
    folders += [place for place in named if place.is_dir()]
    modules = [(folder, name) for folder in folders for name in (*_imports(tree), *(t.split(".") for t in texts))]
    modules += [(file.parents[level - 1], name) for level, name in _relative_imports(tree, len(file.parents))]
    listed: dict[Path, Mapping[str, list[Path]]] = {}
    imported = [file for place, name in modules for file in _module(place, name, listed)]
    return [*(place for place in named if place.is_file()), *imported]


def _is_name(text: str) -> bool:
    is_short = len(text) <= LONGEST_NAME and text.isprintable()
    return is_short and not os.path.isabs(text) and text.strip("./") != ""  # noqa: PTH117 (a text, no path yet)


def _imports(tree: ast.AST) -> Iterator[list[str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ([*(node.module or "").split("."), alias.name] for alias in node.names)


def _relative_imports(tree: ast.AST, most: int) -> Iterator[tuple[int, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= most:
            module = node.module.split(".") if node.module else []
            yield from ((node.level, [*module, alias.name]) for alias in node.names)


def _module(folder: Path, parts: Sequence[str], listed: dict[Path, Mapping[str, list[Path]]]) -> Iterator[Path]:
    """The files that an import of a dotted name could load from a folder; `listed` has the folders looked into."""
    for part in parts:
        if not part.isidentifier():
            return
        for place, stem in ((folder, part), (folder / part, "__init__")):
            if place not in listed:
                listed[place] = _loadable(place)
            yield from listed[place].get(stem, ())
        folder /= part
        if not folder.is_dir():
            return


def _loadable(folder: Path) -> Mapping[str, list[Path]]:
    """The files in a folder that an import can load, by the module's name."""
    files: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.suffix in ENDINGS and file.is_file():
            files.setdefault(file.name.partition(".")[0], []).append(file)
    return files


def files_digest(files: Iterable[Path], folder: Path) -> str | None:
    """SHA-256 over names (from a folder) and contents of files; None where there are none.

    Raises
    ------
    BadInput
        When one cannot be read.
    """
    digests = sorted((os.path.relpath(file, folder), _sha256(file)) for file in files)
    return hashlib.sha256(repr(digests).encode()).hexdigest() if digests else None


def _sha256(file: Path) -> str:
    return hashlib.sha256(read_plain(file, MOST)).hexdigest()


class ReadsOutside(BadInput):
    """Code of a rule opens a file of the repository that is no part of the rule."""


class OwnCode:
    """Code of a metric or of lm-eval's task while it runs: with its own import path, and no other file of these trees.

    Compiled files beside the code are not used, since nothing ties them to their source.
    """

    def __init__(self, files: Iterable[Path], trees: Sequence[Path], *, of: str = "the metric", fix: str = FIX) -> None:
        self._of, self._fix = of, fix
        self._files = frozenset(map(os.path.realpath, files))
        self._trees = tuple(map(os.path.realpath, trees))
        self._own = (*self._trees, *sorted({os.path.dirname(file) for file in self._files}))  # noqa: PTH120
        self._path: list[str] | None = None
        if self._trees:
            _watch()

    def __enter__(self) -> OwnCode:
        self._before = (sys.path[:], sys.pycache_prefix, sys.dont_write_bytecode, frozenset(sys.modules))
        if self._path is not None:
            sys.path[:] = self._path
        sys.pycache_prefix, sys.dont_write_bytecode = os.devnull, True
        self._outer, _running.code = getattr(_running, "code", None), self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        _running.code = self._outer
        path, sys.pycache_prefix, sys.dont_write_bytecode, modules = self._before
        self._path, sys.path[:] = sys.path[:], path
        if len(sys.modules) != len(modules):  # the same name is another module in another tree
            for name in sys.modules.keys() - modules:
                file = os.path.realpath(getattr(sys.modules[name], "__file__", None) or os.devnull)
                if _is_within(file, self._own) and not _is_within(file, INSTALLED):
                    del sys.modules[name]

    def refuse(self, name: Any) -> None:
        """Refuse a file of the trees that is no part of the code.

        Raises
        ------
        ReadsOutside
            Which, and the fix.
        """
        if not isinstance(name, (str, bytes, os.PathLike)):
            return  # a descriptor, which something opened before
        path = os.path.realpath(os.fsdecode(name))
        if path not in self._files and _is_within(path, self._trees) and not _is_within(path, INSTALLED):
            fault = f"{self._of}'s code opens this file, which is not part of {self._of}"
            raise ReadsOutside(f"{path}: {fault}; {self._fix}")

    def refuse_module(self, module: ModuleType) -> None:
        """Refuse a module of these trees that was loaded before; raises as `refuse` does."""
        if (file := getattr(module, "__file__", None)) is not None:
            self.refuse(file)


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


_running = threading.local()
_hooks: list[bool] = []


def _watch() -> None:
    """Look at every file that is opened from now on; a hook cannot be removed again."""
    if not _hooks:
        _hooks.append(True)
        sys.addaudithook(_on_open)


def _on_open(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "import") and (code := getattr(_running, "code", None)) is not None:
        code.refuse(arguments[0] if event == "open" else arguments[1])

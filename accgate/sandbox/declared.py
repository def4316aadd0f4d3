"""Code of a user's rules in a process of its own.

Of the repositories that decide, it sees only the files that are declared. They are copied into a folder of their own,
where they lie as in the repository: there is no other file beside them to be listed or measured. Landlock shuts off the
rest. On one's own machine, where no repository decides, nothing is shut off.
"""

import json
import os
import shutil
import sys
import sysconfig
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, CannotEvaluate, KeyFaults, reading
from accgate.inputs.paths import IN_COMMIT
from accgate.inputs.typed import setting_text
from accgate.sandbox.child import Child, code_of_room
from accgate.sandbox.own_code import Places, is_within

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip
VARIABLES = (
    "PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE", "HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE",
)  # fmt: skip
PACKAGE = str(Path(__file__).parents[1])  # accgate's own
LINKED = 64_000_000  # bytes; a larger file is linked where it can be, not copied
PATIENCE = 5.0  # seconds for a process to leave
NEEDS = "run on Linux 5.13 or later with Landlock, which Docker's profile allows"


class ReadsOutside(BadInput):
    """A rule's code opens a file that is no part of the rule.

    The file belongs to the repository.
    """


@dataclass(frozen=True)
class Code:
    """Code of a rule.

    `name` is what messages call it. The key `files` of `table` declares more of its files, by paths from `folder`. Of
    `trees`, the repositories that decide, the first is its own.
    """

    name: str
    files: tuple[Path, ...]
    trees: tuple[Path, ...]
    table: str
    folder: Path

    def fault(self, path: str) -> ReadsOutside:
        """Return the error for a file that is opened and not declared."""
        fault = "which is in another checkout; put it into the same checkout"
        if is_within(path, [os.path.realpath(self.trees[0])]):
            files = setting_text("files", [os.path.relpath(path, os.path.realpath(self.folder))])
            fault = f"which is not part of it; add {files or 'it'} to {self.table}"
        return ReadsOutside(f"{path}: {self.name} opens this file, {fault}")


def has_landlock() -> bool:
    """Tell whether the kernel can shut files from a process."""
    try:
        from accgate.sandbox import landlock

        return landlock.abi() > 0
    except (OSError, AttributeError):  # another system, or another machine
        return False


class PrivateFolder:
    """The files of code in a folder of their own, until `remove`.

    The code writes into the folder `tmp`.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        top = os.path.realpath(tempfile.mkdtemp(prefix="accgate-code-"))
        self.remove = weakref.finalize(self, shutil.rmtree, top, ignore_errors=True)
        self.copy, self.tmp = f"{top}/files", f"{top}/tmp"
        Path(self.copy).mkdir()
        Path(self.tmp).mkdir()
        self._root = os.path.abspath(code.trees[0])  # noqa: PTH100 (a link is a name like any)
        for file in code.files:
            place = Path(self.inside(file))
            place.parent.mkdir(parents=True, exist_ok=True)
            with reading(file, IN_COMMIT):
                _bring(file, place)
        Path(self.inside(code.folder)).mkdir(parents=True, exist_ok=True)

    @property
    def places(self) -> Places:
        """Where the code may open files."""
        trees = [os.path.realpath(tree) for tree in self.code.trees]
        return Places(self.copy, trees[0], trees, list(_installed()))

    def inside(self, path: Path) -> str:
        """Return the path of a file or folder of the repository in this one.

        Raises
        ------
        BadInput
            When it lies elsewhere.
        """
        name = os.path.relpath(os.path.abspath(path), self._root)  # noqa: PTH100
        if name.partition(os.sep)[0] == os.pardir:
            raise BadInput(f"{path}: {self.code.name} uses this, which lies outside the repository; move it inside")
        return os.path.normpath(f"{self.copy}/{name}")

    def rules(self) -> list[tuple[str, int]]:
        """Landlock's rules for a process that reads Python, the system and its own files."""
        from accgate.sandbox import landlock

        own = [(self.copy, landlock.RUN), (self.tmp, landlock.OWN), ("/dev/null", landlock.WRITE)]
        own += [(path, landlock.RUN) for path in _installed()]
        others = [*SYSTEM, *sys.path, *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
        shared = [*((path, landlock.RUN) for path in others if path), (hub_cache(), landlock.OWN)]
        trees = self.places.trees
        return [*own, *(rule for each in shared for rule in around_trees(*each, trees))]

    def words(self) -> tuple[str, ...]:
        """Return the words that shut the repositories from the command after them.

        They shut off nothing else.

        Raises
        ------
        CannotEvaluate
            Where the kernel cannot.
        """
        if not has_landlock():
            raise CannotEvaluate(f"{self.code.name} cannot be kept from other files of the repository here: {NEEDS}")
        from accgate.sandbox import landlock

        own = [(path, landlock.MOVE) for path in (self.copy, self.tmp, *_installed())]
        rules = [*own, *around_trees("/", landlock.MOVE, self.places.trees)]
        setup = Path(f"{self.tmp}.json")  # a rule for each neighbour of a tree is more than an argument can hold
        setup.write_text(json.dumps({"rules": rules, "environment": {"TMPDIR": self.tmp}}), encoding="utf-8")
        return (sys.executable, "-I", "-c", code_of_room("own_code", "become(sys.argv[1:])"), str(setup))

    def fault_in(self, text: str) -> ReadsOutside | None:
        """Return the error for an undeclared file that a command's output names.

        Return None where it names none.
        """
        path = self.places.undeclared_in(text, self.inside(self.code.folder))
        return None if path is None else self.code.fault(path)


def _bring(file: Path, place: Path) -> None:
    if file.stat().st_size > LINKED:
        with suppress(OSError):  # another file system
            os.link(os.path.realpath(file), place)
            return
    shutil.copy(file, place)


def around_trees(path: str, rights: int, trees: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield Landlock's rules for all at a path but these folders.

    Landlock can only allow, and what it allows holds below.

    >>> import tempfile
    >>> folder = os.path.realpath(tempfile.mkdtemp())
    >>> for name in ("a", "b", "b/c", "b/d"):
    ...     os.mkdir(f"{folder}/{name}")
    >>> [path.removeprefix(folder) for path, _ in around_trees(folder, 1, [f"{folder}/b/c"])]
    ['/a', '/b/d']
    """
    real = os.path.realpath(path)
    if is_within(real, trees):
        return
    if not any(is_within(tree, [real]) for tree in trees):
        yield real, rights
        return
    try:
        inner = sorted(Path(real).iterdir())
    except OSError:  # then nothing in it can be opened either
        return
    for each in inner:
        yield from around_trees(str(each), rights, trees)


def _installed() -> Iterator[str]:
    """Yield the paths of Python itself.

    A virtual environment may lie within a checkout.
    """
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = {path for name in names if (path := sysconfig.get_path(name))}
    binaries = {os.path.dirname(path) for path in (sys.executable, os.path.realpath(sys.executable))}  # noqa: PTH120
    paths |= {*binaries, *(f"{sys.base_prefix}/{name}" for name in ("lib", "lib64")), f"{sys.prefix}/pyvenv.cfg"}
    yield from sorted(os.path.realpath(path) for path in (*paths, PACKAGE))


def hub_cache() -> str:
    """Return the folder of Hugging Face's downloads."""
    return os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")  # noqa: PTH111 (no home raises)


class CodeProcess:
    """A process with functions of a user's code, which ends with this object."""

    def __init__(self, code: Code, start: str, arguments: Mapping[str, Any]) -> None:
        """Start the process.

        `start` names what gives the functions, `arguments` what that takes. A path among them becomes the text of the
        path at which the code finds that file or folder.

        Raises
        ------
        BadInput, CannotEvaluate
            As `call`.
        """
        self._code, self._lock = code, threading.Lock()
        self._folder = PrivateFolder(code) if code.trees else None
        environment = None
        if self._folder is not None:
            inherited = {name: os.environ[name] for name in VARIABLES if name in os.environ}
            own = {"HOME": self._folder.tmp, "TMPDIR": self._folder.tmp, "HF_HOME": hub_cache()}
            environment = {**inherited, **own, "PYTHONHASHSEED": "0"}
        options = ["-X", "utf8"] if self._folder is None else ["-s", "-S", "-X", "utf8"]
        command = [sys.executable, *options, "-c", code_of_room("own_code", "serve()")]
        self._child = Child(command, env=environment)
        self.stop = weakref.finalize(self, _end, self._child, self._folder)
        self._ask(self._setup())
        module, _, name = start.rpartition(":")
        own_path = str if self._folder is None else self._folder.inside
        own = {key: own_path(value) if isinstance(value, Path) else value for key, value in arguments.items()}
        self.call("start", module=module, name=name, arguments=own)

    def _setup(self) -> dict[str, Any]:
        setup = {"path": sys.path, "prefixes": [sys.prefix, sys.exec_prefix], "accgate": PACKAGE}
        if self._folder is None:
            return {**setup, "places": None, "rules": None}
        places = self._folder.places
        path = [each for each in sys.path if each and places.undeclared(each) is None]
        rules = self._folder.rules() if has_landlock() else None
        return {**setup, "path": path, "places": places._asdict(), "rules": rules}

    def call(self, function: str, **arguments: Any) -> Any:
        """Return what a function gives.

        Raises
        ------
        BadInput, CannotEvaluate
            As the code raises them; ReadsOutside where it opens a file that it does not declare.
        CodeFailed
            For any other error of the code.
        """
        with self._lock:
            reply = self._ask({"call": function, "arguments": arguments})
        if reply.get("outside"):
            raise self._code.fault(reply["outside"])
        if reply.get("unwatched"):
            raise CannotEvaluate(f"{self._code.name} {reply['unwatched']}, which cannot be confined here: {NEEDS}")
        if "error" not in reply:
            return reply["value"]
        kind, text = reply["error"]
        if self._folder is not None:
            text = text.replace(self._folder.copy, self._folder.places.origin)
        if reply["faults"]:
            raise KeyFaults(*((tuple(key), fault) for key, fault in reply["faults"]))
        for error in (BadInput, CannotEvaluate, ModuleNotFoundError, ImportError):
            if error.__name__ in reply["kinds"]:
                raise error(text)
        raise CodeFailed(kind, text)

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        reply = self._child.ask(message)
        if reply is None:
            code = self._child.end(0.0)  # it may have closed its standard output alone
            raise CannotEvaluate(f"{self._code.name}: its process ended with code {code}")
        return reply


class CodeFailed(Exception):
    """User's code raised an error of the class `kind`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


def _end(child: Child, folder: PrivateFolder | None) -> None:
    """End a process, and remove its folder."""
    child.end(PATIENCE)
    if folder is not None:
        folder.remove()

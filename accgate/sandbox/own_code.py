"""The process that runs code of a user's rules.

It opens only files that the code consists of. It is started with the modules of this package alone. Messages come on
its standard input and go to its standard output. Landlock holds it; a hook on what Python opens names the file in a
message. Where the kernel has no Landlock that hook refuses, and with it whatever reads files without Python: programs,
threads, native modules.
"""

import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .messages import packed, receive, write_all

Functions = Mapping[str, Callable[..., Any]]

_PATHS = {  # events of Python, with the place of what they name among their arguments; None where all may name a file
    "open": 0, "os.listdir": 0, "os.scandir": 0, "import": 1, "sqlite3.connect": 0, "ctypes.dlopen": 0,
    "os.link": 0, "os.rename": 0, "os.symlink": 0, "subprocess.Popen": None, "os.exec": None, "os.posix_spawn": None,
    "os.system": None,
}  # fmt: skip
_UNSEEN = frozenset(
    {
        "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty", "os.spawn", "pty.spawn",
        "_thread.start_new_thread", "ctypes.dlopen", "ctypes.dlsym", "sqlite3.connect", "os.link", "os.rename",
        "os.symlink",
    }
)  # fmt: skip
_QUOTED = re.compile(r"""['"`]([^'"`\n]+)['"`]""")
MOST_TEXT = 10_000  # characters of a text that may name a file


class Places(NamedTuple):
    """Where code may open files.

    `copy` stands in the place of the repository `origin`, and has the declared files. `installed` are folders of
    Python's own, also within `trees`, the repositories that decide.
    """

    copy: str
    origin: str
    trees: Sequence[str]
    installed: Sequence[str]

    def undeclared(self, name: Any) -> str | None:
        """Return the undeclared file or folder of a repository that a name leads to.

        Return None where the name leads elsewhere.

        >>> Places("/copy", "/repo", ["/repo"], ["/repo/.venv"]).undeclared("/repo/.venv/lib/numpy.py")
        >>> Places("/copy", "/repo", ["/repo", "/usr"], []).undeclared("/usr/lib")
        '/usr/lib'
        """
        if not isinstance(name, (str, bytes, os.PathLike)):
            return None  # a descriptor, which something opened before
        try:
            path = os.path.realpath(os.fsdecode(name))
        except ValueError:  # a NUL
            return None
        if is_within(path, [self.copy]):
            is_there = os.path.lexists(path) or "__pycache__" in path  # which no code consists of, and Python looks for
            path = path if is_there else self.origin + path[len(self.copy) :]
        is_open = is_within(path, [self.copy, *self.installed]) or not is_within(path, self.trees)
        return None if is_open or not os.path.lexists(path) else path

    def undeclared_in(self, text: str, start: str | None = None) -> str | None:
        """Return the first undeclared file that a text names.

        The name is a whole path, or one from the folder `start`. Other words of the text may be those of a model's
        reply, which may be the name of any file.
        """
        words = (word.strip(".,:;()[]") for word in re.split(r"[\s=:<>|&'\"`]+", text[-MOST_TEXT:]))
        names = (word for word in (*_QUOTED.findall(text), *words) if word and (start or word.startswith(os.sep)))
        return next(filter(None, (self.undeclared(Path(start or "", name)) for name in names)), None)


def is_within(path: str, folders: Sequence[str]) -> bool:
    """Tell whether a path is one of these folders, or lies in one."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


class Refused(PermissionError):
    """Code does what nothing here can watch."""


class Watch:
    """What the code opened beside its own files.

    Python's audit events and the texts of errors tell.
    """

    def __init__(self, places: Places, *, refuses: bool) -> None:
        self._places, self._refuses = places, refuses
        self.outside: str | None = None
        self.unwatched: str | None = None
        self._library = [path for name in ("stdlib", "platstdlib") if (path := sysconfig.get_path(name))]
        sys.addaudithook(self._on_event)

    def look_at(self, error: BaseException | None) -> None:
        """Look for an undeclared file in an error and those that led to it."""
        while error is not None and self.outside is None:
            named = [getattr(error, "filename", None), getattr(error, "filename2", None)]
            named += sys.path if isinstance(error, ImportError) else ()  # where code looks for its modules
            self.outside = next(filter(None, map(self._places.undeclared, named)), None)
            self.outside = self.outside or self._places.undeclared_in(str(error))
            error = error.__cause__ or error.__context__

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _PATHS and self.outside is None:
            place = _PATHS[event]
            self.outside = self._outside(arguments if place is None else arguments[place], event)
        if self._refuses:
            self._refuse(event, arguments)

    def _outside(self, name: Any, event: str) -> str | None:
        if isinstance(name, (list, tuple)):
            return next(filter(None, (self._outside(each, event) for each in name)), None)
        if _PATHS[event] is None:  # words of a command
            is_text = isinstance(name, (str, bytes, os.PathLike))
            return self._places.undeclared_in(os.fsdecode(name)) if is_text else None
        if event == "sqlite3.connect" and isinstance(name, str):
            name = name.removeprefix("file:").partition("?")[0]
        return self._places.undeclared(name)

    def _refuse(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse a file that is not declared, where there is no Landlock.

        Refuse also what could open files unwatched.
        """
        if event in _PATHS and self.outside is not None:
            raise Refused(f"{self.outside} is not declared")
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            name = os.fsdecode(arguments[0])
            real = os.path.realpath(name)
            # From a descriptor of a folder names lead anywhere, and the event does not say from which.
            around = is_within(self._places.origin, [real]) or is_within(self._places.copy, [real])
            if (around and Path(real).is_dir()) or (not name.startswith(os.sep) and os.pardir in Path(name).parts):
                self._end(f"opens {name}")
        is_native = event == "import" and arguments[1] and not is_within(str(arguments[1]), self._library)
        if is_native or (event in _UNSEEN and arguments[:1] != (":memory:",)):
            self._end(f"loads the native module {arguments[0]}" if is_native else f"calls {event}")

    def _end(self, what: str) -> None:
        self.unwatched = self.unwatched or what
        raise Refused(f"{what}, which cannot be watched here")


def serve() -> None:
    """Answer calls of the code's functions until standard input ends."""
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what the code prints is no reply
    setup = receive(calls)
    if setup is None:
        return
    sys.path[:] = setup["path"]
    sys.prefix, sys.exec_prefix = setup["prefixes"]
    sys.dont_write_bytecode = True
    watch = None
    if setup["places"] is not None:
        places = Places(**setup["places"])
        os.chdir(places.copy)
        if setup["rules"] is not None:
            shut(setup["rules"])
        watch = Watch(places, refuses=setup["rules"] is None)
    functions: dict[str, Callable[..., Any]] = {}

    def begin(module: str, name: str, arguments: Mapping[str, Any]) -> None:
        if module and "accgate" not in sys.modules:  # the folder around it may be shut
            _module_at("accgate", f"{setup['accgate']}/__init__.py")
        start = getattr(importlib.import_module(module), name) if module else globals()[name]
        functions.update(start(**arguments))

    functions["start"] = begin
    write_all(replies, packed({}))
    while (message := receive(calls)) is not None:
        write_all(replies, answer(functions[message["call"]], message["arguments"], watch))


def answer(call: Callable[..., Any], arguments: Mapping[str, Any], watch: Watch | None) -> bytes:
    """Return what a call gives, or how it failed, as a message."""
    try:
        reply = packed({"value": call(**arguments)})
    except Exception as error:  # the user's code raises what it likes
        if watch is not None:
            watch.look_at(error)
        kinds = [kind.__name__ for kind in type(error).__mro__]
        faults = getattr(error, "faults", None) if "KeyFaults" in kinds else None
        reply = packed({"error": [kinds[0], str(error)], "kinds": kinds, "faults": faults})
    if watch is not None and (watch.outside or watch.unwatched):
        return packed({"outside": watch.outside, "unwatched": watch.unwatched})
    return reply


def shut(rules: Sequence[Sequence[Any]], *, reads_alone: bool = False) -> None:
    """Give up all files but these, for good.

    Root's capabilities, which lead round that, are given up as well.
    """
    from . import kernel, landlock  # not there on every system

    kernel.prctl(kernel.NO_NEW_PRIVS, 1)
    if not reads_alone:
        kernel.drop_capabilities()
    descriptor = landlock.ruleset([(path, rights) for path, rights in rules], isolated=False, reads_alone=reads_alone)
    landlock.restrict(descriptor)
    os.close(descriptor)


def become(arguments: Sequence[str]) -> None:
    """Run a command that reads no files but these.

    The first word is a JSON file with rules and variables, then come the words of the command.
    """
    setup = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    os.environ.update(setup["environment"])
    shut(setup["rules"], reads_alone=True)
    try:
        os.execvp(arguments[1], list(arguments[1:]))
    except OSError as error:
        sys.exit(f"{arguments[1]}: {error.strerror}")


def start_function(place: str, name: str, options: Mapping[str, Any]) -> Functions:
    """Load a user's function of answer and target, from a file or a module."""
    is_file = place.endswith(".py")
    module = _module_at(f"accgate_metric_{Path(place).stem}", place) if is_file else importlib.import_module(place)
    function = getattr(module, name)
    if not callable(function):
        raise TypeError(f"{name} is not a function")
    try:
        inspect.signature(function).bind("answer", "target", **options)
    except (TypeError, ValueError) as error:
        raise CannotBeCalled(str(error)) from error

    def points(answer: str, target: str) -> float:
        score = function(answer, target, **options)
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise ValueError(f"gave {score!r}, not a number of points")
        return float(score)

    return {"points": points}


class CannotBeCalled(TypeError):
    """A user's function does not take an answer, a target and the options."""


def _module_at(name: str, place: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None:
        raise ImportError(f"{place} is not a Python file")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    # From the source alone: the loader would take a compiled file beside it, which may be of another source.
    exec(compile(Path(place).read_bytes(), place, "exec", dont_inherit=True), module.__dict__)
    return module

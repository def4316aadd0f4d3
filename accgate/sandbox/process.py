"""A worker's process as the rest of accgate sees it.

Limits, packages and programs go in, and outcomes come out. What decides an outcome stays in this process: the worker,
whose memory each program has a copy of, gets neither the values that assertions compare with nor the outputs that are
right.
"""

import contextlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from accgate.errors import CannotEvaluate
from accgate.sandbox import erase
from accgate.sandbox.assertions import DIGITS, Case, Tests, same_output, without_literals
from accgate.sandbox.child import Child, code_of_room

_EXTRA = re.compile(r";.*\bextra\b")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Packages:
    """Modules that can be imported.

    `folders` are where they are looked for, `paths` what may be read.
    """

    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def packages_of(names: Sequence[str]) -> Packages:
    """Return the packages of these names with all that they require.

    Requirements that are not installed are left out.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        When one of the names is not installed.

    Examples
    --------
    >>> "numpy" in packages_of(["numpy"]).modules, packages_of([])
    (True, Packages(modules=(), folders=(), paths=()))
    """
    places = [place for each in _with_requirements(names) for place in _top_places(each)]
    modules = {
        name for path in places if (name := path.name.partition(".")[0]).isidentifier() and ".libs" not in path.name
    }
    folders = {str(path.parent) for path in places}
    return Packages(tuple(sorted(modules)), tuple(sorted(folders)), tuple(sorted(map(str, places))))


def _with_requirements(names: Sequence[str]) -> Iterator[importlib.metadata.Distribution]:
    """List the distributions of these names, then those that they require.

    Requirements of extras, and those that are not installed, are left out.
    """
    waiting, seen = [(name, True) for name in names], set()
    while waiting:
        name, must = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in seen:
            continue
        seen.add(key)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if must:
                raise
            continue  # its marker is for another system
        yield distribution
        required = (line for line in distribution.requires or () if not _EXTRA.search(line))
        waiting += [(match[0], False) for line in required if (match := _NAME.match(line))]


def _top_places(distribution: importlib.metadata.Distribution) -> Iterator[Path]:
    """List a distribution's files and folders at the top of its place."""
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}
    for top in sorted(tops):
        path = Path(str(distribution.locate_file(top)))
        if path.suffix != ".pth" and path.exists():
            yield path


MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one program, which is killed and has failed past any of them.

    `seconds` is processor time over all its threads, so that a busy machine fails nobody; `wall_seconds` ends what
    sleeps or waits (ten times `seconds` where it is None). `memory` is address space in MB; `file_size` (one file, and
    all of standard output and error) and `disk` (all files) are MB; `entries` is the number of files and folders.

    >>> Limits(seconds=3.0).wall
    30.0
    """

    seconds: float = 3.0
    wall_seconds: float | None = None
    memory: int = 1024
    file_size: int = 16
    disk: int = 64
    entries: int = 1000
    open_files: int = 64
    threads: int = 64

    @property
    def wall(self) -> float:
        """Seconds on the clock."""
        return 10 * self.seconds if self.wall_seconds is None else self.wall_seconds


@dataclass(frozen=True)
class Outcome:
    """Whether a program ran to its last line.

    `reason` says in one line why not, `seconds` are on the clock.
    """

    passed: bool
    reason: str
    seconds: float


NOBODY = 65534
_PATIENCE = 30.0  # seconds for a worker to start or leave


@dataclass(frozen=True)
class Confinement:
    """What confines programs here.

    Landlock or bubblewrap confine files, a seccomp filter and limits all else. `uid` is the user that programs become;
    None: they stay accgate's user, without any capability.
    """

    files: Literal["landlock", "bubblewrap"]
    uid: int | None = None


class WorkerEnded(CannotEvaluate):
    """A sandbox worker ended or could not confine.

    That says nothing about the program.
    """


class Worker:
    """One worker, which runs programs one after the other.

    Its methods block, and `stop`, from any thread, is for good.
    """

    def __init__(self, limits: Limits, confinement: Confinement, packages: Packages | None = None) -> None:
        self.limits, self.confinement, self.packages = limits, confinement, packages or Packages()
        self._child: Child | None = None
        self._folder = ""
        self._lock, self._left = threading.Lock(), False

    def run(self, program: str, tests: str = "") -> Outcome:
        """Return the outcome of one program and the tests after it.

        Raises WorkerEnded where there is none. `tests` must be Python by itself; see `accgate.sandbox.assertions` for
        what of it this process decides.
        """
        split = without_literals(tests) or Tests(tests)
        return self._run([program, split.source], split)

    def run_cases(self, program: str, cases: Sequence[Case], before: str = "") -> Outcome:
        """Return the outcome of one program over its test cases.

        Each is in a process of its own, to the first that it fails. `before` runs before the program in the same
        module. Raises WorkerEnded where there is no outcome.
        """
        seconds = 0.0
        for number, case in enumerate(cases, 1):
            outcome = self._run_case([DIGITS, before, program], case)
            seconds += outcome.seconds
            if not outcome.passed:
                return Outcome(False, f"test {number} of {len(cases)}: {outcome.reason}", seconds)
        return Outcome(True, "passed", seconds)

    def _run_case(self, sources: list[str], case: Case) -> Outcome:
        if (tests := case.tests()) is not None:
            return self._run([*sources, tests.source], tests)
        ended = self._end(sources, case.input)
        return _outcome(ended, None if same_output(ended["output"], case.output) else "printed something else")

    def _run(self, sources: list[str], tests: Tests) -> Outcome:
        ended = self._end(sources)
        return _outcome(ended, tests.fault(ended["values"]))

    def _end(self, sources: list[str], text: str | None = None) -> dict[str, Any]:
        """Return how one process ended.

        Raises WorkerEnded where the worker itself ended.
        """
        with self._lock:
            if self._left:
                raise WorkerEnded("the sandbox's worker was stopped")
            child, begun = self._child or self._start(), self._child is not None
            self._child = child
        if not begun:
            self._set_up(child)
        return self._ask(child, {"sources": sources, "input": text})

    def _start(self) -> Child:
        self._folder = tempfile.mkdtemp(prefix="accgate-sandbox-")
        inherited = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        # A fixed seed: sets of texts have the same order in each run. One thread: numpy's have address space each,
        # and do not outlive a fork.
        environment = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", **inherited}
        words = command(self.confinement, self._folder, self.packages.paths)
        return Child(words, stderr=subprocess.DEVNULL, cwd="/", env=environment)

    def _set_up(self, child: Child) -> None:
        limits = asdict(self.limits) | {"wall": self.limits.wall}
        del limits["wall_seconds"]
        limits |= {name: limits[name] * MEBIBYTE for name in ("memory", "file_size", "disk")}
        landlock = self.confinement.files == "landlock"
        setup = {"folder": self._folder, "uid": self.confinement.uid, "landlock": landlock, "limits": limits}
        setup["packages"] = asdict(self.packages)
        self._ask(child, setup)

    def _ask(self, child: Child, message: dict[str, Any]) -> dict[str, Any]:
        answer = child.ask(message) or {"broken": "without a word"}
        if "broken" in answer:
            raise WorkerEnded(f"the sandbox's worker ended: {answer['broken']}")
        return answer

    def stop(self) -> None:
        """End the worker and its program, and remove its folder.

        To stop it twice is harmless.
        """
        with self._lock:
            child, self._left = self._child, True
        if child is not None:
            child.end(_PATIENCE)  # its program dies with it
        if self._folder:
            with contextlib.suppress(FileNotFoundError):
                erase.empty(self._folder)
                Path(self._folder).rmdir()


def _outcome(ended: Mapping[str, Any], fault: str | None) -> Outcome:
    """Return the outcome of a process that ended so.

    `fault` is what is wrong with what it gave, where it came to its end.
    """
    reason = ended["reason"] or fault
    return Outcome(reason is None, one_line(reason or "passed"), ended["seconds"])


def command(confinement: Confinement, folder: str, packages: Sequence[str]) -> list[str]:
    """Return the command line that starts a worker."""
    start = f"import sys; sys.path[:1] = []; {code_of_room('worker', 'serve()')}"
    python = [sys.executable, "-s", "-S", "-X", "utf8", "-c", start]
    return python if confinement.files == "landlock" else [*bubblewrap_command(folder, packages), *python]


def bubblewrap_command(folder: str, packages: Sequence[str]) -> list[str]:
    """Return bubblewrap's part of the command line.

    The process gets new namespaces, and of the file system only what Python needs, to read.

    Raises WorkerEnded where bubblewrap is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise WorkerEnded("bubblewrap is not installed")
    options = [program, "--unshare-all", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    for top in ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache"):
        if Path(top).exists():
            options += ["--ro-bind", top, top]
    for link in ("/lib", "/lib64"):
        options += ["--symlink", f"usr{link}", link] if Path(link).is_symlink() else ["--ro-bind-try", link, link]
    library = Path(os.__file__).parent
    for path in (library, *_interpreter(), Path(__file__).parent):
        options += ["--ro-bind", str(path), str(path)]
    for name in ("site-packages", "dist-packages"):
        if (library / name).is_dir():
            options += ["--tmpfs", str(library / name)]
    for package in packages:
        options += ["--ro-bind", package, package]
    return [*options, "--bind", folder, folder, "--"]


def _interpreter() -> list[Path]:
    """List the interpreter's file, under each name it is started by.

    The mark of its virtual environment is in the list, too.
    """
    python = Path(sys.executable)
    mark = python.parent.parent / "pyvenv.cfg"
    return [python, python.resolve(), *([mark] if mark.exists() else [])]


def one_line(text: str, longest: int = 200) -> str:
    """Write untrusted text as one printable line.

    It begins with a letter or digit, so that no log takes it for a command.
    """
    printable = "".join(char if char.isprintable() else " " for char in text[: 8 * longest])
    words = " ".join(printable.split())
    start = next((place for place, char in enumerate(words) if char.isalnum()), len(words))
    return words[start : start + longest] or "failed"

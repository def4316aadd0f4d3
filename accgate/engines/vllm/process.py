"""vLLM as a guest of this process.

Here are its log, why it failed, and the processes that it starts.
"""

import contextlib
import importlib
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from accgate.errors import CannotEvaluate, writing
from accgate.text import clip

TAIL = 400_000  # bytes at the log's end that are searched for a cause
BATCH_INVARIANT = "VLLM_BATCH_INVARIANT"
IMPORTED_WITH: dict[str, str] = {}  # the value of that variable when vLLM was imported
OLDEST = (0, 31)  # tested from here on
INSTALL = (
    "pip install 'accgate[vllm]', or run in accgate's image; a running `vllm serve` is reached by the engine openai"
)

# Errors in the log that only report another one.
GENERIC = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|EngineCore encountered an issue"
    r"|EngineDeadError|Engine core proc .* died|CancelledError|KeyboardInterrupt|SystemExit|Bad file descriptor"
)
RAISED = re.compile(
    r"^(?:\(.*?\) )?(?:ERROR [^\]]*\] )?((?:\w+\.)*\w*(?:Error|Exception|NotFound)): +(\S.*)$", re.MULTILINE
)
SILENT = "its process ended without a word; was the machine short of memory? The system's log (dmesg) says so"
FIXES = (
    (r"VLLM_CPU_KVCACHE_SPACE",
     "lower options.max_model_len, or set VLLM_CPU_KVCACHE_SPACE to the GiB that the machine can spare"),
    (r"out of memory|[Nn]o available memory|Free memory on device|KV cache is needed|cache blocks"
     r"|Cannot allocate memory|can't allocate memory|[Nn]ot enough memory|Available RAM|larger than the available KV",
     "the model does not fit: lower options.max_model_len, quantise it, or raise options.tensor_parallel_size"),
    (r"World size|tensor[ _]parallel|tp_size|number of available GPUs|pipeline[ _]parallel|placement group",
     "set options.tensor_parallel_size to a number of GPUs that the machine has and that divides the model's heads"),
    (r"No CUDA GPUs|infer device type|NVIDIA driver|CUDA driver|libcuda|no CUDA-capable device|CUDA unknown error",
     "run where a GPU is (in Docker with --gpus all), or use the engine llamacpp"),
    (r"config\.json|not a local folder|Repository Not Found|[Rr]epo(sitory)? id|model weights|couldn't connect to"
     r"|LocalEntryNotFound|cached files|gated repo|outgoing traffic|safetensors|No such file or directory",
     "check `model`: a folder with config.json and weights, or a hub id that this machine may fetch (HF_TOKEN)"),
)  # fmt: skip


class Log:
    """The file for what vLLM and its processes write, apart from accgate's own output."""

    def __init__(self, path: str | None) -> None:
        self._kept = path is not None
        if path is None:
            descriptor, path = tempfile.mkstemp(prefix="accgate-vllm-", suffix=".log")
            os.close(descriptor)
        self.path = Path(path)
        with writing(self.path, "name another file in options.log"):
            self._stream = self.path.open("a", encoding="utf-8", errors="replace", buffering=1)
        self._from = self.path.stat().st_size

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Send the terminal output of this process and its children to the file."""
        sys.stdout.flush()
        sys.stderr.flush()
        before = [os.dup(1), os.dup(2)]
        for descriptor in (1, 2):
            os.dup2(self._stream.fileno(), descriptor)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, original in zip((1, 2), before, strict=True):
                os.dup2(original, descriptor)
                os.close(original)
            for handler in logging.getLogger("vllm").handlers:  # which write to the file from here on
                if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
                    handler.setStream(self._stream)

    def text(self) -> str:
        """Return the end of what was written since the engine was made."""
        with contextlib.suppress(OSError), self.path.open("rb") as stream:
            stream.seek(max(self._from, self.path.stat().st_size - TAIL))
            return stream.read().decode("utf-8", "replace")
        return ""

    def close(self, *, failed: bool) -> None:
        """Close the file.

        A temporary file is kept only after a failure, whose message names it.
        """
        for handler in logging.getLogger("vllm").handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stream:
                handler.setStream(open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 (the logger's from here)
        self._stream.close()
        if not (self._kept or failed):
            self.path.unlink(missing_ok=True)


def cause(error: BaseException, log: str) -> str:
    """Say in one line why vLLM failed and how to fix it.

    The cause is in the error, or in the log of the process that failed.
    """
    chain = [error]
    while (deeper := chain[-1].__cause__ or chain[-1].__context__) is not None and deeper not in chain:
        chain.append(deeper)
    messages = [
        _plain(str(link)) for link in chain if not GENERIC.search(f"{type(link).__name__} {link}") and str(link)
    ]
    logged = [_plain(text) for kind, text in RAISED.findall(log) if not GENERIC.search(f"{kind}: {text}")]
    fact = next(iter(messages), None) or next(reversed(logged), None) or SILENT
    fix = next((fix for pattern, fix in FIXES if re.search(pattern, fact)), None)
    return f"{fact.rstrip('.')}; {fix}" if fix else fact


def _plain(text: str) -> str:
    """Strip the frame that pydantic puts around an error's words."""
    inner = re.search(r"Value error, (.*?)(?: \[type=|$)", text, re.DOTALL)
    return one_line(inner[1] if inner else text)


def one_line(error: BaseException | str) -> str:
    """Return an error's message in one line, or else its kind.

    The line has at most 400 characters.
    """
    return clip(" ".join(str(error).split()) or type(error).__name__, 400)


@contextlib.contextmanager
def unreachable_by_ctrl_c() -> Iterator[None]:
    """Keep a terminal's Ctrl-C from processes that this thread starts meanwhile.

    accgate ends them itself.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    resource_tracker.ensure_running()  # multiprocessing starts it once, and unblocks SIGINT after that
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Watch:
    """The processes that vLLM starts for one engine, from now until `started`.

    On Linux a separate process watches them and their descendants. It ends them after `close`, and kills them if this
    process is killed.
    """

    def __init__(self) -> None:
        self._others, self._children = set[Any](multiprocessing.active_children()), set[Any]()
        self._looks = True
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "linux":
            script = Path(__file__).with_name("watch.py")
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(script), str(os.getpid())],
                stdin=subprocess.PIPE,
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def look(self) -> None:
        """Note the engine's own processes.

        Those that start after `started` belong to another engine.
        """
        if self._looks:
            self._children |= set(multiprocessing.active_children()) - self._others

    def started(self) -> None:
        """Record that all processes are there, so that `look` ends."""
        self.look()
        self._looks = False
        self._say("started")

    def end(self, patience: float = 10.0) -> None:
        """End the engine's own processes, and kill those left after `patience` seconds."""
        self.look()
        for child in self._children:
            if child.is_alive():
                child.terminate()
        for child in self._children:
            child.join(patience)
            if child.is_alive():
                child.kill()
                child.join()

    def kill(self) -> None:
        """Kill the engine's own processes, since a stopped one hears no other signal."""
        self.look()
        for child in self._children:
            child.kill()

    def close(self) -> None:
        """End the engine's own processes, and what they started and left behind."""
        self.end()
        self._say(" ".join(["end", *(str(child.pid) for child in self._children)]))
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait()
            with contextlib.suppress(ValueError):  # it was ended before
                self._process.stdout.read(1)  # nothing where somebody killed it
                self._process.stdout.close()

    def _say(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # somebody killed it, or it was ended before
                os.write(self._process.stdin.fileno(), f"{line}\n".encode())


def version_fault() -> str | None:
    """Say that the installed vLLM is too old, if it is.

    A build from a checkout without tags always calls itself 0.1.dev.
    """
    with contextlib.suppress(metadata.PackageNotFoundError):
        version = metadata.version("vllm")
        match = re.match(r"(\d+)\.(\d+)", version)
        if match and (int(match[1]), int(match[2])) < OLDEST and not version.startswith("0.1.dev"):
            return f"is vllm {version}; accgate needs {OLDEST[0]}.{OLDEST[1]} or later: pip install -U vllm"
    return None


def import_classes() -> tuple[type, type]:
    """Import vLLM's classes of engine arguments and of sampling parameters.

    Raises
    ------
    CannotEvaluate
        When vLLM is there and cannot be imported.
    """
    try:
        from vllm import SamplingParams
        from vllm.engine.arg_utils import AsyncEngineArgs
    except Exception as error:
        raise CannotEvaluate(f"vLLM cannot be imported: {one_line(error)}; {INSTALL}") from error
    return AsyncEngineArgs, SamplingParams


@contextlib.contextmanager
def own_environment(*, batch_invariant: bool) -> Iterator[None]:
    """Set one model's environment variables while it is made or loads.

    What vLLM sets for it is taken back afterwards. vLLM's processes keep the variables that they start with. A forked
    process also keeps what this process imported, so where vLLM read another value at its import, processes are
    spawned.
    """
    before = os.environ.get(BATCH_INVARIANT)
    if batch_invariant:
        os.environ[BATCH_INVARIANT] = "1"
    value = os.environ.get(BATCH_INVARIANT, "0")
    imported = IMPORTED_WITH.setdefault(BATCH_INVARIANT, value)
    with contextlib.suppress(Exception):  # what it sets for every model stays; why it cannot be imported is said later
        importlib.import_module("vllm")
    variables = {name: text for name, text in os.environ.items() if name != BATCH_INVARIANT}
    variables |= {} if before is None else {BATCH_INVARIANT: before}
    if value != imported:
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
    try:
        yield
    finally:
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)

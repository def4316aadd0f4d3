"""The metric `math`, which compares mathematical answers.

math-verify compares them in a process that can be ended.
"""

import atexit
import importlib.util
import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache

from accgate.metrics.equality import box_content
from accgate.metrics.forms import label_form
from accgate.metrics.metric import Metric

MEGABYTES = 4096  # of address space, most of which SymPy and its libraries map and never touch
# With this process's path, so that no module of the working folder comes before an installed one.
_START = "import sys; sys.path[:] = {!r}; from accgate.metrics.equality import serve; serve({!r}, {!r})"


class NoDecision(Exception):
    """Two answers could not be compared within the limits.

    Such an answer is neither right nor wrong: its sample has failed.
    """


class Comparer:
    """A process that compares answers, one pair after the other.

    A process that ends is replaced by a new one.
    """

    def __init__(self, seconds: float, megabytes: int = MEGABYTES) -> None:
        self._seconds, self._megabytes = seconds, megabytes
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def points(self, answer: str, target: str) -> float:
        """Score 100 where the answer is equal to the target, else 0.

        Raises
        ------
        NoDecision
            When the comparison takes too long or too much memory.
        """
        with self._lock:
            result = self._ask(json.dumps([answer, target]))
        if isinstance(result, str):
            raise NoDecision(f"comparing the answer with {target[:80]!r} failed: {result}")
        return 100.0 if result else 0.0

    def _ask(self, line: str) -> bool | str:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except OSError:
            reply = ""
        if not reply:
            return self._end(process)
        result: bool | str = json.loads(reply)
        if isinstance(result, str):  # what is left of its memory is not worth much
            self.stop()
            return f"{result} within {self._megabytes} MB"
        return result

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _START.format(sys.path, self._seconds, self._megabytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the run, which ends this
        )
        assert process.stdout is not None
        self._process = process
        atexit.register(self.stop)
        process.stdout.readline()  # its imports are no part of a comparison
        return process

    def _end(self, process: subprocess.Popen[str]) -> str:
        """Say why the process ended."""
        self.stop()
        if process.returncode in {-signal.SIGPROF, -signal.SIGALRM}:
            return f"it took more than {self._seconds:g} s of processor time"
        return f"its process ended with code {process.returncode}"

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.stop)
            process.kill()
            with suppress(BrokenPipeError), process:
                pass  # which closes its pipes and waits for it


def _math(*, timeout: float = 5.0) -> Metric:
    if not 0.0 < timeout <= 600.0:
        raise ValueError("timeout must be above 0 and up to 600 seconds")
    return Metric("math", _comparer(timeout).points, waits=True, finds=_has_answer, prepare=_refuse_missing)


def _refuse_missing() -> None:
    if importlib.util.find_spec("math_verify") is None:
        raise ImportError("math needs math-verify; pip install 'accgate[math]'")


def _has_answer(answer: str, target: str) -> bool:
    """Tell whether an answer holds something to compare.

    Anything in a box is enough. Without a box it must be a word, the target, or prose with mathematics.
    """
    if (boxed := box_content(answer)) is not None:
        return bool(boxed)
    words = re.findall(r"[^\W\d_]{2,}", answer)
    is_prose = len(words) > 1 and re.search(r"\d|[\\$=^+*/<>]|(?i:\banswer(?: is|:))", answer) is None
    return bool(answer.strip()) and (not is_prose or label_form(answer) == label_form(target))


_comparer = cache(Comparer)  # one process for all tasks with a limit, which starts with the first comparison

METRICS = {"math": _math}

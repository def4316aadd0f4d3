"""Signals that end a run, and a limit of processor time.

The signals are Ctrl-C, SIGTERM from a cancelled job or `docker stop`, and SIGHUP from a closed terminal.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from accgate.errors import INTERRUPTED

PATIENCE = 3.0  # seconds to close an engine; a cancelled job of GitHub has 7.5 between its two signals
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ending:
    """The command line's handler of signals.

    The first signal raises KeyboardInterrupt, the second ends the process. `patience` seconds after the first the
    process ends in any case, because an engine's thread may not stop.
    """

    def __init__(self, leave: Callable[[int], None] = os._exit, patience: float = PATIENCE) -> None:
        self._leave, self._patience, self._is_second = leave, patience, False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, or exit at once on a second signal.

        SIGHUP never counts as a second one.
        """
        if self._is_second:
            if number == signal.SIGHUP:
                return
            self._leave(INTERRUPTED)
        self._is_second = True
        watchdog = threading.Timer(self._patience, self._leave, [INTERRUPTED])
        watchdog.daemon = True
        watchdog.start()
        raise KeyboardInterrupt


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Handle `SIGNALS` as the command line does.

    Only the main thread can do that. SIGHUP stays ignored under `nohup`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = Ending()
    before = [(number, signal.signal(number, ending)) for number in SIGNALS if not _is_under_nohup(number)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _is_under_nohup(number: int) -> bool:
    return number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN


@contextlib.contextmanager
def limited_seconds(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a block that takes more processor time.

    Only the main thread can be limited. Python's regular expressions check for signals, so one that backtracks without
    end is stopped.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _end_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL if before is None else before)


def _end_of_time(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError

"""What the command line does on Ctrl-C, and on SIGTERM, which a cancelled job and `docker stop` send."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from accgate.errors import INTERRUPTED

LAST_WORDS = 3.0  # seconds to close an engine
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """The command line's handler: KeyboardInterrupt, and soon the end, even where threads cannot be cut off."""

    def __init__(self, leave: Callable[[int], None] = os._exit, patience: float = LAST_WORDS) -> None:
        self._leave, self._patience, self._asked = leave, patience, False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, or when it is asked again leave now."""
        if self._asked:
            self._leave(INTERRUPTED)
        self._asked = True
        watchdog = threading.Timer(self._patience, self._leave, [INTERRUPTED])
        watchdog.daemon = True
        watchdog.start()
        raise KeyboardInterrupt


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """The command line's handlers of SIGINT and SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = Ending()
    before = [(number, signal.signal(number, ending)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

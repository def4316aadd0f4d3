"""Ctrl-C, SIGTERM and SIGHUP during an evaluation.

The first signal stops the run gracefully, the second at once.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Iterator, Mapping
from types import FrameType
from typing import TypeVar

from accgate.engines.base import side_by_side
from accgate.signals import SIGNALS, Ending

T = TypeVar("T")

GRACE = 10.0  # seconds for requests in flight; as long as GitHub and `docker stop` wait before they kill
SHORTER = "ACCGATE_GRACE"  # environment variable with fewer seconds, as the action's container sets it


def grace_of(environ: Mapping[str, str]) -> float:
    """Return the seconds that requests in flight have when a run is stopped.

    `ACCGATE_GRACE` may shorten them; other values of it are ignored.

    >>> grace_of({}), grace_of({"ACCGATE_GRACE": "4"}), grace_of({"ACCGATE_GRACE": "soon"})
    (10.0, 4.0, 10.0)
    """
    try:
        wanted = float(environ.get(SHORTER, GRACE))
    except ValueError:
        return GRACE
    return wanted if 0.0 <= wanted <= GRACE else GRACE


class Stop:
    """A request to stop an evaluation, with `grace` seconds for requests in flight.

    A signal may make the request while no event loop runs.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self.requested, self.grace = False, grace
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None

    def request(self) -> None:
        """Request a graceful stop."""
        self.requested = True
        if self._loop is not None and self._event is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Return once a stop is requested."""
        if self._event is None:
            self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
        if not self.requested:
            await self._event.wait()

    async def unless_requested(self, work: Awaitable[T]) -> T | None:
        """Return the result of the work, or None if a stop is requested.

        A requested stop cancels the work.
        """
        async with side_by_side(work, self.wait()) as (working, stopping):
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None


@contextlib.contextmanager
def interruptible() -> Iterator[Stop]:
    """Return a `Stop` that the first signal requests.

    A second signal has its usual effect. Only signals that raise KeyboardInterrupt are handled, and only in the main
    thread: a program that uses accgate as a library keeps its own handlers.
    """
    stop = Stop(grace_of(os.environ))
    main_thread = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in SIGNALS if main_thread}
    taken = {n: h for n, h in handlers.items() if h is signal.default_int_handler or isinstance(h, Ending)}

    def handle(number: int, frame: FrameType | None) -> None:
        if not stop.requested or number == signal.SIGHUP:  # a terminal that closes may send it twice
            stop.request()
            return
        handler = taken[signal.Signals(number)]
        assert callable(handler)
        handler(number, frame)

    for number in taken:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)

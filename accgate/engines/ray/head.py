"""What a run on a Ray cluster cannot do without: the cluster's head, and the node that this process hangs on.

Ray ends a process whose head was away for 60 seconds, with exit code 1 and whatever it was about to write.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from accgate.engines.silence import timeout
from accgate.errors import CannotEvaluate

EVERY = 1.0  # seconds between two looks
PATIENCE = 5.0  # seconds for one connection, and for what the replicas have to end without a head
FAILURES = 3  # in a row, at least: a machine that slept finds one at once
LIMIT = "RAY_gcs_rpc_server_reconnect_timeout_s"  # seconds until Ray ends a process whose head is away
Place = tuple[str, int]
Outcome = TypeVar("Outcome")


class Lifeline:
    """Lets coroutines run until what they need is lost; they end with `CannotEvaluate` then.

    `lost` returns what was lost, in words.
    """

    def __init__(self, lost: Callable[[], Awaitable[str]]) -> None:
        self._cause: str | None = None
        self._running: set[asyncio.Future[Any]] = set()
        self._watch = asyncio.ensure_future(self._await_loss(lost))

    @property
    def cut(self) -> bool:
        """Whether it is lost."""
        return self._cause is not None

    async def _await_loss(self, lost: Callable[[], Awaitable[str]]) -> None:
        self._cause = await lost()
        for task in [*self._running]:
            task.cancel()

    async def run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """What the coroutine returns or raises.

        Raises
        ------
        CannotEvaluate
            What was lost, before it or meanwhile.
        """
        if self._cause is not None:
            work.close()
            raise CannotEvaluate(self._cause)
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self._cause is not None:
                raise CannotEvaluate(self._cause) from None
            raise
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        """End the watch."""
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)


async def lost(
    places: Mapping[str, Place],
    outage: float,
    *,
    answers: Callable[[Place], Awaitable[bool]] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Wait until one of the places has taken no connection for `outage` seconds; what that means, with the fix."""
    answers = answers or listening
    away: dict[str, tuple[float, int]] = {}  # since when, and how often in a row
    while True:
        for name, place in places.items():
            if await answers(place):
                away.pop(name, None)
                continue
            since, times = away.get(name, (clock(), 0))
            away[name] = since, times + 1
            if times + 1 >= FAILURES and clock() - since >= outage:
                return (
                    f"{name} at {place[0]}:{place[1]} has taken no connection for {outage:g} s; see that the cluster "
                    "runs (`ray status`), then go on with --resume"
                )
        await sleep(EVERY)


async def listening(place: Place) -> bool:
    """Whether something takes connections there."""
    try:
        async with timeout(PATIENCE):
            _, writer = await asyncio.open_connection(*place)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        async with timeout(PATIENCE):
            await writer.wait_closed()
    return True


def places_of(address: str) -> dict[str, Place]:
    """Head and own node of the cluster to which this process is connected; of Ray's client the server it talks to."""
    import ray

    if address.startswith("ray://"):
        return {"the server of Ray's client": place_of(address)}
    context = ray.get_runtime_context()
    places = {"the head of the Ray cluster": place_of(context.gcs_address)}
    for node in ray.nodes():
        if node["NodeID"] == context.get_node_id() and node.get("NodeManagerPort"):
            places["the Ray node that this run is connected to"] = node["NodeManagerAddress"], node["NodeManagerPort"]
    return places


def place_of(address: str) -> Place:
    """Host and port of an address.

    >>> place_of("10.0.0.1:6379"), place_of("ray://[::1]:10001")
    (('10.0.0.1', 6379), ('::1', 10001))
    """
    host, _, port = address.partition("://")[2].rpartition(":") if "://" in address else address.rpartition(":")
    return host.strip("[]"), int(port)


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Do something that waits for a head which may be gone, for so long at most; whether it ended."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


class Patience:
    """Waits for each of many things for so many seconds, until one took longer: the others then hardly at all."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def wait(self, work: Callable[[], object]) -> None:
        """Do something, and wait for it or leave it to itself."""
        if not within(self._seconds, work):
            self._seconds = 0.01


def outlive(outage: float) -> None:
    """See that Ray does not end this process, whose exit code would read as a verdict, before `lost` can speak."""
    wanted = math.ceil(outage) + 60
    try:
        present = int(os.environ.get(LIMIT, "60"))
    except ValueError:
        present = 0
    os.environ[LIMIT] = str(max(present, wanted))

"""A Ray cluster's connection, the watch over it, and room on its nodes.

A run needs the cluster's head and the node that this process is connected to. Ray ends a process whose head was away
for 60 seconds, with exit code 1 and unfinished writes.
"""

import asyncio
import contextlib
import logging
import math
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from accgate.engines.base import side_by_side
from accgate.engines.silence import at_most, timeout
from accgate.errors import CannotEvaluate, needing

EVERY = 1.0  # seconds between two looks at the head
PATIENCE = 5.0  # seconds for one connection, and for the replicas to end once the head is gone
FAILURES = 3  # failed looks in a row that an outage needs; a machine that wakes from sleep has one at once
LIMIT = "RAY_gcs_rpc_server_reconnect_timeout_s"  # seconds until Ray ends a process whose head is away
Place = tuple[str, int]
Outcome = TypeVar("Outcome")


class Lifeline:
    """A guard that ends coroutines with `CannotEvaluate` when what they need is lost.

    `lost` waits for the loss and returns it in words.
    """

    def __init__(self, lost: Callable[[], Awaitable[str]]) -> None:
        self._watch = asyncio.ensure_future(lost())

    @property
    def cut(self) -> bool:
        """Whether it is lost."""
        return self._watch.done() and not self._watch.cancelled()

    async def run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Return what the coroutine returns.

        Raises
        ------
        CannotEvaluate
            What was lost, before it or meanwhile.
        """
        async with side_by_side(work) as (task,):
            await asyncio.wait((task, self._watch), return_when=asyncio.FIRST_COMPLETED)
            if self.cut:
                raise CannotEvaluate(self._watch.result())
            outcome: Outcome = await task
        return outcome

    async def close(self) -> None:
        """End the watch."""
        self._watch.cancel()
        await asyncio.gather(self._watch, return_exceptions=True)


async def listening(place: Place) -> bool:
    """Tell whether something takes connections there."""
    try:
        async with timeout(PATIENCE):
            _, writer = await asyncio.open_connection(*place)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await at_most(PATIENCE, writer.wait_closed())
    return True


async def lost(
    places: Mapping[str, Place],
    outage: float,
    *,
    answers: Callable[[Place], Awaitable[bool]] = listening,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Wait until a place has taken no connection for `outage` seconds.

    The text that it returns names the place and the fix.
    """
    away: dict[str, tuple[float, int]] = {}  # since when, and how often in a row
    while True:
        for name, place in places.items():
            if await answers(place):
                away.pop(name, None)
                continue
            since, times = away.get(name, (clock(), 0))
            away[name] = since, times + 1
            if times + 1 >= FAILURES and clock() - since >= outage:
                fix = "see that the cluster runs (`ray status`), then go on with --resume"
                return f"{name} at {place[0]}:{place[1]} has taken no connection for {outage:g} s; {fix}"
        await sleep(EVERY)


def places_of(address: str) -> dict[str, Place]:
    """Return the addresses of the connected cluster's head and of this process's node.

    For Ray's client it is the server that it talks to.
    """
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
    """Return host and port of an address.

    >>> place_of("10.0.0.1:6379"), place_of("ray://[::1]:10001")
    (('10.0.0.1', 6379), ('::1', 10001))
    """
    host, _, port = address.partition("://")[2].rpartition(":") if "://" in address else address.rpartition(":")
    return host.strip("[]"), int(port)


def within(seconds: float, work: Callable[[], object]) -> bool:
    """Run a call that may wait for a dead head, for up to `seconds`.

    It returns whether the call ended.
    """
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


class Patience:
    """A wait of a few seconds for each of many calls.

    After one call took longer, the others are hardly awaited.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def wait(self, work: Callable[[], object]) -> None:
        """Run a call, and wait for it or leave it running."""
        if not within(self._seconds, work):
            self._seconds = 0.01


def outlive(outage: float) -> None:
    """Keep Ray from ending this process before `lost` can report.

    Ray's own end has exit code 1, which reads as a verdict.
    """
    wanted = math.ceil(outage) + 60
    try:
        present = int(os.environ.get(LIMIT, "60"))
    except ValueError:
        present = 0
    os.environ[LIMIT] = str(max(present, wanted))


CLOSING = 30.0  # seconds for ray.shutdown; without a head it takes 5
LONGEST = 300  # characters of a cause in a message
Resources = Mapping[str, float]
UNIT = 10_000  # Ray counts in parts of this size
APIECE = ("GPU", "NPU", "RBLN", "TPU", "HPU", "neuron_cores")  # Ray's unit instances: a fraction is one device's


class Connection:
    """This process's connection to a cluster.

    A connection that existed before, as in a notebook, stays open.
    """

    def __init__(self, address: str, runtime_env: Mapping[str, Any], *, ship: bool) -> None:
        self._address = address
        self._runtime_env = dict(runtime_env)
        self._ship = ship
        self._own = False

    def open(self) -> None:
        """Connect.

        Raises
        ------
        CannotEvaluate
            When Ray is not installed, or there is no cluster that can be used.
        """
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")  # 40 s each; Ray itself makes 20 where nobody answers
        with needing("engine ray needs Ray", "ray"):
            import ray
        if ray.is_initialized():
            return
        from ray._private import worker

        worker._worker_logs_enabled = False  # reports on dead nodes come on standard output also with log_to_driver off
        if self._ship:
            package = str(Path(__file__).parents[2])
            self._runtime_env["py_modules"] = [*self._runtime_env.get("py_modules", ()), package]
        if self._address == "local":
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a gate reports to nobody
        terminated = signal.getsignal(signal.SIGTERM)
        try:
            probe(self._address)
            ray.init(
                address=self._address,
                runtime_env=self._runtime_env or None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # of many kinds: no cluster, another version of Ray or Python, a bad runtime_env
            ray.shutdown()  # it may be half connected
            fix = "start one with `ray start --head`, or correct options.address"
            raise CannotEvaluate(f"cannot use a Ray cluster at {self._address!r}: {cause_of(error)}; {fix}") from error
        finally:
            if callable(terminated) and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, terminated)
        self._own = True

    def refuse_too_small(
        self, replicas: int, resources: Mapping[str, float], bundles: Sequence[Mapping[str, float]]
    ) -> None:
        """Refuse replicas that the nodes could not hold even if they were empty.

        Raises
        ------
        CannotEvaluate
            With what is asked and what the nodes have.
        """
        import ray

        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        parts = (resources, *bundles)
        room = room_for(nodes, parts, replicas)
        if room < replicas:
            kinds = {kind for part in parts for kind in part}
            have = Counter(amounts_of({kind: node.get(kind, 0.0) for kind in kinds}) for node in nodes)
            listed = "; ".join(f"{count} with {words}" for words, count in sorted(have.items()))
            keys = "options.resources or options.bundles" if bundles else "options.resources"
            fact = f"the cluster has room for {room} of {replicas} replicas with {amounts_of(*parts)} each"
            fix = f"Lower options.replicas{',' if bundles else ' or'} {keys}, or set options.autoscaling = true"
            raise CannotEvaluate(f"{fact}; its nodes: {listed}. {fix} where the cluster adds nodes")

    def close(self) -> None:
        """Disconnect.

        The cluster goes on.
        """
        if self._own:
            import ray

            self._own = False
            within(CLOSING, ray.shutdown)


def cause_of(error: BaseException) -> str:
    r"""Write an error in one line, where Ray writes a page.

    >>> cause_of(ValueError("no good\nand a page"))
    'ValueError: no good'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no cause is given"]
    telling = lines[-1] if type(error).__module__.startswith("ray.") else lines[0]  # Ray's begin with a traceback
    telling = re.sub(r"^The actor \w+ is |\. The task may or may not have been executed on the actor\.$", "", telling)
    return f"{type(error).__name__}: {telling[:LONGEST]}"


def probe(address: str) -> None:
    """Check that something listens at an address of the form `host:port`.

    Ray tries for minutes before it says so.

    Raises
    ------
    OSError
        When nothing does.
    """
    import socket

    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    if re.fullmatch(r"[^/]+:\d+", address):
        socket.create_connection(place_of(address), timeout=10.0).close()


def room_for(nodes: Sequence[Resources], parts: Sequence[Resources], most: int) -> int:
    """Count the replicas of these parts that fit on the nodes.

    The count is at most `most`. Each part is whole on one node. A fraction of a GPU is one GPU's: two have no room for
    three parts of 0.6, which are 1.8 together. The nodes must hold each kind of part by itself, and all amounts in
    total. So the number may be too large for parts that hinder each other, and it is never too small.

    >>> one = [{"CPU": 8.0, "GPU": 2.0}]
    >>> room_for(one, [{"CPU": 1.0, "GPU": 1.0}], 9), room_for(one, [{"GPU": 0.5}], 9), room_for(one, [{"TPU": 1.0}], 9)
    (2, 4, 0)
    >>> room_for([{"GPU": 2.0}], [{"GPU": 0.6}], 9)
    2
    >>> room_for([{"CPU": 2.0}] * 3, [{"CPU": 1.0}, {"CPU": 2.0}], 9)
    2
    """
    counts = Counter(frozenset(_units(part).items()) for part in parts)
    room = [sum(_places(_units(node), dict(part)) for node in nodes) // n for part, n in counts.items() if part]
    total, needed = Counter[str](), Counter[str]()
    for node in nodes:
        total.update(_units(node))
    for part in parts:
        needed.update(_units(part))
    return min([most, *room, *(total[kind] // amount for kind, amount in needed.items())])


def _units(resources: Resources) -> dict[str, int]:
    """Return the amounts above 0 in whole units."""
    return {kind: units for kind, amount in resources.items() if (units := round(amount * UNIT))}


def _places(node: Mapping[str, int], part: Mapping[str, int]) -> int:
    """Return how many equal parts an empty node holds."""
    places = []
    for kind, amount in part.items():
        free = node.get(kind, 0)
        is_fraction = kind in APIECE and amount < UNIT
        places.append(free // UNIT * (UNIT // amount) if is_fraction else free // amount)
    return min(places)


def amounts_of(*parts: Resources) -> str:
    """Write amounts of resources in words, for one part or several.

    >>> amounts_of({"CPU": 1.0, "GPU": 0.5}), amounts_of({"CPU": 1.0}, {"GPU": 2.0})
    ('CPU 1, GPU 0.5', 'CPU 1 + GPU 2')
    """
    return " + ".join(
        ", ".join(f"{kind} {amount:g}" for kind, amount in sorted(part.items())) or "no resources" for part in parts
    )

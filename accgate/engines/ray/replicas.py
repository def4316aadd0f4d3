"""Replicas of one engine, and which of them gets the next request.

A replica that dies is replaced, and its requests go to others.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from accgate.engines.base import Request, RequestFailed, all_or_first_error
from accgate.engines.silence import Silence, Stalled, at_most
from accgate.errors import AccgateError, CannotEvaluate
from accgate.result import EngineInfo

# A request that takes its replica down is otherwise handed on until none is left; bad luck seldom hits so often.
MOST_DEATHS = 4
ENDING = 8.0  # seconds to free what a replica loaded; below the 10 between SIGTERM and SIGKILL of most schedulers
MAX_SILENCE = 2400.0  # seconds; longer than its engine's own, which comes first


class ReplicaDied(Exception):
    """The process of a replica is gone, with what it was asked.

    The message is the cause.
    """


class NeverReady(CannotEvaluate):
    """A replica did not come up in its time.

    Another attempt would have no more room.
    """


@dataclass(frozen=True)
class Ready:
    """What a replica is, and how many requests it takes at once."""

    info: EngineInfo
    slots: int


class Replica(Protocol):
    """One engine in a process of its own, wherever that is."""

    async def start(self) -> Ready:
        """Load the model.

        It raises what the engine's `start` raises, `ReplicaDied` or `NeverReady`.
        """

    async def call(self, method: str, *arguments: Any) -> Any:
        """Return what the engine's method returns or raises, or raise `ReplicaDied`.

        Cancelling it here cancels it there.
        """

    async def stop(self) -> None:
        """Close the engine, then end the process.

        It raises nothing.
        """

    def kill(self) -> None:
        """End the process at once.

        It raises nothing, even if the process is gone already.
        """


@dataclass(eq=False)
class _Live:
    """A replica that answers, and how many requests it has."""

    replica: Replica
    slots: int
    place: int
    silence: Silence
    in_flight: int = 0


@dataclass(eq=False)
class Replicas:
    """A fixed number of places with a replica in each.

    A replica that dies is started again, `max_restarts` times a place. A request goes to the replica with the fewest in
    flight. If that replica dies, the request goes to another one, and only the last call's answer counts.
    """

    make: Callable[[], Replica]
    count: int
    max_restarts: int
    warn: Callable[[str], None]
    max_silence: float = MAX_SILENCE
    _live: dict[int, _Live] = field(default_factory=dict, init=False)
    _deaths: Counter[int] = field(default_factory=Counter, init=False)
    _gone: dict[int, str] = field(default_factory=dict, init=False)  # places that are given up, with the cause
    _known: frozenset[EngineInfo] = field(default=frozenset(), init=False)
    _freed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _restarts: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    @property
    def slots(self) -> int:
        """How many requests all live replicas take at once."""
        return sum(live.slots for live in self._live.values())

    async def start(self) -> list[EngineInfo]:
        """Start every replica, and return what each is.

        Raises
        ------
        AccgateError
            The first engine's own, or `CannotEvaluate` where the processes do not stay up; nothing runs on then.
        """
        try:
            infos = await all_or_first_error(map(self._fill, range(self.count)))
        except BaseException:
            await self.close()
            raise
        self._known = frozenset(infos)
        return infos

    async def call(self, method: str, *arguments: Any) -> Any:
        """Return what the engine's method gives at one of the replicas.

        Raises
        ------
        RequestFailed
            The engine's own, or that `MOST_DEATHS` replicas died while they were asked.
        CannotEvaluate
            The engine's own, or that no replica is left.
        """
        deaths = 0
        while True:
            live = await self._free()
            try:
                return await live.silence.reply(live.replica.call(method, *arguments), tokens_of(arguments))
            except (ReplicaDied, Stalled) as death:  # a process that is stopped, or cannot be reached, says nothing
                self._replace(live, str(death))
                deaths += 1
                if deaths == MOST_DEATHS:
                    raise RequestFailed(f"{deaths} replicas died while they were asked this: {death}") from death
            finally:
                live.in_flight -= 1
                self._freed.set()

    async def close(self) -> None:
        """End every replica.

        It may be called twice.
        """
        restarts, self._restarts = self._restarts, set()
        for task in restarts:
            task.cancel()
        lives, self._live = [*self._live.values()], {}
        await asyncio.gather(*(live.replica.stop() for live in lives), *restarts, return_exceptions=True)

    async def _free(self) -> _Live:
        """Wait for a replica with a free slot, and return the least busy one."""
        while True:
            free = [live for live in self._live.values() if live.in_flight < live.slots]
            if free:
                chosen = min(free, key=lambda live: live.in_flight / live.slots)
                chosen.in_flight += 1
                return chosen
            if len(self._gone) == self.count:
                *_, last = self._gone.values()
                fact = f"no replica of {self.count} is left; the last cause: {last}"
                raise CannotEvaluate(f"{fact}. Fix that, then go on with --resume")
            self._freed.clear()
            await self._freed.wait()

    def _replace(self, live: _Live, cause: str) -> None:
        """Take out a dead replica, once, and start another in its place."""
        if self._live.get(live.place) is not live:
            return
        del self._live[live.place]
        live.replica.kill()  # it may only be unreachable, and must not go on working
        self._deaths[live.place] += 1
        if self._deaths[live.place] > self.max_restarts:
            self._give_up(live.place, cause)
            return
        self.warn(f"replica {live.place + 1} of {self.count} died ({cause}); it is started again")
        task = asyncio.create_task(self._restart(live.place))
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    async def _restart(self, place: int) -> None:
        try:
            await self._fill(place)
        except Exception as error:  # whatever it is: those who wait for this replica must hear of it
            self._give_up(place, str(error) or type(error).__name__)

    async def _fill(self, place: int) -> EngineInfo:
        """Fill a place with a live replica."""
        while True:
            replica = self.make()
            try:
                ready = await replica.start()
                if self._known and ready.info not in self._known:
                    raise ReplicaDied(f"it came back as {_words(ready.info)}, unlike any replica at the start")
            except (ReplicaDied, AccgateError) as error:
                if isinstance(error, ReplicaDied):
                    replica.kill()
                else:
                    await end(replica)
                is_own = isinstance(error, AccgateError) and not self._known  # at the start: bad options, no such file
                self._deaths[place] += 1
                if is_own or isinstance(error, NeverReady):
                    raise
                if self._deaths[place] > self.max_restarts:
                    raise CannotEvaluate(f"a replica died {self._deaths[place]} times; the last: {error}") from error
            except BaseException:
                await end(replica)
                raise
            else:
                silence = Silence(f"replica {place + 1} of {self.count}", self.max_silence)
                self._live[place] = _Live(replica, ready.slots, place, silence)
                self._freed.set()
                return ready.info

    def _give_up(self, place: int, cause: str) -> None:
        self._gone[place] = cause
        self.warn(f"replica {place + 1} of {self.count} is given up: {cause}")
        self._freed.set()


async def end(replica: Replica) -> None:
    """End a replica that did not come up, and free its resources.

    The replica may take the time `ENDING` to stop by itself.
    """
    try:
        await at_most(ENDING, replica.stop())
    finally:
        replica.kill()


def tokens_of(arguments: Sequence[Any]) -> int:
    """Return how many tokens the reply to a call may have."""
    return max((each.max_tokens for each in arguments if isinstance(each, Request)), default=1)


def combine_infos(infos: Sequence[EngineInfo]) -> EngineInfo:
    """Describe all replicas as one.

    Equal hardware is named once, and different hardware in a list.

    Raises
    ------
    CannotEvaluate
        When they are not the same engine in the same version.

    Examples
    --------
    >>> combine_infos([EngineInfo("vllm", "0.33.0", "H200"), EngineInfo("vllm", "0.33.0", "H100")]).hardware
    'H100; H200'
    """
    kinds = sorted({_words(replace(info, hardware="")) for info in infos})
    under = sorted({name for info in infos for name in info.environment})
    if len(kinds) > 1:
        raise CannotEvaluate(f"the replicas are not the same: {'; '.join(kinds)}; install one version on every node")
    environment = {name: "; ".join(sorted({info.environment.get(name, "none") for info in infos})) for name in under}
    hardware = "; ".join(sorted({info.hardware for info in infos}))
    return replace(infos[0], hardware=hardware, environment=environment)


def _words(info: EngineInfo) -> str:
    return " ".join(part for part in (info.name, info.version, info.hardware and f"on {info.hardware}") if part)

"""Which of a model's servers is asked next, and when: the least loaded one that is up and takes more."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from accgate.engines.openai.client import Fault
from accgate.engines.openai.pace import Pace, doubled
from accgate.engines.silence import Silence, timeout

FIRST_REST = 0.5  # seconds, doubled with each refusal
LONGEST_REST = 10.0  # seconds, so that a server that is back is soon found
PROBES = 4  # requests that may find out at once whether it is


@dataclass(eq=False)
class Endpoint:
    """One server, by its URL up to and with /v1. Times are those of the clock.

    `unsure` is set where it was away: what serves there now is to be looked at before its answers count. One that is
    `gone` is asked no more.
    """

    url: str
    silence: Silence
    pace: Pace = field(default_factory=Pace)
    in_flight: int = 0
    requests: int = 0  # requests so far
    refusals: int = 0  # connections refused in a row, rests apart
    rests_until: float = 0.0  # it took no connection
    unsure: bool = False
    gone: bool = False
    listed: Mapping[str, str] = field(default_factory=dict)  # what it said of its model at first
    look: asyncio.Lock = field(default_factory=asyncio.Lock)
    looks: int = 0  # how often it was looked at since
    mute: Fault | None = None  # why it did not say what it serves when it was looked at last


class Endpoints:
    """The servers of one model, which take at most `most` requests at once together.

    More wait here: one that waited for a connection would use up its time-out.
    """

    def __init__(
        self,
        urls: Sequence[str],
        silence: float = 600.0,
        *,
        most: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.all = tuple(Endpoint(url, Silence(url, silence), Pace(clock=clock, jitter=jitter)) for url in urls)
        self._most = most
        self._clock = clock
        self._jitter = jitter
        self._barren_since: float | None = None
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    async def admit(self) -> Endpoint | None:
        """The server to ask now, once one takes a request more, in the order of calls; None while none is up."""
        async with self._turn:  # the first waits for a server, the others for their turn
            while True:
                endpoint, delay = self._best(())
                if endpoint is None or delay == 0.0:
                    return endpoint
                self._changed.clear()
                try:
                    async with timeout(delay):
                        await self._changed.wait()
                except asyncio.TimeoutError:
                    continue

    def other(self, tried: Collection[Endpoint]) -> Endpoint | None:
        """A server that is not among those tried and takes a request now."""
        endpoint, delay = self._best(tried)
        return endpoint if delay == 0.0 else None

    def _best(self, tried: Collection[Endpoint]) -> tuple[Endpoint | None, float | None]:
        """The server that is up and takes a request soonest, with the fewest in flight, and in how many seconds.

        None seconds: once a request has ended.
        """
        now = self._clock()
        best: tuple[float, int, int] | None = None
        chosen = None
        is_full = sum(endpoint.in_flight for endpoint in self.all) >= self._most
        for endpoint in self.all:
            if endpoint.gone or endpoint.rests_until > now or endpoint in tried:
                continue
            tests = endpoint.refusals > 0 and endpoint.in_flight >= PROBES
            delay = None if tests or is_full else endpoint.pace.delay(endpoint.in_flight)
            key = (float("inf") if delay is None else delay, endpoint.in_flight, endpoint.requests)
            if best is None or key < best:
                best, chosen = key, endpoint
        if best is None:
            return None, None
        return chosen, None if best[0] == float("inf") else best[0]

    def begin(self, endpoint: Endpoint) -> float:
        """Note that a request starts, and when."""
        endpoint.in_flight += 1
        endpoint.requests += 1
        endpoint.pace.started()
        return self._clock()

    def end(self, endpoint: Endpoint) -> None:
        """Note that a request is over."""
        endpoint.in_flight -= 1
        self._changed.set()

    def note_refusal(self, endpoint: Endpoint, wait: float = 0.0) -> None:
        """Leave a server alone that took no connection, for `wait` seconds or longer each time."""
        now = self._clock()
        endpoint.unsure = True
        if endpoint.refusals == 0 or endpoint.rests_until <= now:  # of many requests refused at once the first counts
            longest = doubled(FIRST_REST, endpoint.refusals, LONGEST_REST)
            endpoint.refusals += 1
            endpoint.rests_until = now + max(wait, self._jitter(longest / 2, longest))  # not the time of its peers
        self._note_barren(now)

    def note_busy(self, endpoint: Endpoint, sent: float, wait: float) -> None:
        """Note that a request sent at this time was too much for a server, and the seconds it wants no other."""
        self.note_connection(endpoint)
        endpoint.pace.refused(sent, wait, endpoint.in_flight)
        self._note_barren(self._clock())

    def note_connection(self, endpoint: Endpoint) -> None:
        """Note that a server took a connection, whatever it gave."""
        endpoint.refusals, endpoint.rests_until = 0, 0.0
        self._changed.set()

    def note_answer(self, endpoint: Endpoint, sent: float) -> None:
        """Note that a server answered a request that was sent at this time."""
        self.note_connection(endpoint)
        self._barren_since = None
        endpoint.pace.taken(sent)

    def _note_barren(self, now: float) -> None:
        self._barren_since = now if self._barren_since is None else self._barren_since

    async def is_outage(self, seconds: float) -> bool:
        """Whether none has answered for so long; waits for what is in flight, unless an answer comes first."""
        while self._barren_since is not None and self.barren >= seconds:
            if not any(endpoint.in_flight for endpoint in self.all if not endpoint.gone):
                return True
            self._changed.clear()
            await self._changed.wait()
        return False

    @property
    def barren(self) -> float:
        """Seconds since when servers refuse, and none has answered a request."""
        return 0.0 if self._barren_since is None else self._clock() - self._barren_since

    @property
    def rest(self) -> float:
        """Seconds until a server may be asked again, as far as it asked to be left alone or refused."""
        rests = (max(e.rests_until, e.pace.quiet_until) for e in self.all if not e.gone)
        return max(0.0, min(rests, default=0.0) - self._clock())

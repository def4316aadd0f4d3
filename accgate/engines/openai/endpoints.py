"""Which of a model's servers is asked next: the least loaded one that is up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

FIRST_REST = 0.5  # seconds, doubled with each refusal
LONGEST_REST = 10.0  # seconds, so that a server that is back is soon found


@dataclass(eq=False)
class Endpoint:
    """One server, by its URL up to and with /v1. Times are those of the clock."""

    url: str
    in_flight: int = 0
    requests: int = 0  # requests so far
    refusals: int = 0  # connections refused in a row, rests apart
    rests_until: float = 0.0  # it took no connection
    busy_until: float = 0.0  # it asked to be left alone


class Endpoints:
    """The servers of one model."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self.all = tuple(map(Endpoint, urls))
        self._clock = clock
        self._jitter = jitter
        self._down_since: float | None = None

    def best(self, tried: Collection[Endpoint] = ()) -> Endpoint | None:
        """The server to ask: up, not among those tried, rather not busy, with the fewest in flight, then so far."""
        now = self._clock()
        fit = [e for e in self.all if e.rests_until <= now and e not in tried]
        return min(fit, key=lambda e: (e.busy_until > now, e.in_flight, e.requests), default=None)

    def other(self, tried: Collection[Endpoint]) -> bool:
        """Whether a server that is not among those tried may answer at once."""
        server = self.best(tried)
        return server is not None and server.busy_until <= self._clock()

    def note_refusal(self, endpoint: Endpoint) -> None:
        """Leave a server alone that took no connection: for longer each time, and not the same time as its peers."""
        now = self._clock()
        if endpoint.refusals == 0 or endpoint.rests_until <= now:  # of many requests refused at once the first counts
            longest = min(LONGEST_REST, FIRST_REST * 2**endpoint.refusals)
            endpoint.refusals = min(endpoint.refusals + 1, 30)
            endpoint.rests_until = now + self._jitter(longest / 2, longest)
        if self._down_since is None and all(e.refusals for e in self.all):
            self._down_since = now

    def note_answer(self, endpoint: Endpoint, busy_for: float = 0.0) -> None:
        """Note that a server took a request, and for how many seconds it wants no other."""
        endpoint.refusals, endpoint.rests_until, self._down_since = 0, 0.0, None
        if busy_for:
            endpoint.busy_until = self._clock() + busy_for

    @property
    def outage(self) -> float:
        """Seconds since when every server has refused."""
        return 0.0 if self._down_since is None else self._clock() - self._down_since

    @property
    def rest(self) -> float:
        """Seconds until a server may be asked again."""
        return max(0.0, min(e.rests_until for e in self.all) - self._clock())

"""One request until it is answered.

It goes to the least loaded server that is up and takes more. Retries, and when they end, are decided here too.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, TypeVar

from accgate.engines.base import EngineDied, RequestFailed
from accgate.engines.identity import Identity, Listing, refuse_changed
from accgate.engines.openai.client import Client, Fault
from accgate.engines.openai.options import Options
from accgate.engines.openai.pace import Pace, doubled
from accgate.engines.silence import Sign, Silence, Stalled, timeout
from accgate.engines.wire import json_bytes
from accgate.errors import CannotEvaluate

T = TypeVar("T")

# OpenAI's client starts with 0.5 s and doubles it too. The longest wait is chosen by judgement: a run can wait longer.
FIRST_WAIT = 0.5  # seconds, doubled with each retry
LONGEST_WAIT = 60.0  # seconds, between retries where the server names none
LONGEST_RETRY_AFTER = 600.0  # seconds; a server that asks for more is treated as down
LIMITED = 30.0  # seconds, past and expected, without an answer from servers that limit; then the terminal says so
RESUME = "start it again, then go on with --resume"
FIRST_REST = 0.5  # seconds, doubled with each refusal
LONGEST_REST = 10.0  # seconds, so that a server that is back is soon found
PROBES = 4  # requests that may test at once whether a resting server is back


@dataclass(eq=False)
class Endpoint:
    """One server, by its URL up to and with /v1.

    Times are those of the clock. `unsure` means that it was away, so that its list of models must be read before its
    answers count. One that is `gone` is not asked any more.
    """

    url: str
    silence: Silence
    pace: Pace = field(default_factory=Pace)
    in_flight: int = 0
    requests: int = 0  # requests so far
    refusals: int = 0  # connections refused in a row, rests apart
    rests_until: float = 0.0  # after a refused connection
    unsure: bool = False
    gone: bool = False
    listed: Mapping[str, str] = field(default_factory=dict)  # what it said about its model at the start
    look: asyncio.Lock = field(default_factory=asyncio.Lock)
    looks: int = 0  # how often its list was read since the start
    mute: Fault | None = None  # why the last look at its list failed


class Endpoints:
    """The servers of one model, which together take at most `most` requests at once.

    Further requests wait here, because a wait for a connection would count towards their time-out.
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
        """Wait for a server that takes a request more, and return it.

        Calls are served in their order. None means that no server is up.
        """
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
        """Return an untried server that takes a request now, if any."""
        endpoint, delay = self._best(tried)
        return endpoint if delay == 0.0 else None

    def _best(self, tried: Collection[Endpoint]) -> tuple[Endpoint | None, float | None]:
        """Find the server that takes a request soonest, and in how many seconds.

        Among equals it has the fewest in flight. None instead of seconds means: once a request has ended.
        """
        now = self._clock()
        is_full = sum(endpoint.in_flight for endpoint in self.all) >= self._most

        def key(endpoint: Endpoint) -> tuple[float, int, int]:
            tests = endpoint.refusals > 0 and endpoint.in_flight >= PROBES
            delay = None if tests or is_full else endpoint.pace.delay(endpoint.in_flight)
            return math.inf if delay is None else delay, endpoint.in_flight, endpoint.requests

        up = [e for e in self.all if not (e.gone or e.rests_until > now or e in tried)]
        (delay, *_), chosen = min(((key(e), e) for e in up), key=itemgetter(0), default=((math.inf,), None))
        return chosen, None if delay == math.inf else delay

    def begin(self, endpoint: Endpoint) -> float:
        """Record that a request starts, and return when."""
        endpoint.in_flight += 1
        endpoint.requests += 1
        endpoint.pace.started()
        return self._clock()

    def end(self, endpoint: Endpoint) -> None:
        """Record that a request is over."""
        endpoint.in_flight -= 1
        self._changed.set()

    def note_refusal(self, endpoint: Endpoint, wait: float = 0.0) -> None:
        """Let a server rest that took no connection.

        It rests for at least `wait` seconds, and longer each time.
        """
        now = self._clock()
        endpoint.unsure = True
        if endpoint.refusals == 0 or endpoint.rests_until <= now:  # of requests refused together only the first counts
            longest = doubled(FIRST_REST, endpoint.refusals, LONGEST_REST)
            endpoint.refusals += 1
            endpoint.rests_until = now + max(wait, self._jitter(longest / 2, longest))  # clients come back apart
        self._note_barren(now)

    def note_busy(self, endpoint: Endpoint, sent: float, wait: float) -> None:
        """Record that a request was too much for a server.

        It was sent at the time `sent`, and the server asks to wait `wait` seconds.
        """
        self.note_connection(endpoint)
        endpoint.pace.refused(sent, wait, endpoint.in_flight)
        self._note_barren(self._clock())

    def note_connection(self, endpoint: Endpoint) -> None:
        """Record that a server took a connection, whatever it answered."""
        endpoint.refusals, endpoint.rests_until = 0, 0.0
        self._changed.set()

    def note_answer(self, endpoint: Endpoint, sent: float) -> None:
        """Record that a server answered the request sent at this time."""
        self.note_connection(endpoint)
        self._barren_since = None
        endpoint.pace.taken(sent)

    def _note_barren(self, now: float) -> None:
        self._barren_since = now if self._barren_since is None else self._barren_since

    async def is_outage(self, seconds: float) -> bool:
        """Tell whether no server has answered for `seconds`, once nothing is in flight."""
        while self._barren_since is not None and self.barren >= seconds:
            if not any(endpoint.in_flight for endpoint in self.all if not endpoint.gone):
                return True
            self._changed.clear()
            await self._changed.wait()
        return False

    @property
    def barren(self) -> float:
        """Seconds for which servers have refused and none has answered."""
        return 0.0 if self._barren_since is None else self._clock() - self._barren_since

    @property
    def rest(self) -> float:
        """Seconds until some server may be asked again."""
        rests = (max(e.rests_until, e.pace.quiet_until) for e in self.all if not e.gone)
        return max(0.0, min(rests, default=0.0) - self._clock())


@dataclass
class _Effort:
    """What one request has cost since it `began`.

    `since` is the time of the first fault that costs no retry.
    """

    began: float
    attempts: int = 0
    retries: int = 0
    since: float | None = None


@dataclass(eq=False)
class Dispatcher:
    """Asks a model's servers until one answers.

    `ended` says how a server that accgate started has ended. `rescue` restarts or drops a server that is silent, and
    raises where neither is possible.
    """

    client: Client
    endpoints: Endpoints
    options: Options
    identity: Identity
    ended: Callable[[], str | None]
    rescue: Callable[[Endpoint, Stalled], Awaitable[None]]
    model: str
    version: str = ""
    tell: Callable[[str], None] = logging.getLogger(__name__).warning
    _jitter: random.Random = field(default_factory=random.Random, init=False)
    _is_away: bool = field(default=False, init=False)

    async def ask(self, path: str, body: Any, read: Callable[[Any], T], tokens: int = 1) -> T:
        """Ask until a response can be used, and return what `read` makes of it.

        Each round asks every server once.

        Raises
        ------
        RequestFailed
            When a server refuses this request, or none answers it within the retries.
        CannotEvaluate
            When no server would answer any, or another model answers than before.
        """
        payload, effort = json_bytes(body), _Effort(time.monotonic())
        fault: Fault | None = None
        while True:
            endpoint = await self.endpoints.admit()
            if endpoint is None:
                urls = ", ".join(each.url for each in self.endpoints.all)
                await self._outlast(fault or Fault(f"no server of {urls} takes a connection", kind="refused"))
                continue
            faults: dict[Endpoint, Fault] = {}
            while endpoint is not None:
                outcome = await self._attempt(endpoint, path, payload, read, tokens)
                if not isinstance(outcome, Fault):
                    return outcome
                effort.attempts += 1
                faults[endpoint] = outcome
                endpoint = self.endpoints.other(faults)
            fault = await self._weigh([*faults.values()], effort)

    async def _attempt(
        self, endpoint: Endpoint, path: str, payload: bytes, read: Callable[[Any], T], tokens: int
    ) -> T | Fault:
        """Return what one server makes of a request."""

        def read_own(body: Any) -> T:
            value = read(body)
            self.identity.check(body, endpoint.url)
            return value

        def connected() -> None:
            if endpoint.in_flight == 1 and endpoint.requests > 1:  # older connections are closed, as by a restart
                endpoint.unsure = True

        sent = self.endpoints.begin(endpoint)
        try:
            post = self.client.post(endpoint.url, path, payload, read_own, connected)
            outcome = await endpoint.silence.reply(post, tokens, _sign)
            if not isinstance(outcome, Fault) and endpoint.unsure:
                outcome = await self._look(endpoint) or outcome
        except Stalled as stall:
            await self.rescue(endpoint, stall)
            return Fault(str(stall), kind="away")
        except RequestFailed:
            self.endpoints.note_answer(endpoint, sent)
            raise
        finally:
            self.endpoints.end(endpoint)
        if isinstance(outcome, Fault):
            self._note(endpoint, outcome, sent)
            return outcome
        self.endpoints.note_answer(endpoint, sent)
        if self._is_away:
            self._is_away = False
            self.tell(f"{endpoint.url} answers again")
        return outcome

    async def _look(self, endpoint: Endpoint) -> Fault | None:
        """Ask a server that was away what it serves now.

        A fault means that it does not say. Requests that wait for the same answer share it.

        Raises
        ------
        CannotEvaluate
            When it serves something else.
        """
        looks = endpoint.looks
        async with endpoint.look:
            if endpoint.unsure and endpoint.looks == looks:
                endpoint.mute = await self._mute(endpoint)
                endpoint.looks += 1
                endpoint.unsure = endpoint.mute is not None
            return endpoint.mute if endpoint.unsure else None

    async def _mute(self, endpoint: Endpoint) -> Fault | None:
        """Return why a server does not say what it serves, or None.

        The answer is None where nothing has changed.
        """
        if not endpoint.listed:
            return None
        listing = await self.client.listing(endpoint.url)
        if not isinstance(listing, Listing):
            return replace(listing, text=f"{endpoint.url} does not list its models: {listing.text}", kind="away")
        about = replace(listing, version=listing.version or self.version).about(self.model)
        if not about:
            return Fault(f"{endpoint.url} lists no models any more", kind="away")
        refuse_changed(endpoint.url, endpoint.listed, about, self.options.same_model)
        return None

    def _note(self, endpoint: Endpoint, fault: Fault, sent: float) -> None:
        wait = min(fault.wait, LONGEST_RETRY_AFTER)
        if fault.down:
            self.endpoints.note_refusal(endpoint, wait)
        elif fault.kind == "busy":
            self.endpoints.note_busy(endpoint, sent, wait)
        else:
            self.endpoints.note_connection(endpoint)
            endpoint.unsure = endpoint.unsure or fault.kind == "cut"

    async def _weigh(self, faults: list[Fault], effort: _Effort) -> Fault:
        """Wait as long as a round of faults requires.

        The fault that it returns is the one to report if no further round helps.
        """
        costly = [fault for fault in faults if not (fault.down or fault.kind == "busy")]
        wait = min((fault.wait for fault in faults if fault.kind != "refused"), default=0.0)
        if costly:
            if effort.retries == self.options.max_retries:
                raise RequestFailed(f"{costly[-1].text} (after {effort.attempts} attempts)")
            longest = doubled(FIRST_WAIT, effort.retries, LONGEST_WAIT)
            await asyncio.sleep(min(wait, LONGEST_RETRY_AFTER) + self._jitter.uniform(0.0, longest))
            effort.retries += 1
            return costly[-1]
        fault = next((fault for fault in reversed(faults) if fault.kind != "refused"), faults[-1])
        if wait > LONGEST_RETRY_AFTER:
            raise CannotEvaluate(f"{fault.text}; the server asks to wait {wait:.7g} s; go on with --resume after that")
        now, limit = time.monotonic(), self.options.max_outage
        barren = min(self.endpoints.barren, now - effort.began)
        if barren >= limit:
            if not await self.endpoints.is_outage(limit):
                return fault
            raise CannotEvaluate(f"{fault.text}; no server has answered for {self.endpoints.barren:.3g} s; {RESUME}")
        if fault.kind == "busy" and barren + self.endpoints.rest >= LIMITED:
            self._tell_away(fault)
        effort.since = now if effort.since is None else effort.since
        if fault.kind == "refused" or effort.attempts <= self.options.max_retries or now - effort.since < limit:
            return fault
        raise RequestFailed(f"{fault.text} (after {effort.attempts} attempts)")

    async def _outlast(self, fault: Fault) -> None:
        """Wait while no server is up, since one that restarts is back in minutes.

        Raises
        ------
        EngineDied
            When it has ended for good.
        """
        if end := self.ended():
            raise EngineDied(end)
        self._tell_away(fault)
        await asyncio.sleep(max(0.01, self.endpoints.rest))

    def _tell_away(self, fault: Fault) -> None:
        if not self._is_away:
            longest = max(self.options.max_outage, math.ceil(self.endpoints.rest))
            self.tell(f"{fault.text}; no server takes a request; the run asks again for up to {longest:g} s")
        self._is_away = True


def _sign(outcome: Any) -> Sign:
    """Return what an outcome says about a server's life."""
    return "reply" if not isinstance(outcome, Fault) else "none" if outcome.kind == "silent" else "life"

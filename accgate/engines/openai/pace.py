"""The pace at which a server takes requests, learned from its refusals.

It also limits how many requests run at once.
"""

import math
import random
import time
from collections import deque
from collections.abc import Callable

# `python benchmarks/limits.py` tries these on token buckets and windows of 60 requests a second, with 64 workers.
SPAN, BIN = 5.0, 0.5  # seconds over which taken requests are counted, and of one count
BACK, BELOW = 0.75, 0.85  # of what was taken lately: the limit after a cut, and where nothing should be refused
DOUBLING, EARLY = 8.0, 1.0  # seconds in which the limit then doubles; while less than SPAN was measured
FREE = 64.0  # times what was taken when it was refused: there is no limit any more
SLOWEST = 1 / 60  # requests a second
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, doubled with each refusal while nothing is answered
RUN, BARREN, SHARE, ENOUGH = 5, 3, 0.02, 50  # so many refusals in a row, or such a share of so many requests: overload
LN2 = math.log(2.0)
CATCH_UP = 0.05  # seconds by which a timer that was late may be made good


def doubled(first: float, times: int, longest: float) -> float:
    """Return a wait in seconds that doubles each time, up to the longest.

    >>> doubled(0.5, 0, 60.0), doubled(0.5, 3, 60.0), doubled(0.5, 5000, 60.0)
    (0.5, 4.0, 60.0)
    """
    return min(longest, first * 2.0 ** min(times, 30))


class Pace:
    """What one server takes.

    That is everything at once, until it refuses some. Refusals (429) cut the rate and the number in flight to three
    quarters of what was taken in the last five seconds, and both grow again from there, doubling in eight seconds.
    Refusals of requests sent before a cut belong to the same event. A few alone are no reason to cut, because some
    servers refuse a share whatever is sent. All requests wait while the server asks for that, or took none since its
    last refusal.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, jitter: Callable[[float, float], float] = random.uniform
    ) -> None:
        self._clock, self._jitter = clock, jitter
        self._taken: deque[list[float]] = deque()  # [begin, requests]
        self._since: float | None = None  # the first request
        self._rate = self._window = math.inf  # requests a second, and in flight
        self._cut = self._grows = -math.inf  # the last cut, and when the limits begin to grow
        self._doubling = DOUBLING
        self._next = 0.0  # when the next request may start
        self._settled = False  # whether a request that was sent after the last cut was taken
        self._run = 0  # refusals in a row
        self._refusals = self._outcomes = 0  # of requests that were sent after the last cut
        self._below = self._below_refused = 0  # of those sent while less was asked than had been taken
        self._barren = 0  # refusals in a row with nothing taken between
        self.quiet_until = 0.0

    def delay(self, in_flight: int) -> float | None:
        """Return the seconds until one more request may start.

        The delay is None where a request must end first.
        """
        now = self._clock()
        if now < self.quiet_until:
            return self.quiet_until - now
        if math.isinf(self._rate):
            return 0.0
        growth = self._growth(now)
        if growth >= FREE:
            self._rate = self._window = math.inf
            return 0.0
        if in_flight > 0 and in_flight >= math.ceil(self._window * growth):
            return None
        return max(0.0, self._next - now)

    def started(self) -> None:
        """Record that a request starts now."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if not math.isinf(self._rate):
            self._next = max(self._next, now - CATCH_UP) + self._interval(now)

    def taken(self, sent: float) -> None:
        """Record that a request sent at this time was answered."""
        now = self._clock()
        self._barren = self._run = 0
        if sent > self._cut:
            self._settled = True
            self._count(refused=False)
        if not self._taken or now - self._taken[-1][0] >= BIN:
            self._taken.append([now, 0.0])
            while now - self._taken[0][0] > SPAN:
                self._taken.popleft()
        self._taken[-1][1] += 1

    def refused(self, sent: float, wait: float, in_flight: int) -> None:
        """Record that a request sent at this time was refused for too much load.

        `in_flight` others wait, and the server asks to wait `wait` seconds.
        """
        now = self._clock()
        self.quiet_until = max(self.quiet_until, now + wait)
        if sent <= self._cut:
            if not self._settled:  # of the same event: what is left in flight may have been taken
                self._measure(now, in_flight)
            return
        self._run += 1
        self._count(refused=True)
        if not self._settled and self._cut > -math.inf:
            if self._run < BARREN:
                return
            self._barren += 1
            self._rate, self._window = self._rate / 2, max(1.0, self._window / 2)
            self._pause(now, wait)
        elif self._is_too_much():
            self._rate = self._window = math.inf
            self._measure(now, in_flight)
            if self._run >= RUN:
                self._pause(now, wait)
        else:
            return
        self._cut, self._grows = now, max(now, self.quiet_until)
        self._settled = False
        self._run = self._refusals = self._outcomes = 0

    def _measure(self, now: float, in_flight: int) -> None:
        """Cut the limits to what was taken lately, or may yet be."""
        elapsed = now - (self._since or now)
        span, self._doubling = min(SPAN, max(1.0, elapsed)), DOUBLING if elapsed > SPAN else EARLY
        count = sum(count for begin, count in self._taken if now - begin <= SPAN) + in_flight
        self._rate = min(self._rate, max(SLOWEST, count / span))
        self._window = min(self._window, max(1.0, float(in_flight)))

    def _pause(self, now: float, wait: float) -> None:
        if not wait:
            pause = doubled(FIRST_PAUSE, self._barren, LONGEST_PAUSE)
            self.quiet_until = max(self.quiet_until, now + self._jitter(pause / 2, pause))

    def _count(self, *, refused: bool) -> None:
        self._outcomes += 1
        self._refusals += refused
        if self._settled and not math.isinf(self._rate) and self._growth(self._clock()) < BELOW:
            self._below += 1
            self._below_refused += refused
            if self._below > 10 * ENOUGH:
                self._below, self._below_refused = self._below // 2, self._below_refused // 2

    def _is_too_much(self) -> bool:
        """Tell whether refusals come from the load.

        There are many in a row, or a larger share of them than when less was sent than the server had taken.
        """
        noise = self._below_refused / self._below if self._below >= ENOUGH else 0.0
        in_a_row = max(RUN, math.ceil(math.log(1e-4) / math.log(noise))) if 0.0 < noise < 1.0 else RUN
        share = self._refusals / self._outcomes
        return self._run >= in_a_row or (self._outcomes >= ENOUGH and share > max(SHARE, 2 * noise))

    def _interval(self, now: float) -> float:
        """Return the seconds until the growing rate allows one request more."""
        rate = max(SLOWEST, self._rate * self._growth(now))
        even = max(0.0, self._grows - now)
        left = 1.0 - rate * even
        if left <= 0.0:
            return 1.0 / rate
        return even + self._doubling * math.log2(1.0 + left * LN2 / (rate * self._doubling))

    def _growth(self, now: float) -> float:
        return BACK * math.pow(2.0, min(64.0, max(0.0, now - self._grows) / self._doubling))

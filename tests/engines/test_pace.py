"""How long requests wait for a server that limits."""

from __future__ import annotations

from itertools import pairwise

from accgate.engines.openai.pace import Pace

WORKERS, SECONDS = 8, 0.1  # requests that wait at once, and that each takes


def test_a_spell_of_refusals_does_not_hold_up_requests_for_long() -> None:
    """The rate that is left grows while a request waits, and the wait counts with that."""
    now, starts, ends = 0.0, list[float](), list[float]()
    pace = Pace(clock=lambda: now, jitter=lambda low, _: low)
    while now < 100.0:
        delay = pace.delay(len(ends))
        if delay == 0.0 and len(ends) < WORKERS:
            pace.started()
            starts.append(now)
            ends.append(now + SECONDS)
            continue
        now = min([*ends[:1], *([] if delay in (None, 0.0) else [now + (delay or 0.0)])])
        if ends and now >= ends[0]:
            sent = ends.pop(0) - SECONDS
            if sent < 1.0:
                pace.taken(sent)
            else:
                pace.refused(sent, 0.3, len(ends) + 1)
    waits = [after - before for before, after in pairwise(starts)]
    assert max(waits) < 8.0  # by the rate at its beginning a wait took ten

"""The watch over a Ray cluster's head: when it is lost, what ends with it, and that Ray does not end us before."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable

import pytest

from accgate.engines.ray.cluster import EVERY, LIMIT, Lifeline, Patience, Place, listening, lost, outlive, within
from accgate.errors import CannotEvaluate
from tests.engines.asking import in_loop

HEAD, NODE = ("10.0.0.1", 6379), ("10.0.0.2", 4000)


class Endless(Exception):
    """The watch still goes on."""


def said(
    answers: Callable[[Place, float], bool], *, outage: float = 5.0, until: float = 100.0, pause: float = EVERY
) -> tuple[str, float]:
    """What the watch says of a head and a node that answer as given at a time, and after how many seconds."""
    now = 0.0

    async def answer(place: Place) -> bool:
        return answers(place, now)

    async def sleep(_: float) -> None:
        nonlocal now
        now += pause
        if now > until:
            raise Endless

    places = {"the head": HEAD, "the node": NODE}
    return asyncio.run(lost(places, outage, answers=answer, sleep=sleep, clock=lambda: now)), now


def test_a_head_or_node_that_is_away_for_so_long_is_lost_and_the_mend_is_named() -> None:
    message, seconds = said(lambda place, at: place == NODE or at < 10)
    assert seconds == 15.0
    assert message.startswith("the head at 10.0.0.1:6379 has taken no connection for 5 s; ")
    assert message.endswith("then go on with --resume")
    assert said(lambda place, _: place == HEAD)[0].startswith("the node at 10.0.0.2:4000 has ")


def test_an_outage_that_ends_in_time_costs_nothing_and_the_next_counts_anew() -> None:
    with pytest.raises(Endless):
        said(lambda _, at: at % 6 > 4, outage=5.0)
    with pytest.raises(Endless):
        said(lambda *_: True)


def test_a_machine_that_slept_is_not_taken_for_a_head_that_is_away() -> None:
    with pytest.raises(Endless):  # an hour between two looks, of which two in a row find nothing
        said(lambda _, at: at % (3 * 3600) == 0, pause=3600.0, until=40 * 3600.0)


def test_only_what_takes_connections_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        assert asyncio.run(listening(place))
    assert not asyncio.run(listening(place))


@in_loop
async def test_what_runs_when_the_head_is_lost_ends_with_the_cause_and_so_does_all_after_it() -> None:
    gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    line = Lifeline(lambda: gone)
    assert await line.run(asyncio.sleep(0, "answer")) == "answer"
    waiting = [asyncio.create_task(line.run(asyncio.sleep(3600))) for _ in range(3)]
    await asyncio.sleep(0)
    assert not line.cut
    gone.set_result("the head is away")
    for task in waiting:
        with pytest.raises(CannotEvaluate, match="the head is away"):
            await task
    assert line.cut
    with pytest.raises(CannotEvaluate, match="the head is away"):
        await line.run(asyncio.sleep(0))
    await line.close()


@in_loop
async def test_what_is_cancelled_while_the_head_is_there_is_cancelled_and_errors_stay_what_they_are() -> None:
    async def fails() -> None:
        raise ValueError("its own")

    gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    line, inner = Lifeline(lambda: gone), asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            inner.set()

    task = asyncio.create_task(line.run(endless()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.is_set()
    with pytest.raises(ValueError, match="its own"):
        await line.run(fails())
    await line.close()
    assert gone.cancelled()


def test_what_waits_for_a_head_that_is_gone_is_waited_for_once() -> None:
    done, never = threading.Event(), threading.Event()
    Patience(120.0).wait(done.set)
    assert done.is_set()
    patience = Patience(0.02)
    assert not within(0.02, never.wait)
    for _ in range(3):
        patience.wait(never.wait)
    assert patience._seconds < 0.02
    never.set()


@pytest.mark.parametrize(
    ("present", "outage", "limit"),
    [(None, 30.0, "90"), ("60", 300.5, "361"), ("7200", 30.0, "7200"), ("soon", 30.0, "90")],
)
def test_ray_waits_longer_than_the_watch(
    monkeypatch: pytest.MonkeyPatch, present: str | None, outage: float, limit: str
) -> None:
    monkeypatch.setenv(LIMIT, present or "")
    if present is None:
        monkeypatch.delenv(LIMIT)
    outlive(outage)
    assert os.environ[LIMIT] == limit

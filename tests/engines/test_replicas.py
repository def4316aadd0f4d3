"""Replicas: the least busy is asked, a dead one's requests go to the others, and nothing hangs or is asked for ever."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from accgate.engines.base import RequestFailed
from accgate.engines.ray import replicas as replicas_module
from accgate.engines.ray.replicas import MOST_DEATHS, NeverReady, Ready, ReplicaDied, Replicas, combine_infos
from accgate.errors import BadInput, CannotEvaluate
from accgate.result import EngineInfo
from tests.engines.asking import in_loop

INFO = EngineInfo("toy", "1", "CPU")


class Held:
    """A replica whose answers come when the test says so; it dies or fails as it is told."""

    def __init__(self, slots: int = 2, info: EngineInfo = INFO, at_start: Exception | None = None) -> None:
        self._ready = Ready(info, slots)
        self._at_start = at_start
        self.asked: dict[str, asyncio.Future[str]] = {}
        self.cancelled: list[str] = []
        self.killed = self.stopped = 0

    async def start(self) -> Ready:
        if self._at_start is not None:
            raise self._at_start
        return self._ready

    async def call(self, _: str, *arguments: Any) -> str:
        (name,) = arguments
        self.asked[name] = asyncio.get_running_loop().create_future()
        try:
            return await self.asked[name]
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    def answer(self, name: str) -> None:
        self.asked.pop(name).set_result(name.upper())

    def answer_all(self) -> None:
        for name in [*self.asked]:
            self.answer(name)

    def die(self, cause: str = "out of memory") -> None:
        asked, self.asked = self.asked, {}
        for waiting in asked.values():
            waiting.set_exception(ReplicaDied(cause))

    async def stop(self) -> None:
        self.stopped += 1

    def kill(self) -> None:
        self.killed += 1


class Loading(Held):
    """A replica that loads until it is cancelled."""

    async def start(self) -> Ready:
        await asyncio.sleep(3600)
        raise AssertionError


@dataclass
class Fleet:
    """Replicas that are made in the order given, with what became of them."""

    coming: list[Held]
    made: list[Held] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)

    def make(self) -> Held:
        self.made.append(self.coming.pop(0))
        return self.made[-1]

    def replicas(self, count: int = 1, max_restarts: int = 3, **options: Any) -> Replicas:
        return Replicas(self.make, count, max_restarts=max_restarts, warn=self.warned.append, **options)


async def settle() -> None:
    """Let every task go on to where it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def asked(
    names: str, *coming: Held, count: int = 1, max_restarts: int = 3
) -> tuple[Fleet, Replicas, list[asyncio.Task[Any]]]:
    """Replicas that are started, and requests of these names that wait at them."""
    fleet = Fleet([*coming])
    replicas = fleet.replicas(count, max_restarts)
    await replicas.start()
    calls = [asyncio.create_task(replicas.call("complete", name)) for name in names]
    await settle()
    return fleet, replicas, calls


@in_loop
async def test_the_replica_with_the_fewest_requests_is_asked_and_none_beyond_its_slots() -> None:
    a, b = Held(), Held()
    _, replicas, calls = await asked("stuvwx", a, b, count=2)
    assert replicas.slots == 4
    assert (set(a.asked), set(b.asked)) == ({"s", "u"}, {"t", "v"})
    b.answer("t")
    await settle()
    assert set(b.asked) == {"v", "w"}
    b.answer("v")
    b.answer("w")
    await settle()
    assert set(b.asked) == {"x"}
    calls.append(asyncio.create_task(replicas.call("complete", "y")))
    await settle()
    assert set(b.asked) == {"x", "y"}, "b has fewer in flight than a"
    for replica in (a, b):
        replica.answer_all()
    assert await asyncio.gather(*calls) == [*"STUVWXY"]


@in_loop
async def test_the_requests_of_a_dead_replica_are_asked_again_and_each_gets_one_answer() -> None:
    a, b, again = Held(), Held(), Held()
    fleet, _, calls = await asked("stuv", a, b, again, count=2, max_restarts=1)
    b.die("its node died")  # once, though it takes two requests
    await settle()
    assert b.killed == 1, "what could only not be reached must not go on"
    assert fleet.made == [a, b, again]
    assert set(a.asked) == {"s", "u"}
    assert set(again.asked) == {"t", "v"}
    for replica in (a, again):
        replica.answer_all()
    assert await asyncio.gather(*calls) == [*"STUV"]
    assert fleet.warned == ["replica 2 of 2 died (its node died); it is started again"]


@in_loop
async def test_once_every_replica_is_given_up_all_requests_end_with_the_cause() -> None:
    made = [Held(slots=1) for _ in range(3)]
    fleet, replicas, calls = await asked("stuv", *made, count=2, max_restarts=0)
    made[0].die("first")
    await settle()
    assert not any(call.done() for call in calls), "one replica is left"
    made[1].die("CUDA error")
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(outcome, CannotEvaluate)
        assert "no replica of 2 is left; the last cause: CUDA error" in str(outcome)
    with pytest.raises(CannotEvaluate):
        await replicas.call("complete", "w")
    assert fleet.made == made[:2]


@in_loop
async def test_a_request_that_takes_down_every_replica_fails_alone() -> None:
    coming = [Held() for _ in range(MOST_DEATHS + 1)]
    fleet, replicas, (poison,) = await asked("p", *coming, max_restarts=MOST_DEATHS)
    for _ in range(MOST_DEATHS):
        fleet.made[-1].die("segfault")
        await settle()
    with pytest.raises(RequestFailed, match=f"{MOST_DEATHS} replicas died while they were asked this: segfault"):
        await poison
    other = asyncio.create_task(replicas.call("complete", "s"))
    await settle()
    fleet.made[-1].answer("s")
    assert await other == "S"


@pytest.mark.parametrize("error", [RequestFailed("long"), CannotEvaluate("key refused"), BadInput("no option")])
@in_loop
async def test_an_engines_own_error_is_no_death(error: Exception) -> None:
    a = Held()
    fleet, _, (call,) = await asked("s", a)
    a.asked["s"].set_exception(error)
    with pytest.raises(type(error), match=str(error)):
        await call
    assert (a.killed, fleet.warned) == (0, [])


@pytest.mark.parametrize("error", [BadInput("no such option"), CannotEvaluate("no such file"), NeverReady("no room")])
@in_loop
async def test_an_engine_that_cannot_start_ends_the_others_and_is_not_tried_again(error: Exception) -> None:
    fleet = Fleet([Held(), Held(at_start=error), Held()])
    with pytest.raises(type(error), match=str(error)):
        await fleet.replicas(2).start()
    first, second = fleet.made
    assert (first.stopped, second.killed) == (1, 1)


@in_loop
async def test_a_process_that_dies_while_it_loads_is_tried_again_up_to_the_limit() -> None:
    fleet = Fleet([Held(at_start=ReplicaDied("killed")), Held()])
    assert await fleet.replicas(max_restarts=1).start() == [INFO]
    fleet = Fleet([Held(at_start=ReplicaDied("killed")) for _ in range(3)])
    with pytest.raises(CannotEvaluate, match="a replica died 2 times; the last: killed"):
        await fleet.replicas(max_restarts=1).start()
    assert [made.killed for made in fleet.made] == [1, 1]


@pytest.mark.parametrize("error", [NeverReady("no node had room"), ZeroDivisionError("a fault of the code")])
@in_loop
async def test_a_restart_that_nothing_can_mend_is_given_up_at_once(error: Exception) -> None:
    fleet, _, (call,) = await asked("s", Held(), Held(at_start=error))
    fleet.made[0].die()
    with pytest.raises(CannotEvaluate, match=str(error)):
        await call


@in_loop
async def test_a_replica_that_comes_back_on_other_hardware_is_not_used() -> None:
    fleet, _, (call,) = await asked("s", Held(), Held(info=EngineInfo("toy", "1", "another GPU")), Held())
    fleet.made[0].die()
    await settle()
    assert fleet.made[1].killed == 1
    fleet.made[2].answer("s")
    assert await call == "S"


@in_loop
async def test_a_cancelled_request_is_cancelled_at_its_replica_and_leaves_its_place() -> None:
    a = Held(slots=1)
    _, _, calls = await asked("stu", a)
    calls[1].cancel()  # still waits for a place
    calls[0].cancel()
    await settle()
    assert a.cancelled == ["s"]
    a.answer("u")
    assert await calls[2] == "U"


@in_loop
async def test_closing_ends_every_replica_and_those_that_restart_and_may_be_done_twice() -> None:
    fleet, replicas, (call,) = await asked("s", Held(), Held(), Loading(), count=2)
    fleet.made[0].die()
    await settle()
    fleet.made[1].answer("s")
    await call
    await replicas.close()
    await replicas.close()
    assert [made.stopped for made in fleet.made] == [0, 1, 1]
    assert fleet.made[2].killed == 1


@in_loop
async def test_a_replica_that_does_not_end_while_it_loads_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Loading):
        async def stop(self) -> None:
            await super().stop()
            await asyncio.sleep(3600)

    monkeypatch.setattr(replicas_module, "ENDING", 0.1)
    fleet = Fleet([Endless(), Endless()])
    starting = asyncio.create_task(fleet.replicas(2).start())
    await settle()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert [(made.stopped, made.killed) for made in fleet.made] == [(1, 1), (1, 1)]


def test_replicas_of_several_versions_are_refused_and_hardware_is_named_once() -> None:
    here, there = EngineInfo("vllm", "0.33", "H200"), EngineInfo("vllm", "0.33", "H100")
    assert combine_infos([here, there, here]) == EngineInfo("vllm", "0.33", "H100; H200")
    assert combine_infos([here, here]) == here
    with pytest.raises(CannotEvaluate, match=r"not the same: vllm 0\.32; vllm 0\.33; install one version"):
        combine_infos([here, EngineInfo("vllm", "0.32", "H200")])


@in_loop
async def test_a_replica_that_falls_silent_is_dead_and_another_answers() -> None:
    silent, other = Held(slots=1), Held(slots=1)
    fleet = Fleet([silent, other])
    replicas = fleet.replicas(max_restarts=1, max_silence=0.2)
    await replicas.start()
    call = asyncio.create_task(replicas.call("complete", "x"))
    while not other.asked:  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(0.01)
    other.answer("x")
    assert await call == "X"
    assert (silent.killed, silent.cancelled) == (1, ["x"])
    assert "replica 1 of 1 has given no reply for 0.2" in fleet.warned[0]
    await replicas.close()

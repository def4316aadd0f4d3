"""Several servers of one model: which is asked, what happens when one falls, and whether they are one model at all."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from accgate.engines import RequestFailed
from accgate.engines.openai import dispatch
from accgate.engines.openai.dispatch import Endpoints
from accgate.engines.openai.engine import OpenAIEngine
from accgate.errors import BadInput, CannotEvaluate
from tests.engines.asking import Clock, answers, engine_at, in_loop, outcomes_of, questions
from tests.engines.conftest import echo
from tests.support.servers import Fault, Server

pytestmark = pytest.mark.usefixtures("short_waits")


def engine_of(servers: list[Server], **options: Any) -> OpenAIEngine:
    return engine_at([server.url for server in servers], **options)


def test_requests_are_spread_evenly_over_servers_of_one_speed(servers: list[Server]) -> None:
    for server in servers:
        server.together = 8  # none answers before it has its share
    assert outcomes_of(engine_of(servers), questions(24)) == answers(24)
    assert [len(server.seen) for server in servers] == [8, 8, 8]


@pytest.mark.parametrize(
    "fault",
    [Fault(500), Fault(429, {}, {"retry-after": "500"}), Fault(cut=True), Fault(body=b"{"), Fault(503, b"Loading")],
)
def test_what_one_server_fails_another_answers_at_once_and_at_no_cost(servers: list[Server], fault: Fault) -> None:
    servers[0].fault_of = lambda _: fault
    assert outcomes_of(engine_of(servers, max_retries=0), questions(30)) == answers(30)
    assert len(servers[1].seen) + len(servers[2].seen) == 30


def test_a_sample_fails_when_every_server_fails_it_in_every_round(servers: list[Server]) -> None:
    for server in servers:
        server.fault_of = lambda _: Fault(500)
    (found,) = outcomes_of(engine_of(servers, max_retries=2), questions(1))
    assert isinstance(found, RequestFailed)
    assert str(found).endswith("(after 9 attempts)")
    assert [len(server.seen) for server in servers] == [3, 3, 3]


def test_an_outage_is_reported_in_the_words_of_a_server_that_has_some(servers: list[Server]) -> None:
    away, gone, _ = servers
    away.fault_of = lambda _: Fault(503, b"back at noon")
    (error,) = outcomes_of(engine_of([away, gone], max_outage=0), questions(1), meanwhile=gone.__exit__)
    assert isinstance(error, CannotEvaluate)
    assert "back at noon; no server has answered" in str(error)


@in_loop
async def test_a_server_that_is_back_is_asked_again(servers: list[Server]) -> None:
    gone = servers[0]
    gone.__exit__()
    engine = engine_of(servers, max_retries=0)
    with Server(echo, gone.port):
        await engine.start()
    assert await asyncio.gather(*map(engine.complete, questions(9))) == answers(9)
    assert engine._endpoints.all[0].refusals >= 1
    with Server(echo, gone.port) as back:
        while not back.seen:
            await asyncio.gather(*map(engine.complete, questions(9)))
            await asyncio.sleep(0.01)
    assert engine._endpoints.all[0].refusals == 0
    await engine.close()


@in_loop
async def test_an_outage_of_all_servers_is_outlasted_at_no_retry() -> None:
    with Server(echo) as server:
        engine = engine_of([server], max_retries=1)  # one for the connection that start() opened
        await engine.start()
    waiting = asyncio.gather(*map(engine.complete, questions(20)))
    while engine._endpoints.barren < 0.2:  # noqa: ASYNC110 (several rests; nothing tells of them)
        await asyncio.sleep(0.01)
    with Server(echo, server.port):
        assert await waiting == answers(20)
    await engine.close()


@in_loop
async def test_a_server_that_was_restarted_while_nothing_was_asked_must_serve_the_same() -> None:
    with Server(echo) as before:
        before.models = details(root="one")
        engine = engine_of([before])
        await engine.start()
        await engine.complete(questions(1)[0])
    with Server(echo, before.port) as after:
        after.models = details(root="two")
        await asyncio.sleep(0.1)  # so that the client sees its connection closed
        with pytest.raises(CannotEvaluate, match=r"list of models was .*one.*, and now is .*two"):
            await engine.complete(questions(1)[0])
    await engine.close()


def listing(*names: str, kind: str = "toyserver") -> Any:
    return {"data": [{"id": name, "owned_by": kind} for name in names]}


def details(**fields: Any) -> Any:
    return {"data": [{"id": "toy", "owned_by": "toyserver", "created": random.random(), **fields}]}


DIFFERENT = "options.base_url: names servers of different models: "
TOY = listing("toy")
BF16, LONG = {"root": "org/m-bf16"}, {"max_model_len": 8192}


@pytest.mark.parametrize(
    ("listings", "message"),
    [
        ((TOY, listing("tyo"), TOY), "model: is 'toy', which {1} does not serve; the server has tyo"),
        ((listing("x", kind="vllm"),) * 3, "model: is 'toy', which {0} does not serve; the server has x; did you mean"),
        ((listing("a"), listing("a"), listing("b")), DIFFERENT + "{0} has a, {2} has b"),
        (
            (TOY, listing("toy", kind="vllm"), TOY),
            "options.base_url: names different servers: {0} is toyserver, {1} is ",
        ),
        ((details(**BF16), details(**BF16), details(root="org/m-int4")), DIFFERENT + '{0} lists toy {{"root": '),
        ((details(**LONG), details(max_model_len=2048), details(**LONG)), DIFFERENT + '{0} lists toy {{"max_'),
    ],
)
def test_servers_that_do_not_serve_one_model_are_refused(servers: list[Server], listings: Any, message: str) -> None:
    for server, models in zip(servers, listings, strict=True):
        server.models = models
    with pytest.raises(BadInput) as caught:
        outcomes_of(engine_of(servers), [])
    assert str(caught.value).startswith(message.format(*(server.url for server in servers)))


def test_servers_of_two_versions_are_refused(servers: list[Server]) -> None:
    for server, version in zip(servers, ("0.32.0", "0.33.0", "0.32.0"), strict=True):
        server.models, server.version = listing("toy", kind="vllm"), version
    with pytest.raises(BadInput, match=r"is vllm 0\.32\.0, .* is vllm 0\.33\.0; run one version on all"):
        outcomes_of(engine_of(servers), [])


@pytest.mark.parametrize("models", [listing("other"), {"data": []}, Fault(404), listing("toy", "and", "more")])
def test_servers_that_take_any_name_or_list_none_are_asked(servers: list[Server], models: Any) -> None:
    for server in servers:
        server.models = models
    assert outcomes_of(engine_of(servers), questions(3)) == answers(3)


def test_a_slow_server_gets_what_it_manages_and_the_fast_one_the_rest() -> None:
    servers = Endpoints(["slow", "fast"])
    slow, fast = servers.all
    servers.begin(slow)
    for _ in range(5):
        assert servers.other([]) is fast
        servers.begin(fast)
        servers.end(fast)


def test_only_a_few_requests_test_whether_a_server_is_back() -> None:
    clock = Clock()
    servers = Endpoints(["a"], clock=clock)
    (server,) = servers.all
    servers.note_refusal(server)
    clock.now = server.rests_until
    for _ in range(dispatch.PROBES):
        assert servers.other([]) is server
        servers.begin(server)
    assert servers.other([]) is None
    servers.note_connection(server)
    assert servers.other([]) is server


def test_rests_grow_to_a_limit_differ_between_clients_and_end_with_an_answer() -> None:
    clock, drawn = Clock(), []
    found = Endpoints(["a", "b"], clock=clock, jitter=lambda low, high: drawn.append((low, high)) or high)
    a, b = found.all
    for _ in range(4):
        found.note_refusal(a)
        found.note_refusal(a)  # of the same outage: many requests were in flight
        assert found.other([]) is b
        clock.now = a.rests_until
        assert found.other([]) is a
    rests = [min(dispatch.LONGEST_REST, dispatch.FIRST_REST * 2**i) for i in range(4)]
    assert drawn == [(rest / 2, rest) for rest in rests]
    assert rests[0] < rests[-1] == dispatch.LONGEST_REST
    found.note_answer(a, clock.now)
    found.note_refusal(a)
    assert drawn[-1] == drawn[0]


@pytest.mark.parametrize("longest", [300.0, 0.0])
@in_loop
async def test_a_refused_request_waits_no_longer_for_those_in_flight_once_one_is_answered(longest: float) -> None:
    """Others begin as it is answered: until nothing was in flight, the refused one was not sent again."""
    clock = Clock()
    found = Endpoints(["a"], clock=clock)
    (server,) = found.all
    sent = found.begin(server)
    found.note_refusal(server)
    clock.now += longest
    waiting = asyncio.create_task(found.is_outage(longest))
    await asyncio.sleep(0)
    found.begin(server)
    found.note_answer(server, sent)
    found.end(server)
    await asyncio.sleep(0)
    assert waiting.done()
    assert not waiting.result()


def test_a_server_that_asks_to_be_left_alone_comes_last() -> None:
    clock = Clock()
    found = Endpoints(["a", "b"], clock=clock)
    a, b = found.all
    b.in_flight = 9
    found.note_busy(a, clock.now, 5)
    assert found.other([]) is b
    assert found.other([b]) is None
    clock.now += 6
    assert found.other([]) is a
    assert found.other([b]) is a

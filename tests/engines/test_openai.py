"""The openai engine against a real server: what is sent, what is retried, and what ends the run with the mend."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import random
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accgate.engines import Reply, Request, RequestFailed
from accgate.engines.openai import client, dispatch
from accgate.engines.openai.client import wait_of
from accgate.errors import BadInput, CannotEvaluate
from tests.engines.asking import QUESTION, answers, engine_at, in_loop, outcome, outcomes, outcomes_of, questions
from tests.support.cases import each
from tests.support.servers import Fault, Server

pytestmark = pytest.mark.usefixtures("short_waits")
ANSWER = Reply("answer to 1 + 1 =", "stop", 4, 6)
SLOW_DOWN = {"error": {"message": "slow\ndown", "type": "rate_limit"}}


def test_a_chat_request_is_sent_whole(server: Server) -> None:
    request = Request(
        "a", 2, "What is 1 + 1?", system="Be short.", max_tokens=9, temperature=0.5, top_p=0.9, top_k=4, seed=7,
        stop=("\n",), extra={"min_p": 0.1, "max_tokens": 10},
    )  # fmt: skip
    assert outcomes(server.url, request) == [Reply("answer to What is 1 + 1?", "stop", 15, 7)]
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["content-type"] == "application/json"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "toy",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is 1 + 1?"}],
        "max_tokens": 10, "temperature": 0.5, "top_p": 0.9, "top_k": 4, "seed": 7, "stop": ["\n"], "min_p": 0.1,
    }  # fmt: skip


def test_the_key_of_the_named_variable_is_sent_as_bearer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret\n")
    assert isinstance(outcome(server, api_key_env="MY_KEY"), Reply)
    assert server.seen[0].headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize(
    ("key", "said"), [("", "is not set"), ("sk-sec\nret", "no key"), ("sk-sec\u00e9ret", "no key")]
)
def test_a_key_that_cannot_be_sent_is_bad_input_that_names_the_variable(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str, said: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(BadInput, match=f"environment variable MY_KEY, named by options.api_key_env, .*{said}") as found:
        outcome(server, api_key_env="MY_KEY")
    assert "sk-" not in str(found.value)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 429, 500])
def test_the_key_stands_in_no_message_even_where_the_server_repeats_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    body = {"error": "Incorrect API key: sk-secret", "choices": [{"text": ["sk-secret"]}]}
    server.fault_of = lambda _: Fault(status=status, body=body, headers={"location": "/v1/sk-secret"})
    found = outcome(server, api_key_env="MY_KEY", max_outage=0)
    assert isinstance(found, (RequestFailed, CannotEvaluate))
    assert "sk-secret" not in f"{found} {found!r}"


TALK = r"cannot talk to http://127\.0\.0\.1:\d+/v1: "
RETRIED = [
    (Fault(501, b"<h1>Oh</h1>"), "HTTP 501 from .*: <h1>Oh</h1>"),
    (Fault(cut=True), TALK + "(ServerDisconnectedError|ClientOSError)"),
    (Fault(body=b'{"choices": [', cut=True), TALK + "ClientPayloadError"),
    (Fault(hang=600.0), r"no answer within 1 s"),
    (Fault(204), "HTTP 204 from .*/v1: the response is empty"),
    (Fault(body={"choices": []}), "the response holds no choice with text: {'choices': \\[\\]}"),
]


@pytest.mark.parametrize(("fault", "cause"), RETRIED)
def test_what_may_pass_is_retried_and_else_fails_the_sample_with_the_cause(
    server: Server, fault: Fault, cause: str
) -> None:
    timeout = 1.0 if fault.hang else 60.0
    server.fail([fault, fault])
    assert outcome(server, timeout=timeout) == ANSWER
    assert len(server.seen) == 3
    assert len({str(seen.body) for seen in server.seen}) == 1
    server.fail([fault, fault])
    with pytest.raises(RequestFailed, match=rf"^.*{cause}.*\(after 2 attempts\)$"):
        raise outcome(server, timeout=timeout, max_retries=1)
    assert len(server.seen) == 5


@pytest.mark.parametrize("status", [400, 418])
def test_a_refused_request_fails_its_sample_at_once_and_no_other(server: Server, status: int) -> None:
    body = {"error": {"message": "the prompt is too long"}}
    server.fault_of = lambda sent: Fault(status, body) if sent["prompt"] == "bad" else None
    bad, good = outcomes(server.url, Request("b", 0, "bad", mode="completion"), QUESTION)
    assert good == ANSWER
    assert isinstance(bad, RequestFailed)
    assert str(bad).startswith(f"HTTP {status} from {server.url}: the prompt is too long; prompt and max_")
    assert sorted(server.prompts) == ["1 + 1 =", "bad"]


@pytest.mark.parametrize(
    ("fault", "mend"),
    [
        (Fault(401, {"error": "who?"}), r"HTTP 401 .*: who\?; the key is refused; check the variable that"),
        (Fault(404, {"message": "no toy"}), "no toy.*; no such model or path; check `model`, .* ends in /v1"),
        (Fault(405), "the path takes no POST; .*options.base_url ends in /v1"),
        (Fault(307, headers={"location": "/v1/completions"}), r"redirects to http://127[\d.]+:\d+/v1; write that"),
    ],
)
def test_what_no_request_can_pass_ends_the_run_with_the_mend(server: Server, fault: Fault, mend: str) -> None:
    server.fault_of = lambda _: fault
    with pytest.raises(CannotEvaluate, match=mend):
        raise outcome(server)
    assert len(server.seen) == 1


@each("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_server_that_cannot_be_reached_is_named_and_in_a_container_whose_address_that_is(
    host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://{host}:{free.getsockname()[1]}/v1"
    up = r"; is the server up.*base_url right\?.*or .*options\.serve$"
    monkeypatch.setattr(client, "CONTAINER_MARKS", (str(tmp_path / "none"),))
    with pytest.raises(CannotEvaluate, match=rf"^cannot reach {url}: [^(]*{up}"):
        outcomes(url, QUESTION)
    monkeypatch.setattr(client, "CONTAINER_MARKS", (str(tmp_path),))
    with pytest.raises(CannotEvaluate, match=rf"\(in this container {host} is the container itself, .*{up}"):
        outcomes(url, QUESTION)


def test_another_machines_address_is_no_containers_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(client, "CONTAINER_MARKS", (str(tmp_path),))
    with pytest.raises(CannotEvaluate, match=r"^cannot reach [^(]*; is the server up"):
        outcomes("http://models.invalid:1/v1", QUESTION)


def test_a_trailing_slash_of_the_base_url_does_no_harm(server: Server) -> None:
    assert outcomes(server.url + "/", QUESTION) == [ANSWER]


@pytest.mark.parametrize(
    ("models", "version"),
    [
        ({"data": [{"owned_by": "vllm"}]}, "vllm"),
        ([], "unknown"),
        (Fault(404, b"not found"), "unknown"),
        (Fault(200, b"[" * 100_000), "unknown"),
    ],
)
def test_the_server_names_its_kind_where_it_does(server: Server, models: Any, version: str) -> None:
    server.models = models
    engine = engine_at(server.url, max_retries=0)
    outcomes_of(engine, [])
    assert engine.describe().version == version


@pytest.mark.parametrize(
    ("headers", "least"), [({"retry-after": "0.3"}, 0.3), ({"retry-after-ms": "200", "retry-after": "9"}, 0.2)]
)
def test_the_wait_the_server_asks_for_is_kept(server: Server, headers: dict[str, str], least: float) -> None:
    server.fail([Fault(429 if least < 0.3 else 503, SLOW_DOWN, headers)])
    assert outcome(server) == ANSWER
    assert len(server.seen) == 2
    assert server.gaps[0] >= least


@pytest.mark.parametrize("asked", ["601", "inf", email.utils.formatdate(time.time() + 86_400, usegmt=True)],
                         ids=["601", "inf", "tomorrow"])  # fmt: skip
def test_a_wait_of_hours_is_not_slept(server: Server, asked: str) -> None:
    server.fail([Fault(429, SLOW_DOWN, {"retry-after": asked})])
    with pytest.raises(CannotEvaluate, match=r"slow down; .* to wait (\d{3,6}|inf) s; go on with --resume"):
        raise outcome(server)
    assert len(server.seen) == 1


def test_the_wait_between_retries_doubles_up_to_a_limit(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[float, float]] = []

    def uniform(_: random.Random, low: float, high: float) -> float:
        drawn.append((low, high))
        return low

    monkeypatch.setattr(dispatch, "FIRST_WAIT", 0.5)
    monkeypatch.setattr(random.Random, "uniform", uniform)
    server.fault_of = lambda _: Fault(500)
    assert isinstance(outcome(server, max_retries=9), RequestFailed)
    assert drawn == [(0.0, min(60.0, 0.5 * 2**i)) for i in range(9)]


def test_as_many_requests_as_the_option_says_are_in_flight_and_never_more(server: Server) -> None:
    server.together = 5
    assert outcomes(server.url, *questions(40), concurrency=5) == answers(40)
    assert server.most_in_flight == 5


def test_requests_that_wait_until_others_end_do_not_use_up_their_time(server: Server) -> None:
    """A judge with a small concurrency is asked by all requests of a model with a large one."""
    server.delay = 0.15
    assert outcomes(server.url, *questions(10), concurrency=1, timeout=1.0, max_retries=0) == answers(10)


def test_a_date_to_wait_for_is_read_by_this_clock_where_the_server_has_none() -> None:
    assert 20.0 < wait_of({"retry-after": email.utils.formatdate(time.time() + 30, usegmt=True)}) <= 30.0


HEADERS = st.none() | st.text("0123456789.,:-+ einfaTuGMT\u00e9\u0660", max_size=40)


@given(HEADERS, HEADERS)
@example(None, "Wed, 21 Oct 99999999999999999999 07:28:00 GMT")
@example("nan", "-5")
@example("-1", "nan")
def test_any_retry_header_gives_a_wait_of_0_or_more(milliseconds: str | None, header: str | None) -> None:
    headers = {"retry-after-ms": milliseconds, "retry-after": header}
    assert wait_of({name: text for name, text in headers.items() if text is not None}) >= 0.0


def test_requests_go_through_the_proxy_of_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    assert outcomes("http://models.example/v1", QUESTION) == [ANSWER]
    assert server.seen[0].headers["host"] == "models.example"


@pytest.mark.parametrize("scheme", ["http", "https"])
@in_loop
async def test_a_proxy_that_wants_a_password_is_told_at_once(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as proxy:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://me:secret@127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        engine = engine_at(f"{scheme}://models.example/v1")

        async def ask() -> None:
            await engine.start()
            await engine.complete(QUESTION)

        with pytest.raises(CannotEvaluate, match=r"^HTTP 407 from .*[:;] the proxy wants a name and a pass") as caught:
            await ask()
        await engine.close()
    assert "secret" not in str(caught.value)


@in_loop
async def test_a_reply_that_nobody_asked_for_answers_no_other_request() -> None:
    """A server that sends one of its replies again later, on a connection that waits for the next request."""
    repeated = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                sent = await reader.readexactly(int(size[1])) if size else b""
                choice = {"text": json.loads(sent)["prompt"]} if sent else {}
                body = json.dumps({"choices": [choice], "data": [{"id": "toy"}]}).encode()
                response = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
                writer.write(response)
                await writer.drain()
                if sent:
                    await asyncio.sleep(0.02)
                    writer.write(response)
                    repeated.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as raw:
        engine = engine_at(f"http://127.0.0.1:{raw.sockets[0].getsockname()[1]}/v1")
        await engine.start()
        for request in questions(4):
            assert (await engine.complete(request)).text == request.prompt
            await repeated.wait()
            repeated.clear()
            await asyncio.sleep(0.01)  # in which the client's end reads it
        await engine.close()

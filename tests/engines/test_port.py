"""llama.cpp's port and its blocks, with a plain server in its place."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import aiohttp
import pytest

from accgate.engines.port import Blocks, Body, Port
from accgate.engines.wire import tell_second_beginning
from tests.engines.asking import in_loop


@in_loop
async def test_a_request_that_is_cancelled_ends_its_connection() -> None:
    received, ended = bytearray(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while words := await reader.read(4096):
            received.extend(words)
        ended.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as silent:
        port = Port("http://127.0.0.1:{1}".format(*silent.sockets[0].getsockname()), "key", 1)
        asked = asyncio.create_task(port.post("/v1/completions", {"prompt": "a"}))
        while not received.endswith(b'{"prompt": "a"}'):  # noqa: ASYNC110 (until all of it is there)
            await asyncio.sleep(0.001)
        asked.cancel()
        await ended.wait()
    assert b"Authorization: Bearer key" in received


@in_loop
async def test_a_port_that_is_shut_is_nothing_to_wait_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = Port("http://{}:{}".format(*server.getsockname()), "key", 2)
    with pytest.raises(aiohttp.ClientConnectorError):
        await port.post("/v1/completions", {})
    await port.await_idle()


class Slots(Port):
    """A port that notes what is asked, and never answers a long prompt.

    Its tokenizer puts 1 before every text, and knows <s> as that token.
    """

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "", 2)
        self.asked: list[Any] = []

    async def post(self, path: str, body: Body, seconds: float | None = None) -> Any:  # noqa: ARG002
        if path == "/apply-template":
            return {"prompt": "<s>" + body["messages"]}
        if path == "/tokenize":
            return {"tokens": [1, *([1] * body["content"].startswith("<s>")), 7, 8]}
        self.asked.append(f"slot {body['id_slot']} is free" if body.get("prompt") == [0] else body.get("prompt"))
        return await asyncio.Event().wait() if body.get("prompt") == "long" else {}


@in_loop
async def test_after_a_cancelled_request_the_next_waits_for_its_slot_and_cancelled_ones_are_never_asked() -> None:
    port = Slots()
    blocks = Blocks(port, 64, 2)
    requests = [
        asyncio.create_task(blocks.answer("/v1/completions", {"prompt": prompt}))
        for prompt in ("long", "cancelled too", "next", "last")
    ]
    for _ in range(20):  # each goes on to where it waits
        await asyncio.sleep(0)
    requests[1].cancel()
    requests[0].cancel()
    await asyncio.gather(*requests, return_exceptions=True)
    assert port.asked == ["long", "slot 0 is free", "next", "last"]


@in_loop
async def test_a_raw_prompt_that_begins_twice_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tell_second_beginning.cache_clear()
    blocks = Blocks(Slots(), 64, 2)
    for body in ({"prompt": "Paris is"}, {"messages": "Hi"}):
        await blocks.answer("/v1/completions", body)
    assert caplog.messages == []
    for question in ("<s>Paris is", "<s>Rome is"):
        await blocks.answer("/v1/completions", {"prompt": question})
    (message,) = caplog.messages
    assert "the tokenizer adds it (1) too" in message

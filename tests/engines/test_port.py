"""A request to llama.cpp's port that is cut off, with a plain server in its place."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from accgate.engines.port import Blocks, Body, Cut, Port, WasCut
from accgate.engines.wire import tell_second_beginning


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def port_of(server: socket.socket, slots: int = 1) -> Port:
    host, number = server.getsockname()
    return Port(f"http://{host}:{number}", "key", slots)


def test_a_request_that_is_cut_off_ends_at_once_and_its_connection_too(silent: socket.socket) -> None:
    cut = Cut()
    threading.Timer(0.2, cut.now).start()
    with pytest.raises(WasCut):
        port_of(silent).post("/v1/completions", {"prompt": "a"}, cut)
    received = b""
    with silent.accept()[0] as connection:
        connection.settimeout(60)
        while words := connection.recv(4096):
            received += words
    assert b"Authorization: Bearer key" in received
    assert received.endswith(b'{"prompt": "a"}')


def test_what_was_cut_off_before_it_was_asked_is_not_asked(silent: socket.socket) -> None:
    cut = Cut()
    cut.now()
    with pytest.raises(WasCut):
        port_of(silent).post("/v1/completions", {}, cut)


def test_a_port_that_is_shut_is_no_cut_and_nothing_to_wait_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = port_of(server, slots=2)
    with pytest.raises(ConnectionRefusedError):
        port.post("/v1/completions", {}, Cut())
    port.await_idle()


class Slots(Port):
    """A port whose requests end when they are cut off; it notes what is asked."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "", 2)
        self.asked: list[Any] = []

    def post(self, path: str, body: Body, cut: Cut, timeout: float | None = None) -> Any:  # noqa: ARG002
        if path != "/v1/completions":
            raise OSError
        self.asked.append(body["prompt"])
        while body["prompt"] == "long":
            cut.check()
            time.sleep(0.01)
        return {}

    def await_slot(self, slot: int) -> None:
        time.sleep(0.3)
        self.asked.append(f"slot {slot} is free")


def test_after_a_cut_the_next_request_waits_for_the_slot_and_those_that_were_cut_too_are_never_asked() -> None:
    port = Slots()
    blocks = Blocks(port, 64, 2)
    prompts = {"long": Cut(), "cut too": Cut(), "next": Cut()}

    def ask(prompt: str) -> None:
        try:
            blocks.answer("/v1/completions", {"prompt": prompt}, prompts[prompt])
        except WasCut:
            return

    threads = [threading.Thread(target=ask, args=[prompt]) for prompt in prompts]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    prompts["cut too"].now()
    prompts["long"].now()
    for thread in threads:
        thread.join(60)
    assert port.asked == ["long", "slot 0 is free", "next"]


class Tokenizer(Slots):
    """A port whose tokenizer puts 1 before every text, and knows <s> as that token."""

    def post(self, path: str, body: Body, cut: Cut, timeout: float | None = None) -> Any:  # noqa: ARG002
        if path == "/apply-template":
            return {"prompt": "<s>" + body["messages"]}
        return {"tokens": [1, *([1] * body["content"].startswith("<s>")), 7, 8]} if path == "/tokenize" else {}


def test_a_raw_prompt_that_begins_twice_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    tell_second_beginning.cache_clear()
    blocks = Blocks(Tokenizer(), 64, 2)
    for body in ({"prompt": "Paris is"}, {"messages": "Hi"}):
        blocks.answer("/v1/completions", body, Cut())
    assert caplog.messages == []
    for question in ("<s>Paris is", "<s>Rome is"):
        blocks.answer("/v1/completions", {"prompt": question}, Cut())
    (message,) = caplog.messages
    assert "the prompt writes the token that begins a text, and the tokenizer adds it (1) too" in message

"""A real OpenAI-compatible server on 127.0.0.1 that counts what it is asked and fails as it is told.

`python -m tests.support.servers PORT [SECONDS]` serves sums in a process of its own, after so many seconds of loading.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import requests
from aiohttp import web

Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """A response that is no completion. `cut` ends the connection, `hang` (seconds) waits before the response."""

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: float = 0.0

    async def respond(self, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(self.hang)
        content = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        if not self.cut:
            return web.Response(status=self.status, body=content, headers=self.headers)
        assert request.transport is not None
        if not content:
            request.transport.abort()
            return web.Response()
        response = web.StreamResponse(headers={"content-length": str(len(content) + 1)})
        await response.prepare(request)
        await response.write(content)
        request.transport.close()
        return response


@dataclass(frozen=True)
class Seen:
    """One POST as it came."""

    path: str
    headers: dict[str, str]
    body: Body
    at: float

    @property
    def prompt(self) -> str:
        return prompt_of(self.body)


def prompt_of(body: Body) -> str:
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


def tokens_of(body: Body, *, continues: bool, shows_tools: bool) -> int:
    """How long a chat's prompt is in ChatML, a token for each word and mark; what the server ignores adds none."""
    messages = body["messages"]
    prefilled = continues and body.get("continue_final_message") and messages[-1]["role"] == "assistant"
    tools = json.dumps(body.get("tools", [])) if shows_tools and "tools" in body else ""
    words = [f"<start> {message['role']} {message.get('content') or ''} <end>" for message in messages]
    words[-1] = words[-1].removesuffix(" <end>") if prefilled else f"{words[-1]} <start> assistant"
    return len(" ".join([tools, *words]).split())


def sums(wrong: float = 0.25) -> Callable[[str], str]:
    """Answers the last sum of a prompt, wrongly for this share of prompts, always the same ones."""

    def answer(prompt: str) -> str:
        a, b = map(int, re.findall(r"(\d+) \+ (\d+)", prompt)[-1])
        luck = int(hashlib.sha256(prompt.encode()).hexdigest()[:8], 16) / 16**8
        return f" {a + b + (luck < wrong)}\n"

    return answer


def echoed(prompt: str) -> Body:
    """A prompt's tokens, words with the space before them, with log-probabilities that follow from their text."""
    tokens = re.findall(r"\s*\S+|\s+$", prompt)
    # Options are not equally likely, nor is the first as likely after each prompt.
    letters = {f" {letter}": place * (1 + len(prompt) % 5) / 1000 for place, letter in enumerate("ABCD")}
    values = [None, *(-len(token) / 4 - letters.get(token, 0.0) for token in tokens[1:])]
    tops = [None, *({token: value, " the": -0.75} for token, value in zip(tokens[1:], values[1:], strict=True))]
    return {
        "choices": [{"text": prompt, "logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}}]
    }


class Server:
    """The server, in a thread of its own; `with Server() as server:` has it listen at `server.url`."""

    def __init__(self, answer: Callable[[str], str | Body] = sums(), port: int = 0) -> None:  # noqa: B008 (a pure function)
        self.answer = answer
        self.port = port
        self.choice_of: Callable[[str], Body] | None = None  # a whole choice, and `usage` beside it, for a prompt
        self.delay = 0.0  # seconds per reply
        self.faults: deque[Fault] = deque()  # for the next requests, in their order
        self.fault_of: Callable[[Body], Fault | None] | None = None  # for a prompt, whenever it comes
        self.loading = 0  # so many times the list of models is answered with `loading_fault`
        self.loading_fault = Fault(503)
        self.models: Any = {"data": [{"id": "toy", "owned_by": "toyserver"}]}
        self.listings = 0  # so often the list was asked for
        self.version: str | None = None  # as vLLM says it
        self.health = 200  # the status of GET /health
        self.continues = True  # whether it goes on with a last message of the assistant, as vLLM does
        self.repeats_prefix = False  # whether that message stands in the reply, as in llama.cpp's
        self.shows_tools = True  # whether the chat template has tools
        self.counts = True  # whether a reply has usage
        self.tokens_of: Callable[[Body], list[int]] | None = None  # of a text, where it tells them
        self.echoes = True  # whether it gives log-probabilities of a prompt
        self.says: Body = {}  # what else stands in each reply: model, system_fingerprint
        self.seen: list[Seen] = []
        self.hold_after: int | None = None  # requests after so many wait until this is None
        self.may_answer: Callable[[int], bool] | None = None  # the request of this number waits until this says so
        self.together = 0  # replies wait until so many requests were in flight at once
        self.in_flight = self.most_in_flight = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    @property
    def prompts(self) -> list[str]:
        return [seen.prompt for seen in self.seen]

    @property
    def gaps(self) -> list[float]:
        """Seconds between one request and the next."""
        return [b.at - a.at for a, b in zip(self.seen, self.seen[1:], strict=False)]

    def fail(self, faults: Iterable[Fault]) -> None:
        self.faults.extend(faults)

    def settle(self) -> None:
        """Wait until all that clients sent so far, clients that are gone as well, stands in `seen`.

        What a client that was cut off sent may lie unread; requests are read in their order, so a later one is a mark.
        """
        for _ in range(3):  # accepted, read, handled: a turn of the server's loop each
            with requests.get(self.url.replace("/v1", "/mark"), timeout=120) as response:
                assert response.status_code == 404

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/version", self._version)
        app.router.add_get("/health", self._health)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/completions", self._complete)
        app.router.add_post("/tokenize", self._tokenize)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._ready.set()
        await self._stop.wait()
        self.hold_after = None
        await runner.cleanup()

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self.listings += 1
        if self.loading > 0:
            self.loading -= 1
            return await self.loading_fault.respond(request)
        if isinstance(self.models, Fault):
            return await self.models.respond(request)
        return web.json_response(self.models)

    async def _version(self, _: web.Request) -> web.StreamResponse:
        return web.Response(status=404) if self.version is None else web.json_response({"version": self.version})

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return web.Response(status=503 if self.loading else self.health)

    async def _tokenize(self, request: web.Request) -> web.StreamResponse:
        if self.tokens_of is None:
            return web.Response(status=404)
        return web.json_response({"tokens": self.tokens_of(await request.json())})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.seen.append(Seen(request.path, {k.lower(): v for k, v in request.headers.items()}, body, time.monotonic()))
        number = len(self.seen)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._reply(request, body, number)
        finally:
            self.in_flight -= 1

    async def _reply(self, request: web.Request, body: Body, number: int) -> web.StreamResponse:
        deadline = time.monotonic() + 120
        while self.most_in_flight < self.together and time.monotonic() < deadline:  # noqa: ASYNC110 (another thread sets it)
            await asyncio.sleep(0.002)
        while self.hold_after is not None and number > self.hold_after:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        while self.may_answer is not None and not self.may_answer(number) and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        await asyncio.sleep(self.delay)
        if self.faults:
            return await self.faults.popleft().respond(request)
        if self.fault_of is not None and (fault := self.fault_of(body)):
            return await fault.respond(request)
        if body.get("echo") and self.echoes:
            return web.json_response(echoed(str(body["prompt"])))
        if self.choice_of is not None:
            choice = self.choice_of(prompt_of(body))
            return web.json_response({"choices": [choice], "usage": choice.pop("usage", {})})
        said = self.answer(prompt_of(body))
        message = said if isinstance(said, dict) else {"content": said}
        text, length = str(message.get("content") or ""), len(prompt_of(body).split())
        choice = {"index": 0, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
        if "messages" in body:
            length = tokens_of(body, continues=self.continues, shows_tools=self.shows_tools)
            if self.repeats_prefix and body["messages"][-1]["role"] == "assistant":
                message = {**message, "content": body["messages"][-1]["content"] + text}
            choice["message"] = {"role": "assistant", **message}
        else:
            choice["text"] = text
        usage = {"prompt_tokens": length, "completion_tokens": len(text.split())}
        return web.json_response({"choices": [choice], **({"usage": usage} if self.counts else {}), **self.says})


def main() -> None:
    """Serve until the process is ended."""
    print("loading", flush=True)
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    with Server(port=int(sys.argv[1])):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

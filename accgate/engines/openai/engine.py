"""Any OpenAI-compatible server, or several of one model.

Examples are vLLM, SGLang, TensorRT-LLM, llama.cpp, TGI and hosted APIs.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from accgate.engines import identity, wire
from accgate.engines.base import EngineDied, LogProbs, ModelTable, Reply, Request, environment_of
from accgate.engines.chat import ChatProbe
from accgate.engines.identity import BASE_URL, Identity, Listing
from accgate.engines.openai import dispatch
from accgate.engines.openai.client import Client, reach_advice
from accgate.engines.openai.dispatch import Dispatcher, Endpoint, Endpoints
from accgate.engines.openai.likelihood import Likelihood
from accgate.engines.openai.options import PORT, Options, faults_of, key_of
from accgate.engines.openai.pace import doubled
from accgate.engines.openai.probe import answer_of, beginning_fault
from accgate.engines.openai.server import Server, free_port
from accgate.engines.silence import Silence, Stalled
from accgate.engines.wire import body_of
from accgate.errors import CannotEvaluate, Key, KeyFaults, refuse_faults
from accgate.inputs.network import is_this_machine
from accgate.inputs.paths import path_in
from accgate.inputs.typed import parse_table
from accgate.result import EngineInfo

T = TypeVar("T")

LISTING_ATTEMPTS = 5  # at a server that takes connections and does not answer
SPARE = 128  # open files for records, logs and libraries, in addition to the connections
_allowed: list[int] = []  # connections of each open engine, such as a model's and its judge's


class OpenAIEngine:
    """A client that spreads requests over a model's servers.

    It retries what may yet succeed.

    Raises
    ------
    KeyFaults
        When the options in the model's table are wrong, or do not fit together.
    """

    def __init__(self, table: ModelTable) -> None:
        options = parse_table(table.options, Options, ("options",))
        refuse_faults((("options", name), fault) for name, fault in faults_of(options))
        self.concurrency = options.concurrency
        self._table, self._model, self._options = table, table.model, options
        self._served: Server | None = None
        self._urls = options.urls
        self._endpoints: Endpoints  # from the start on
        self._client: Client | None = None
        self._dispatcher: Dispatcher | None = None
        self.identity = Identity(options.fingerprints, options.same_model)
        self._recovery = asyncio.Lock()
        self._is_second = False  # whether the server that was started was started again
        self._tell = logging.getLogger(__name__).warning
        self._kind = Listing()
        self._chat = ChatProbe(self._complete, lambda: f"{self._kind.label} at {self._urls[0]}")
        self._scoring = Likelihood(self._ask, self._model, lambda: self._kind.label)

    def probe(self) -> tuple[str, ...]:
        """Ask each server once for its models, and return a sentence about each.

        A server that `serve` would start is not started, and nothing is asked. A URL that lacks `/v1` is a fault, and a
        refused key one that may come right. It raises what `reach` raises.
        """
        if self._options.serve:
            return ("nothing was asked: the run starts the server itself (options.serve)",)
        return asyncio.run(self.reach(strict=True))

    def beginning(self, request: Request) -> str | None:
        """Say what is wrong with how a raw prompt begins.

        The first server's tokens show it.
        """
        if self._options.serve:
            return None
        prompt = str(body_of(request, self._model)["prompt"])
        return beginning_fault(self._urls[0], self._model, prompt, self._options.api_key_env)

    @property
    def starts_server(self) -> bool:
        """Whether the server is started here, by the command of `serve`."""
        return bool(self._options.serve)

    @property
    def is_here(self) -> bool:
        """Whether a server is on this machine."""
        return any(is_this_machine(urlsplit(url).hostname or "") for url in self._options.urls)

    async def reach(self, *, strict: bool = False) -> tuple[str, ...]:
        """Ask each server, long before `start`, whether it has the model.

        The result has a sentence about each. Unless `strict`, a refused key is no fault, because a server may refuse
        only the list.

        Raises
        ------
        KeyFaults
            When one that answers does not have the model, or another than the others; keys are relative to the model's
            table.
        CannotEvaluate
            When one does not answer, or only with `/v1`. It may come right until `start`.
        """
        answers = [await answer_of(url, self._options.api_key_env, strict=strict) for url in self._options.urls]
        better = [answer.text() for answer in answers if strict and answer.better is not None]
        faults: list[tuple[Key, str]] = [(BASE_URL, text) for text in better]
        if listings := {answer.url: answer.listing for answer in answers if answer.fault is None}:
            faults += identity.faults_of(self._model, listings)
        refuse_faults(faults)
        if silent := [answer.text() for answer in answers if answer.fault is not None]:
            raise CannotEvaluate("; ".join(silent))
        return tuple(answer.about(self._model) for answer in answers)

    async def start(self) -> None:
        """Start the server if needed, and check that every server has the model.

        The option `serve` says how to start it.
        """
        options = self._options
        key = key_of(options.api_key_env)
        allow_connections(self.concurrency)
        self._client = Client(connections=self.concurrency, timeout=options.timeout, key=key, fields=options.fields)
        if options.serve:
            await self._serve(self._client)
        until = time.monotonic() + options.max_outage
        listings = {url: await self._listing(self._client, url, until) for url in self._urls}
        refuse_faults(identity.faults_of(self._model, listings))
        self._kind = listings[self._urls[0]]
        self._endpoints = Endpoints(self._urls, options.silence, most=self.concurrency)
        for endpoint in self._endpoints.all:
            endpoint.listed = listings[endpoint.url].about(self._model)
        self.identity.see(self._endpoints.all[0].listed)
        about = self._model, self._kind.version
        self._dispatcher = Dispatcher(
            self._client, self._endpoints, options, self.identity, self._ended, self._stalled, *about
        )

    async def _serve(self, client: Client) -> None:
        """Start the server, and wait until it answers."""
        port = str(free_port())
        url = self._urls[0].replace(PORT, port)
        self._urls = (url,)
        if await client.is_up(url):
            fault = f"something answers at {url} already; end it, or name it in base_url"
            raise KeyFaults((("options", "serve"), fault))
        words = tuple(word.replace(PORT, port) for word in self._options.serve)
        folder, name = self._table.folder, self._options.serve_log
        log = None if name is None else path_in(folder, name)
        self._served = Server(words, folder=folder, log=log, wall=self._table.wall, hide=client.without_key)
        await self._launch(self._served)

    async def _launch(self, server: Server) -> None:
        """Start the server's command, and wait until it answers."""
        assert self._client is not None
        server.launch()
        await server.ready(partial(self._client.is_up, self._urls[0]), self._options.serve_timeout)

    async def _listing(self, client: Client, url: str, until: float) -> Listing:
        """Ask a server what it serves, until it can be reached.

        A gateway whose server loads is asked again `until` that time. One that takes no connection is given up soon,
        since its address may be wrong.
        """
        attempts, rests, outage = 0, 0, self._options.max_outage
        while not isinstance(answer := await client.listing(url), Listing):
            if answer.kind in ("away", "busy"):
                if (seconds_left := until - time.monotonic()) <= 0.0:
                    fix = "raise options.max_outage if it only loads longer"
                    raise CannotEvaluate(f"cannot reach {url}: {answer.text} for {outage:g} s; {fix}")
                if not rests:
                    what = f"{url}: {answer.text}{', as while it loads' if answer.kind == 'away' else ''}"
                    self._tell(f"{what}; it is asked again for up to {outage:g} s (options.max_outage)")
                rest = max(answer.wait, doubled(dispatch.FIRST_REST, rests, dispatch.LONGEST_REST))
                rests += 1
                await asyncio.sleep(min(rest, seconds_left))
                continue
            attempts += 1
            if answer.kind == "cut":
                self._tell(f"{url}: {answer.text}; it is asked again")
            if attempts > self._options.max_retries or attempts == LISTING_ATTEMPTS:
                fix = " If it still loads, wait until it answers, or let accgate start it and wait: options.serve"
                advice = reach_advice(answer.text) + (fix if answer.kind == "refused" else "")
                raise CannotEvaluate(f"cannot reach {url}: {answer.text}{advice}")
            await asyncio.sleep(dispatch.FIRST_WAIT * 2**attempts)
        if rests:
            self._tell(f"{url} answers")
        return answer

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt, with retries."""
        return await self._chat.answer(request)

    def _complete(self, request: Request) -> Awaitable[Reply]:
        path = "/chat/completions" if request.mode == "chat" else "/completions"
        body = body_of(request, self._model)
        return self._ask(path, body, partial(wire.reply_of, limit=wire.limit_of(body)))

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens, through `/v1/completions`."""
        return await self._scoring.score(request, continuations)

    def _ask(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> Awaitable[T]:
        assert self._dispatcher is not None, "start() comes first"
        tokens = int(body["max_tokens"]) if isinstance(body.get("max_tokens"), int) else 1
        return self._dispatcher.ask(path, renamed(body, self._options.fields), read, tokens)

    def _ended(self) -> str | None:
        """Say how the server that accgate started has ended, if it has."""
        if self._served is None or not (end := self._served.ended()):
            return None
        words = f"{end} in the middle of the run; {self._served.last_words()}"
        return f"{words}; finished samples are kept: fix that, then go on with --resume"

    async def _stalled(self, endpoint: Endpoint, stall: Stalled) -> None:
        """Restart a silent server that accgate started, once, or drop one of several.

        Raises
        ------
        CannotEvaluate
            When neither is possible.
        """
        silence = endpoint.silence
        async with self._recovery:
            if endpoint.gone or endpoint.silence is not silence:
                return  # another request of the same stall has seen to it
            if self._served is not None and not self._is_second:
                self._is_second = True
                self._tell(f"{stall.fact}; it is ended and started again, once; {self._served.last_words()}")
                await self._served.stop()
                await self._launch(self._served)
                endpoint.unsure = True
            elif any(not other.gone for other in self._endpoints.all if other is not endpoint):
                endpoint.gone = True
                self._tell(f"{stall.fact}; it gets no more requests, and the other servers take its own")
            elif self._served is not None:
                raise EngineDied(f"{stall}; {self._served.last_words()}")
            else:
                raise stall
            endpoint.silence = Silence(endpoint.url, self._options.silence)

    def describe(self) -> EngineInfo:
        """Return the server's kind and version.

        Servers do not report their hardware.
        """
        return EngineInfo("openai", self._kind.label, "server", {} if self._served is None else environment_of())

    async def close(self) -> None:
        """Close the connections, and end the server that was started."""
        client, self._client = self._client, None
        try:
            if client is not None:
                release_connections(self.concurrency)
                await client.close()
        finally:
            if self._served is not None:
                await self._served.stop()


def renamed(body: dict[str, Any], fields: Mapping[str, str | Literal[False]]) -> dict[str, Any]:
    """Rename some fields of a request's body, and leave out others.

    It leaves out a field whose new name is False.

    >>> renamed({"model": "m", "max_tokens": 4, "seed": 1}, {"max_tokens": "max_completion_tokens", "seed": False})
    {'model': 'm', 'max_completion_tokens': 4}
    """
    names = {name: fields.get(name, name) for name in body}
    return {name: body[field] for field, name in names.items() if name is not False}


def release_connections(connections: int) -> None:
    """Give back the connections of an engine that is closed."""
    _allowed.remove(connections)


def allow_connections(connections: int) -> None:
    """Raise this process's limit of open files for so many more connections.

    Raises
    ------
    CannotEvaluate
        When the system does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = sum(_allowed)
    needed = connections + others + SPARE
    is_enough = soft == resource.RLIM_INFINITY or soft >= needed
    if not is_enough and hard != resource.RLIM_INFINITY and hard < needed:
        beside = f", beside {others:,} of other models or judges" if others else ""
        fault = f"options.concurrency is {connections:,}{beside}, but this process may open {hard:,} files"
        fix = f"raise that (`ulimit -n {needed}`, or docker's `--ulimit nofile={needed}`), or lower options.concurrency"
        raise CannotEvaluate(f"{fault}, a connection each; {fix}")
    if not is_enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    _allowed.append(connections)

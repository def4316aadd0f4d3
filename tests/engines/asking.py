"""Openai engines that are started, asked and closed, and tests in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from accgate.engines import Reply, Request
from accgate.engines.base import ModelTable
from accgate.engines.openai.engine import OpenAIEngine
from accgate.engines.silence import timeout
from tests.support.servers import Server


@dataclass
class Clock:
    """Time that passes when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


T = TypeVar("T")
QUESTION = Request("a", 0, "1 + 1 =", mode="completion")


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in a loop of its own, for half a minute at most."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        async def limited() -> None:
            async with timeout(30):
                await test(**fixtures)

        asyncio.run(limited())

    return run


def run_on(engine: OpenAIEngine, work: Callable[[], Awaitable[T]]) -> T:
    """Start an engine, do the work, and close the engine twice."""

    async def whole() -> T:
        try:
            await engine.start()
            return await work()
        finally:
            await engine.close()
            await engine.close()

    return asyncio.run(whole())


def engine_at(url: str | Sequence[str], **options: Any) -> OpenAIEngine:
    urls = url if isinstance(url, str) else tuple(url)
    return OpenAIEngine(ModelTable("toy", {"base_url": urls, "max_retries": 2, **options}, Path()))


def outcomes_of(
    engine: OpenAIEngine, requests: Sequence[Request], meanwhile: Callable[[], object] = lambda: None
) -> list[Any]:
    """Return each request's reply or error.

    `meanwhile` is done once the engine is started.
    """

    async def work() -> list[Any]:
        meanwhile()
        return await asyncio.gather(*map(engine.complete, requests), return_exceptions=True)

    return run_on(engine, work)


def outcomes(url: str, *requests: Request, **options: Any) -> list[Any]:
    return outcomes_of(engine_at(url, **options), requests)


def outcome(server: Server, **options: Any) -> Any:
    (found,) = outcomes(server.url, QUESTION, **options)
    return found


def questions(count: int) -> list[Request]:
    """Completions of the texts 0, 1, 2, ..."""
    return [Request(str(i), 0, str(i), mode="completion") for i in range(count)]


def answers(count: int) -> list[Reply]:
    """What the server of the fixture answers to `questions`."""
    return [Reply(f"answer to {i}", "stop", 1, 3) for i in range(count)]

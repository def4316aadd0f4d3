"""How the openai engine meets a server that limits it: `python benchmarks/limits.py [KIND] [REQUESTS]`.

KIND is `bucket` (tokens that come back steadily), `window` (so many in each second) or `after` (a window that says when
to come again). Prints how many requests failed, the share that the server refused, and the time taken as a multiple
of the least possible. 64 workers, 60 requests a second.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from accgate.engines import Request, RequestFailed
from accgate.engines.base import ModelTable
from accgate.engines.openai.engine import OpenAIEngine

RATE, WORKERS = 60, 64
REPLY = {"choices": [{"text": "x", "finish_reason": "stop"}]}


@dataclass
class Limiter:
    """A server's limit of requests a second, with a burst of as many."""

    kind: str
    left: float = RATE
    at: float = field(default_factory=time.monotonic)
    taken: int = 0
    refused: int = 0

    def takes(self) -> bool:
        """Whether one request more is taken now."""
        now = time.monotonic()
        if self.kind == "bucket":
            self.left = min(RATE, self.left + (now - self.at) * RATE)
            self.at = now
        elif int(now) != int(self.at):
            self.left, self.at = RATE, now
        if self.left < 1:
            self.refused += 1
            return False
        self.left -= 1
        self.taken += 1
        return True

    async def respond(self, _: web.Request) -> web.Response:
        """A reply, or 429."""
        if self.takes():
            return web.json_response(REPLY)
        headers = {"retry-after": "1"} if self.kind == "after" else {}
        return web.json_response({"error": "slow down"}, status=429, headers=headers)


async def measure(kind: str, count: int) -> str:
    """One run, in a line."""
    limiter, app = Limiter(kind), web.Application()
    app.router.add_post("/v1/completions", limiter.respond)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    engine = OpenAIEngine(ModelTable("toy", {"base_url": f"http://127.0.0.1:{runner.addresses[0][1]}/v1"}, Path()))
    await engine.start()
    numbers, failed, began = iter(range(count)), 0, time.monotonic()

    async def work() -> None:
        nonlocal failed
        for number in numbers:
            try:
                await engine.complete(Request(str(number), 0, "q", mode="completion"))
            except RequestFailed:
                failed += 1

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    times = (time.monotonic() - began) / max(1.0, (count - RATE) / RATE)
    await engine.close()
    await runner.cleanup()
    share = limiter.refused / (limiter.refused + limiter.taken)
    return f"{kind}: {failed} of {count:,} failed, {share:.1%} refused, {times:.2f} times the least time possible"


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) > 1 else "bucket"
    print(asyncio.run(measure(kind, int(sys.argv[2]) if len(sys.argv) > 2 else 2000)))

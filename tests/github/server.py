"""A GitHub of the tests' own on 127.0.0.1: real storage in memory, tokens, pages, and faults as they are told."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from accgate.github.api.client import Client
from accgate.github.event import Event
from tests.github.routes import Asked, Refusal, not_found, perform
from tests.github.shapes import Row
from tests.github.store import BOT, HEAD, Store
from tests.support.servers import Fault

TOKEN = "ghs_" + "0123456789abcdef" * 2

SECONDARY = {
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
}


@dataclass
class Failing:
    """A fault for the next requests of a method and path (regular expressions), after they were `performed` or not.

    The first `skip` of these requests are answered as they should be.
    """

    fault: Fault
    method: str = ""
    path: str = ""
    times: int = 1
    performed: bool = False
    skip: int = 0


@dataclass(frozen=True)
class Forbidden:
    """What the token may not do."""

    method: str
    path: str
    status: int = 403


@dataclass
class GitHub:
    """The server, in a thread of its own; `with GitHub() as hub:` has it listen at `hub.url`.

    `prefix` is the path of the API, as /api/v3 of GitHub Enterprise Server. `tokens` says who each token is.
    """

    prefix: str = ""
    tokens: dict[str, str] = field(default_factory=lambda: {TOKEN: BOT})
    links: bool = True
    most_per_page: int = 100

    def __post_init__(self) -> None:
        self.store = Store()
        self.asked: list[Asked] = []
        self.failing: list[Failing] = []
        self.forbidden: list[Forbidden] = []
        self.moved: dict[str, str] = {}  # path -> Location, answered with `moved_status`
        self.moved_status = 301
        self.waits: list[float] = []
        self.time = 1_700_000_000.0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> GitHub:
        self._thread.start()
        assert self._ready.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    def comments(self, number: int) -> list[Row]:
        return self.store.comments(number)

    def fail(self, fault: Fault, **where: Any) -> None:
        self.failing.append(Failing(fault, **where))

    def forbid(self, method: str, path: str, **how: Any) -> None:
        self.forbidden.append(Forbidden(method, path, **how))

    def count(self, method: str, path: str = "") -> int:
        """How many requests of this method came to paths in which the expression is found."""
        return sum(asked.method == method and bool(re.search(path, asked.path)) for asked in self.asked)

    def client(self, token: str = TOKEN, **how: Any) -> Client:
        """A client whose waiting takes no time, and is noted in `waits`."""
        how = {"sleep": self._sleep, "clock": lambda: self.time, "luck": lambda: 1.0} | how
        return Client(self.url, token, **how)

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def event(self, *, run_id: int = 11, **changes: Any) -> Event:
        """A `pull_request` event of number 7 by ann, from a branch of the repository."""
        repository = self.store.repository
        facts: dict[str, Any] = {"name": "pull_request", "head_sha": HEAD, "number": 7, "author": "ann"}
        facts |= {"repository": repository, "head_repository": repository, "head_branch": "change"}
        facts |= {"base_branch": "main", "default_branch": "main", "run_id": run_id, "source_run_id": run_id}
        facts |= {"api_url": self.url, "server_url": self.store.web}
        return Event(**facts | changes)

    # HTTP

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self.url = self.origin + self.prefix
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = text
        headers = {name.lower(): value for name, value in request.headers.items()}
        login = self.tokens.get(headers.get("authorization", "").removeprefix("Bearer "))
        asked = Asked(request.method, request.path, dict(request.query), headers, body, login)
        self.asked.append(asked)
        failing = self._fault(asked)
        if failing and not failing.performed:
            return await failing.fault.respond(request)
        try:
            status, answer, more = self._perform(asked)
        except Refusal as refusal:
            status, answer, more = refusal.status, refusal.body, refusal.headers
        if failing:
            return await failing.fault.respond(request)
        if answer is None:
            return web.Response(status=status, headers=more)
        return web.json_response(answer, status=status, headers=more)

    def _fault(self, asked: Asked) -> Failing | None:
        for failing in self.failing:
            if failing.times > 0 and re.search(failing.method, asked.method) and re.search(failing.path, asked.path):
                if failing.skip > 0:
                    failing.skip -= 1
                    continue
                failing.times -= 1
                return failing
        return None

    def _perform(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        if asked.path in self.moved:
            raise Refusal(self.moved_status, {"message": "Moved Permanently"}, {"location": self.moved[asked.path]})
        if asked.login is None:
            raise Refusal(401, {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest"})
        for rule in self.forbidden:
            if re.search(rule.method, asked.method) and re.search(rule.path, asked.path):
                raise Refusal(rule.status, {"message": "Resource not accessible by integration"})
        if not asked.path.startswith(self.prefix) and not asked.path.endswith("/graphql"):
            raise not_found()
        answer = self._route(asked, asked.path.removeprefix(self.prefix))
        status = {"POST": 201, "PUT": 201, "DELETE": 204}.get(asked.method, 200)
        if asked.path.endswith("/graphql"):
            status = 200
        return (status, *self._page(asked, answer))

    def _page(self, asked: Asked, answer: Any) -> tuple[Any, dict[str, str]]:
        rows = answer.get("check_runs") if isinstance(answer, dict) else answer
        if not isinstance(rows, list):
            return answer, {}
        size = min(int(asked.query.get("per_page", 30)), self.most_per_page)
        page = int(asked.query.get("page", 1))
        last = max(-(-len(rows) // size), 1)
        part = rows[(page - 1) * size : page * size]
        links = []
        for number, rel in ((page - 1, "prev"), (page + 1, "next"), (last, "last"), (1, "first")):
            if (rel in ("prev", "first") and page > 1) or (rel in ("next", "last") and page < last):
                query = "&".join(f"{key}={value}" for key, value in (asked.query | {"page": number}).items())
                links.append(f'<{self.origin}{asked.path}?{query}>; rel="{rel}"')
        headers = {"link": ", ".join(links)} if links and self.links else {}
        return (answer | {"check_runs": part} if isinstance(answer, dict) else part), headers

    def _route(self, asked: Asked, path: str) -> Any:
        if path.endswith("/graphql") and asked.method == "POST":
            return {"data": {"viewer": {"login": asked.login}}}
        inside = path.removeprefix(f"/repos/{self.store.repository}")
        if inside == path:
            raise not_found()
        return perform(self.store, asked, inside)

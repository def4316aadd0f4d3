"""Any OpenAI-compatible server: vLLM, SGLang, TensorRT-LLM, llama.cpp, TGI, or a hosted API."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.engines.base import EngineInfo, Reply, Request, RequestFailed
from accgate.engines.wire import MalformedReply, body_of, error_text, reply_of
from accgate.errors import BadInput, CannotEvaluate
from accgate.shapes import CLOSED, Count, Number, Text, Whole

if TYPE_CHECKING:
    import aiohttp

RETRIED = frozenset({408, 409, 425, 429})  # and every 5xx
FATAL = {
    401: "the key is refused; check the variable that options.api_key_env names",
    403: "the key may not use this model",
    404: "no such model or path; check `model`, and that options.base_url ends in /v1",
    405: "the path takes no POST; check that options.base_url ends in /v1",
}
FIRST_WAIT = 0.5  # seconds, doubled with each retry
LONGEST_WAIT = 60.0  # seconds, between retries where the server names none
LONGEST_RETRY_AFTER = 600.0  # seconds; a server that asks for more is treated as down


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Options:
    """`[models.NAME.options]` of the openai engine."""

    base_url: Text = Field(description='base_url = "http://127.0.0.1:8000/v1", the URL up to and with /v1')
    api_key_env: Text | None = Field(default=None, description="name of the environment variable with the key")
    concurrency: Count = Field(default=64, description="most requests in flight, 1 or more")
    timeout: Number = Field(default=600.0, gt=0, description="seconds until one attempt is given up, above 0")
    max_retries: Whole = Field(default=5, ge=0, description="further attempts after the first, 0 or more")


class OpenAIEngine:
    """A client that keeps a bounded number of requests in flight and retries what may yet succeed."""

    def __init__(self, model: str, options: Options) -> None:
        self.concurrency = options.concurrency
        self._model = model
        self._options = options
        self._base = options.base_url.rstrip("/")
        self._proxy = proxy_of(self._base)  # with each request: aiohttp before 3.11 takes none for the session
        self._session: aiohttp.ClientSession | None = None
        self._jitter = random.Random()
        self._version = "unknown"
        self._key = ""

    async def start(self) -> None:
        """Open the session and see that the server answers."""
        import aiohttp

        headers = {"content-type": "application/json"}
        if self._options.api_key_env is not None:
            self._key = key_of(self._options.api_key_env)
            headers["authorization"] = f"Bearer {self._key}"
        self._session = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=self.concurrency),
            timeout=aiohttp.ClientTimeout(total=self._options.timeout, sock_connect=30.0),
        )
        self._version = await self._server_version()

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt, with retries."""
        path = "/chat/completions" if request.mode == "chat" else "/completions"
        payload = json.dumps(body_of(request, self._model)).encode()
        fault = ""
        for attempt in range(self._options.max_retries + 1):
            outcome = await self._attempt(path, payload)
            if isinstance(outcome, Reply):
                return outcome
            fault, asked = outcome
            if asked > LONGEST_RETRY_AFTER:
                raise RequestFailed(f"{fault}; the server asks to wait {asked:.0f} s")
            if attempt < self._options.max_retries:
                backoff = self._jitter.uniform(0.0, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))
                await asyncio.sleep(asked + backoff)
        raise RequestFailed(f"{fault} (after {self._options.max_retries + 1} attempts)")

    async def _attempt(self, path: str, payload: bytes) -> Reply | tuple[str, float]:
        """A reply, or (what went wrong, seconds the server asks to wait) where a retry may help."""
        import aiohttp

        assert self._session is not None, "start() comes first"
        url = self._base + path
        try:
            async with self._session.post(url, data=payload, allow_redirects=False, proxy=self._proxy) as response:
                raw = await response.read()
                status, headers = response.status, response.headers
        except asyncio.TimeoutError:
            return f"no answer within {self._options.timeout:g} s", 0.0
        except (aiohttp.ClientError, OSError) as error:
            return f"cannot talk to {self._base}: {type(error).__name__}: {error}", 0.0
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = raw[:300].decode(errors="replace")
        if status == 200:
            try:
                return reply_of(body)
            except MalformedReply as error:
                return self._without_key(f"{self._base}: {error}"), 0.0
        fault = self._without_key(f"HTTP {status} from {self._base}: {error_text(body)}")
        if status in RETRIED or status >= 500:
            return fault, retry_after(headers.get("retry-after-ms"), headers.get("retry-after"), time.time())
        if 300 <= status < 400:
            target = self._without_key(str(headers.get("location")))
            raise CannotEvaluate(f"{self._base} redirects to {target}; write that as options.base_url")
        if status in FATAL:
            raise CannotEvaluate(f"{fault}; {FATAL[status]}")
        raise RequestFailed(fault)

    def _without_key(self, text: str) -> str:
        """A server's words, which may repeat the key, as they may be shown."""
        return text.replace(self._key, "***") if self._key else text

    async def _server_version(self) -> str:
        """The server's kind, from its list of models; reaching it at all is the point."""
        import aiohttp

        assert self._session is not None
        fault = ""
        for attempt in range(min(self._options.max_retries, 4) + 1):
            await asyncio.sleep(0.0 if attempt == 0 else FIRST_WAIT * 2**attempt)
            try:
                async with self._session.get(self._base + "/models", proxy=self._proxy) as response:
                    if response.status >= 500:  # still loading, as llama.cpp and vLLM say it
                        fault = f"HTTP {response.status}"
                        continue
                    body: Any = json.loads(await response.read())
                return str(body["data"][0]["owned_by"] or "unknown")
            except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
                raise CannotEvaluate(f"options.base_url {self._base!r} is not a URL") from error
            except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                fault = f"{type(error).__name__}: {error}"
            except (ValueError, LookupError, TypeError, RecursionError):
                return "unknown"  # it answers, but not with a list of models: not every server has one
        raise CannotEvaluate(f"cannot reach {self._base}: {fault}; is the server up, and options.base_url right?")

    def describe(self) -> EngineInfo:
        """The server's kind; what hardware it has, it does not say."""
        return EngineInfo("openai", self._version, "server")

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def key_of(variable: str) -> str:
    """The key that an environment variable holds, without the newline that a file or secret store may end it with.

    Raises
    ------
    BadInput
        When there is none, or what it holds cannot stand in a header; the key itself is not shown.
    """
    key = os.environ.get(variable, "").strip()
    named = f"environment variable {variable}, named by options.api_key_env,"
    if not key:
        raise BadInput(f"{named} is not set; set it to the server's key")
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{named} holds no key: a key has printable ASCII characters only")
    return key


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), looked up once.

    aiohttp's own `trust_env` looks it up in a thread for each request, which halves the request rate.
    """
    import urllib.request

    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return None  # the first request says what is wrong with it
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def retry_after(milliseconds: str | None, header: str | None, now: float) -> float:
    """Seconds a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date.

    >>> retry_after(None, "2", now=0.0), retry_after("1500", "9", now=0.0), retry_after(None, "soon", now=0.0)
    (2.0, 1.5, 0.0)
    """
    import email.utils

    for text, unit in ((milliseconds, 1000.0), (header, 1.0)):
        try:
            return max(0.0, float(text or "") / unit)
        except ValueError:
            continue
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header or "").timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return 0.0

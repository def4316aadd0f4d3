"""One request to one server, and what a failure means for further attempts."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urljoin, urlsplit
from weakref import WeakSet

from accgate.engines import wire
from accgate.engines.base import RequestFailed
from accgate.engines.identity import Listing, listing_of, model_hint
from accgate.engines.openai.options import codes_of, context_hint, field_hint, shown_url, url_fault
from accgate.engines.wire import MalformedReply, error_text, errors_in, json_bytes, json_value
from accgate.errors import CannotEvaluate
from accgate.inputs.network import certificate_hint, is_this_machine, proxy_of, trust

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
Kind = Literal["", "refused", "away", "busy", "cut", "silent"]

BUSY = frozenset({429, 529})  # too much at once: the server takes the same request later
OWN = frozenset({409, 499, 500, 501})  # faults of the server, or perhaps of this request alone
LATER = frozenset({408, 424, 425})  # as a 5xx: a gateway's server was too slow, failed, or is not ready
LIMITS = re.compile(r"(?i)rate.?limit|too.?many.?(requests|tokens)|throttl|overload|resource.?exhausted|at.?capacity")
FATAL = {
    401: "the key is refused; check the variable that options.api_key_env names",
    402: "the account has no credit left: top it up, then go on with --resume",
    403: "the key may not use this model",
    404: "no such model or path; check `model`, and that options.base_url ends in /v1",
    405: "the path takes no POST; check that options.base_url ends in /v1",
    407: "the proxy wants a name and a password; write them into its variable, as http://NAME:PASSWORD@HOST:PORT",
}
REFUSED = frozenset({401, 403})
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")  # Docker's, Podman's
OWN_LOOPBACK = (
    " (in this container {} is the container itself, unless it has the host's network: docker run --network host, in "
    "the action docker-options: --network host)"
)
CONNECT_SECONDS = 30.0  # a far server behind a gateway takes a few; a request that fails here is asked again
HEALTH_SECONDS = 5.0  # a server that is up answers at once
LARGEST = 16 * 2**20  # bytes of an answer: a line of a score file, which has the reply and more, may have 64 million
LONGEST_HEADER = 2**18  # bytes; aiohttp's own 8 kB are too few for a gateway's policy or trace
LISTING_SECONDS = 30.0  # a server under load answers late
SHORT = 3  # characters; a password this short stands in texts by chance
REDIRECTS = 3  # that a GET follows within one server
VERSION = "/v1"
CONNECTED: ContextVar[Callable[[], None] | None] = ContextVar("connected", default=None)  # by the request of this task


@dataclass(frozen=True)
class Fault:
    """Why an attempt failed that may yet succeed.

    `wait` is how many seconds the server wants no other request. `kind` is "refused" if the server took no connection
    or still loads, "away" if a gateway says so of a server behind it, "busy" if there was too much at once, "cut" if
    the connection ended before the reply, and "silent" if no reply came in time.
    """

    text: str
    wait: float = 0.0
    kind: Kind = ""

    @property
    def down(self) -> bool:
        """Whether nothing serves there now."""
        return self.kind in ("refused", "away")


class Client:
    """A session with any number of servers.

    `key` is sent to each of them and never shown. `fields` is the option of that name, for hints.
    """

    def __init__(
        self,
        *,
        connections: int,
        timeout: float,
        key: str = "",
        fields: Mapping[str, str | Literal[False]] | None = None,
    ) -> None:
        import aiohttp

        used = WeakSet[Any]()  # connections that were given out before

        class Connector(aiohttp.TCPConnector):
            """A connector that calls the task's `CONNECTED` when it makes a connection.

            It closes a connection on which something came unasked, such as a late reply. The next request would take
            that for its own reply, and each later one the reply to the request before. aiohttp's tracing reports new
            connections too, but makes 5,900 requests per second of processor time where this makes 7,000.
            """

            async def connect(self, *request: Any, **more: Any) -> Any:
                connection: Any = await super().connect(*request, **more)
                while connection.protocol in used and connection.protocol.should_close:
                    connection.close()
                    connection = await super().connect(*request, **more)
                if connection.protocol not in used:
                    used.add(connection.protocol)
                    if (connected := CONNECTED.get()) is not None:
                        connected()
                return connection

        self._timeout = timeout
        is_login = key.lower().startswith("basic ")
        own = key[6:].strip() if is_login else key
        self._secrets = (own, password_of(own)) if is_login else (own,)
        self._fields = fields or {}
        self._listed: dict[str, tuple[str, ...]] = {}  # the names of each server's models
        self._ways: dict[str, dict[str, Any]] = {}
        headers = {"content-type": "application/json"}
        self._session = aiohttp.ClientSession(
            headers=headers | ({"authorization": key if is_login else f"Bearer {key}"} if key else {}),
            connector=Connector(limit=connections),  # over all servers: which is asked is not its business
            timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
        )

    async def post(
        self, base: str, path: str, payload: Any, read: Callable[[Any], T], connected: Callable[[], None] | None = None
    ) -> T | Fault:
        """Return what `read` makes of the response to one POST.

        A fault means that another attempt may succeed. `connected` is called if the request needed a new connection.

        Raises
        ------
        RequestFailed
            When the server refuses this request.
        CannotEvaluate
            When it would refuse every request.
        """
        import aiohttp

        CONNECTED.set(connected)
        url, sent = base + path, payload if isinstance(payload, bytes) else json_bytes(payload)
        try:
            async with self._session.post(url, data=sent, allow_redirects=False, **self._way_to(base)) as response:
                status, headers = response.status, response.headers
                raw = await body_of(response, base)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return Fault(f"cannot talk to {base}: {connection_fault(error)}", kind="refused")
        except asyncio.TimeoutError:
            return Fault(f"no answer within {self._timeout:g} s", kind="silent")
        except (aiohttp.ClientError, OSError) as error:
            return Fault(f"cannot talk to {base}: {connection_fault(error)}", kind="cut")
        body = wire.body_value(raw)
        if 200 <= status < 300:
            try:
                return read(body)
            except MalformedReply as error:
                where = base if status == 200 else f"HTTP {status} from {base}"
                text = self.without_key(f"{where}: {wire.body_fault(raw, body) or error}")
                return self._passing(text, meant_by(body, status), headers, body) or Fault(text)
        return self._refusal(base, path, status, headers, body, sent)

    def _passing(self, text: str, status: int, headers: Any, body: Any) -> Fault | None:
        """Return the fault of an answer whose request may succeed later.

        The fault is None for any other status.
        """
        if "insufficient_quota" in codes_of(body):
            raise CannotEvaluate(f"{text}; the key's quota is used up: raise it, then go on with --resume")
        loading = status == 503 and "loading" in text.lower()  # as llama.cpp says it after a restart
        kind = "refused" if loading else kind_of(status)
        return None if kind is None else Fault(text, wait_of(headers), kind)

    def _refusal(self, base: str, path: str, status: int, headers: Any, body: Any, sent: bytes) -> Fault:
        message = error_text(body)
        text = self.without_key(": ".join(filter(None, (f"HTTP {status} from {base}", message))))
        if fault := self._passing(text, meant_by(body, status), headers, body):
            return fault
        if target := redirected(base, path, status, headers):
            raise CannotEvaluate(self.without_key(f"{base} {target}"))
        request, listed = json_value(sent), self._listed.get(base, ())
        model, about = request.get("model"), f"HTTP {status} {message}".lower()
        is_unknown = listed and model not in listed and ("404" in about or "model" in about)
        hint = f"; {model_hint(str(model), listed)}" if is_unknown else ""
        if status in FATAL:
            raise CannotEvaluate(f"{text}; {FATAL[status]}{hint}")
        raise RequestFailed(text + hint + context_hint(message) + field_hint(body, request, self._fields))

    async def listing(self, base: str, *, strict: bool = False) -> Listing | Fault:
        """Ask a server what it serves, or return why it does not say.

        With `strict` a refused key is a fault too; otherwise a server may refuse the list alone.
        """
        import aiohttp

        try:
            status, headers, raw = await self._get(base, base + "/models", LISTING_SECONDS)
        except asyncio.TimeoutError:
            return Fault(f"it took the connection, and said nothing for {LISTING_SECONDS:g} s", kind="cut")
        except (aiohttp.ClientError, OSError) as error:
            is_untrusted = isinstance(error, aiohttp.ClientSSLError)  # which waiting does not mend
            return Fault(connection_fault(error), kind="" if is_untrusted else "refused")
        if (kind := kind_of(status)) is not None:  # also of one that still loads, as llama.cpp says it
            return Fault(f"HTTP {status}", wait_of(headers), kind)
        if strict and status in REFUSED:
            return Fault(f"HTTP {status}: {FATAL[status]}")
        body = wire.body_value(raw)
        page = f"gives {description}; {wire.PAGE}" if status < 300 and (description := wire.page_of(body)) else ""
        if wrong := redirected(base, "/models", status, headers) or page:
            return Fault(self.without_key(f"it {wrong}"))
        models = listing_of(body)  # empty where it answers with anything else: not every server has one
        self._listed[base] = models.models
        return replace(models, version=await self._version(base)) if models.kind == "vllm" else models

    async def _version(self, base: str) -> str:
        """Ask vLLM's server for its version, which its list of models lacks."""
        import aiohttp

        try:
            return str(json.loads((await self._get(base, root_of(base) + "/version", LISTING_SECONDS))[2])["version"])
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, LookupError, TypeError, RecursionError):
            return ""

    async def _get(self, base: str, url: str, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of a GET.

        It follows redirects only within the server, so that no other server gets the key.
        """
        import aiohttp

        limit = aiohttp.ClientTimeout(total=seconds)
        for _ in range(REDIRECTS):
            async with self._session.get(url, timeout=limit, allow_redirects=False, **self._way_to(base)) as response:
                answer = response.status, response.headers, await body_of(response, base)
            before, url = url, urljoin(url, response.headers.get("location", ""))
            if not 300 <= response.status < 400 or urlsplit(url)[:2] != urlsplit(before)[:2] or url == before:
                break
        return answer

    async def is_up(self, base: str) -> bool:
        """Tell whether a server says that it is ready.

        It asks `GET /health`, or the list of models where there is no such path.
        """
        import aiohttp

        with suppress(aiohttp.ClientError, asyncio.TimeoutError, OSError):
            for url in (root_of(base) + "/health", base + "/models"):
                status, _, _ = await self._get(base, url, HEALTH_SECONDS)
                if status not in (404, 405, 501):
                    return status == 200
        return False

    def without_key(self, text: str) -> str:
        """Remove the key from a server's words, which may repeat it."""
        for secret in filter(None, self._secrets):
            text = text.replace(secret, "***")
        return text

    def _way_to(self, base: str) -> dict[str, Any]:
        if base not in self._ways:  # with each request: servers may be behind different proxies
            proxy = proxy_of(base)
            is_open = not f"{base} {proxy}".lower().count("https://")
            self._ways[base] = {"proxy": proxy} if is_open else {"proxy": proxy, "ssl": trust()}
        return self._ways[base]

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


def kind_of(status: int) -> Kind | None:
    """Return the kind of fault of a status, if the request may succeed later.

    Gateways have codes of their own from 502 on, such as Cloudflare's 520 to 530.
    """
    if status in BUSY:
        return "busy"
    return "" if status in OWN else "away" if status in LATER or status >= 500 else None


def meant_by(body: Any, status: int) -> int:
    """Return the status that an answer means.

    A gateway may send an error as 200, and a rate limit as any refusal.

    >>> meant_by({"error": {"code": 502, "message": "Provider returned error"}}, 200)
    502
    >>> meant_by("<html><title>We are back soon</title>", 200)  # of a gateway: no API gives pages
    503
    >>> meant_by("Rate limit exceeded", 200), meant_by({"error": {"type": "ThrottlingException"}}, 400)
    (429, 429)
    """
    words = [*codes_of(body)]
    if 200 <= status < 300:
        words += map(error_text, errors_in(body) if isinstance(body, dict) else [body])
        codes = [503] if wire.page_of(body) else [int(word) for word in words if re.fullmatch(r"[45]\d\d", word)]
        status = next((code for code in codes if kind_of(code) is not None), status)
    return 429 if (kind_of(status) is None or wire.page_of(body)) and LIMITS.search(" ".join(words)) else status


async def body_of(response: aiohttp.ClientResponse, base: str) -> bytes:
    """Read all bytes of an answer.

    Raises
    ------
    CannotEvaluate
        When there are more than a reply can have.
    """
    import aiohttp

    blocks, size = list[bytes](), 0
    try:
        while not response.content.at_eof():
            blocks.append(await response.content.readany())
            size += len(blocks[-1])
            if size >= LARGEST:
                raise CannotEvaluate(f"{base}: an answer has {LARGEST:,} bytes or more; is options.base_url right?")
    except aiohttp.ClientPayloadError:
        if response.ok:
            raise  # of an error the status is enough
    return b"".join(blocks)


def redirected(base: str, path: str, status: int, headers: Mapping[str, str]) -> str:
    """Say where an answer redirects a request and what to do, or return "".

    Secrets in the address are struck out.

    >>> redirected("http://h/v1", "/models", 307, {"location": "https://h/v1/models"})
    'redirects to https://h/v1; write that as options.base_url'
    >>> redirected("http://h/v1", "/models", 302, {"location": "/login"})
    'redirects to http://h/login; that is no address of an API; does the server want a login?'
    """
    place = headers.get("location") if 300 <= status < 400 else None
    if not place:
        return ""
    target = (address := urljoin(base + path, place)).removesuffix(path)
    is_api = (target != address or address.endswith(VERSION)) and url_fault(target) is None
    fix = "write that as options.base_url" if is_api else "that is no address of an API; does the server want a login?"
    return f"redirects to {shown_url(target)}; {fix}"


def reach_advice(fault: str) -> str:
    """Advise on a server that cannot be reached, unless its fault ends with advice."""
    return "" if fault.endswith(("?", "base_url")) else "; is the server up, and options.base_url right?"


def connection_fault(error: Exception) -> str:
    """Say why there is no connection, in the system's words if there are any.

    The caller's message names the URL.

    Raises
    ------
    CannotEvaluate
        When there is a proxy that wants a name and a password.
    """
    import socket

    import aiohttp

    if isinstance(error, aiohttp.ClientHttpProxyError):  # its own text has the proxy's URL, with the password
        if error.status == 407:
            raise CannotEvaluate(f"HTTP 407 from the proxy: {FATAL[407]}")
        return f"HTTP {error.status} from the proxy"
    of_another = aiohttp.ClientProxyConnectionError, aiohttp.ClientSSLError  # a proxy's host, a certificate's fault
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, of_another):
        cause = error.os_error
        words = cause.strerror if isinstance(cause, socket.gaierror) else cause.errno and os.strerror(cause.errno)
        inside = is_this_machine(error.host) and any(map(os.path.exists, CONTAINER_MARKS))
        if words or inside:
            words = words or "no connection"
            return f"{words[:1].lower()}{words[1:]}{OWN_LOOPBACK.format(error.host) if inside else ''}"
    return f"{type(error).__name__}: {' '.join(str(error).split())}{certificate_hint(error)}"


def root_of(base: str) -> str:
    """Return the URL of a server without the API's version.

    The server answers `/health` and `/version` there.

    >>> root_of("http://127.0.0.1:8000/v1")
    'http://127.0.0.1:8000'
    """
    return base.removesuffix("/v1")


def password_of(login: str) -> str:
    """Return the password in a login for Basic authentication.

    It is "" for one too short to be searched for in texts.

    >>> password_of("bWU6aHVudGVyMg=="), password_of("bWU6YQ=="), password_of("no")
    ('hunter2', '', '')
    """
    import base64

    try:
        password = base64.b64decode(login, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
    return password if len(password) > SHORT else ""


def wait_of(headers: Mapping[str, str]) -> float:
    """Return the seconds that a response asks to wait.

    They are in `retry-after-ms`, or in `retry-after` as seconds or an HTTP date, which is compared with the response's
    own `Date`.

    >>> [wait_of(each) for each in ({"retry-after": "2"}, {"retry-after-ms": "1500", "retry-after": "9"})]
    [2.0, 1.5]
    >>> wait_of({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT", "date": "Thu, 01 Jan 1970 00:00:50 GMT"})
    10.0
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            return max(0.0, float(headers.get(name) or "") / unit)
    import email.utils

    times = []
    for name, default in (("retry-after", 0.0), ("date", time.time())):
        try:
            times.append(email.utils.parsedate_to_datetime(headers.get(name, "")).timestamp())
        except (ValueError, TypeError, OverflowError):
            times.append(default)
    return max(0.0, times[0] - times[1])

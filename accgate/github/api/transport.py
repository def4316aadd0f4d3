"""One request to GitHub, with its time-outs and limits."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, NewConnectionError

from accgate.inputs.network import bundle_of, certificate_hint, proxy_of

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0  # between two bytes; GitHub itself gives up after 10 s
ANSWER_SECONDS = 120.0  # for a whole answer: a server that drips bytes meets no read time-out
MOST_BYTES = 64 * 2**20  # in memory at once; the largest page of 100 comments has 26 MB

Params = Mapping[str, str | int]


@dataclass(frozen=True)
class Answer:
    """A server's answer.

    Names of headers are in lower case, and `body` is None where it is not JSON. `links` are the relations in the Link
    header, such as `next`.
    """

    status: int
    headers: Mapping[str, str]
    links: frozenset[str]
    body: Any


@dataclass(frozen=True)
class Trouble:
    """A request that failed on its way or at the server.

    Another attempt may succeed, unless the trouble is `lasting`. A request that was `sent` may have been performed.
    `headers` are those of the server's report of a failure.
    """

    reason: str
    sent: bool
    lasting: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class Session(requests.Session):
    """A session with one server that never looks where a redirect leads."""

    def __init__(self, url: str) -> None:
        super().__init__()
        # Proxies and authorities are those of accgate's other client, and ~/.netrc replaces no token.
        self.trust_env = False
        proxy, bundle = proxy_of(url), bundle_of()
        self.proxies = {} if proxy is None else {"all": proxy}
        self.verify = True if bundle is None else bundle[1]

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002, D102
        return None


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL.

    The scheme may imply the port. A text that is no URL has an empty origin.

    >>> origin_of("https://API.github.com/repos"), origin_of("http://ghe.example:8080/api/v3")
    ('https://api.github.com:443', 'http://ghe.example:8080')
    """
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname and port else ""


def send(
    session: Session, method: str, url: str, *, params: Params | None, body: Any, clock: Callable[[], float]
) -> Answer | Trouble:
    """Send one request and read the whole answer, without following redirects."""
    timeout = CONNECT_SECONDS, READ_SECONDS
    try:
        with session.request(
            method, url, params=params, json=body, timeout=timeout, allow_redirects=False, stream=True
        ) as response:
            content = _content(response, clock)
            headers = {name.lower(): value for name, value in response.headers.items()}
            links = frozenset(response.links)
            status = response.status_code
    except (requests.exceptions.RequestException, HTTPError, OSError, ValueError) as error:
        return _trouble(error)
    if isinstance(content, Trouble):
        return content
    if status >= 500 or status == 408:
        return Trouble(f"the server failed with {status}", sent=True, headers=headers)
    try:
        return Answer(status, headers, links, json.loads(content) if content else None)
    except (ValueError, RecursionError):
        if status < 300:
            return Trouble("the answer is not JSON", sent=True, headers=headers)
        return Answer(status, headers, links, None)


def _content(response: requests.Response, clock: Callable[[], float]) -> bytes | Trouble:
    end = clock() + ANSWER_SECONDS
    content = bytearray()
    for chunk in response.iter_content(2**16):
        content += chunk
        if len(content) > MOST_BYTES:
            return Trouble(f"the answer is larger than {MOST_BYTES // 2**20} MiB", sent=True, lasting=True)
        if clock() > end:
            return Trouble(f"the answer took longer than {ANSWER_SECONDS:.0f} s", sent=True)
    return bytes(content)


def _trouble(error: Exception) -> Trouble:
    """Say why a request failed, by the name of the error alone.

    The libraries' messages can quote headers, and so the token.
    """
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    cause = type(reason if isinstance(reason, BaseException) else error).__name__
    if isinstance(error, requests.exceptions.SSLError):
        return Trouble(f"no trusted connection ({cause}){certificate_hint(error)}", sent=False, lasting=True)
    if isinstance(error, requests.exceptions.ConnectTimeout) or isinstance(reason, NewConnectionError):
        return Trouble(f"no connection can be opened ({cause})", sent=False)
    if isinstance(error, requests.exceptions.Timeout):
        return Trouble(f"no answer came for {READ_SECONDS:.0f} s", sent=True)
    if isinstance(error, ValueError):  # an impossible URL or header
        return Trouble(f"the request cannot be sent ({cause})", sent=False, lasting=True)
    return Trouble(f"the connection broke ({cause})", sent=True)

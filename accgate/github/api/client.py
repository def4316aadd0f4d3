"""GitHub's REST API with pages, repeated requests and rate limits.

This module counts the attempts itself. urllib3's Retry stops before the body is read, so it repeats neither a body that
breaks off nor one that is not JSON. It knows no limit without a Retry-After and no bound on all waits together, and it
does not say whether a failed request may have been performed.
"""

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urljoin

from accgate.github.api.answers import CannotPublish, CannotReach, Uncertain, Unreadable, failure
from accgate.github.api.transport import Answer, Params, Session, origin_of, send

T = TypeVar("T")
API_VERSION = "2022-11-28"
PAGE_SIZE = 100  # GitHub's most
ATTEMPTS = 5  # the pauses between them are 1, 2, 4 and 8 s at most
ROUNDS = 4  # of `once`, each of them with these attempts
WAITING = 15 * 60.0  # seconds in all; a job's primary rate limit may need an hour, which nobody waits for
_FULL_PAGE = 30  # GitHub's page where `per_page` is ignored
_MOST_PAGES = 1000  # 100,000 rows: beyond them the server repeats its pages
_MOST_REDIRECTS = 5  # a renamed repository needs one
MINUTE = 60.0  # GitHub's advice for a limit without a time
LONGEST_PAUSE = 8.0  # seconds, after the fourth failure


class Client:
    """The API at `api_url`, with a token.

    The token goes to no other server and is never shown. `sleep` takes seconds, `clock` gives UTC in seconds since
    1970, `luck` gives numbers between 0 and 1. Pauses and failed requests take at most `waiting` seconds together.
    Methods raise subclasses of CannotPublish. `needs` is the permission that they name where it is missing.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
        luck: Callable[[], float] = random.random,
        waiting: float = WAITING,
    ) -> None:
        token = token.strip()
        if not origin_of(api_url):
            raise CannotPublish(f"{api_url!r} is not the address of GitHub's API; see GITHUB_API_URL")
        if not re.fullmatch(r"[!-~]+", token):
            state = "holds characters that no token has" if token else "is empty"
            raise CannotPublish(f"the token for {api_url} {state}; pass the job's github.token")
        self.api_url = api_url.rstrip("/")
        # Beside the REST API, which GitHub Enterprise Server has at /api/v3.
        self.graphql_url = re.sub(r"/api/v3$", "/api", self.api_url) + "/graphql"
        self._token = token
        self._origin = origin_of(self.api_url)
        self._sleep, self._clock, self._luck = sleep, clock, luck
        self._left = waiting
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION}
        headers |= {"User-Agent": "accgate", "Authorization": f"Bearer {token}"}
        self._session = Session(self.api_url)
        self._session.headers.update(headers)

    def __repr__(self) -> str:
        return f"Client({self.api_url!r}, ***)"

    def get(self, path: str, *, params: Params | None = None, needs: str = "contents: read") -> Any:
        """Return the JSON at a path, which starts with a slash."""
        return self._request("GET", path, params=params, needs=needs).body

    def pages(
        self, path: str, *, params: Params | None = None, items: str | None = None, needs: str = "contents: read"
    ) -> Iterator[dict[str, Any]]:
        """Yield the objects of a list, through all its pages.

        `items` is the key of the list where it is within an object.
        """
        for number in range(1, _MOST_PAGES + 1):
            # By number: a link of a server behind a proxy can lead elsewhere, where the token must not go.
            query = {"per_page": PAGE_SIZE, **(params or {}), "page": number}
            answer = self._request("GET", path, params=query, needs=needs)
            rows = answer.body
            if items:
                rows = rows.get(items) if isinstance(rows, dict) else None
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise Unreadable(f"GET {path}: page {number} is not a list of objects")
            yield from rows
            if "next" not in answer.links and (answer.links or len(rows) < _FULL_PAGE):
                return
        raise Unreadable(f"GET {path}: more than {_MOST_PAGES} pages")

    def post(self, path: str, body: Any, *, needs: str, again: bool = False) -> Any:
        """Create something.

        With `again` a failed request is repeated, so that two may be created.

        Raises
        ------
        Uncertain
            Without `again`, where the failed request may have created it: look for it, `rest`, then try again.
        """
        return self._request("POST", path, body=body, needs=needs, again=again).body

    def patch(self, path: str, body: Any, *, needs: str, again: bool = True) -> Any:
        """Change something.

        Without `again`, Uncertain is raised where the failed request may have changed it.
        """
        return self._request("PATCH", path, body=body, needs=needs, again=again).body

    def delete(self, path: str, *, needs: str) -> None:
        """Delete something.

        NotFound is raised where it does not exist.
        """
        self._request("DELETE", path, needs=needs)

    def graphql(self, query: str) -> Any:
        """Return the `data` of a GraphQL query.

        The query is repeated after failures, so it must change nothing.
        """
        body = self._request("POST", self.graphql_url, body={"query": query}, needs="contents: read").body
        if not isinstance(body, dict) or not isinstance(body.get("data"), dict):
            raise Unreadable(f"POST {self.graphql_url}: the answer has no data")
        return body["data"]

    def rest(self, failed: int) -> None:
        """Wait before another attempt, after `failed` failures.

        Raises
        ------
        CannotReach
            When no time is left for waiting.
        """
        self._wait(pause(failed, {}, self._luck()), f"{self.api_url} keeps failing")

    def once(self, do: Callable[[], T], find: Callable[[], T | None], what: str) -> T:
        """Do something that must not be done twice, and return its outcome.

        After a failure that may have done it, `find` looks for the outcome.

        Raises
        ------
        CannotReach
            When it fails several times, with the fault `what`.
        """
        for failed in range(1, ROUNDS + 1):
            try:
                return do()
            except Uncertain:
                self.rest(failed)
            if (outcome := find()) is not None:
                return outcome
        raise CannotReach(f"{what} in {ROUNDS} attempts")

    def _request(
        self, method: str, path: str, *, needs: str, params: Params | None = None, body: Any = None, again: bool = True
    ) -> Answer:
        """Make one request, in several attempts where needed.

        `again` allows another attempt where the failed one may have been performed.
        """
        url = self.api_url + path if path.startswith("/") else path
        failed = limited = redirected = 0
        while True:
            started = self._clock()
            what = f"{method} {re.sub(r'[?#].*', '', url)}"
            answer = send(self._session, method, url, params=params, body=body, clock=self._clock)
            if isinstance(answer, Answer):
                if answer.status < 300:
                    return answer
                reply = self._without_token(answer.body)
                wait = limit_wait(answer.status, answer.headers, reply, limited=limited, now=self._clock())
                if wait is not None:
                    limited += 1
                    self._wait(wait, f"{what}: GitHub limits the rate of requests")
                    continue
                if answer.status >= 400:
                    raise failure(answer.status, reply, what=what, needs=needs)
                url, params, redirected = self._new_address(what, url, answer), None, redirected + 1
                if redirected > _MOST_REDIRECTS:
                    raise CannotReach(f"{what}: more than {_MOST_REDIRECTS} redirects")
                continue
            failed += 1
            self._left -= max(self._clock() - started, 0.0)
            if answer.sent and not again:
                raise Uncertain(f"{what}: {answer.reason}; it may have been performed")
            if failed >= ATTEMPTS or answer.lasting:
                times = "" if failed == 1 else f" (tried {failed} times)"
                raise CannotReach(f"{what}: {answer.reason}{times}; the server or the network is at fault")
            self._wait(pause(failed, answer.headers, self._luck()), f"{what}: {answer.reason}")

    def _new_address(self, what: str, url: str, answer: Answer) -> str:
        """Return the new address of a moved repository.

        An address on another server is refused, because the token must not go there.
        """
        location = answer.headers.get("location")
        if answer.status not in (301, 302, 307, 308) or location is None:
            raise Unreadable(f"{what}: answered {answer.status} without an address to go to")
        try:
            target = urljoin(url, location)
        except ValueError:
            target = ""
        if origin_of(target) != self._origin:
            raise CannotReach(f"{what}: redirects to another server, where the token must not go")
        return target

    def _wait(self, seconds: float, why: str) -> None:
        if seconds > self._left:
            raise CannotReach(f"{why}; the next wait is {seconds:.0f} s, and {max(self._left, 0.0):.0f} s are left")
        self._left -= seconds
        self._sleep(seconds)

    def _without_token(self, body: Any) -> Any:
        """Mask the token in an answer, because a server may quote it."""
        if isinstance(body, dict):
            return {key: self._without_token(value) for key, value in body.items()}
        if isinstance(body, list):
            return [self._without_token(value) for value in body]
        return body.replace(self._token, "***") if isinstance(body, str) else body


def limit_wait(status: int, headers: Mapping[str, str], body: Any, *, limited: int, now: float) -> float | None:
    """Return the seconds to wait where the response is a rate limit.

    Any other response gives None. `headers` have names in lower case, `limited` counts the limits that this request met
    before, and `now` is UTC in seconds since 1970. Source: "Handle rate limit errors appropriately" in GitHub's best
    practices for the REST API.

    >>> limit_wait(403, {"retry-after": "7"}, {}, limited=0, now=0.0)
    7.0
    >>> limit_wait(429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "130"}, {}, limited=0, now=100.0)
    31.0
    >>> limit_wait(403, {}, {"message": "You have exceeded a secondary rate limit"}, limited=2, now=0.0)
    240.0
    """
    if status not in (403, 429):
        return None
    if "retry-after" in headers:
        return max(_number(headers["retry-after"], MINUTE), 1.0)
    if headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset", ""), now + MINUTE)
        return max(reset - now, 0.0) + 1.0  # the reset is in whole seconds
    return MINUTE * 2.0**limited if status == 429 or _names_a_limit(body) else None


def pause(failed: int, headers: Mapping[str, str], luck: float) -> float:
    """Return the seconds before a request is sent again that failed `failed` times.

    `luck`, between 0 and 1, spreads the attempts of jobs that failed at once.

    >>> [pause(failed, {}, 1.0) for failed in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 8.0]
    """
    wanted = _number(headers.get("retry-after", ""), 0.0)
    return max(wanted, min(2.0 ** (failed - 1), LONGEST_PAUSE) * (0.5 + luck / 2))


def _names_a_limit(body: Any) -> bool:
    if not isinstance(body, dict):
        return False
    text = f"{body.get('message')} {body.get('documentation_url')}".lower()
    return "rate limit" in text or "rate-limit" in text or "abuse detection" in text


def _number(text: str, default: float) -> float:
    return float(text) if text.strip().isdecimal() else default

"""How long GitHub asks to wait: its rate limits, and the pause before a failed request is sent again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MINUTE = 60.0
LONGEST_PAUSE = 30.0


def limit_wait(status: int, headers: Mapping[str, str], body: Any, *, limited: int, now: float) -> float | None:
    """Seconds to wait where the response is a rate limit, None where it is none.

    `headers` have names in lower case, `limited` counts the limits met before on the same request, and `now` is UTC in
    seconds since 1970. Source: "Handle rate limit errors appropriately" in GitHub's best practices for the REST API.

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
    """Seconds before a request is sent again that failed so many times; `luck` is between 0 and 1.

    >>> [pause(failed, {}, 1.0) for failed in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 30.0]
    """
    asked = _number(headers.get("retry-after", ""), 0.0)
    return max(asked, min(2.0 ** (failed - 1), LONGEST_PAUSE) * (0.5 + luck / 2))


def _names_a_limit(body: Any) -> bool:
    if not isinstance(body, dict):
        return False
    text = f"{body.get('message')} {body.get('documentation_url')}".lower()
    return "rate limit" in text or "rate-limit" in text or "abuse detection" in text


def _number(text: str, default: float) -> float:
    return float(text) if text.strip().isdecimal() else default

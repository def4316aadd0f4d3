"""How long GitHub asks to wait, from each form in which it says so."""

from __future__ import annotations

from accgate.github.api.client import limit_wait
from tests.support.cases import each


def wait(status=403, headers=None, body=None, *, limited=0, now=1000.0):
    return limit_wait(status, headers or {}, body, limited=limited, now=now)


@each(
    ("body", "seconds"),
    [
        ({"message": "You have exceeded a Secondary Rate Limit."}, 60),
        ({"message": "API rate limit exceeded for installation"}, 60),
        ({"message": "You have triggered an abuse detection mechanism."}, 60),
        ({"message": "x", "documentation_url": "https://docs.github.com/rest/x/rate-limits-for-the-rest-api"}, 60),
        *((body, None) for body in (None, [], "rate limit", {}, {"message": "Resource not accessible by integration"})),
    ],
)
def test_each_wording_of_a_limit_is_known_and_another_403_is_none(body, seconds):
    assert wait(body=body) == seconds


@each("status", [400, 401, 404, 422, 500])
def test_another_status_is_no_limit_whatever_it_says(status):
    assert wait(status, {"retry-after": "5", "x-ratelimit-remaining": "0"}, {"message": "rate limit"}) is None


def limits(remaining: str, reset: str) -> dict[str, str]:
    return {"x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset}


@each(
    ("headers", "seconds"),
    [
        (limits("12", "2000"), None),  # requests that are left are no reason to wait
        (limits("0", "1500"), 501),
        (limits("0", "900"), 1),
        (limits("0", "soon"), 61),
        ({"retry-after": "5"} | limits("0", "1500"), 5),
        *(({"retry-after": text}, 60) for text in ("Wed, 21 Oct 2026 07:28:00 GMT", "", "-5", "1e9")),
    ],
)
def test_headers_say_how_long_to_wait_and_what_is_no_number_is_a_minute(headers, seconds):
    assert wait(headers=headers) == seconds

"""How long GitHub asks to wait, from each form in which it says so."""

from __future__ import annotations

import pytest

from accgate.github.api.client import limit_wait, pause
from tests.cases import each


def wait(status=403, headers=None, body=None, *, limited=0, now=1000.0):
    return limit_wait(status, headers or {}, body, limited=limited, now=now)


@pytest.mark.parametrize(
    "body",
    [
        {"message": "You have exceeded a Secondary Rate Limit."},
        {"message": "API rate limit exceeded for installation"},
        {"message": "You have triggered an abuse detection mechanism."},
        {
            "message": "x",
            "documentation_url": "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api",
        },
    ],
)
def test_each_wording_of_a_limit_is_known(body):
    assert wait(body=body) == 60


@each("body", [None, [], "rate limit", {}, {"message": "Resource not accessible by integration"}])
def test_another_403_is_no_limit(body):
    assert wait(body=body) is None


@each("status", [400, 401, 404, 422, 500])
def test_another_status_is_no_limit_whatever_it_says(status):
    assert wait(status, {"retry-after": "5", "x-ratelimit-remaining": "0"}, {"message": "rate limit"}) is None


def test_requests_that_are_left_are_no_reason_to_wait():
    assert wait(headers={"x-ratelimit-remaining": "12", "x-ratelimit-reset": "2000"}) is None


@pytest.mark.parametrize(("reset", "seconds"), [("1500", 501), ("900", 1), ("soon", 61), ("", 61)])
def test_an_exhausted_limit_waits_until_its_reset(reset, seconds):
    assert wait(headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}) == seconds


def test_retry_after_comes_before_the_reset():
    headers = {"retry-after": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1500"}
    assert wait(429, headers, limited=3) == 5


@pytest.mark.parametrize("text", ["Wed, 21 Oct 2026 07:28:00 GMT", "", "-5", "1e9"])
def test_a_retry_after_that_is_no_number_of_seconds_is_a_minute(text):
    assert wait(headers={"retry-after": text}) == 60


def test_pauses_grow_up_to_half_a_minute():
    assert [pause(failed, {}, 1.0) for failed in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert pause(1, {}, 0.0) == 0.5


def test_a_pause_is_as_long_as_the_server_asks():
    assert pause(1, {"retry-after": "40"}, 0.0) == 40
    assert pause(6, {"retry-after": "2"}, 1.0) == 30

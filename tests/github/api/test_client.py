"""The client against a server that fails as GitHub does."""

from __future__ import annotations

import socket
import threading

import pytest

from accgate.github.api import transport
from accgate.github.api.answers import (
    CannotPublish,
    CannotReach,
    MissingPermission,
    NotFound,
    Refused,
    Uncertain,
    Unreadable,
)
from accgate.github.api.client import Client
from tests.github.server import SECONDARY, TOKEN, GitHub
from tests.github.store import REPOSITORY
from tests.support.servers import Fault

COMMENTS = f"/repos/{REPOSITORY}/issues/7/comments"


def bodies(client: Client) -> list[str]:
    return [row["body"] for row in client.pages(COMMENTS)]


def fill(hub: GitHub, count: int) -> list[str]:
    """Write so many comments, and return their texts."""
    for number in range(count):
        hub.store.add_comment(7, "rita", str(number))
    return [str(number) for number in range(count)]


def post(client: Client, body: str = "one") -> None:
    client.post(COMMENTS, {"body": body}, needs="pull-requests: write")


class TestPages:
    @pytest.mark.parametrize(
        ("count", "server"),
        [
            (250, {}),
            *((count, {"links": False}) for count in (0, 30, 250)),
            (100, {"links": False, "most_per_page": 30}),
        ],
    )
    def test_all_pages_are_read_with_links_without_and_of_another_size(self, hub, count, server):
        for name, value in server.items():
            setattr(hub, name, value)
        texts = fill(hub, count)
        assert bodies(hub.client()) == texts
        assert server or hub.count("GET") == 3

    def test_pages_within_an_object_are_read(self, hub):
        for number in range(120):
            hub.store.add_check_run({"name": "gate", "head_sha": "a" * 40, "external_id": str(number)})
        path = f"/repos/{REPOSITORY}/commits/{'a' * 40}/check-runs"
        assert len(list(hub.client().pages(path, params={"filter": "all"}, items="check_runs"))) == 120

    @pytest.mark.parametrize(
        ("answer", "items"),
        [({"comments": []}, None), ([{}, []], None), ([], "check_runs"), ({"check_runs": {}}, "check_runs")],
    )
    def test_a_list_that_is_none_is_unreadable(self, hub, answer, items):
        hub.fail(Fault(body=answer))
        with pytest.raises(Unreadable, match="page 1 is not a list"):
            list(hub.client().pages("/x", items=items))

    def test_pages_without_end_end(self, hub, monkeypatch):
        monkeypatch.setattr("accgate.github.api.client._MOST_PAGES", 2)
        fill(hub, 200)
        assert len(bodies(hub.client())) == 200
        fill(hub, 1)
        with pytest.raises(Unreadable, match="more than 2 pages"):
            bodies(hub.client())


@pytest.mark.parametrize("url", ["", "api.github.com", "http://[", "https://ghe.example:x/api/v3"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(CannotPublish, match="GITHUB_API_URL"):
        Client(url, TOKEN)


class TestRetries:
    @pytest.mark.parametrize("fault", [Fault(502, b"<html>"), Fault(cut=True, body=b"[1,")])
    def test_reading_is_tried_again_after_faults_with_growing_pauses(self, hub, fault):
        texts = fill(hub, 1)
        for luck, waits in ((1.0, [1, 2, 4]), (0.0, [0.5, 1, 2])):  # which spreads jobs that failed at once
            hub.waits.clear()
            hub.fail(fault, times=3)
            assert bodies(hub.client(luck=lambda luck=luck: luck)) == texts
            assert hub.waits == waits

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            (Fault(503), r"GET .*/comments: .* 503 \(tried 5 times\)"),
            (Fault(200, b"<html>log in</html>"), "not JSON"),
            (Fault(200, b"[" * 200_000), "not JSON"),
            (Fault(200, b"not gzip", {"content-encoding": "gzip"}), "connection broke"),
        ],
    )
    def test_reading_is_given_up_after_five_attempts_or_where_no_time_is_left(self, hub, fault, words):
        hub.fail(fault, times=99)
        with pytest.raises(CannotReach, match=words):
            bodies(hub.client())
        assert hub.count("GET") == 5
        ticks = iter(range(0, 10**9, 200))  # seconds, which a dead server takes for each
        with pytest.raises(CannotReach, match="s are left"):
            bodies(hub.client(clock=lambda: float(next(ticks))))
        assert hub.count("GET") < 5 + 5

    def test_changing_is_tried_again(self, hub):
        row = hub.store.add_comment(7, "rita", "old")
        hub.fail(Fault(500), method="PATCH", performed=True)
        hub.client().patch(f"/repos/{REPOSITORY}/issues/comments/{row['id']}", {"body": "new"}, needs="x: y")
        assert hub.comments(7)[0]["body"] == "new"
        assert hub.count("PATCH") == 2

    @pytest.mark.parametrize("fault", [Fault(500), Fault(cut=True), Fault(201, b"{"), Fault(408)])
    def test_creating_is_not_repeated_where_it_may_have_been_done(self, hub, fault):
        hub.fail(fault, method="POST", performed=True)
        with pytest.raises(Uncertain, match="may have been performed"):
            post(hub.client())
        assert len(hub.comments(7)) == 1

    def test_creating_is_repeated_where_no_connection_could_be_opened(self, hub):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
            client = hub.client()
            client.api_url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            with pytest.raises(CannotReach, match=r"no connection can be opened .*tried 5 times"):
                post(client)
        assert len(hub.waits) == 4

    def test_creating_is_not_repeated_after_silence_or_an_answer_too_long_or_too_slow(self, hub, monkeypatch):
        monkeypatch.setattr(transport, "MOST_BYTES", 2**20)
        large = Fault(200, b'"' + b"x" * 2**22 + b'"')
        hub.fail(large, method="POST")
        with pytest.raises(Uncertain, match="larger than 1 MiB"):
            post(hub.client())
        hub.fail(large)
        with pytest.raises(CannotReach, match="larger than 1 MiB"):  # nor is it read again
            bodies(hub.client())
        assert not hub.waits
        ticks = iter(range(0, 10**9, 200))
        with dripping() as url, pytest.raises(Uncertain, match="took longer"):
            post(Client(url, TOKEN, clock=lambda: float(next(ticks))))
        monkeypatch.setattr(transport, "READ_SECONDS", 0.1)
        hub.fail(Fault(hang=600.0), method="POST")
        with pytest.raises(Uncertain, match="no answer came"):
            post(hub.client())

    def test_a_server_that_cannot_be_trusted_is_asked_once(self, hub):
        client = Client(hub.url.replace("http:", "https:"), TOKEN, sleep=hub.waits.append)
        with pytest.raises(CannotReach, match="no trusted connection"):
            post(client)
        assert not hub.waits


class TestRateLimits:
    @pytest.mark.parametrize(
        ("fault", "times", "waits"),
        [
            (Fault(503, b"", {"retry-after": "20"}), 1, [20]),  # so long it is down
            (Fault(403, SECONDARY, {"Retry-After": "90"}), 1, [90]),
            (Fault(403, {}, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000200"}), 1, [201]),
            (Fault(403, SECONDARY), 3, [60, 120, 240]),
            (Fault(429, b"slow down"), 1, [60]),
            (Fault(429, SECONDARY, {"retry-after": "900"}), 1, [900]),  # all that there is
            (Fault(429, SECONDARY, {"retry-after": "0"}), 3, [1, 1, 1]),
        ],
    )
    def test_it_is_waited_for_as_long_as_the_server_says_or_ever_longer(self, hub, fault, times, waits):
        assert hub.time == 1_700_000_000
        hub.fail(fault, times=times)
        bodies(hub.client())
        assert hub.waits == waits

    @pytest.mark.parametrize(("seconds", "left", "waits"), [("3600", 900, []), ("400", 100, [400, 400])])
    def test_a_longer_wait_than_is_left_is_said_and_not_begun(self, hub, seconds, left, waits):
        hub.fail(Fault(429, SECONDARY, {"retry-after": seconds}), times=9)
        with pytest.raises(CannotReach, match=f"the next wait is {seconds} s, and {left} s are left"):
            bodies(hub.client())
        assert hub.waits == waits


class TestFacts:
    @pytest.mark.parametrize(
        ("how", "line"),
        [
            ({}, "add `pull-requests: write` to"),
            ({"status": 404}, "`pull-requests: write`"),  # as which GitHub hides it
        ],
    )
    def test_a_missing_permission_names_the_line_to_add(self, hub, how, line):
        hub.forbid("POST", "comments", **how)
        with pytest.raises(MissingPermission, match=line):
            post(hub.client())
        assert hub.count("POST") == 1

    def test_a_bad_token_is_said(self, hub):
        with pytest.raises(MissingPermission, match="the token is invalid or expired"):
            bodies(hub.client("ghs_wrong"))

    def test_what_is_not_there_is_said(self, hub):
        with pytest.raises(NotFound, match=r"GET .*/pulls/9: not found .* needs `pull-requests: read`"):
            hub.client().get(f"/repos/{REPOSITORY}/pulls/9", needs="pull-requests: read")

    def test_a_refusal_holds_githubs_reasons(self, hub):
        with pytest.raises(Refused, match="Validation Failed: Body cannot be blank"):
            post(hub.client(), " ")


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_renamed_repository_is_found(self, hub, status):
        hub.moved_status = status
        hub.moved["/repos/octo/old/issues/7/comments"] = COMMENTS
        hub.client().post("/repos/octo/old/issues/7/comments", {"body": "one"}, needs="x: y")
        assert len(hub.comments(7)) == 1

    @pytest.mark.parametrize("place", ["OTHER/x", "http://[", "//elsewhere.example/"])
    def test_a_redirect_to_another_server_or_to_none_is_refused_and_carries_nothing(self, hub, place):
        with GitHub() as other:
            hub.moved[COMMENTS] = place.replace("OTHER", other.url)
            with pytest.raises(CannotReach, match="redirects to another server"):
                bodies(hub.client())
            assert not other.asked

    @pytest.mark.parametrize("status", [302, 304])
    def test_an_answer_that_leads_nowhere_is_unreadable(self, hub, status):
        hub.fail(Fault(status))
        with pytest.raises(Unreadable, match=f"answered {status} without an address"):
            bodies(hub.client())

    def test_five_redirects_are_followed_and_those_in_a_circle_end(self, hub):
        for number in range(5):
            hub.moved[f"/moved/{number}"] = f"/moved/{number + 1}" if number < 4 else COMMENTS
        assert hub.client().get("/moved/0") == []
        hub.moved[COMMENTS] = COMMENTS
        with pytest.raises(CannotReach, match="more than 5 redirects"):
            bodies(hub.client())


def test_github_enterprise_server_is_asked_under_its_path():
    with GitHub(prefix="/api/v3") as hub:
        hub.store.add_comment(7, "rita", "here")
        client = hub.client()
        assert bodies(client) == ["here"]
        assert client.graphql("query { viewer { login } }") == {"viewer": {"login": "github-actions[bot]"}}
        assert [asked.path for asked in hub.asked] == [f"/api/v3{COMMENTS}", "/api/graphql"]


class dripping:  # noqa: N801 (used as a function)
    """A server whose answer comes by one byte at a time, and never ends."""

    def __enter__(self) -> str:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    while not self._stop.wait(0.01):
                        connection.sendall(b"1\r\n \r\n")
            except OSError:
                continue

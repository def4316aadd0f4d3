"""The comment: one for each check, found again, ours alone."""

from __future__ import annotations

import pytest

from accgate.github.api.answers import CannotReach
from accgate.github.comments import State, comment_key, put_comment
from tests.github.server import TOKEN
from tests.github.store import BOT
from tests.support.servers import Fault

KEY = comment_key("accuracy.toml", "accgate")
PASSED = State("pass", "unchanged", passed=True)
FAILED = State("regression", "unchanged", passed=False)


def put(hub, body="report", *, state=PASSED, when="always", key=KEY, client=None, **event):
    return put_comment(client or hub.client(), hub.event(**event), key=key, state=state, body=body, when=when)


def all_texts(hub) -> list[str]:
    return [row["body"].partition("\n")[2] for row in hub.comments(7)]


def texts(hub) -> list[str]:
    return [row["body"].partition("\n")[2] for row in hub.comments(7) if row["body"].startswith("<!-- accgate")]


def marker(hub) -> str:
    return hub.comments(7)[0]["body"]


class TestOne:
    def test_the_first_run_writes_it_and_its_first_line_says_what_it_is(self, hub):
        url = put(hub)
        (row,) = hub.comments(7)
        assert row["body"] == (f"<!-- accgate {KEY} verdict=pass guard=unchanged head={'a' * 40} run=11.1 -->\nreport")
        assert url == row["html_url"]

    def test_a_later_run_updates_it_behind_any_number_of_others(self, hub):
        for number in range(130):
            hub.store.add_comment(7, "rita", f"comment {number}")
        first = put(hub, "one")
        assert put(hub, "two", run_id=12) == first
        assert texts(hub) == ["two"]

    def test_anothers_copy_of_the_marker_is_left_alone(self, hub):
        put(hub, "one")
        copy = marker(hub)
        hub.store.delete_comment(hub.comments(7)[0]["id"])
        hub.store.add_comment(7, "copycat[bot]", copy)
        hub.store.add_comment(7, None, copy)  # of an account that is gone
        put(hub, "two")
        assert all_texts(hub) == ["one", "one", "two"]

    def test_our_marker_further_down_is_no_marker(self, hub):
        put(hub, "one")
        hub.store.edit_comment(hub.comments(7)[0]["id"], "> " + marker(hub))
        put(hub, "two")
        assert all_texts(hub) == ["one", "two"]

    def test_one_deleted_between_finding_and_updating_is_written_again(self, hub):
        put(hub, "one")
        client = hub.client()
        client.patch = lambda *args, **more: [
            hub.store.delete_comment(hub.comments(7)[0]["id"]),
            type(client).patch(client, *args, **more),
        ]
        put(hub, "two", client=client)
        assert texts(hub) == ["two"]

    def test_one_that_is_still_listed_but_gone_is_written_again(self, hub):
        put(hub, "one")
        hub.fail(Fault(404, {"message": "Not Found"}), method="PATCH", times=9)
        put(hub, "two")
        assert texts(hub) == ["one", "two"]

    @pytest.mark.parametrize("when", ["always", "on-change"])  # the latter, though nothing changed
    def test_of_several_the_oldest_stays_though_somebody_deletes_a_double_first(self, hub, when):
        put(hub, "one")
        copy = hub.comments(7)[0]
        for _ in range(2):
            hub.store.add_comment(7, BOT, copy["body"])
        hub.fail(Fault(404, {"message": "Not Found"}), method="DELETE", performed=True)
        assert put(hub, "two", when=when) == copy["html_url"]
        assert texts(hub) == ["two"]


class TestWhen:
    @pytest.mark.parametrize("how", [{"when": "never"}, {"number": None}])
    def test_never_and_without_a_pull_request_nothing_is_asked(self, hub, how):
        assert put(hub, **how) is None
        assert not hub.asked

    def test_on_change_keeps_a_comment_that_says_the_same(self, hub):
        url = put(hub, "one", when="on-change")
        assert put(hub, "two", when="on-change", run_id=12) == url
        assert texts(hub) == ["one"]

    @pytest.mark.parametrize(
        "state", [FAILED, State("pass", "loosened", passed=False), State("pass", "approved", passed=True)]
    )
    def test_on_change_writes_where_verdict_or_guard_changed(self, hub, state):
        put(hub, "one", when="on-change")
        put(hub, "two", when="on-change", state=state)
        assert texts(hub) == ["two"]

    def test_on_failure_tells_of_a_failure_and_then_of_its_end(self, hub):
        assert put(hub, when="on-failure") is None
        assert hub.comments(7) == []
        put(hub, "bad", when="on-failure", state=FAILED)
        put(hub, "good", when="on-failure", state=PASSED)
        assert texts(hub) == ["good"]


class TestOrder:
    def test_a_run_that_ends_late_does_not_overwrite_a_later_one(self, hub):
        url = put(hub, "new", run_id=12)
        assert put(hub, "old", run_id=9, run_attempt=3, source_run_attempt=3) == url
        assert texts(hub) == ["new"]

    def test_the_evaluating_run_counts_not_the_one_that_reports(self, hub):
        put(hub, "new", run_id=20, source_run_id=12)
        put(hub, "old", run_id=21, source_run_id=11)
        assert texts(hub) == ["new"]
        put(hub, "again", run_id=22, source_run_id=12, source_run_attempt=2)
        put(hub, "late", run_id=23, source_run_id=12)
        assert texts(hub) == ["again"]

    def test_the_latest_of_several_counts(self, hub):
        put(hub, "middle", run_id=12)
        hub.store.add_comment(7, BOT, marker(hub).replace("run=12.1", "run=14.1"))
        put(hub, "late", run_id=13)
        assert "late" not in texts(hub)


class TestLogin:
    @pytest.mark.parametrize("login", [BOT, "Gatekeeper", "our-app[bot]"])
    def test_it_is_that_of_the_tokens_job_person_or_app_in_any_case(self, hub, login):
        hub.tokens = {TOKEN: login}
        put(hub, "one")
        hub.comments(7)[0]["user"]["login"] = login.swapcase()
        put(hub, "two")
        assert texts(hub) == ["two"]

    def test_a_server_that_says_no_login_has_the_bot_of_actions(self, hub):
        put(hub, "one")
        hub.fail(Fault(200, {"data": None, "errors": [{"message": "no"}]}), path="graphql")
        put(hub, "two")
        assert texts(hub) == ["two"]

    def test_a_server_that_is_down_is_not_taken_for_one_without_users(self, hub):
        hub.fail(Fault(502), path="graphql", times=9)
        with pytest.raises(CannotReach):
            put(hub)
        assert hub.comments(7) == []


class TestFaults:
    @pytest.mark.parametrize(("fault", "performed"), [(Fault(500), True), (Fault(500), False), (Fault(cut=True), True)])
    def test_a_comment_that_may_be_there_is_looked_for_before_it_is_posted_again(self, hub, fault, performed):
        hub.fail(fault, method="POST", path="comments", performed=performed, times=2)
        put(hub)
        assert texts(hub) == ["report"]

    def test_posting_is_given_up_where_it_never_works(self, hub):
        hub.fail(Fault(500), method="POST", path="comments", times=99)
        with pytest.raises(CannotReach, match=r"octo/models#7 could not be written"):
            put(hub)

    @pytest.mark.parametrize("answer", [[], {"user": "x", "html_url": 3}])
    def test_a_posted_comment_of_which_the_server_says_nothing_is_looked_up(self, hub, answer):
        hub.fail(Fault(201, answer), method="POST", path="comments", performed=True)
        assert put(hub) == hub.comments(7)[0]["html_url"]
        assert texts(hub) == ["report"]

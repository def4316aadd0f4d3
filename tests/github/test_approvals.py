"""Who approved: never the author, never for another commit, never from what cannot be read."""

from __future__ import annotations

import pytest

from accgate.github.api.answers import CannotPublish
from accgate.github.approvals import find_approval, fork_is_allowed
from tests.github.store import HEAD
from tests.support.servers import Fault

OTHER = "c" * 40


@pytest.fixture(autouse=True)
def author(hub):
    hub.store.permissions["ann"] = "write"


def found(hub, **event):
    return find_approval(hub.client(), hub.event(**event))


def review(hub, *states, by="will", sha=HEAD):
    for state in states or ("APPROVED",):
        row = hub.store.add_review(7, by, state, sha)
    return row


def test_nothing_and_no_pull_request_are_no_approval(hub):
    assert found(hub, number=None) is None
    assert not hub.asked
    assert found(hub) is None


class TestReviews:
    @pytest.mark.parametrize(
        ("by", "permission", "who"),
        [
            ("will", "write", "will"), ("will", "maintain", "will"), ("will", "admin", "will"), ("will", "read", None),
            ("will", "triage", None), ("will", None, None), ("ann", "write", None), ("Ann", "write", None),
            ("github-actions[bot]", "write", None),
        ],
    )  # fmt: skip
    def test_an_approval_of_this_commit_counts_by_another_person_who_may_write(self, hub, by, permission, who):
        hub.store.permissions[by] = permission
        review(hub, "CHANGES_REQUESTED", by="rita")  # the word of one person does not end another's
        review(hub, by=by)
        assert found(hub) == who

    @pytest.mark.parametrize("user", [None, {"type": "Bot"}])
    def test_a_bot_by_its_type_and_an_account_that_is_gone_do_not_approve(self, hub, user):
        row = review(hub)
        row["user"] = user and row["user"] | user
        assert found(hub) is None

    @pytest.mark.parametrize(
        ("by", "role", "who"),
        [("will", "release-captain", "will"), ("rita", "release-reader", None), ("will", "triage", None)],
    )
    def test_a_role_of_the_organisations_own_counts_by_what_it_grants_unless_it_only_reads(self, hub, by, role, who):
        hub.store.roles = {by: role}
        review(hub, by=by)
        assert found(hub) == who

    @pytest.mark.parametrize(("last", "who"), [("CHANGES_REQUESTED", None), ("APPROVED", "will")])
    def test_the_review_that_was_submitted_last_counts_and_not_the_one_begun_last(self, hub, last, who):
        begun_first = review(hub, last)
        review(hub, {"APPROVED": "CHANGES_REQUESTED"}.get(last, "APPROVED"))
        begun_first["submitted_at"] = "2026-12-31T00:00:00Z"
        assert found(hub) == who

    def test_one_of_another_commit_does_not_count_and_is_the_last_word(self, hub):
        for sha, who in ((OTHER, None), (HEAD, "will"), (OTHER, None)):
            review(hub, sha=sha)
            assert found(hub) == who

    @pytest.mark.parametrize(
        ("states", "who"),
        [
            (("APPROVED", "CHANGES_REQUESTED"), None),
            (("APPROVED", "DISMISSED"), None),
            (("APPROVED", "COMMENTED"), "will"),
            (("APPROVED", "PENDING"), "will"),
            (("COMMENTED",), None),
        ],
    )
    def test_a_later_word_of_the_same_person_ends_it_and_a_remark_is_none(self, hub, states, who):
        review(hub, *states)
        assert found(hub) == who

    def test_one_on_a_later_page_is_found_and_ended(self, hub):
        review(hub, *["COMMENTED"] * 130, by="rita")
        review(hub)
        assert found(hub) == "will"
        review(hub, *["COMMENTED"] * 130, by="rita")
        review(hub, "DISMISSED")
        assert found(hub) is None


class TestUnreadable:
    @pytest.mark.parametrize(
        ("path", "fault"),
        [
            ("/reviews", Fault(500)), ("/reviews", Fault(200, [{"x": 1}])),
            ("/permission", Fault(403, {"message": "no"})), ("/reviews", Fault(200, {"x": 1})),
        ],
    )  # fmt: skip
    def test_whatever_cannot_be_read_is_no_approval_but_an_error(self, hub, path, fault):
        review(hub)
        hub.fail(fault, path=path, times=99)
        with pytest.raises(CannotPublish, match=path):
            found(hub)


class TestFork:
    @pytest.mark.parametrize(
        ("approval", "sha", "who"),
        [
            ((11, "will"), HEAD, "will"),
            ((11, "rita"), HEAD, None),
            ((11, "will", "rejected"), HEAD, None),
            ((11, "will", "pending"), HEAD, None),
            ((11, "will"), OTHER, None),
            ((12, "will"), HEAD, None),
        ],
    )
    def test_a_writer_lets_in_this_run_of_this_commit_alone(self, hub, approval, sha, who):
        hub.store.add_run(11, sha)
        hub.store.add_run(12)
        hub.store.approve_run(*approval)
        assert fork_is_allowed(hub.client(), hub.event(), "gpu") == who

    @pytest.mark.parametrize("path", ["runs/11$", "approvals"])
    @pytest.mark.parametrize("fault", [Fault(404, {}), Fault(200, {"x": 1})])
    def test_what_cannot_be_read_is_an_error(self, hub, path, fault):
        hub.store.add_run(11)
        hub.store.approve_run(11, "will")
        hub.fail(fault, path=path, times=99)
        with pytest.raises(CannotPublish, match=r"actions/runs/11"):
            fork_is_allowed(hub.client(), hub.event(), "gpu")

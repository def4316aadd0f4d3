"""Who approved: never the author, never for another commit, never from what cannot be read."""

from __future__ import annotations

import pytest

from accgate.github.api.answers import CannotRead
from accgate.github.approvals import find_approval, fork_is_allowed
from tests.github.server import GitHub
from tests.github.store import HEAD
from tests.servers import Fault

OTHER = "c" * 40


@pytest.fixture
def hub():
    with GitHub() as hub:
        hub.store.add_pull(7)
        hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "status": "in_progress"})
        hub.store.permissions["ann"] = "write"
        yield hub


def found(hub, **event):
    return find_approval(hub.client(), hub.event(**event))


def test_nothing_is_no_approval(hub):
    assert found(hub) is None


def test_a_run_without_a_pull_request_has_none(hub):
    assert found(hub, number=None) is None
    assert not hub.asked


class TestReviews:
    @pytest.mark.parametrize("permission", ["write", "maintain", "admin"])
    def test_an_approval_of_this_commit_by_a_writer_counts(self, hub, permission):
        hub.store.permissions["will"] = permission
        hub.store.add_review(7, "will", "APPROVED")
        assert found(hub) == "will"

    @pytest.mark.parametrize("permission", ["read", "triage", "none", None])
    def test_one_by_somebody_who_cannot_write_does_not(self, hub, permission):
        hub.store.permissions["will"] = permission
        hub.store.add_review(7, "will", "APPROVED")
        assert found(hub) is None

    @pytest.mark.parametrize(("last", "who"), [("CHANGES_REQUESTED", None), ("APPROVED", "will")])
    def test_the_review_that_was_submitted_last_counts_and_not_the_one_begun_last(self, hub, last, who):
        begun_first = hub.store.add_review(7, "will", last)
        other = {"APPROVED": "CHANGES_REQUESTED"}.get(last, "APPROVED")
        hub.store.add_review(7, "will", other)
        begun_first["submitted_at"] = "2026-12-31T00:00:00Z"
        assert found(hub) == who

    def test_a_role_of_the_organisations_own_counts_by_what_it_grants(self, hub):
        hub.store.roles = {"will": "release-captain", "rita": "release-reader"}
        hub.store.add_review(7, "rita", "APPROVED")
        assert found(hub) is None
        hub.store.add_review(7, "will", "APPROVED")
        assert found(hub) == "will"

    def test_a_role_that_only_reads_outweighs_a_permission(self, hub):
        hub.store.roles = {"will": "triage"}
        hub.store.add_review(7, "will", "APPROVED")
        assert found(hub) is None

    @pytest.mark.parametrize(("author", "by"), [("will", "will"), ("WILL", "will"), ("will", "Will")])
    def test_the_author_does_not_approve(self, hub, author, by):
        hub.store.permissions[by] = "write"
        hub.store.add_review(7, by, "APPROVED")
        assert found(hub, author=author) is None

    @pytest.mark.parametrize("bot", ["github-actions[bot]", "robot"])
    def test_a_bot_does_not_approve(self, hub, bot):
        hub.store.permissions[bot] = "write"
        hub.store.add_review(7, bot, "APPROVED")["user"]["type"] = "Bot"
        assert found(hub) is None

    def test_one_of_another_commit_does_not_count(self, hub):
        hub.store.add_review(7, "will", "APPROVED", OTHER)
        assert found(hub) is None

    def test_a_later_push_ends_it(self, hub):
        hub.store.add_review(7, "will", "APPROVED")
        hub.store.push(7, OTHER)
        assert found(hub, head_sha=OTHER) is None

    @pytest.mark.parametrize("state", ["CHANGES_REQUESTED", "DISMISSED"])
    def test_a_later_word_of_the_same_person_ends_it(self, hub, state):
        hub.store.add_review(7, "will", "APPROVED")
        hub.store.add_review(7, "will", state)
        assert found(hub) is None

    def test_a_later_approval_of_another_commit_is_the_last_word(self, hub):
        hub.store.add_review(7, "will", "APPROVED")
        hub.store.add_review(7, "will", "APPROVED", OTHER)
        assert found(hub) is None

    @pytest.mark.parametrize("state", ["COMMENTED", "PENDING"])
    def test_a_later_remark_does_not_end_it(self, hub, state):
        hub.store.add_review(7, "will", "APPROVED")
        hub.store.add_review(7, "will", state)
        assert found(hub) == "will"

    def test_a_remark_alone_does_not_approve(self, hub):
        hub.store.add_review(7, "will", "COMMENTED")
        assert found(hub) is None

    def test_a_word_counts_by_its_time_not_by_its_place(self, hub):
        hub.store.add_review(7, "will", "APPROVED")
        hub.store.add_review(7, "will", "CHANGES_REQUESTED")
        hub.store.reviews[7].reverse()
        assert found(hub) is None

    def test_the_word_of_one_person_does_not_end_anothers(self, hub):
        hub.store.add_review(7, "maria", "APPROVED")
        hub.store.add_review(7, "rita", "CHANGES_REQUESTED")
        assert found(hub) == "maria"

    def test_one_on_a_later_page_is_found_and_ended(self, hub):
        for _ in range(130):
            hub.store.add_review(7, "rita", "COMMENTED")
        hub.store.add_review(7, "will", "APPROVED")
        assert found(hub) == "will"
        for _ in range(130):
            hub.store.add_review(7, "rita", "COMMENTED")
        hub.store.add_review(7, "will", "DISMISSED")
        assert found(hub) is None

    def test_a_review_of_an_account_that_is_gone_counts_for_nothing(self, hub):
        hub.store.add_review(7, "ghost", "APPROVED")["user"] = None
        assert found(hub) is None


def test_a_label_approves_nothing(hub):
    """GitHub ties it to no commit: one set while the last commit was on the page would count for the next."""
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7"})
    hub.store.add_label(7, "accgate-approved", "will")
    assert found(hub) is None


class TestUnreadable:
    @pytest.mark.parametrize("path", ["/reviews", "/permission"])
    @pytest.mark.parametrize(
        "fault", [Fault(500), Fault(403, {"message": "no"}), Fault(200, {"x": 1}), Fault(200, [{"x": 1}])]
    )
    def test_whatever_cannot_be_read_is_no_approval_but_an_error(self, hub, path, fault):
        hub.store.add_review(7, "will", "APPROVED")
        if path == "/permission" and fault.status == 200:
            fault = Fault(200, [1])
        hub.fail(fault, path=path, times=99)
        with pytest.raises(CannotRead, match=r"approvals of octo/models#7 cannot be read"):
            found(hub)

    def test_a_permission_without_its_level_is_not_taken_for_one(self, hub):
        hub.store.add_review(7, "will", "APPROVED")
        hub.fail(Fault(200, {"user": {}}), path="/permission")
        assert found(hub) is None


class TestFork:
    def test_a_writer_let_this_run_of_this_commit_in(self, hub):
        hub.store.add_run(11)
        hub.store.approve_run(11, "will")
        assert fork_is_allowed(hub.client(), hub.event(), "gpu") == "will"

    @pytest.mark.parametrize(("by", "state"), [("rita", "approved"), ("will", "rejected"), ("will", "pending")])
    def test_nobody_else_and_nothing_less_does(self, hub, by, state):
        hub.store.add_run(11)
        hub.store.approve_run(11, by, state)
        assert fork_is_allowed(hub.client(), hub.event(), "gpu") is None

    def test_a_run_of_another_commit_is_not_allowed(self, hub):
        hub.store.add_run(11, OTHER)
        hub.store.approve_run(11, "will")
        assert fork_is_allowed(hub.client(), hub.event(), "gpu") is None

    def test_another_run_is_not_allowed(self, hub):
        hub.store.add_run(11)
        hub.store.add_run(12)
        hub.store.approve_run(12, "will")
        assert fork_is_allowed(hub.client(), hub.event(), "gpu") is None

    @pytest.mark.parametrize("path", ["runs/11$", "approvals"])
    @pytest.mark.parametrize("fault", [Fault(500), Fault(404, {}), Fault(200, {"x": 1}), Fault(200, [[]])])
    def test_what_cannot_be_read_is_an_error(self, hub, path, fault):
        hub.store.add_run(11)
        hub.store.approve_run(11, "will")
        hub.fail(fault, path=path, times=99)
        with pytest.raises(CannotRead, match="approvals of run 11"):
            fork_is_allowed(hub.client(), hub.event(), "gpu")

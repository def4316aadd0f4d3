"""Comments that ask something of accgate: who may, what is done, and which commit it is done with."""

from __future__ import annotations

import html

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.github.api.answers import CannotPublish, CannotReach, MissingPermission
from accgate.github.response import respond
from accgate.github.runner import Job
from accgate.github.slash import Command, command_of
from tests.github.asking import job, outputs, replies
from tests.github.store import HEAD
from tests.support.cases import each
from tests.support.servers import Fault

NEW = "d" * 40
ACCEPT = "/accgate accept the new tokenizer"


@pytest.fixture
def checked(hub):
    """A finished run of the gate on the head commit."""
    look(hub, conclusion="failure")
    hub.store.add_run(11)["status"] = "completed"
    return hub


def look(hub, **facts) -> None:
    """Let a run of the gate look at the head commit."""
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7"} | facts)


def answer(hub, environ, check_name="accgate") -> dict[str, str]:
    """The outputs of a comment's job."""
    assert respond(Job(environ, lambda _: hub.client(), lambda _: None), check_name) == 0
    return outputs(environ)


def ask(hub, folder, body=ACCEPT, *, check_name="accgate", **how) -> dict[str, str]:
    return answer(hub, job(folder, hub, body, **how), check_name)


def reply(hub) -> str:
    (text,) = replies(hub)
    return html.unescape(text)


@each(
    ("body", "command"),
    [
        ("/accgate\taccept  why  not \r\nmore", Command("accept", "why  not")),
        ("/accgate accept \nthe reason", Command("accept", "")),
        ("/accgate rerun  \r\n", Command("rerun")),
        ("/accgate record ", Command("record")),
        *((body, None) for body in ("", " /accgate accept x", "hello\n/accgate accept x", "/accgateaccept x")),
        ("/accgate", Command("help")),
        *(
            (f"/accgate {text}", Command("help", text))
            for text in ("acceptance x", "rerun now", "ACCEPT x", "record x")
        ),
    ],
)
def test_the_first_line_says_it(body, command):
    assert command_of(body) == command


@each(
    ("reason", "fault"),
    [
        ("", "write why"), ("x" * 301, "301 characters"), ("\x1b[31m", r"U+001B"), ("\u202egnp", "U+202E"),
        ("x" * 300, None), ("ünï 日本 😀", None), ("$(id) `id` ; | && ${{ x }}", None),
    ],
)  # fmt: skip
def test_a_reason_is_needed_that_can_be_shown(reason, fault):
    found = Command("accept", reason).fault
    assert found is None if fault is None else fault in found


class TestNothingAsked:
    @pytest.mark.parametrize(
        "how",
        [
            {"body": "looks good"},
            {"action": "edited"},
            {"issue": {"number": 7, "state": "open"}},
            {"issue": {"number": 7, "state": "closed", "pull_request": {"url": "x"}}},
            {"user": {"login": "will", "type": "Bot"}},
            {"user": {"login": "helper[bot]", "type": "User"}},
        ],
    )
    def test_nothing_is_requested_and_the_outputs_say_none(self, checked, tmp_path, how):
        if "user" in how:
            how = {"comment": checked.store.add_comment(7, "will", ACCEPT) | how}
        found = ask(checked, tmp_path, **how)
        assert found["command"] == "none"
        assert not any(found[name] for name in found if name != "command")
        assert not checked.asked


class TestAccept:
    def test_the_outputs_are_the_head_and_the_reason(self, checked, tmp_path):
        assert ask(checked, tmp_path, f"{ACCEPT} $(id)\nthank you") == {
            "command": "accept", "number": "7", "head-sha": HEAD, "head-ref": "change",
            "head-repository": "octo/models", "reason": "the new tokenizer $(id)", "requested-by": "will",
        }  # fmt: skip
        assert [content for _, content in checked.store.reactions] == ["eyes"]
        assert replies(checked) == []

    @pytest.mark.parametrize("by", ["@rita", "stranger"])
    def test_who_cannot_write_is_refused_whatever_the_event_says_of_them(self, checked, tmp_path, by):
        checked.store.permissions["@rita"] = "read"
        comment = checked.store.add_comment(7, by, ACCEPT) | {"author_association": "OWNER"}
        assert ask(checked, tmp_path, comment=comment)["command"] == "none"
        assert f"{by} has no write permission here" in reply(checked)
        assert "@rita" not in checked.comments(7)[-1]["body"]
        assert not checked.store.reactions

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda store: store.add_pull(7, head_repository=None), "fork's code"),
            (lambda store: store.pulls[7].update(state="closed"), "is closed"),
            (lambda store: store.push(7, NEW), "has not started on the head commit"),
            (lambda store: store.check_runs.popitem()[1].update(name="accgate (fp8)"), "has not started"),
        ],
    )
    def test_a_fork_a_closed_pull_request_and_a_head_not_looked_at_are_refused(self, checked, tmp_path, change, said):
        change(checked.store)
        assert ask(checked, tmp_path)["command"] == "none"
        assert said in reply(checked)

    @pytest.mark.parametrize(
        "move",
        [
            lambda hub, _: hub.store.push(7, NEW) or look(hub, head_sha=NEW),
            lambda hub, _: hub.store.push(7, HEAD, force=True),  # back to a commit that was seen before
            lambda hub, at: hub.store.add_event(7, "head_ref_force_pushed", "ann", now=at),  # in the very second
            lambda hub, at: hub.store.check_runs.clear() or look(hub, started_at=at),  # a look that came as late
        ],
    )
    def test_a_push_after_the_comment_is_refused(self, checked, tmp_path, move):
        environ = job(tmp_path, checked, ACCEPT)
        move(checked, checked.comments(7)[-1]["created_at"])
        assert answer(checked, environ)["command"] == "none"
        assert "has moved since" in reply(checked)

    def test_other_events_looks_since_and_a_forced_push_before_the_comment_are_no_move(self, checked, tmp_path):
        checked.store.push(7, HEAD, force=True)
        look(checked)
        environ = job(tmp_path, checked, ACCEPT)
        checked.store.add_event(7, "mentioned", "ann")
        look(checked, external_id="12.1.7")
        assert answer(checked, environ)["command"] == "accept"

    def test_each_comment_has_one_answer_of_its_own_though_its_job_runs_again(self, checked, tmp_path):
        for by in ("rita", "tom"):
            environ = job(tmp_path, checked, ACCEPT, by=by)
            for _ in range(2):
                answer(checked, environ)
        assert [name in text for text, name in zip(replies(checked), ("rita", "tom"), strict=True)] == [True, True]


class TestUnreadable:
    @pytest.mark.parametrize("path", ["permission", r"pulls/7$", "check-runs", "events"])
    def test_what_cannot_be_read_accepts_nothing(self, checked, tmp_path, path):
        checked.forbid("", path)
        environ = job(tmp_path, checked, ACCEPT)
        with pytest.raises(MissingPermission):
            answer(checked, environ)
        assert outputs(environ) == {}
        assert "a request to GitHub failed" in reply(checked)

    @pytest.mark.parametrize("head", [{"sha": "main", "ref": "x", "repo": None}, None])
    def test_a_head_that_is_no_commit_is_no_head(self, checked, tmp_path, head):
        checked.store.pulls[7]["head"] = head
        with pytest.raises(CannotPublish, match=r"GitHub's API promises \(head"):
            ask(checked, tmp_path)

    def test_where_even_the_reply_fails_the_first_fault_is_said(self, checked, tmp_path):
        checked.fail(Fault(502), times=99)
        with pytest.raises(CannotReach, match="permission"):
            ask(checked, tmp_path)

    @pytest.mark.parametrize("payload", [b"no", b'{"action": "created", "comment": {}, "issue": {}}'])
    def test_an_event_that_is_none_is_bad_input(self, hub, tmp_path, payload):
        environ = job(tmp_path, hub, ACCEPT)
        (tmp_path / "event.json").write_bytes(payload)
        with pytest.raises(BadInput, match="GITHUB_EVENT_PATH"):
            answer(hub, environ)
        with pytest.raises(BadInput, match="on: issue_comment"):
            answer(hub, job(tmp_path, hub, ACCEPT) | {"GITHUB_EVENT_NAME": "issues"})


class TestRerun:
    def rerun(self, hub, folder, **how) -> str:
        return ask(hub, folder, "/accgate rerun", **how)["command"]

    @pytest.mark.parametrize("repository", ["octo/models", "ann/models"])
    def test_the_newest_run_that_wrote_the_check_starts_again_a_forks_too(self, checked, tmp_path, repository):
        checked.store.add_pull(7, head_repository=repository)
        look(checked, external_id="12.3.7")
        look(checked, external_id="9.1.7")
        checked.store.add_run(12)["status"] = "completed"
        assert self.rerun(checked, tmp_path) == "rerun"
        assert checked.store.reruns == [12]
        assert [content for _, content in checked.store.reactions] == ["eyes", "rocket"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda store: store.runs[11].update(status="in_progress"), "not finished"),
            (lambda store: store.runs[11].update(head_sha=NEW), ""),
            (lambda store: store.runs.clear(), "is gone"),
            (lambda store: store.check_runs.clear(), "has no check accgate"),
            (lambda store: store.old_runs.add(11), "created over a month ago"),  # in GitHub's own words
        ],
    )
    def test_a_run_that_goes_on_is_of_another_commit_gone_or_old_is_not_started(self, checked, tmp_path, change, said):
        change(checked.store)
        assert self.rerun(checked, tmp_path) == "none"
        assert checked.store.reruns == []
        assert said in reply(checked)

    @pytest.mark.parametrize("id_", ["", "11.1.7/../..", "11.1.8", "\uff11\uff11.1.7"])
    def test_a_check_of_somebody_else_s_names_no_run(self, checked, tmp_path, id_):
        checked.store.check_runs.clear()
        look(checked, external_id=id_)
        assert self.rerun(checked, tmp_path) == "none"
        assert checked.store.reruns == []

    def test_a_cut_answer_to_a_start_that_was_performed_is_one(self, checked, tmp_path):
        checked.fail(Fault(cut=True), path="rerun", performed=True)
        assert self.rerun(checked, tmp_path) == "rerun"
        assert checked.store.reruns == [11]

    def test_one_that_was_not_performed_is_a_failure(self, checked, tmp_path):
        checked.fail(Fault(502), path="rerun")
        with pytest.raises(CannotPublish):
            self.rerun(checked, tmp_path)


class TestCommandLine:
    def run(self, monkeypatch, environ, *arguments) -> int:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return main(["respond", *arguments])

    def test_a_missing_permission_is_exit_code_3_and_says_which(self, checked, tmp_path, monkeypatch, capsys):
        checked.forbid("POST", "reactions")
        assert self.run(monkeypatch, job(tmp_path, checked, ACCEPT)) == 3
        said = capsys.readouterr().out
        assert said.startswith("::error title=accgate respond::")
        assert "issues: write" in said

    def test_a_refusal_cannot_command_the_runner(self, checked, tmp_path, monkeypatch, capsys):
        by = "x\n::error::gotcha"
        checked.store.permissions[by] = "read"
        self.run(monkeypatch, job(tmp_path, checked, ACCEPT, by=by) | {"GITHUB_ACTIONS": "true"})
        said = capsys.readouterr().out
        assert "gotcha" in said
        assert "::error" not in said

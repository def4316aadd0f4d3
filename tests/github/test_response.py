"""Comments that ask something of accgate: who may, what is done, and which commit it is done with."""

from __future__ import annotations

import html
import json

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.github.api.answers import CannotPublish, CannotReach, MissingPermission
from accgate.github.response import respond
from accgate.github.runner import Job
from accgate.github.slash import Command, command_of
from tests.github.asking import job, outputs, replies
from tests.github.server import GitHub
from tests.github.store import HEAD
from tests.servers import Fault

NEW = "d" * 40
ACCEPT = "/accgate accept the new tokenizer"


@pytest.fixture
def hub():
    with GitHub() as hub:
        hub.store.add_pull(7)
        yield hub


@pytest.fixture
def checked(hub):
    """A finished run of the gate on the head commit."""
    hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7", "conclusion": "failure"})
    hub.store.add_run(11)["status"] = "completed"
    return hub


def ask(hub, folder, body=ACCEPT, *, check_name="accgate", **how) -> dict[str, str]:
    environ, log = job(folder, hub, body, **how), []
    assert respond(Job(environ, lambda _: hub.client(), log.append), check_name) == 0
    return outputs(environ)


def reply(hub) -> str:
    (text,) = replies(hub)
    return html.unescape(text)


class TestCommand:
    @pytest.mark.parametrize(
        ("body", "command"),
        [
            ("/accgate accept why not", Command("accept", "why not")),
            ("/accgate accept  why  not \r\nmore", Command("accept", "why  not")),
            ("/accgate\taccept\twhy", Command("accept", "why")),
            ("/accgate accept", Command("accept", "")),
            ("/accgate accept \nthe reason", Command("accept", "")),
            ("/accgate rerun", Command("rerun")),
            ("/accgate rerun  \r\n", Command("rerun")),
            ("/accgate record ", Command("record")),
        ],
    )
    def test_the_first_line_says_it(self, body, command):
        assert command_of(body) == command

    @pytest.mark.parametrize(
        "body",
        [
            "", "accept", " /accgate accept x", "> /accgate accept x", "hello\n/accgate accept x", "`/accgate rerun`",
            "/accgateaccept x", "\n/accgate rerun", "/accgate-other rerun",
        ],
    )  # fmt: skip
    def test_anything_else_is_none(self, body):
        assert command_of(body) is None

    @pytest.mark.parametrize(
        "body",
        [
            "/accgate", "/accgate ", "/accgate acceptance x", "/accgate reruns", "/accgate rerun now",
            "/accgate ACCEPT x", "/accgate\naccept x", "/accgate rerun\u2028", "/accgate record x",
            "/accgate records", "/accgate approve",
        ],
    )  # fmt: skip
    def test_a_command_that_is_none_is_answered_with_what_to_type(self, body):
        command = command_of(body)
        assert command is not None
        assert command.name == "help"
        assert ("Approve" if "approve" in body else "/accgate accept REASON") in (command.fault or "")

    @pytest.mark.parametrize(
        "reason", ["", "x" * 301, "a\tb", "\x1b[31m", "\u202egnp", "a\u2028b", "zero\u200bwidth", "\x0b"]
    )
    def test_a_reason_is_needed_that_can_be_shown(self, reason):
        assert Command("accept", reason).fault

    @pytest.mark.parametrize("reason", ["x", "x" * 300, "ünï 日本 😀", "$(id) `id` ; | && ${{ x }}"])
    def test_any_printable_one_will_do(self, reason):
        assert Command("accept", reason).fault is None


class TestNothingAsked:
    @pytest.mark.parametrize(
        "how",
        [
            {"body": "looks good"},
            {"body": f"{ACCEPT}", "action": "edited"},
            {"body": f"{ACCEPT}", "action": "deleted"},
            {"body": f"{ACCEPT}", "issue": {"number": 7, "state": "open"}},
            {"body": f"{ACCEPT}", "issue": {"number": 7, "state": "closed", "pull_request": {"url": "x"}}},
            {"body": f"{ACCEPT}", "by": "helper[bot]"},
        ],
    )
    def test_nothing_is_requested_and_the_outputs_say_none(self, checked, tmp_path, how):
        checked.store.permissions["helper[bot]"] = "write"
        found = ask(checked, tmp_path, **how)
        assert found["command"] == "none"
        assert not any(found[name] for name in found if name != "command")
        assert not checked.asked

    @pytest.mark.parametrize(("login", "kind"), [("will", "Bot"), ("helper[bot]", "User"), ("will", "Organization")])
    def test_a_bot_by_type_or_by_name_alone_is_none_either(self, checked, tmp_path, login, kind):
        comment = checked.store.add_comment(7, login, ACCEPT)
        comment["user"] = comment["user"] | {"type": kind}
        assert ask(checked, tmp_path, comment=comment)["command"] == "none"
        assert not checked.asked


class TestAccept:
    def test_the_outputs_are_the_head_and_the_reason(self, checked, tmp_path):
        assert ask(checked, tmp_path, f"{ACCEPT} $(id)\nthank you") == {
            "command": "accept",
            "number": "7",
            "head-sha": HEAD,
            "head-ref": "change",
            "head-repository": "octo/models",
            "reason": "the new tokenizer $(id)",
            "requested-by": "will",
        }
        assert [content for _, content in checked.store.reactions] == ["eyes"]
        assert replies(checked) == []

    @pytest.mark.parametrize("by", ["rita", "tom", "stranger"])
    def test_who_cannot_write_is_refused(self, checked, tmp_path, by):
        assert ask(checked, tmp_path, by=by)["command"] == "none"
        assert f"{by} has no write permission here" in reply(checked)
        assert not checked.store.reactions

    def test_the_event_s_own_word_of_the_author_counts_for_nothing(self, checked, tmp_path):
        comment = checked.store.add_comment(7, "rita", ACCEPT) | {"author_association": "OWNER"}
        assert ask(checked, tmp_path, comment=comment)["command"] == "none"

    @pytest.mark.parametrize("body", ["/accgate accept", f"/accgate accept {'x' * 301}"])
    def test_a_bad_reason_is_refused_with_the_mend(self, checked, tmp_path, body):
        assert ask(checked, tmp_path, body)["command"] == "none"
        assert "reason" in reply(checked).lower()

    @pytest.mark.parametrize("repository", ["ann/models", None])
    def test_a_fork_is_refused(self, hub, tmp_path, repository):
        hub.store.add_pull(7, head_repository=repository)
        hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7"})
        assert ask(hub, tmp_path)["command"] == "none"
        assert "fork's code" in reply(hub)

    def test_a_pull_request_closed_meanwhile_is_refused(self, checked, tmp_path):
        checked.store.pulls[7]["state"] = "closed"
        assert ask(checked, tmp_path)["command"] == "none"
        assert "is closed" in reply(checked)

    def test_a_head_that_the_gate_has_not_seen_is_refused(self, checked, tmp_path):
        checked.store.push(7, NEW)
        assert ask(checked, tmp_path)["command"] == "none"
        assert "has not started on the head commit" in reply(checked)

    def test_a_check_of_another_name_is_no_look(self, checked, tmp_path):
        assert ask(checked, tmp_path, check_name="accgate (fp8)")["command"] == "none"

    def test_a_push_after_the_comment_is_refused(self, checked, tmp_path):
        environ = job(tmp_path, checked, ACCEPT)
        checked.store.push(7, NEW)
        checked.store.add_check_run({"name": "accgate", "head_sha": NEW, "external_id": "12.1.7"})
        assert self.answered(checked, environ) == "none"
        assert "has moved since" in reply(checked)

    def test_a_look_in_the_very_second_of_the_comment_is_too_late(self, hub, tmp_path):
        environ = job(tmp_path, hub, ACCEPT)
        at = json.loads((tmp_path / "event.json").read_text())["comment"]["created_at"]
        hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "12.1.7", "started_at": at})
        assert self.answered(hub, environ) == "none"

    def test_a_branch_forced_back_to_a_commit_seen_before_is_refused(self, checked, tmp_path):
        environ = job(tmp_path, checked, ACCEPT)
        checked.store.push(7, HEAD, force=True)
        assert self.answered(checked, environ) == "none"
        assert "has moved since" in reply(checked)

    def answered(self, hub, environ) -> str:
        respond(Job(environ, lambda _: hub.client(), print), "accgate")
        return outputs(environ)["command"]

    def test_a_forced_push_in_the_very_second_of_the_comment_is_one_since(self, checked, tmp_path):
        environ = job(tmp_path, checked, ACCEPT)
        checked.store.add_event(7, "head_ref_force_pushed", "ann", now=checked.comments(7)[-1]["created_at"])
        assert self.answered(checked, environ) == "none"

    def test_other_events_and_looks_since_are_no_move(self, checked, tmp_path):
        environ = job(tmp_path, checked, ACCEPT)
        checked.store.add_event(7, "mentioned", "ann")
        checked.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "12.1.7"})
        assert self.answered(checked, environ) == "accept"

    def test_a_forced_push_before_the_comment_is_none_since(self, hub, tmp_path):
        hub.store.push(7, HEAD, force=True)
        hub.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "11.1.7"})
        assert ask(hub, tmp_path)["command"] == "accept"

    def test_each_comment_has_an_answer_of_its_own(self, checked, tmp_path):
        for by in ("rita", "tom"):
            ask(checked, tmp_path, by=by)
        assert [name in text for text, name in zip(replies(checked), ("rita", "tom"), strict=True)] == [True, True]

    def test_a_job_that_runs_again_answers_once(self, checked, tmp_path):
        environ = job(tmp_path, checked, ACCEPT, by="rita")
        for _ in range(2):
            respond(Job(environ, lambda _: checked.client(), print), "accgate")
        assert len(replies(checked)) == 1

    def test_a_refusal_mentions_nobody(self, checked, tmp_path):
        checked.store.permissions["@team"] = "read"
        ask(checked, tmp_path, by="@team")
        assert "@team" not in checked.comments(7)[-1]["body"]


class TestUnreadable:
    @pytest.mark.parametrize("path", ["permission", "reactions", r"pulls/7$", "check-runs", "events"])
    def test_what_cannot_be_read_accepts_nothing(self, checked, tmp_path, path):
        checked.forbid("", path)
        environ = job(tmp_path, checked, ACCEPT)
        with pytest.raises(MissingPermission):
            respond(Job(environ, lambda _: checked.client(), print), "accgate")
        assert outputs(environ) == {}
        assert "a request to GitHub failed" in reply(checked)

    @pytest.mark.parametrize("body", [b"[]", b"{}", b'{"permission": 1}', b"null"])
    def test_an_answer_of_another_shape_accepts_nothing(self, checked, tmp_path, body):
        checked.fail(Fault(200, json.loads(body)), path="permission")
        environ = job(tmp_path, checked, ACCEPT)
        try:
            respond(Job(environ, lambda _: checked.client(), print), "accgate")
        except CannotPublish:
            assert outputs(environ) == {}
        else:
            assert outputs(environ)["command"] == "none"

    @pytest.mark.parametrize("head", [{"sha": "main", "ref": "x", "repo": None}, {"ref": "x"}, None])
    def test_a_head_that_is_no_commit_is_no_head(self, checked, tmp_path, head):
        checked.store.pulls[7]["head"] = head
        environ = job(tmp_path, checked, ACCEPT)
        with pytest.raises(CannotPublish, match=r"what GitHub's API promises \(head"):
            respond(Job(environ, lambda _: checked.client(), print), "accgate")

    def test_where_even_the_reply_fails_the_first_fault_is_said(self, checked, tmp_path):
        checked.fail(Fault(502), times=99)
        with pytest.raises(CannotReach, match="permission"):
            respond(Job(job(tmp_path, checked, ACCEPT), lambda _: checked.client(), print), "accgate")

    @pytest.mark.parametrize("payload", [b"{}", b"[]", b"no", b'{"action": "created", "comment": {}, "issue": {}}'])
    def test_an_event_that_is_none_is_bad_input(self, hub, tmp_path, payload):
        environ = job(tmp_path, hub, ACCEPT)
        (tmp_path / "event.json").write_bytes(payload)
        with pytest.raises(BadInput, match="GITHUB_EVENT_PATH"):
            respond(Job(environ, lambda _: hub.client(), print), "accgate")

    def test_another_event_is_bad_input(self, hub, tmp_path):
        environ = job(tmp_path, hub, ACCEPT) | {"GITHUB_EVENT_NAME": "issues"}
        with pytest.raises(BadInput, match="on: issue_comment"):
            respond(Job(environ, lambda _: hub.client(), print), "accgate")


class TestRerun:
    def test_the_run_that_wrote_the_check_starts_again(self, checked, tmp_path):
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "rerun"
        assert checked.store.reruns == [11]
        assert [content for _, content in checked.store.reactions] == ["eyes", "rocket"]

    def test_of_several_the_newest(self, checked, tmp_path):
        checked.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": "12.3.7"})
        checked.store.add_run(12)["status"] = "completed"
        ask(checked, tmp_path, "/accgate rerun")
        assert checked.store.reruns == [12]

    def test_a_fork_s_run_may_start_again(self, checked, tmp_path):
        checked.store.add_pull(7, head_repository="ann/models")
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "rerun"

    def test_a_run_that_goes_on_is_left_alone(self, checked, tmp_path):
        checked.store.runs[11]["status"] = "in_progress"
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "none"
        assert checked.store.reruns == []
        assert "not finished" in reply(checked)

    def test_who_cannot_write_starts_nothing(self, checked, tmp_path):
        assert ask(checked, tmp_path, "/accgate rerun", by="rita")["command"] == "none"
        assert checked.store.reruns == []

    def test_without_a_check_there_is_nothing_to_start(self, hub, tmp_path):
        assert ask(hub, tmp_path, "/accgate rerun")["command"] == "none"
        assert "has no check accgate" in reply(hub)

    @pytest.mark.parametrize("id_", ["", "../../x", "11", "11.1", "11.1.7/../..", "11.1.8", "\uff11\uff11.1.7"])
    def test_a_check_of_somebody_else_s_names_no_run(self, checked, tmp_path, id_):
        checked.store.check_runs.clear()
        checked.store.add_check_run({"name": "accgate", "head_sha": HEAD, "external_id": id_})
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "none"
        assert checked.store.reruns == []

    def test_a_run_of_another_commit_is_not_started(self, checked, tmp_path):
        checked.store.runs[11]["head_sha"] = NEW
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "none"
        assert checked.store.reruns == []

    def test_a_run_that_is_gone_is_said(self, checked, tmp_path):
        del checked.store.runs[11]
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "none"
        assert "is gone" in reply(checked)

    def test_a_cut_answer_to_a_start_that_was_performed_is_one(self, checked, tmp_path):
        checked.fail(Fault(cut=True), path="rerun", performed=True)
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "rerun"
        assert checked.store.reruns == [11]

    def test_one_that_was_not_performed_is_a_failure(self, checked, tmp_path):
        checked.fail(Fault(502), path="rerun")
        with pytest.raises(CannotPublish):
            ask(checked, tmp_path, "/accgate rerun")

    def test_github_s_reason_for_a_refusal_is_shown(self, checked, tmp_path):
        checked.store.old_runs.add(11)
        assert ask(checked, tmp_path, "/accgate rerun")["command"] == "none"
        assert "created over a month ago" in reply(checked)
        assert "push a commit" in reply(checked)


class TestCommandLine:
    def run(self, monkeypatch, environ, *arguments) -> int:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return main(["respond", *arguments])

    def test_it_answers_with_the_variables_of_the_job(self, checked, tmp_path, monkeypatch):
        environ = job(tmp_path, checked, ACCEPT)
        assert self.run(monkeypatch, environ, "--check-name", "accgate") == 0
        assert outputs(environ)["head-sha"] == HEAD

    def test_a_missing_permission_is_exit_code_3_and_says_which(self, checked, tmp_path, monkeypatch, capsys):
        checked.forbid("POST", "reactions")
        assert self.run(monkeypatch, job(tmp_path, checked, ACCEPT)) == 3
        said = capsys.readouterr().out
        assert said.startswith("::error title=accgate respond::")
        assert "issues: write" in said

    def test_no_token_is_exit_code_3(self, checked, tmp_path, monkeypatch, capsys):
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        assert self.run(monkeypatch, job(tmp_path, checked, ACCEPT, token="")) == 3
        assert "github.token" in capsys.readouterr().out

    def test_a_refusal_cannot_command_the_runner(self, checked, tmp_path, monkeypatch, capsys):
        by = "x\n::error::gotcha"
        checked.store.permissions[by] = "read"
        self.run(monkeypatch, job(tmp_path, checked, ACCEPT, by=by) | {"GITHUB_ACTIONS": "true"})
        said = capsys.readouterr().out
        assert "gotcha" in said
        assert "::error" not in said

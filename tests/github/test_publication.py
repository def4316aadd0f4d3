"""What a pull request's author and its checks see, from a run's files to a GitHub with storage."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.github.server import TOKEN, GitHub
from tests.github.store import HEAD
from tests.support.gates import right_but, write_task
from tests.support.pull_requests import NUMBER, Gate, Job, PullRequest
from tests.support.servers import Fault

Capture = pytest.CaptureFixture[str]

INVALID = Fault(422, {"message": "Validation Failed", "errors": []})


def test_a_pass_is_a_comment_a_green_check_a_summary_and_outputs(gate: Gate, capsys: Capture) -> None:
    gate.head.answer(right_but(1))
    assert gate.run() == 0
    assert "Passed: " in gate.comment
    assert (gate.check_run["status"], gate.check_run["conclusion"]) == ("completed", "success")
    assert gate.check_run["head_sha"] == HEAD
    assert "Passed: " in gate.job.summary
    assert (gate.job.outputs["verdict"], gate.job.outputs["passed"]) == ("pass", "true")
    assert json.loads(gate.job.outputs["json"])["checks"][0]["lost"] == 1
    assert gate.job.outputs["summary-markdown"] in gate.comment
    printed = capsys.readouterr().out
    assert f"::add-mask::{TOKEN}" in printed
    assert printed.count(TOKEN) == 2  # --start and the end
    assert "::warning" not in printed
    writes = gate.hub.count("POST"), gate.hub.count("PATCH")
    assert gate.publish("--dry-run") == 0
    assert "Passed: " in capsys.readouterr().out
    assert (gate.hub.count("POST"), gate.hub.count("PATCH")) == writes
    assert gate.publish("--check-name", "accgate (fp8)") == 0
    assert len(gate.hub.comments(NUMBER)) == 2


def test_a_regression_fails_with_a_remark_on_the_tasks_line(gate: Gate) -> None:
    gate.head.answer(right_but(20))
    assert gate.run() == 1
    assert gate.check_run["conclusion"] == "failure"
    assert "Regression: " in gate.comment
    (remark,) = gate.annotations
    lines = gate.head.config.read_text().splitlines()
    assert (remark["path"], lines[remark["start_line"] - 1]) == ("accuracy.toml", "[tasks.sums]")
    assert remark["annotation_level"] == "failure"
    assert gate.job.outputs["passed"] == "false"


def test_a_second_run_updates_the_comment_and_the_check_of_its_own(gate: Gate) -> None:
    for run, wrong, code in ((100, 20, 1), (101, 0, 0)):
        gate.head.answer(right_but(wrong))
        gate.job = Job(gate.hub, gate.folder / f"job{run}", gate.monkeypatch, run=run)
        assert gate.run() == code
    assert "Passed: " in gate.comment
    assert [run["conclusion"] for run in gate.hub.store.check_runs.values()] == ["failure", "success"]


def test_a_loosened_gate_fails_until_it_is_approved(gate: Gate) -> None:
    gate.head.write(alpha=0.0001)
    gate.head.answer(right_but(0))
    assert gate.run() == 4
    assert gate.check_run["conclusion"] == "failure"
    assert "approval" in gate.comment.splitlines()[1]
    assert "gate.alpha" in gate.comment.replace("&#46;", ".")
    assert (gate.job.outputs["verdict"], gate.job.outputs["passed"]) == ("pass", "false")
    gate.hub.store.add_review(NUMBER, "rita", "APPROVED")  # no write permission
    assert gate.run() == 4
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    assert gate.check_run["conclusion"] == "success"
    assert "will" in gate.comment


def test_a_changed_prompt_fails_the_guard_and_the_bases_prompt_decides(gate: Gate) -> None:
    write_task(gate.head.folder, prompt="Well. {{ q }}")
    assert gate.head.record(right_but(0), args=["--reason", "another prompt"]) == 0
    both = gate.head.scores.read_text() + gate.base.answer(right_but(0)).read_text()
    gate.head.scores.write_text(both)
    assert gate.run() == 4
    assert "sums: prompt" in gate.comment.replace("&#58;", ":").replace("&#8203;", "")
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    gate.head.answer(right_but(0))  # nothing of the base's prompt: what it asks for cannot be decided
    assert gate.run() == 3


def test_an_approved_lower_reference_judges(gate: Gate) -> None:
    assert gate.head.record(right_but(20), args=["--reason", "8 bits are worth it"]) == 0
    gate.head.answer(right_but(20))
    assert gate.run() == 1
    assert gate.job.outputs["verdict"] == "regression"
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    assert gate.check_run["conclusion"] == "success"
    assert (gate.job.outputs["verdict"], gate.job.outputs["passed"]) == ("pass", "true")
    assert json.loads(gate.job.outputs["json"])["rules"] == "approved"
    gate.head.answer(right_but(45))  # worse than the new reference too
    assert gate.run() == 1


def test_a_removed_task_fails_the_guard(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(hub, tmp_path, monkeypatch, tasks=("sums", "more"))
    gate.head.answer(right_but(0), right_but(0))
    del gate.head.tasks["more"]
    gate.head.write()
    assert gate.run() == 4
    assert "more" in gate.comment
    gate.head.answer(right_but(0), right_but(20), tasks=("sums", "more"))
    assert gate.run() == 1
    for option in ("--dry-run", "--untrusted"):
        gate.publish(option, "--picture-branch", "pictures")
    assert hub.store.refs == {}
    gate.publish("--picture-branch", "pictures")
    assert f"/raw/{hub.store.refs['refs/heads/pictures']}/" in gate.comment
    hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    assert [check["task"] for check in json.loads(gate.job.outputs["json"])["checks"]] == ["sums"]


@pytest.mark.parametrize("is_readable", [True, False])
def test_a_push_ends_the_approval_and_one_that_cannot_be_read_is_none(gate: Gate, is_readable: bool) -> None:
    gate.head.write(alpha=0.0001)
    gate.head.answer(right_but(0))
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    if is_readable:
        gate.hub.store.push(NUMBER, "d" * 40)
    else:
        gate.hub.forbid("GET", "/permission")
    gate.job = Job(gate.hub, gate.folder / "job2", gate.monkeypatch, run=101)
    assert gate.run() == 4
    assert ("could not be checked" in gate.comment.replace("&#8203;", "")) != is_readable


def test_a_base_without_accuracy_toml_is_neutral_and_shows_how_to_begin(
    gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    gate.base.config.unlink()
    for wrong in (20, 0):  # even where its own rules would pass
        gate.head.answer(right_but(wrong))
        assert gate.run() == 0
        assert gate.check_run["conclusion"] == "neutral"
        assert "accgate record" in gate.comment
        assert gate.job.outputs["passed"] == "false"
    assert "::error" not in capsys.readouterr().out


def test_a_base_that_did_not_judge_or_whose_files_are_missing_is_no_pass(gate: Gate) -> None:
    gate.head.answer(right_but(0))
    assert gate.job.start() == 0
    assert gate.head.run() == 0
    assert gate.publish() == 4
    assert gate.check_run["conclusion"] == "failure"
    assert gate.pull.run() == 0
    for base in ((), ("--base", "nowhere")):
        assert gate.job.publish(gate.result, "--head", str(gate.head.folder), *base) == 4


def test_bad_input_is_told_with_a_remark_on_its_line(gate: Gate) -> None:
    gate.head.config.write_text("[gate]\nalhpa = 0.05\n" + gate.head.config.read_text())
    (gate.head.out / "accgate.json").unlink(missing_ok=True)
    log = gate.folder / "log"
    log.write_text(f"accgate: {gate.head.config}:2: gate.alhpa: unknown key; did you mean 'alpha'?\n")
    assert gate.publish("--exit-code", "2", "--log", str(log)) == 2
    (remark,) = gate.annotations
    assert (remark["start_line"], remark["path"]) == (2, "accuracy.toml")
    assert "did you mean" in gate.comment
    assert gate.check_run["conclusion"] == "failure"


def test_a_result_that_contradicts_the_exit_code_is_a_failure(gate: Gate, capsys: Capture) -> None:
    gate.head.answer(right_but(0))
    assert gate.pull.run() == 0
    assert gate.publish("--exit-code", "1") == 3
    assert "accgate.json says exit code 0" in capsys.readouterr().out
    assert gate.check_run["conclusion"] == "failure"
    data = json.loads(gate.result.read_text())
    data["verdict"] = "regression"
    gate.result.write_text(json.dumps(data))
    assert gate.publish() == 3


def test_a_cancelled_job_ends_the_check_and_leaves_the_comment(gate: Gate) -> None:
    gate.head.answer(right_but(20))
    assert gate.run() == 1
    before = gate.comment
    assert gate.job.start() == 0
    assert gate.publish("--cancelled") == 130
    assert gate.check_run["conclusion"] == "cancelled"
    assert gate.comment == before


@pytest.mark.parametrize(
    ("refuse", "words"),
    [
        (lambda gate: gate.hub.forbid("", ""), ("pull-requests: write", "checks: write")),
        (lambda gate: gate.monkeypatch.delenv("GITHUB_TOKEN"), ("there is no token",)),
        (lambda gate: gate.hub.fail(INVALID, times=9, method="POST", path="/comments"), ("Validation Failed",)),
    ],
    ids=["everything refused", "no token", "422"],
)
def test_what_github_refuses_is_told_and_never_changes_the_verdict(
    gate: Gate, refuse: Any, words: tuple[str, ...], capsys: Capture
) -> None:
    refuse(gate)
    gate.head.answer(right_but(0))
    assert gate.run() == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in words)
    assert "Passed: " in gate.job.summary


@pytest.mark.parametrize(
    ("wrong", "gate_keys", "fail_on", "expected"),
    [
        (20, {}, "never", 0), (20, {}, "inconclusive", 0), (20, {}, "regression", 1),
        (0, {"alpha": 0.0001}, "regression", 0),
    ],
)  # fmt: skip
def test_fail_on_chooses_what_fails_the_job(
    gate: Gate, wrong: int, gate_keys: dict[str, float], fail_on: str, expected: int
) -> None:
    gate.head.write(**gate_keys)
    gate.head.answer(right_but(wrong))
    assert gate.run("--fail-on", fail_on) == expected
    assert gate.check_run["conclusion"] == ("failure" if wrong or gate_keys else "success")


def test_a_template_of_the_base_overrides_blocks_and_one_of_the_head_does_not(gate: Gate) -> None:
    for project, text in ((gate.base, "OF THE BASE"), (gate.head, "OF THE HEAD")):
        extends = '{% extends "comment.md.j2" %}{% block footer %}'
        (project.folder / "comment.j2").write_text(f"{extends}{text}{{% endblock %}}")
        with project.config.open("a") as file:
            file.write('[report]\ntemplate = "comment.j2"\n')
    gate.head.answer(right_but(0))
    assert gate.run() == 4  # the template is a rule
    assert "OF THE BASE" in gate.comment
    assert "OF THE HEAD" not in gate.comment


def test_a_dry_run_at_home_shows_the_comment_without_githubs_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "ACCGATE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    pull = PullRequest(tmp_path)
    here = ("publish", "--dry-run", "--head", str(pull.head.folder))
    pull.head.answer(right_but(20))
    assert main(["publish", "--dry-run"]) == 2  # nothing was run: that is no pass
    assert "accgate-out/accgate.json: there is no such file; run `accgate run` first" in capsys.readouterr().err
    assert pull.head.run() == 1
    assert main([*here, str(pull.head.out / "accgate.json")]) == 1
    printed = capsys.readouterr().out
    assert "✕ Regression" in printed
    assert "sums" in printed
    assert "::" not in printed.replace("&#58;", ":")
    assert "github.com" not in printed
    pull.head.answer(right_but(0))
    pull.head.write(alpha=0.0001)  # with the base's files the guard is shown too
    assert pull.run() == 0
    assert main([*here, str(pull.head.out / "accgate.json"), "--base", str(pull.base.folder)]) == 4
    assert "alpha" in capsys.readouterr().out
    with pytest.raises(SystemExit):  # and it publishes nothing without --dry-run
        main(["publish", "--publish"])
    assert main(["publish", str(pull.head.out / "accgate.json")]) == 2

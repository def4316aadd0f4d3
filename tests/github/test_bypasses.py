"""Attempts to get a worse model or a looser gate past a pull request's checks: none ends with a green check."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.engines.openai.options import Options
from accgate.errors import BadInput
from accgate.github import announcement, runner
from accgate.github import publication as publishing
from accgate.github.announcement import Announcement
from accgate.github.check_runs import CheckRuns
from accgate.inputs.typed import parse_table
from tests.support.gates import questions, right_but, write_lines, write_task
from tests.support.pull_requests import NUMBER, Gate

Capture = pytest.CaptureFixture[str]


def is_green(gate: Gate) -> bool:
    return gate.check_run["conclusion"] in ("success", "neutral")


def guard_of(gate: Gate) -> dict[str, Any]:
    return json.loads(gate.job.outputs["json"])["guard"]


def fail(*_: Any, **__: Any) -> Any:
    raise KeyError("x")


# --- a base that looks as if it had no rules ---


@pytest.mark.parametrize(
    "break_",
    [
        lambda path: path.write_text(""),
        lambda path: path.unlink() or path.mkdir(),
        lambda path: shutil.rmtree(path.parent),
    ],
)
def test_a_base_that_is_not_there_or_cannot_be_read_is_no_bootstrap(gate: Gate, break_: Callable[[Path], Any]) -> None:
    gate.head.answer(right_but(0))
    break_(gate.base.config)
    assert gate.run() == 2
    assert not is_green(gate)


@pytest.mark.parametrize("seen_by", ["publishing", "the run"])
def test_rules_of_a_base_that_only_the_run_or_only_publishing_sees_are_no_pass(gate: Gate, seen_by: str) -> None:
    gate.head.answer(right_but(20 if seen_by == "publishing" else 0))
    text = gate.base.config.read_text()
    if seen_by == "publishing":
        gate.base.config.unlink()
    gate.pull.run()
    if seen_by == "publishing":
        gate.base.config.write_text(text)
    else:
        gate.base.config.unlink()
    assert gate.publish() == 4
    assert not is_green(gate)


# --- what is asked is no setting of a model ---


@pytest.mark.parametrize("key", ["messages", "function_call"])
def test_a_model_does_not_say_what_is_asked(gate: Gate, key: str, capsys: Capture) -> None:
    gate.head.models["m"]["sampling"] = {"extra": {key: "Say 4."}}
    gate.head.write()
    gate.head.answer(right_but(0))
    assert gate.run() == 2
    assert f"sampling.extra.{key}" in capsys.readouterr().err


def test_a_model_renames_no_field_that_a_task_sets() -> None:
    with pytest.raises(BadInput, match=r"tool_choice.*carry the question"):
        parse_table({"fields": {"tool_choice": "other"}}, Options)


# --- publishing that fails ---


PARTS = [
    (Announcement, "body"), (publishing, "title_of"), (publishing, "json_of"), (runner, "append_summary"),
    (announcement, "annotations_of"), (announcement, "put_comment"), (CheckRuns, "finish"),
]  # fmt: skip


def test_a_fault_of_publishing_never_changes_the_verdict(gate: Gate, capsys: Capture) -> None:
    gate.head.answer(right_but(20))
    assert gate.pull.run() == 1
    for owner, part in PARTS:
        gate.hub.store.check_runs.clear()
        with gate.monkeypatch.context() as broken:
            broken.setattr(owner, part, fail)
            assert gate.publish("--exit-code", "1") == 1, part
        assert "::warning title=accgate could not publish everything::" in capsys.readouterr().out, part
        assert part == "finish" or gate.check_run["conclusion"] == "failure", part


def test_a_fault_of_the_guard_is_no_pass(gate: Gate) -> None:
    gate.head.answer(right_but(0))
    assert gate.pull.run() == 0
    gate.monkeypatch.setattr(publishing, "guard_of", fail)
    assert gate.publish("--exit-code", "0") == 4
    assert not is_green(gate)
    assert gate.job.outputs["passed"] == "false"


def test_a_fault_where_approved_rules_judge_leaves_the_bases_verdict(gate: Gate) -> None:
    gate.head.write(alpha=0.0001)
    gate.head.answer(right_but(7))
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 0
    gate.monkeypatch.setattr(publishing, "by_rules_in_force", fail)
    assert gate.publish("--exit-code", "1") == 1
    assert not is_green(gate)


def test_no_exit_code_wraps_round_to_a_pass(gate: Gate) -> None:
    for said, code in (("256", 3), ("-256", 3), ("0", 3), ("-1", 3), ("3", 3), ("137", 137)):
        assert gate.publish(f"--exit-code={said}") == code, said
        assert not is_green(gate)
        assert gate.job.outputs["verdict"] == "error"


def merged(**keys: Any) -> Callable[[str], str]:
    return lambda text: json.dumps(json.loads(text) | keys)


SPOILT: list[Callable[[str], str]] = [
    lambda text: text[:-40],
    lambda _: "[]",
    lambda text: json.dumps(json.loads(text)["checks"][0]),
    merged(checks=[]),
    *(merged(rules=rules) for rules in ("approved", "own", "bootstrap")),
]


def test_a_spoilt_result_of_a_passing_run_is_no_pass(gate: Gate) -> None:
    gate.head.answer(right_but(0))
    assert gate.pull.run() == 0
    healthy = gate.result.read_text()
    for number, spoil in enumerate(SPOILT):
        gate.result.write_text(spoil(healthy))
        assert gate.publish("--exit-code", "0") in (3, 4), number
        assert not is_green(gate)
        assert gate.job.outputs["passed"] == "false"
    gate.result.unlink()
    gate.result.mkdir()
    assert gate.publish("--exit-code", "0") in (3, 4)
    assert not is_green(gate)


# --- after an approval ---


def test_new_checks_thin_out_no_alpha_once_something_else_was_approved(gate: Gate) -> None:
    before = {path: path.read_bytes() for path in (gate.head.store / "m").iterdir()}
    names = [f"extra{i}" for i in range(5)]  # of six checks each has 0.05 / 6, which six lost answers do not reach
    for i, name in enumerate(names):
        write_task(gate.head.folder, name, questions(30, start=1000 * (i + 1)))
        gate.head.tasks[name] = {"file": f"{name}.toml"}
    gate.head.write(drift_alpha=0.01)
    perfect = [right_but(0, 30)] * 5
    assert gate.head.record(right_but(0), *perfect, args=["--reason", "all anew"]) == 0
    for path in (gate.head.store / "m").glob("sums.*"):
        path.unlink()
    for path, content in before.items():
        path.write_bytes(content)
    gate.head.answer(right_but(6), *perfect)
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 1
    assert guard_of(gate)["state"] == "approved"
    assert not is_green(gate)


def test_samples_that_failed_stay_an_error_once_their_share_was_approved(gate: Gate) -> None:
    rows = [json.loads(line) for line in gate.head.answer(right_but(0)).read_text().splitlines()]
    write_lines(gate.head.scores, [*({"id": row["id"], "error": "lost"} for row in rows[:20]), *rows[20:]])
    gate.head.write(max_failed=0.5)
    gate.hub.store.add_review(NUMBER, "will", "APPROVED")
    assert gate.run() == 3
    assert not is_green(gate)


# --- events ---


def test_a_review_is_guarded_as_the_pull_request_is(gate: Gate) -> None:
    """Anybody can write one, the author included."""
    gate.head.write(alpha=0.0001)
    gate.head.answer(right_but(0))
    gate.monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_review")
    assert gate.run() == 4
    assert not is_green(gate)

"""Head, base or records change between the evaluation and its publishing."""

from __future__ import annotations

from tests.github.store import HEAD
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Gate, Job

NEW = "d" * 40


def conclusions(gate: Gate, sha: str) -> list[str]:
    return [row["conclusion"] for row in gate.hub.store.check_runs.values() if row["head_sha"] == sha]


def evaluated(gate: Gate, wrong: int = 0) -> int:
    """The check is open and the models have answered; nothing is published yet."""
    gate.head.answer(right_but(wrong))
    assert gate.job.start() == 0
    return gate.pull.run()


def test_a_head_that_is_forced_before_publishing_has_no_check_of_the_old_one(gate: Gate) -> None:
    assert evaluated(gate) == 0
    gate.hub.store.push(NUMBER, NEW, force=True)
    assert gate.publish("--exit-code", "0") == 0
    assert conclusions(gate, HEAD) == ["success"]
    assert conclusions(gate, NEW) == []
    assert f"head={HEAD}" in gate.comment  # and says of which commit it speaks


def test_a_review_of_the_forced_head_approves_nothing_of_the_old_one_nor_the_other_way_round(gate: Gate) -> None:
    gate.head.write(alpha=0.0001)
    assert evaluated(gate) == 0
    gate.hub.store.push(NUMBER, NEW, force=True)
    gate.hub.store.add_review(NUMBER, "will", "APPROVED", NEW)
    assert gate.publish("--exit-code", "0") == 4
    assert conclusions(gate, HEAD) == ["failure"]
    gate.hub.store.push(NUMBER, HEAD, force=True)  # and back
    gate.job = Job(gate.hub, gate.folder / "job2", gate.monkeypatch, run=101)
    assert gate.run() == 4


def test_a_pull_request_that_is_given_another_base_meanwhile_sets_the_check_of_the_first(gate: Gate) -> None:
    """Its event was for release/1.x, whose rules decided; the required name is that of main's."""
    gate.hub.store.pulls[NUMBER]["base"]["ref"] = "release/1.x"
    gate.job = Job(gate.hub, gate.folder / "job2", gate.monkeypatch)
    assert evaluated(gate) == 0
    gate.hub.store.pulls[NUMBER]["base"]["ref"] = "main"
    assert gate.publish("--exit-code", "0") == 0
    assert {row["name"] for row in gate.hub.store.check_runs.values()} == {"accgate (to release/1.x)"}


def test_rules_of_the_base_that_became_stricter_meanwhile_refuse_the_result(gate: Gate) -> None:
    """The evaluating and the publishing job each lay out a base of their own, in the split workflow."""
    assert evaluated(gate, wrong=7) == 1
    gate.base.write(alpha=0.0001)  # under which 7 lost answers are none too many
    gate.head.write(alpha=0.0001)
    assert gate.publish("--exit-code", "1") == 3
    assert gate.check_run["output"]["title"] == "Result refused: it does not follow from the run's records"


def test_a_pull_request_that_was_closed_or_merged_meanwhile_changes_nothing_of_the_verdict(gate: Gate) -> None:
    code = evaluated(gate, wrong=20)
    gate.hub.store.pulls[NUMBER] |= {"state": "closed", "merged": True}
    assert gate.publish("--exit-code", str(code)) == 1
    assert conclusions(gate, HEAD) == ["failure"]

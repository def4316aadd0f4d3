"""A pull request is judged by the rules of its base commit, over the models of its head."""

import shutil
from pathlib import Path

import pytest

from tests.support.gates import N, questions, right_but, write_lines, write_task
from tests.support.loading import load_task
from tests.support.pull_requests import PullRequest


@pytest.fixture
def pull_request(tmp_path: Path) -> PullRequest:
    return PullRequest(tmp_path)


def test_a_change_of_models_alone_is_judged_on_the_heads_model_by_the_bases_rules(pull_request: PullRequest) -> None:
    pull_request.head.answer(right_but(20))
    assert pull_request.run() == 1
    result = pull_request.head.result
    assert (result["rules"], result["beside"]) == ("base", [])
    assert (result["checks"][0]["lost"], result["checks"][0]["is_new"]) == (20, False)
    pull_request.base.config.unlink()
    assert pull_request.run() == 1
    assert pull_request.head.result["rules"] == "bootstrap"


def test_a_weaker_alpha_of_the_head_decides_nothing_and_is_shown_beside(pull_request: PullRequest) -> None:
    head = pull_request.head
    head.answer(right_but(7))
    head.write(alpha=0.0001)
    assert pull_request.run() == 1
    result = head.result
    assert (result["verdict"], result["checks"][0]["alpha"]) == ("regression", 0.05)
    (beside,) = result["beside"]
    assert (beside["verdict"], beside["alpha"], beside["lost"]) == ("pass", 0.0001, 7)
    head.tasks["sums"]["limit"] = 1
    head.write()
    assert pull_request.run() == 1
    assert (head.result["checks"][0]["n"], head.result["beside"][0]["n"]) == (N, 1)


def test_a_changed_prompt_leaves_the_bases_prompt_in_force(pull_request: PullRequest) -> None:
    head = pull_request.head
    head.answer(right_but(20))
    scores = head.scores.read_bytes()
    write_task(head.folder, prompt="Think. {{ q }}")
    assert pull_request.run() == 2  # with the old reference no run could decide after the merge
    assert head.record(right_but(20), args=["--reason", "another prompt"]) == 0
    head.scores.write_bytes(scores)
    assert pull_request.run() == 1
    (beside,) = head.result["beside"]
    assert beside["verdict"] == "inconclusive"
    assert beside["reasons"] == ["not evaluated: the prompts or the settings of the reply differ from the base's"]


def test_another_extraction_of_the_same_prompt_is_scored_again_beside(tmp_path: Path) -> None:
    pull_request = PullRequest(tmp_path)
    base, head = pull_request.base, pull_request.head
    samples = load_task("sums", file=base.folder / "sums.toml").samples
    write_lines(base.scores, [{"id": sample.id, "reply": f"{sample.target} or 8"} for sample in samples])
    write_task(base.folder, extract__regex=r"^(\d+)")
    shutil.rmtree(base.store)
    assert base.record() == 0
    assert base.run() == 0
    shutil.rmtree(head.folder)
    shutil.copytree(base.folder, head.folder)
    write_task(head.folder, extract__regex=r"(\d+)$")
    assert pull_request.run() == 2  # the head's reference is of the old extraction
    assert head.record(args=["--accept-low", "--reason", "the last number counts"]) == 0
    assert pull_request.run() == 0
    (beside,) = head.result["beside"]
    assert beside["candidate"]["mean"] == pytest.approx(0.5)  # 8 is right once
    assert beside["verdict"] == "inconclusive"  # a reference of 0.5 can hardly fall


def test_a_new_task_is_judged_by_the_heads_rules_and_marked(pull_request: PullRequest) -> None:
    head = pull_request.head
    write_task(head.folder, "more", questions(start=1000))
    head.tasks["more"] = {"file": "more.toml"}
    head.write()
    assert head.record(right_but(0), right_but(0), args=["--reason", "both anew"]) == 0
    head.answer(right_but(0), right_but(20))
    assert pull_request.run() == 1
    checks = head.result["checks"]
    assert [(c["task"], c["verdict"], c["is_new"]) for c in checks] == [
        ("sums", "pass", False),
        ("more", "regression", True),
    ]


def test_many_new_checks_do_not_dilute_the_alpha_of_the_bases(pull_request: PullRequest) -> None:
    head = pull_request.head
    names = [f"extra{i}" for i in range(5)]  # of six checks each has 0.05 / 6, which six lost answers do not reach
    for i, name in enumerate(names):
        write_task(head.folder, name, questions(30, start=1000 * (i + 1)))
        head.tasks[name] = {"file": f"{name}.toml"}
    head.write()
    perfect = [right_but(0, 30)] * 5
    assert head.record(right_but(0), *perfect, args=["--reason", "all anew"]) == 0
    head.answer(right_but(6), *perfect)
    assert pull_request.run() == 1
    assert head.result["checks"][0]["verdict"] == "regression"
    assert head.result["checks"][0]["alpha_applied"] == 0.05


def test_a_task_that_the_head_removes_is_still_checked_and_can_be_chosen(tmp_path: Path) -> None:
    pull_request = PullRequest(tmp_path, tasks=("sums", "more"))
    head = pull_request.head
    head.answer(right_but(0), right_but(20))
    del head.tasks["more"]
    head.write()
    assert pull_request.run() == 1
    assert [(c["task"], c["verdict"]) for c in head.result["checks"]] == [("sums", "pass"), ("more", "regression")]
    assert pull_request.run("--tasks", "more") == 1
    assert [c["task"] for c in head.result["checks"]] == ["more"]
    assert pull_request.run("--tasks", "mor") == 2


def test_records_of_an_early_stop_serve_the_heads_rules_as_far_as_they_go(tmp_path: Path) -> None:
    pull_request = PullRequest(tmp_path, theta=8.0)
    for project in (pull_request.base, pull_request.head):
        project.write(early_stopping=True)
    head = pull_request.head
    head.answer(right_but(0))
    assert pull_request.run() == 0
    assert head.result["checks"][0]["n"] < N
    assert head.result["beside"] == []
    head.write(early_stopping=False)
    assert pull_request.run() == 0
    (beside,) = head.result["beside"]
    assert beside["verdict"] == "inconclusive"
    assert "of its 200 samples were" in beside["reasons"][0]


def test_the_first_reference_of_a_check_judges_it_as_new(pull_request: PullRequest) -> None:
    shutil.rmtree(pull_request.base.store)
    head = pull_request.head
    head.answer(right_but(0))
    assert pull_request.run() == 0
    assert [(c["verdict"], c["is_new"]) for c in head.result["checks"]] == [("pass", True)]
    shutil.rmtree(head.store)
    assert pull_request.run() == 4


@pytest.mark.parametrize(
    ("keys", "is_new"), [({"variant": {"quant": "q4"}}, False), ({"baseline": "other"}, False), ({}, True)]
)
def test_pointing_a_model_at_no_reference_or_another_is_no_new_check_but_renaming_it_is(
    pull_request: PullRequest, keys: dict[str, object], is_new: bool
) -> None:
    head = pull_request.head
    head.models = {"other" if is_new else "m": head.models["m"] | keys}
    head.write()
    if not is_new:
        shutil.move(head.store / "m", head.store / "other")
    head.answer(right_but(40))
    assert pull_request.run() == 4
    assert [(c["verdict"], c["is_new"]) for c in head.result["checks"]] == [("no-reference", is_new)]


def test_each_check_is_planned_at_its_share_of_alpha_beside_too(tmp_path: Path) -> None:
    """Alone each would have all of it, plan fewer samples, and look as if the pull request had changed its rules."""
    pull_request = PullRequest(tmp_path, tasks=("sums", "more"), theta=8.0)
    pull_request.head.answer(right_but(0), right_but(0))
    assert pull_request.run() == 0
    assert pull_request.head.result["beside"] == []

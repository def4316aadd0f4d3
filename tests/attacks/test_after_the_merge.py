"""What would break main after the merge fails on the pull request, however strict it looks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.attacks.chain import Chain
from tests.attacks.test_rule_files import set_task
from tests.support.gates import Project, questions, right_but, write_task

AFTER = "(after the merge every run would fail with this, even if the change is approved)"


def other_scores(head: Project) -> None:
    path = head.store / "m/sums.scores.csv"
    path.write_text(path.read_text().replace(",0\n", ",100\n", 1))


def a_metric_that_does_not_load(head: Project) -> None:
    (head.folder / "mine.py").write_text("import nowhere\n")
    write_task(head.folder, "sums", questions(60), metric="mine.py:score")


BREAKING: dict[str, Callable[[Project], object]] = {
    "more samples than the reference": lambda head: set_task(head, num_samples=50),
    "more samples than the dataset": lambda head: set_task(head, num_samples=61),
    "another prompt": lambda head: write_task(head.folder, "sums", questions(60), prompt="Think. {{ q }}"),
    "a theta that nothing sees": lambda head: set_task(head, theta=0.01),
    "scores that their TOML does not vouch for": other_scores,
    "a damaged reference": lambda head: (head.store / "m/sums.toml").write_text("mean = "),
    "a metric that does not load": a_metric_that_does_not_load,
}


@pytest.mark.parametrize("what", BREAKING)
def test_a_change_that_no_run_of_main_would_survive_fails_on_the_pull_request(chain: Chain, what: str) -> None:
    chain.begin(lambda project: set_task(project, limit=40), wrong=2)  # the reference has fewer than the dataset

    def change(head: Project) -> None:
        del head.tasks["sums"]["limit"]
        head.write()
        BREAKING[what](head)

    ended = chain.pull(change)
    assert (ended.run, ended.is_green) == (2, False)
    assert AFTER in ended.said
    chain.merge()
    assert chain.main() == 2  # and it would have


def test_a_tightening_that_main_can_run_passes(chain: Chain) -> None:
    chain.begin(lambda project: set_task(project, num_samples=30))
    ended = chain.pull(lambda head: set_task(head, num_samples=30, alpha=0.1))
    assert (ended.run, ended.is_green, ended.rules) == (0, True, {"tasks.sums.alpha": "tightening"})
    chain.merge()
    chain.project.answer(right_but(0, 60))
    assert chain.main() == 0


def test_more_samples_with_a_reference_that_has_them_pass(chain: Chain) -> None:
    """The way out: record with the new number in the same pull request, and have it approved."""
    chain.begin(lambda project: set_task(project, num_samples=30))

    def more(head: Project) -> None:
        set_task(head, num_samples=50)
        assert head.record(right_but(0, 60), args=["--reason", "more samples"]) == 0

    ended = chain.pull(more)
    assert ended.run == 0
    assert AFTER not in ended.said
    chain.merge()
    assert chain.main() == 0


def two_tasks(project: Project) -> None:
    write_task(project.folder, "more", questions(60, start=500))
    project.tasks["more"] = {"file": "more.toml", "target": 10.0}
    project.write()


def test_a_chosen_task_is_planned_and_the_others_are_left_to_their_jobs(chain: Chain, tmp_path: Path) -> None:
    chain.begin()
    base, head = chain.checkout("base"), chain.checkout("head")
    for side in (base, head):
        two_tasks(side)
    head.answer(right_but(0, 60), right_but(0, 60))
    head.tasks["more"]["num_samples"] = 99
    head.write()
    arguments = ["run", str(head.config), "--base", str(base.config), "--out", str(tmp_path / "o"), "--quiet"]
    assert main([*arguments, "--tasks", "sums"]) == 0
    assert main([*arguments, "--tasks", "more"]) == 2
    assert not (tmp_path / "o/accgate.json").exists()

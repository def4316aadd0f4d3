"""What rules do is compared, and not how they are written: no spelling or level loosens the gate in silence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from accgate.github.outcome import Outcome
from accgate.github.rules import Trees, by_rules_in_force
from accgate.guard.state import Guard, RuleChange
from accgate.report.result_file import read_result
from tests.attacks.chain import Chain
from tests.attacks.test_rule_files import set_task
from tests.support.gates import Project, questions, right_but, write_task
from tests.support.pull_requests import NUMBER, PullRequest

TINY = 1e-30
Change = Callable[[Project], object]


def without_gate(head: Project, *keys: str) -> None:
    """Delete keys of [gate], or all of them."""
    head.gate = {key: value for key, value in head.gate.items() if keys and key not in keys}
    head.write()


def gate_to_task(head: Project) -> None:
    without_gate(head, "alpha")
    set_task(head, alpha=TINY)


def whole_gate_to_task(head: Project) -> None:
    without_gate(head)
    set_task(head, alpha=TINY)


def another_metric_by_copy(head: Project) -> None:
    """The same file name, and the definition in a new file with one thing more."""
    write_task(head.folder, "copy", questions(60), max_unread=1.0)
    set_task(head, file="copy.toml")


LOOSER: tuple[tuple[Change, str], ...] = (  # every value at every level: tests/guard/test_levels.py
    (whole_gate_to_task, "tasks.sums.alpha"),
    (another_metric_by_copy, "tasks.sums: max_unread"),
)


def begin(project: Project) -> None:
    project.write(alpha=0.01, beta=0.1)


@pytest.mark.parametrize(("change", "rule"), LOOSER)
def test_a_looser_rule_in_any_spelling_is_listed_before_a_second_pull_request_uses_it(
    chain: Chain, change: Change, rule: str
) -> None:
    chain.begin(begin)
    ended = chain.pull(change)
    assert ended.rules.get(rule) == "loosening"
    assert not ended.is_green
    assert chain.pull(lambda _: None).is_green  # the base alone is


@pytest.mark.parametrize("hidden", [lambda _: None, gate_to_task])
def test_an_approved_harmless_change_carries_no_other_one(chain: Chain, hidden: Change) -> None:
    """A drop of 30 points: either the check is red, or what makes it pass was listed when somebody approved."""

    def first(project: Project) -> None:
        begin(project)
        set_task(project, discordance=0.1)

    chain.begin(first)
    chain.hub.store.add_review(NUMBER, "will", "APPROVED")

    def change(head: Project) -> None:
        hidden(head)
        set_task(head, discordance=0.11)

    ended = chain.pull(change, wrong=18)
    assert ended.rules.pop("tasks.sums.discordance") == "loosening"
    assert (ended.rules.get("tasks.sums.alpha") == "loosening") == (hidden is gate_to_task)
    assert not ended.is_green  # even with both approved: so few samples show nothing at that rate


def test_a_check_that_no_listed_change_concerns_keeps_the_bases_verdict(tmp_path: Path) -> None:
    pull = PullRequest(tmp_path)
    pull.head.write(alpha=TINY)
    pull.head.answer(right_but(60))
    assert pull.run() == 1
    outcome = Outcome(read_result(pull.head.out / "accgate.json"))
    trees = Trees(pull.head.folder, pull.base.folder, "accuracy.toml")
    change = RuleChange("tasks.other.limit", "9", "8", "loosening", "", checks=(("m", "other"),))
    kept = by_rules_in_force(outcome, Guard("approved", (change,), "will"), trees)
    assert kept.result is not None
    assert (kept.exit_code, kept.verdict) == (1, "regression")
    concerned = replace(change, checks=(("m", "sums"),))
    assert by_rules_in_force(outcome, Guard("approved", (concerned,), "will"), trees).verdict == "pass"

"""The approval of one change covers no other change, and no other check."""

from dataclasses import replace
from pathlib import Path

from accgate.github.outcome import Outcome
from accgate.github.rules import Trees, by_rules_in_force
from accgate.guard.state import Guard, RuleChange
from accgate.report.result_file import read_result
from tests.attacks.chain import Chain
from tests.attacks.test_rule_files import set_task
from tests.support.gates import Project, right_but
from tests.support.pull_requests import NUMBER, PullRequest

TINY = 1e-30


def test_an_approved_harmless_change_carries_no_other_one(chain: Chain) -> None:
    """What would let a drop of 30 points pass is listed where somebody approves."""

    def begin(project: Project) -> None:
        project.write(alpha=0.01)
        set_task(project, discordance=0.1)

    def change(head: Project) -> None:
        del head.gate["alpha"]
        set_task(head, alpha=TINY, discordance=0.11)

    chain.begin(begin)
    chain.hub.store.add_review(NUMBER, "will", "APPROVED")
    ended = chain.pull(change, wrong=18)
    assert ended.rules == {"tasks.sums.discordance": "loosening", "tasks.sums.alpha": "loosening"}
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

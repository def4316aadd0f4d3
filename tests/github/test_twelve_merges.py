"""A repository with twelve merges and one slow decline: what the comment of each pull request says."""

import re
import shutil
from pathlib import Path

import pytest

from accgate.references.anchor import find_anchor
from tests.github.server import GitHub
from tests.support.gates import right_but
from tests.support.pull_requests import Gate, event_of

N = 400
WRONG = (0, 1, 1, 3, 4, 4, 6, 9, 10, 12, 14, 14)  # answers after each merge, of which no gate sees its own loss
SEEN = 11  # the merge at which (1 / 2)^14 is below what the spending leaves: 0.005 * 3 / (13 * 14)


class Repository:
    """A repository with a gate that fails slow declines, and its pull requests one after the other."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        for tree in (gate.base, gate.head):
            tree.write(drift="fail")

    def open(self, number: int, wrong: int) -> int:
        """Open a pull request whose model answers so many wrong; the exit code of its gate."""
        self.gate.hub.store.add_pull(number)
        self.gate.head.answer(right_but(wrong, N))
        return self.run(number)

    def run(self, number: int) -> int:
        """Gate a pull request, again perhaps."""
        self.gate.job.write(event_of(self.gate.hub, number))
        return self.gate.run()

    def comment(self, number: int) -> str:
        """A pull request's comment, without what keeps names in it from becoming links."""
        (row,) = self.gate.hub.comments(number)
        return re.sub(r"[\u200b\\]", "", row["body"])

    def merge(self, commit: int | None = None) -> None:
        """Merge the head; where it records nothing itself, main records its answers as of a commit."""
        base, head = self.gate.base, self.gate.head
        if commit is not None:
            self.gate.monkeypatch.setenv("GITHUB_SHA", f"{commit:040d}"[::-1])
            shutil.copy(head.scores, base.scores)
            assert base.record(args=["--reason", "merged"]) == 0
        source, target = (head, base) if commit is None else (base, head)
        shutil.rmtree(target.store)
        shutil.copytree(source.store, target.store)


@pytest.mark.slow
def test_twelve_merges_are_green_until_their_decline_shows_and_after_it_was_accepted(
    hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(hub, tmp_path, monkeypatch, n=N)
    repository = Repository(gate)
    for number in range(1, SEEN):
        assert repository.open(number, WRONG[number - 1]) == 0
        assert gate.check_run["conclusion"] == "success"
        assert "### ✓ Passed: sums " in repository.comment(number)
        assert "since the anchor" not in repository.comment(number).lower()
        repository.merge(number)
    assert f"over {number} runs: no slow decline: the mean is not lower by more than chance explains (−3.0" in (
        repository.comment(number)
    )
    # Red, though this pull request itself lost two answers of 400.
    assert repository.open(SEEN, WRONG[SEEN - 1]) == 1
    assert gate.check_run["conclusion"] == "failure"
    comment = repository.comment(SEEN)
    assert "### ✕ Regression: sums fell 3.5 points since the first reference" in comment
    losses = "8000000 (-0.75), 4000000 (-0.50), 7000000 (-0.50)"  # the commits of these merges
    assert f", over 11 runs: -3.50 points, at least -0.46; most was lost by {losses}" in comment
    assert "`accgate record --reason TEXT` accepts it and moves the anchor" in comment
    assert "own rules say" not in comment  # they are the same, and see the same decline
    # The path back: a recording with a reason, and an approval of it.
    assert gate.head.record(args=["--reason", "8 bits are worth it"]) == 0
    assert find_anchor(gate.head.store, "m", "sums") is None
    assert repository.run(SEEN) == 1
    assert "the anchor was deleted: drift would be counted from the next reference on" in repository.comment(SEEN)
    hub.store.add_review(SEEN, "will", "APPROVED")
    assert repository.run(SEEN) == 0
    assert "will" in repository.comment(SEEN)
    repository.merge()
    assert repository.open(SEEN + 1, WRONG[SEEN]) == 0
    assert "first reference" not in repository.comment(SEEN + 1)

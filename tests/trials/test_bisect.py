"""`accgate bisect` on real histories: each commit's model is asked of a server whose answers depend on its settings."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from benchmarks.culprit import Case, History, search
from tests.support.gates import table, write_task
from tests.support.launcher import Launched
from tests.support.runner import commit, git
from tests.support.servers import Fault, Server
from tests.trials.answers import answer, luck

Loses = Callable[[int, int], bool]


class Repository:
    """A history whose commit i asks with the field `step = i`; the first has a reference."""

    broken: tuple[int, ...] = ()  # steps whose server cannot be reached

    def __init__(self, folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.server, self.capsys, self.out = folder, server, capsys, folder / "out"
        self.config = folder / "accuracy.toml"

    def of(self, commits: int, loses: Loses) -> Repository:
        """This repository with so many commits, of which each may lose answers."""
        self.loses = loses
        self.server.fault_of = self.reply
        self.git("init", "--quiet", "--initial-branch=main")
        write_task(self.folder)
        (self.folder / ".gitignore").write_text("out*\n")
        for step in range(commits + 1):
            self.commit(step)
        self.shas = self.git("rev-list", "--reverse", "HEAD").split()
        self.capsys.readouterr()
        return self

    def git(self, *arguments: str) -> str:
        return git(self.folder, "-c", "commit.gpgsign=false", *arguments)

    def commit(self, step: int) -> None:
        model = {"engine": "openai", "model": "toy", "options": {"base_url": self.server.url},
                 "sampling": {"extra": {"step": step}}}  # fmt: skip
        if step in self.broken:
            model["options"] = {"base_url": "http://127.0.0.1:9/v1", "max_outage": 0.0, "max_retries": 0}
        self.write(self.config, model)
        if step == 0:
            assert main(["record", str(self.config), "--out", str(self.folder / "out-record"), "--quiet"]) == 0
        commit(self.folder, f"step {step}")

    @staticmethod
    def write(config: Path, model: dict[str, Any]) -> None:
        config.write_text(table("models.m", model) + table("tasks.sums", {"file": "sums.toml", "theta": 5.0}))

    def reply(self, body: Mapping[str, Any]) -> Fault:
        return answer(body, lambda number: self.loses(number, body["step"]))

    def run(self) -> str:
        """The folder of a failed run of the last commit."""
        out = str(self.folder / "out-run")
        assert main(["run", str(self.config), "--out", out, "--quiet"]) == 1
        self.capsys.readouterr()
        return out

    def command(self, *args: str) -> list[str]:
        where = ["--config", str(self.config), "--out", str(self.out)]
        return ["bisect", "--good", self.shas[0], *where, "--quiet", *args]

    def bisect(self, *args: str) -> int:
        return main(self.command(*args))

    def found(self, *args: str) -> dict[str, Any]:
        """What a search finds."""
        assert self.bisect("--json", *args) == 0
        return dict(json.loads(self.capsys.readouterr().out))

    def words(self, *args: str, code: int = 0) -> str:
        """What a search that goes on says, on one line."""
        self.capsys.readouterr()
        assert self.bisect("--resume", *args) == code
        return " ".join("".join(self.capsys.readouterr()).split())


@pytest.fixture
def repository(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> Repository:
    return Repository(tmp_path, server, capsys)


def test_the_commit_that_lost_the_answers_is_named_in_few_questions(repository: Repository) -> None:
    repository.of(20, lambda i, step: step >= 13 and luck(i) < 0.15)
    before = (repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD"))
    found = repository.found()
    (culprit,) = found["culprits"]
    assert culprit["commit"]["sha"] == repository.shas[13]
    assert culprit["probability"] >= 0.95
    assert culprit["lost"] == culprit["of"] == found["lost"]
    assert found["questions"] < found["commits"] * found["lost"]
    assert (repository.git("status", "--porcelain"), repository.git("rev-parse", "HEAD")) == before
    assert repository.git("worktree", "list").count("\n") == 0
    log = repository.out / "bisect.log"
    assert f"# first bad commit: [{repository.shas[13]}] step 13" in log.read_text()
    repository.git("bisect", "replay", str(log))
    assert repository.shas[13] in repository.git("bisect", "log")
    repository.git("bisect", "reset")
    asked = len(repository.server.seen)
    assert f"{repository.shas[13][:9]} step 13 did it" in repository.words()
    assert len(repository.server.seen) == asked  # nothing is left to ask


def test_a_run_of_the_bad_commit_saves_the_search_for_lost_answers(repository: Repository) -> None:
    """It stopped at p = 0.004, as one false alarm in 13 does: the bad commit is asked for more, and then searched."""
    repository.of(9, lambda i, step: step >= 2 and luck(i) < 0.15)
    found = repository.found("--run", repository.run())
    assert [each["commit"]["sha"] for each in found["culprits"]] == [repository.shas[2]]
    assert found["questions"] < 2 * found["commits"] * found["lost"]  # every commit asked as many gained answers, too


def test_a_run_whose_loss_does_not_come_again_blames_no_commit(repository: Repository) -> None:
    """Lost by chance, or a run of another commit: what it says of the bad one is not believed, but asked."""
    out = repository.of(5, lambda i, step: step >= 1 and luck(i) < 0.15).run()
    repository.loses = lambda _i, _step: False
    assert "lost answers is lost at" in repository.words("--run", out, code=2)


def test_commits_that_cannot_be_asked_are_skipped_and_bound_the_answer(repository: Repository) -> None:
    repository.broken = (4, 5, 6)
    repository.of(9, lambda i, step: step >= 6 and luck(i) < 0.2)
    found = repository.found()
    (culprit,) = found["culprits"]
    assert [commit["sha"] for commit in culprit["candidates"]] == repository.shas[4:8]
    assert {commit["subject"] for commit, _ in found["skipped"]} <= {"step 4", "step 5", "step 6"}
    assert "those between could not be asked" in repository.words()


def test_two_commits_that_share_the_loss_are_both_named(repository: Repository) -> None:
    def loses(i: int, step: int) -> bool:
        return (step >= 3 and luck(i) < 0.15) or (step >= 9 and luck(i, "second") < 0.15)

    out = repository.of(12, loses).run()
    found = repository.found("--run", out)
    assert [each["commit"]["subject"] for each in found["culprits"]] == ["step 3", "step 9"]
    assert "2 commits share the loss" in repository.words("--run", out)


def test_what_cannot_be_searched_is_refused_with_the_reason(repository: Repository) -> None:
    good, _, bad = repository.of(2, lambda _i, _step: False).shas
    for args, words in (
        (["--bad", good], "are the same commit"),
        (["--bad", "nowhere"], "no commit 'nowhere'"),
        (["--task", "summs"], "no task 'summs'"),
        ([], "lost 0; a search needs 3"),
        (["--good", bad, "--bad", good], "is not an ancestor of"),
    ):
        assert words in repository.words(*args, code=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "least"),
    [
        (Case(64, 1319, (4.0,)), 0.98),
        (Case(64, 1319, (8.0,), (0.05,) * 5), 0.8),
        (Case(64, 1319, (5.0, 4.0), (0.02,) * 2), 0.8),
        (Case(64, 1319, (4.0,), (0.02,) * 2, 0.04), 0.9),
        (Case(64, 1319, (), (0.02,) * 5), 0.0),
        (Case(64, 1319, (0.5,), (0.03,) * 3), 0.0),
    ],
)
def test_commits_that_lose_answers_are_named_and_those_that_flip_them_either_way_are_not(
    case: Case, least: float
) -> None:
    """`python -m benchmarks.culprit` has more; every gate failed, and some by a false alarm."""
    dice, runs, right, wrong, done = random.Random(11), 150, 0, 0, 0
    while done < runs:
        history = History(dice, case)
        if history.p_value <= 0.05:
            _, named, _, _ = search(history)
            done, right, wrong = done + 1, right + (history.right <= named), wrong + bool(named - history.right)
    assert wrong <= 0.05 * runs
    assert right >= least * runs


def test_a_search_whose_last_line_was_torn_loses_no_line_after_it(repository: Repository) -> None:
    repository.of(4, lambda i, step: step >= 2 and luck(i) < 0.15)
    assert repository.bisect() == 0
    answers = repository.out / "answers.jsonl"
    whole = answers.read_bytes().splitlines(keepends=True)
    answers.write_bytes(whole[0] + whole[1][:40])
    assert repository.bisect("--resume") == 0
    visits = [json.loads(line)["visit"] for line in answers.read_bytes().splitlines()]
    assert visits == list(range(1, len(whole) + 1))


def test_answers_of_another_search_are_never_taken_for_those_of_this_one(repository: Repository) -> None:
    other = repository.folder / "other.toml"
    options = {"base_url": repository.server.url}
    repository.write(other, {"engine": "openai", "model": "another", "options": options})
    repository.of(2, lambda i, step: step >= 1 and luck(i) < 0.15)
    assert repository.bisect() == 0
    before = (repository.out / "answers.jsonl").read_bytes()
    for option in (["--serve", "another {port}"], ["--config", str(other)]):
        assert "holds answers of another search" in repository.words(*option, code=2)
        assert (repository.out / "answers.jsonl").read_bytes() == before


def test_a_second_search_in_a_folder_is_refused_while_one_goes_on(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    command = repository.of(3, lambda i, step: step >= 2 and luck(i) < 0.15).command()
    server, before = repository.server, len(repository.server.seen)
    server.hold_after = before + 8
    with Launched(*command) as first:
        first.wait_until(lambda: len(server.seen) > before and any(repository.out.glob("0001-*/*/*.jsonl")))
        assert main(command) == 2
        assert "another run writes into it" in capsys.readouterr().err
        server.hold_after = None
        assert first.wait(timeout=120) == 0

"""Rules are read from the event's commits, whatever a job did with its workspace and wherever it checked out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

import pytest

from tests.attacks.chain import link
from tests.attacks.runner_jobs import Checkout, Jobs, move_to, replace
from tests.support.gates import Project, questions, right_but, write_task
from tests.support.runner import commit, git, posix_tools

pytestmark = posix_tools
REPO = Checkout("repo", "repo/accuracy.toml")


def nothing(_: Project) -> None:
    return


# --- a workspace that an earlier step of the job rewrote ---


def undo_and_commit(place: Path) -> None:
    """Write and commit accuracy.toml as the base has it, so that nothing seems to be changed."""
    path = place / "accuracy.toml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "alpha" not in line))
    commit(place, "what the job made of it")


def test_a_loosening_is_listed_though_the_job_undid_and_committed_it(jobs: Jobs) -> None:
    jobs.begin()
    ended = jobs.pull(lambda head: head.write(alpha=1e-9), Checkout(step=undo_and_commit))
    assert ended.rules.get("gate.alpha") == "loosening", ended
    assert not ended.is_green


def rewrite(place: Path) -> None:
    """Rewrite task, rows, gate and references."""
    write_task(place, "sums", questions(3), metric="rouge_l")
    with (place / "accuracy.toml").open("a") as rules:
        rules.write('on_inconclusive = "warn"\nalpha = 1e-9\n')
    scores = place / "references/m/sums.scores.csv"
    scores.write_text(scores.read_text().replace(",100\n", ",0\n"))


def test_no_rule_file_of_the_workspace_turns_a_regression_into_a_pass(jobs: Jobs) -> None:
    jobs.begin()
    ended = jobs.pull(nothing, Checkout(step=rewrite), wrong=20)
    assert (ended.run, ended.job, ended.conclusion) == (1, 1, "failure"), ended
    assert ended.guard["state"] == "unchanged"


def test_what_a_job_makes_for_its_model_is_there(jobs: Jobs) -> None:
    """Quantised weights, or a build: no commit holds them."""

    def without_answers(head: Project) -> None:
        head.scores.unlink()
        (head.folder / ".gitignore").write_text("build\n")
        head.models["m"]["model"] = "build/m.jsonl"
        head.write()

    def build(place: Path) -> None:
        (place / "build").mkdir()
        jobs.answer(place / "build/m.jsonl", 20)

    jobs.begin()
    ended = jobs.pull(without_answers, changed(REPO, of_head=True, step=build))
    assert (ended.run, ended.job, ended.conclusion) == (1, 1, "failure"), ended.said


def test_no_rule_names_what_a_job_left_for_its_models(jobs: Jobs) -> None:
    """Nor by an absolute path, which a judge's weights may have."""
    jobs.begin()
    with jobs.project.config.open("a") as rules:
        rules.write('[judges.strict]\nengine = "llamacpp"\nmodel = "PLACE/weights.gguf"\n')
    sha = commit(jobs.server, "a judge")
    runner = jobs.checked_out(sha)
    assert runner.prepare(ACCGATE_BASE_SHA=sha).code == 0
    (runner.work / "workspace/weights.gguf").touch()
    for tree in ("head", "base"):
        path = runner.work / tree / "accuracy.toml"
        path.write_text(path.read_text().replace("PLACE", str(runner.work / "workspace")))
    code, said = jobs.evaluated(runner, ACCGATE_BASE_SHA=sha)
    assert code == 2
    assert "an absolute path into" in said


# --- links in the base ---


LINKS = [
    ("accuracy.toml", "the head"), ("accuracy.toml", "nothing within"), ("references", "the head"),
    ("references/m", "nowhere"), ("sums.toml", "outside"), ("sums.jsonl", "absolute"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "target"), LINKS)
def test_a_link_that_the_base_has_in_a_rules_place_is_refused_and_no_absence(
    jobs: Jobs, name: str, target: str
) -> None:
    """Were it absent, there would be no rules, no reference or no task: nothing that could fail."""
    way = "../" * (name.count("/") + 1)
    targets = {
        "outside": f"{way}..", "absolute": "/etc/hostname", "nowhere": f"{way}gone", "the head": f"{way}head/{name}",
        "nothing within": "gone",
    }  # fmt: skip
    jobs.begin(lambda project: link(project.folder / name, targets[target]))

    def lower(head: Project) -> None:
        """The head has plain files again, with a reference that the worse answers match."""
        link(head.folder / name, "x")
        (head.folder / name).unlink()
        Project.write(head)
        write_task(head.folder, "sums", questions(60))
        shutil.rmtree(head.store, ignore_errors=True)
        if head.store.is_symlink():
            head.store.unlink()
        assert head.record(right_but(20, 60)) == 0
        shutil.rmtree(head.folder / "record-out-0")

    ended = jobs.pull(lower, wrong=20)
    assert (ended.run, ended.job, ended.conclusion) == (2, 2, "failure"), ended.said
    assert not ended.guard["holds"]
    base = git(jobs.server, "rev-parse", "main")[:12]
    is_told = re.search(f"base commit {base} lead out .* the first is {name};", ended.said) is not None
    assert is_told == (target != "nothing within")
    assert name.rpartition("/")[2] in ended.said.replace(f"the first is {name}", "")


# --- where a checkout lies, and where the rules lie in it ---


def in_a_folder(project: Project) -> None:
    move_to(project, "gates")


@pytest.mark.parametrize(
    ("begin", "how", "place"),
    [
        (nothing, Checkout("deep/er", "./deep/er/accuracy.toml"), "."),
        (in_a_folder, Checkout("gates", "gates/gates/accuracy.toml"), "gates"),
    ],
    ids=["a deeper path", "a path and a folder of one name"],
)
def test_a_pull_request_is_held_against_its_base_wherever_the_checkout_and_the_config_lie(
    jobs: Jobs, begin: Callable[[Project], object], how: Checkout, place: str
) -> None:
    jobs.begin(begin)
    worse = jobs.pull(nothing, how, wrong=20)
    assert (worse.run, worse.job, worse.conclusion) == (1, 1, "failure"), worse.said

    def looser(head: Project) -> None:
        path = head.folder / place / "accuracy.toml"
        path.write_text(path.read_text().replace("[gate]", "[gate]\nalpha = 1e-9"))

    ended = jobs.pull(looser, how)
    assert ended.rules == {"gate.alpha": "loosening"}
    assert not ended.is_green


def copy_up(head: Project) -> None:
    shutil.copytree(head.folder / "gates", head.folder, dirs_exist_ok=True)


IN_GATES = Checkout(config="gates/accuracy.toml")
MISPLACED = {
    "a repository within another": (
        in_a_folder, nothing, changed(IN_GATES, step=lambda place: git(place / "gates", "init", "--quiet")),
        "one within the other (./ and ./gates/)",
    ),
    "moved deeper, where a copy takes the rules' path": (
        in_a_folder, copy_up, changed(IN_GATES, step=lambda place: (place / ".git").rename(place / "gates/.git")),
        "the base commit has the file gates/accuracy.toml too",
    ),
    "without its git folder": (
        nothing, nothing, changed(REPO, step=lambda place: shutil.rmtree(place / ".git")),
        "no checkout of a repository holds repo/accuracy.toml",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", MISPLACED)
def test_a_checkout_that_is_not_the_one_of_the_rules_is_refused_before_anything_is_read(jobs: Jobs, how: str) -> None:
    begin, change, checkout, words = MISPLACED[how]
    jobs.begin(begin)
    ended = jobs.pull(change, checkout, wrong=20)
    assert (ended.run, ended.conclusion) == (3, "failure")
    assert words in ended.said


# --- several configs, and configs that move ---


def copy(head: Project, name: str) -> None:
    """Add a second gate in a folder of its own."""
    (head.folder / name).mkdir()
    for path in ("accuracy.toml", "sums.toml", "sums.jsonl", "m.jsonl", "references"):
        source, target = head.folder / path, head.folder / name / path
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)


def test_a_second_gate_of_a_repository_begins_as_the_first_did(jobs: Jobs) -> None:
    jobs.begin()
    second = Checkout(config="more/accuracy.toml")
    assert jobs.pull(lambda head: copy(head, "more"), second).conclusion == "neutral"
    jobs.merge()
    assert jobs.pull(nothing, second, wrong=20).run == 1


@pytest.mark.parametrize("name", ["gate.toml", "gates/accuracy.toml"])
def test_rules_that_move_are_not_the_first_of_a_repository(jobs: Jobs, name: str) -> None:
    def move(head: Project) -> None:
        head.write(alpha=1e-9)
        if "/" in name:
            move_to(head, "gates")
        else:
            head.config.rename(head.folder / name)

    jobs.begin()
    ended = jobs.pull(move, Checkout(config=name), wrong=20)
    assert (ended.run, ended.job, ended.conclusion) == (2, 2, "failure"), ended
    assert "accuracy.toml: the pull request takes" in ended.said
    assert ended.guard["state"] == "unreadable"


def test_rules_move_in_two_pull_requests(jobs: Jobs) -> None:
    """First a copy, then the old ones go: each time the rules that are there decide."""

    def add(head: Project) -> None:
        shutil.copy(head.config, head.folder / "gate.toml")

    jobs.begin()
    assert jobs.pull(add).conclusion == "success"
    jobs.merge()
    assert jobs.pull(lambda head: head.config.unlink(), Checkout(config="gate.toml")).conclusion == "success"
    assert jobs.pull(lambda head: head.config.unlink(), Checkout(config="gate.toml"), wrong=20).run == 1


# --- files that a commit names and does not hold ---


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n".format("a" * 64)


def test_weights_that_git_lfs_keeps_are_those_of_the_checkout(jobs: Jobs) -> None:
    """With `lfs: true` actions/checkout has put them there."""
    jobs.begin()
    smudged = Checkout(step=lambda place: jobs.answer(place / "m.jsonl", 20))
    assert jobs.pull(lambda head: replace(head.scores, POINTER), smudged).run == 1


def test_a_blob_that_nobody_has_any_more_is_an_error(jobs: Jobs) -> None:
    jobs.begin()
    name = git(jobs.server, "rev-parse", "main:references/m/sums.scores.csv")

    def lose(place: Path) -> None:
        for folder in (place, jobs.server):
            for file in (folder / ".git/objects").rglob("*"):
                if file.is_file() and (file.suffix in (".pack", ".idx") or file.parent.name + file.name == name):
                    file.unlink()

    ended = jobs.pull(nothing, Checkout(step=lose), wrong=20)
    assert (ended.run, ended.conclusion) == (3, "failure")
    assert "cannot be fetched whole" in ended.said

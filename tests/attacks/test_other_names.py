"""Chains of pull requests that give a rule another name, or a model another reference, before the rule is changed."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.attacks.chain import Chain, link
from tests.attacks.test_rule_files import set_task
from tests.support.gates import Project, questions, right_but, write_task
from tests.support.runner import commit, git


def another(project: Project, name: str) -> None:
    """Give the task's file another name, with its dataset beside it."""
    path = project.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".." in name:
        (path.parent.parent / "file").touch()  # git keeps no empty folder
    for source, target in (("sums.toml", path), ("sums.jsonl", path.parent / "sums.jsonl")):
        if not target.exists():
            shutil.copy(project.folder / source, target)
    set_task(project, file=name)


def ease(project: Project, name: str) -> None:
    path = project.folder / name
    path.write_text(path.read_text().replace("numeric_match", "rouge_l"))
    assert "rouge_l" in path.read_text()


NAMES = {
    "a way round": "sub/../sums.toml",
    "other case": "SUMS.toml",
    "decomposed": unicodedata.normalize("NFD", "sümś.toml"),
    "a space at the end": "sums.toml ",
    "a folder of its own": "task/sums.toml",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=list(NAMES))
def test_under_no_other_name_does_a_rule_change_unseen(chain: Chain, name: str) -> None:
    """The first pull request only gives the file another name; the second changes what is there."""
    chain.begin()
    chain.pull(lambda head: another(head, name))
    chain.merge()
    second = chain.pull(lambda head: ease(head, name))
    assert not second.is_green
    assert "loosening" in second.rules.values() or second.run == 2, second


def test_a_link_that_is_turned_to_a_prepared_file_is_a_changed_rule(chain: Chain) -> None:
    def begin(project: Project) -> None:
        names = ("sums.toml", "one.toml", "two.toml", "three.toml")
        for target, name in pairwise(names):
            link(project.folder / name, target)
        set_task(project, file=names[-1])

    def prepare(head: Project) -> None:
        (head.folder / "easy").mkdir()
        write_task(head.folder / "easy", "sums", questions(60), metric="rouge_l")

    chain.begin(begin)
    assert chain.pull(prepare).is_green  # no rule names it
    chain.merge()
    second = chain.pull(lambda head: link(head.folder / "one.toml", "easy/sums.toml"))
    assert not second.is_green
    assert "loosening" in second.rules.values() or second.run == 2, second


def record_beside(head: Project, change: Callable[[Project], object], undo: Callable[[Project], object]) -> None:
    """Record a reference of 30 wrong answers that no model is compared with yet."""
    change(head)
    assert head.record(right_but(30, 60)) == 0
    undo(head)
    head.answer(right_but(0, 60))
    for rest in head.folder.glob("record-out-*"):
        shutil.rmtree(rest)


def move(head: Project) -> None:
    shutil.rmtree(head.store)
    (head.folder / "spare").rename(head.store)


def test_a_store_that_is_swapped_for_a_prepared_one_is_a_lowered_reference(chain: Chain) -> None:
    def spare(head: Project) -> None:
        record_beside(head, lambda p: p.write(references="spare"), lambda p: p.write(references="references"))

    chain.begin(lambda project: project.write(references="references"))
    assert chain.pull(spare).is_green  # no rule names it
    chain.merge()
    swaps: tuple[Callable[[Project], object], ...] = (
        lambda head: link(head.store, "spare"),
        lambda head: head.write(references="spare"),
        move,
    )
    for swap in swaps:
        assert not chain.pull(swap, wrong=30).is_green


def test_rules_that_go_in_one_pull_request_do_not_come_back_looser_as_a_beginning(chain: Chain) -> None:
    """Without accuracy.toml on the base a run is a bootstrap, which is neutral: so the removal itself must not pass."""
    chain.begin()
    removed = chain.pull(lambda head: head.config.unlink())
    assert (removed.is_green, removed.conclusion) == (False, "failure")


def test_a_store_is_not_named_by_a_path_that_leads_elsewhere_once_its_dots_are_gone(chain: Chain) -> None:
    """Through the link the path ends in one folder; without `link/..`, as references are read, in another."""

    def by_two_names(head: Project) -> None:
        (head.folder / "deep/er").mkdir(parents=True)
        (head.folder / "deep/er/file").touch()  # git keeps no empty folder
        link(head.folder / "link", "deep/er")
        shutil.copytree(head.store, head.folder / "deep/references")
        head.write(references="link/../references")

    chain.begin()
    ended = chain.pull(by_two_names)
    assert (ended.run, ended.is_green) == (2, False)
    assert "through a link and back" in ended.said


@pytest.mark.parametrize("place", ["references", "references/m"])
def test_references_in_a_submodule_are_not_brought_by_the_pull_request(chain: Chain, place: str) -> None:
    """actions/checkout reads submodules where it is told to; the tree of the base has none of their files."""
    chain.begin()
    store = chain.folder / "store"
    shutil.move(chain.repository / place, store)
    commit(store)
    commit(chain.repository)
    git(chain.repository, "submodule", "--quiet", "add", str(store), place)
    commit(chain.repository)

    def bring(head: Project) -> None:
        git(head.folder, "submodule", "--quiet", "update", "--init")
        for file in sorted((head.folder / "references/m").glob("sums.*")):
            file.unlink()
        head.recorded(right_but(40, 60))

    ended = chain.pull(bring, wrong=40)
    assert not ended.is_green
    assert ended.run == 2
    assert "references are unknown" in ended.said

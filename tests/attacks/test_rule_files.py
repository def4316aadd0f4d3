"""A file that rules name lies in its own repository, whatever the path is called: else nobody sees it change."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.base import within_tree
from accgate.planning.design import task_source
from accgate.tasks.rows import Source
from accgate.tasks.task import build_task
from tests.attacks.chain import Chain, link
from tests.support.cases import each
from tests.support.gates import Project, questions, write_lines, write_task
from tests.support.loading import load_task
from tests.support.runner import commit, git
from tests.support.trees import effects, trees

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")


def set_task(project: Project, **keys: object) -> None:
    project.tasks["sums"] |= keys
    project.write()


def with_parts(project: Project) -> None:
    """A project whose rules name a file of every kind."""
    rows = [{**row, "picture": "shown.png"} for row in questions(60)]
    (project.folder / "shown.png").write_bytes(PIXEL)
    (project.folder / "mine.py").write_text("def score(answer, target):\n    return 100.0 * (answer == target)\n")
    write_lines(project.folder / "solved.jsonl", questions(2, start=900))
    write_task(project.folder, "sums", rows, metric="mine.py:score", images=["picture"], few_shot__file="solved.jsonl")
    (project.folder / "comment.j2").write_text('{% extends "comment.md.j2" %}')
    add(project, '[report]\ntemplate = "comment.j2"\n')


# --- the chain of the issue: three pull requests, none of which is seen ---


def test_a_task_file_in_the_other_checkout_never_judges_in_a_chain_of_three_pull_requests(chain: Chain) -> None:
    chain.begin()
    first = chain.pull(lambda head: set_task(head, file="../base/sums.toml"))
    assert not first.is_green
    assert first.run == 2
    place = "accuracy.toml:9: tasks.sums.file: is '../base/sums.toml', which leads out"
    assert place in first.said
    assert first.guard["state"] == "unreadable"
    chain.merge()  # by somebody who may push past the check
    second = chain.pull(lambda head: write_task(head.folder, "sums", questions(60), metric="rouge_l"))
    assert not second.is_green
    chain.merge()
    third = chain.pull(lambda head: set_task(head, file="sums.toml"), wrong=10)
    assert not third.is_green


def test_a_local_user_may_keep_references_beside_the_repository(chain: Chain, tmp_path: Path) -> None:
    """Without a base nobody is judged by them but who runs it."""
    chain.begin()
    project = chain.checkout("mine")
    shutil.move(project.store, tmp_path / "shared")
    project.write(references="../shared")
    run = ["run", str(project.config), "--out", str(tmp_path / "o"), "--quiet"]
    assert main(run) == 0
    assert main([*run, "--tree", str(project.folder)]) == 2


# --- every key that names a file, by a path ---


def define(head: Project, **keys: object) -> None:
    write_task(head.folder, "sums", questions(60), **keys)


def add(head: Project, text: str) -> None:
    with head.config.open("a") as file:
        file.write(text)


def pictured(head: Project, name: str) -> None:
    write_task(head.folder, "sums", [{**row, "picture": name} for row in questions(60)], images=["picture"])


def by_lm_evals_folder(head: Project, name: str) -> None:
    head.tasks["other"] = {"lm_eval": "own", "options": {"include_path": name}}
    head.write()


# Each key that names a file or folder, and one that the base has there.
KEYS: dict[str, tuple[str, Callable[[Project, str], None]]] = {
    "file": ("sums.toml", lambda head, name: set_task(head, file=name)),
    "dataset": ("sums.jsonl", lambda head, name: set_task(head, dataset=name)),
    "few_shot_dataset": ("sums.jsonl", lambda head, name: set_task(head, few_shot_dataset=name)),
    "a definition's dataset": ("sums.jsonl", lambda head, name: define(head, dataset__file=name)),
    "a definition's examples": ("sums.jsonl", lambda head, name: define(head, few_shot__file=name)),
    "a metric": ("mine.py", lambda head, name: define(head, metric=f"{name}:score")),
    "a picture": ("shown.png", pictured),
    "the template": ("comment.j2", lambda head, name: add(head, f'[report]\ntemplate = "{name}"\n')),
    "the references": ("references", lambda head, name: head.write(references=name)),
    "the weights of a judge": (
        "sums.toml", lambda head, name: add(head, f'[judges.strict]\nengine = "llamacpp"\nmodel = "{name}"\n'),
    ),
    "the folder of lm-eval": ("", by_lm_evals_folder),
}  # fmt: skip


@pytest.fixture
def pair(chain: Chain) -> tuple[Project, Project]:
    """The checkouts of a base and a head that hold files of every kind, which some rule could name."""
    for name, content in (("mine.py", b"def score(answer, target):\n    return 1.0\n"), ("shown.png", PIXEL)):
        (chain.project.folder / name).write_bytes(content)
    (chain.project.folder / "comment.j2").touch()
    chain.begin()
    return chain.checkout("base"), chain.checkout("head")


def refusals(pair: tuple[Project, Project], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the gate says as it refuses a pull request's rules, before anything is evaluated."""
    base, head = pair
    out = tmp_path / "out"
    capsys.readouterr()
    assert main(["run", str(head.config), "--base", str(base.config), "--out", str(out), "--quiet"]) == 2
    assert not list(out.glob("*/*.jsonl"))
    return capsys.readouterr().err


@each("key", KEYS)
def test_no_key_names_a_file_of_the_other_checkout(
    pair: tuple[Project, Project], tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    name, lead = KEYS[key]
    head = pair[1]
    before = {path: path.read_bytes() for path in head.folder.iterdir() if path.is_file()}
    for place, words in (("../base", "leads out of"), (pair[0].folder, "absolute path")):
        lead(head, f"{place}/{name}")
        said = refusals(pair, tmp_path, capsys)
        head.tasks, head.gate = {"sums": {"file": "sums.toml"}}, {"early_stopping": False}
        for path, content in before.items():
            path.write_bytes(content)
        assert words in said


def test_no_name_of_the_other_checkout_gets_round_that(
    pair: tuple[Project, Project], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, head = pair
    names = (
        f"../../{tmp_path.name}/base/sums.toml", "./../base/./sums.toml", "references/../../base/sums.toml",
        f"/proc/self/root{tmp_path}/base/sums.toml", "~/sums.toml",
    )  # fmt: skip
    monkeypatch.setenv("HOME", str(base.folder))
    for name in names:
        set_task(head, file=name)
        said = refusals(pair, tmp_path, capsys)
        assert "leads out of" in said or "an absolute path" in said, name
    set_task(head, file="references/../sums.toml")  # stays within at every step
    assert main(["run", str(head.config), "--base", str(base.config), "--out", str(tmp_path / "o")]) == 0
    set_task(base, file="../head/sums.toml")  # what was merged once must not judge later
    assert "accuracy.toml:" in refusals(pair, tmp_path, capsys)


# --- links ---


# The file that the task names, links of the head, and what is said of them.
LINKS: dict[str, tuple[str, dict[str, str], str]] = {
    "the references": ("sums.toml", {"references": "../base/references"}, "leads out"),
    "scores": (
        "sums.toml", {"references/m/sums.scores.csv": "../../../base/references/m/sums.scores.csv"}, "leads out"
    ),
    "the rules": ("sums.toml", {"accuracy.toml": "../base/accuracy.toml"}, "leads out"),
    "there and back": ("sums.toml", {"sums.toml": "../head/real.toml"}, "leads out"),
    "absolute": ("sums.toml", {"sums.toml": "HEAD/real.toml"}, "absolute path"),
    "a chain": ("one/sums.toml", {"one": "two", "two": "../base"}, "leads out"),
    "through a folder": ("up/again/base/sums.toml", {"up/again": "../.."}, "leads out"),
    "round": ("sums.toml", {"sums.jsonl": "other.jsonl", "other.jsonl": "sums.jsonl"}, "no file 'sums.jsonl'"),
}  # fmt: skip


@pytest.mark.parametrize("what", LINKS)
def test_no_link_leads_a_rule_out_or_hides_where_it_leads(
    pair: tuple[Project, Project], tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    file, links, words = LINKS[what]
    head = pair[1].folder
    shutil.copy(head / "sums.toml", head / "real.toml")
    set_task(pair[1], file=file)
    for name, end in links.items():
        link(head / name, end.replace("HEAD", str(head)))
    assert words in refusals(pair, tmp_path, capsys)


def test_a_definition_behind_a_link_names_files_from_where_it_is_read(
    pair: tuple[Project, Project], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`deep/link/..` is the folder above the link's end, not `deep`: from there `../base` leaves the repository."""
    head = pair[1].folder
    (head / "deep/er").mkdir(parents=True)
    link(head / "deep/er/link", "../../references")
    write_task(head, "sums", questions(60), dataset__file="../base/sums.jsonl")
    (head / "deep/base").mkdir()
    shutil.copy(head / "sums.jsonl", head / "deep/base/sums.jsonl")
    set_task(pair[1], file="deep/er/link/../sums.toml")
    assert "sums.toml:1: dataset.file: is '../base/sums.jsonl', which leads out of" in refusals(pair, tmp_path, capsys)


# --- checkouts in each other, and other places ---


def test_a_base_that_lies_within_the_heads_folder_is_another_checkout(
    chain: Chain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain.begin()
    head, base = chain.checkout("head"), chain.checkout("head/base")
    assert main(["run", str(head.config), "--base", str(base.config), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    for name in ("base/sums.toml", "./base/../base/sums.toml"):
        set_task(head, file=name)
        assert "leads into another checkout" in refusals((base, head), tmp_path, capsys)
    link(head.folder / "inner", "base")
    set_task(head, file="inner/sums.toml")
    assert "leads into another checkout" in refusals((base, head), tmp_path, capsys)


def test_a_gate_in_a_folder_may_use_its_whole_repository_and_no_more(
    chain: Chain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(chain.repository)
    gates = chain.repository / "gates"
    gates.mkdir(parents=True)
    project = Project(gates, n=60)
    for file in ("sums.toml", "sums.jsonl"):
        (gates / file).rename(chain.repository / file)
    project.tasks["sums"]["file"] = "../sums.toml"
    project.write()
    write_lines(project.scores, [{"id": i, "score": 100.0} for i in ids_at(chain.repository / "sums.toml")])
    assert project.record() == 0
    commit(chain.repository)
    for name in ("base", "head"):
        git(tmp_path, "clone", "--quiet", str(chain.repository), str(tmp_path / name))
    head = tmp_path / "head/gates/accuracy.toml"
    trees = (("--base", str(tmp_path / "base/gates/accuracy.toml")), ("--tree", str(tmp_path / "head")))
    for code, name in ((0, "../sums.toml"), (2, "../../base/sums.toml")):
        head.write_text(head.read_text().replace("../sums.toml", name))
        capsys.readouterr()
        for tree in trees:
            assert main(["run", str(head), *tree, "--out", str(tmp_path / "o"), "--quiet"]) == code
    assert capsys.readouterr().err.count("leads out of") == 2


def ids_at(file: Path, **keys: Any) -> list[str]:
    return [sample.id for sample in load_task("sums", file=file, **keys).samples]


def test_a_tree_that_is_not_around_the_config_is_bad_input(
    chain: Chain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain.begin()
    for tree in ("empty", "nowhere"):
        arguments = [str(chain.project.config), "--tree", str(tmp_path / tree), "--out", str(tmp_path / "o")]
        assert main(["run", *arguments]) == 2
        assert "not a folder around" in capsys.readouterr().err


def test_a_bootstrap_may_not_bring_rules_outside_of_its_repository(chain: Chain) -> None:
    """Nothing decides yet, but the next pull request is judged by what this one brings."""
    for file in chain.repository.iterdir():
        file.unlink()
    (chain.repository / "README").touch()
    commit(chain.repository)
    base, head = chain.checkout("base"), chain.checkout("head")
    Project(head.folder, n=60)
    shutil.copy(head.folder / "sums.toml", chain.folder / "outside.toml")
    set_task(head, file="../outside.toml")
    assert main(["run", str(head.config), "--base", str(base.config), "--quiet"]) == 2


def test_a_picture_of_a_joined_row_stays_in_the_repository(tmp_path: Path) -> None:
    def join(project: Project, name: str = "shown.png") -> None:
        rows = [{"q": row["q"], "picture": name} for row in questions(60)]
        write_lines(project.folder / "shown.jsonl", rows)

    both = trees(tmp_path, n=60)
    for project in (both.base, both.head):
        (project.folder / "shown.png").write_bytes(PIXEL)
        join(project)
        define(project, images=["picture"], dataset__join={"file": "shown.jsonl", "on": "q"})
    (both.head.folder / "shown.png").write_bytes(PIXEL + b"another")
    assert effects(both.changes()) == {"tasks.sums: pictures": "loosening"}
    for name in ("../base/shown.png", "/etc/hostname"):
        join(both.head, name)
        with pytest.raises(BadInput, match="the picture"):
            within_tree(load_config(both.head.config), both.head.folder)


def test_a_row_of_the_hub_names_no_picture_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard does not load its rows, and would not see such a picture change."""
    rows = [{"q": "1?", "a": "1", "picture": "shown.png"}]
    monkeypatch.setattr("accgate.tasks.rows.hub_rows", lambda *_: rows)
    (tmp_path / "shown.png").write_bytes(PIXEL)
    project = Project(tmp_path, n=2)
    keys = 'dataset.hub = "org/rows"\nprompt = "{{ q }}"\ntarget = "{{ a }}"\nmetric = "contains"\n'
    (tmp_path / "sums.toml").write_text(f'{keys}images = ["picture"]\n')
    config = load_config(project.config)
    source = Source({}, 0)
    assert len(build_task("sums", task_source(config, "sums").definition, source).samples) == 1  # on one's own machine
    with pytest.raises(BadInput, match="only rows of a local"):
        build_task("sums", task_source(within_tree(config, tmp_path), "sums").definition, source)

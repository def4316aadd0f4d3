"""What a pull request changes of the ways a task is asked and scored: choices, judges, own functions, statistics."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.base import Selection, rule_sets_of, within_tree
from tests.support.gates import Project, questions, table, toml, write_lines, write_task
from tests.support.trees import Trees, effects, trees

RUBRIC = {"metric": "judge", "judge.rubric": "{{ prompt }} {{ reply }}"}


@pytest.fixture
def pair(tmp_path: Path) -> Trees:
    return trees(tmp_path)


def both(pair: Trees) -> tuple[Project, Project]:
    return pair.base, pair.head


def define(project: Project, **keys: Any) -> None:
    write_task(project.folder, rows=questions(20), **keys)


@pytest.mark.parametrize("key", ["dataset", "few_shot_dataset"])
def test_a_file_that_accuracy_toml_names_for_rows_counts_by_its_content(pair: Trees, key: str) -> None:
    for project in both(pair):
        write_lines(project.folder / "rows.jsonl", questions(20))
        project.tasks["sums"][key] = "rows.jsonl"
        project.write()
    assert pair.changes() == ()
    write_lines(pair.head.folder / "rows.jsonl", questions(19))
    assert effects(pair.changes()) == {f"tasks.sums.{key}": "loosening"}


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [("subset", "easy", ["easy", "hard"]), ("choose", {}, "letter"), ("run_code", False, True)],
)
def test_other_ways_to_ask_and_score_are_loosenings_both_ways(pair: Trees, key: str, before: Any, after: Any) -> None:
    for project, value in ((pair.base, before), (pair.head, after)):
        if value != {}:
            project.tasks["sums"][key] = value
        project.write()
    assert effects(pair.changes()) == effects(pair.back()) == {f"tasks.sums.{key}": "loosening"}


def add_judge(project: Project, **keys: Any) -> None:
    project.tasks["sums"]["judge"] = "strict"
    project.write()
    text = project.config.read_text()
    project.config.write_text(text + table("judges.strict", {"model": "toy", **keys}))


def test_a_judge_under_another_name_is_compared_by_what_it_is(pair: Trees) -> None:
    add_judge(pair.head)
    assert effects(pair.changes()) == {"tasks.sums.judge": "loosening"}
    add_judge(pair.base, sampling={"extra": {"a": 1, "b": 2}})
    for extra, listed in (
        ({"a": 1, "b": 2}, {}),
        ({"b": 2, "a": 1}, {"tasks.sums.judge": "loosening"}),
    ):  # as it is sent
        add_judge(pair.head, sampling={"extra": extra})
        text = pair.head.config.read_text()
        pair.head.config.write_text(text.replace('"strict"', '"other"').replace("[judges.strict", "[judges.other"))
        assert effects(pair.changes()) == effects(pair.back()) == listed


def test_the_judge_of_the_base_marks_a_pull_request(pair: Trees) -> None:
    for project in both(pair):
        define(project, **RUBRIC)
        project.tasks["sums"] |= {"judge": "strict", "reference": 80.0, "reference_num_samples": 20}
        project.write()
        write_lines(project.scores, [{"id": "a", "score": 100}])
    add_judge(pair.base)
    add_judge(pair.head, sampling={"temperature": 1.0})
    rules = rule_sets_of(load_config(pair.head.config), pair.base.config, Selection())
    assert rules is not None
    assert rules.enforced is not None
    assert rules.enforced.judges["strict"].sampling.temperature == 0.0


JUDGES: dict[str, tuple[dict[str, Any], str]] = {
    "a part of its weights": ({"engine": "llamacpp", "model": "j-00001-of-00002.gguf"}, "j-00002-of-00002.gguf"),
    "a name with a space": ({"options": {"serve": ["srv", "--template=of judges/t.jinja"]}}, "of judges/t.jinja"),
    "a file of arguments": ({"options": {"serve": ["srv", "@arguments.txt"]}}, "arguments.txt"),
    "a field of its requests": ({"sampling": {"extra": {"chat_template": "t.jinja"}}}, "t.jinja"),
    "a name after a letter": ({"options": {"serve": ["srv", "-mj.gguf"]}}, "j.gguf"),
}


@pytest.mark.parametrize("way", JUDGES)
def test_every_file_that_a_judge_names_is_a_rule(pair: Trees, way: str) -> None:
    keys, name = JUDGES[way]
    for project in both(pair):
        add_judge(project, **keys)
        for file in ("j-00001-of-00002.gguf", name):
            (project.folder / file).parent.mkdir(exist_ok=True)
            (project.folder / file).write_text("before")
    assert pair.changes() == ()
    (pair.head.folder / name).write_text("after")
    assert effects(pair.changes()) == {"judges.strict": "loosening"}


def test_code_of_a_judge_is_named_by_a_path_that_is_the_same_without_its_dots(pair: Trees) -> None:
    """The guard would compare judge.py, and Python run deep/judge.py."""
    for project in both(pair):
        add_judge(project, options={"serve": ["python", "link/../judge.py"]})
        (project.folder / "deep/er").mkdir(parents=True)
        (project.folder / "link").symlink_to("deep/er")
        for name in ("judge.py", "deep/judge.py"):
            (project.folder / name).write_text("mark = 1\n")
    (pair.head.folder / "deep/judge.py").write_text("mark = 5\n")
    with pytest.raises(BadInput, match="leads through a link and back"):
        pair.changes()


@pytest.mark.parametrize("linked", ["weights/template.jinja", "code/helper.py"])
def test_what_a_judge_uses_never_leads_into_the_pull_requests_files(pair: Trees, linked: str) -> None:
    """Both sides would read the head's file, and be the same."""
    for project in both(pair):
        add_judge(project, model="weights", options={"serve": ["python", "code/judge.py"]})
        for name in ("weights", "code"):
            (project.folder / name).mkdir()
        (project.folder / "code/judge.py").write_text("import helper\n")
        (project.folder / linked).symlink_to("../" * linked.count("/") + "../head/mine")
    (pair.head.folder / "mine").write_text("mine")
    with pytest.raises(BadInput, match=f"{linked}.*leads out of the repository"):
        pair.changes()


def test_task_files_that_lm_eval_includes_are_rules(pair: Trees) -> None:
    for project in both(pair):
        (project.folder / "own").mkdir()
        (project.folder / "own" / "t.yaml").write_text("task: t\n")
        project.tasks["sums"] = {"lm_eval": "t", "options": {"include_path": "own"}}
        project.write()
    assert pair.changes() == ()
    (pair.head.folder / "own" / "t.yaml").write_text("task: t\nnum_fewshot: 1\n")
    assert effects(pair.changes()) == {"tasks.sums.options.include_path": "loosening"}
    pair.head.tasks["sums"]["options"] = {"include_path": "own", "num_fewshot": 3}
    pair.head.write()
    assert "tasks.sums.options" in effects(pair.changes())


def test_a_picture_that_a_row_names_in_a_table_is_a_rule(pair: Trees) -> None:
    for project in both(pair):
        (project.folder / "shown.png").write_bytes(b"\x89PNG")
        rows = [{**row, "picture": {"bytes": None, "path": "shown.png"}} for row in questions(20)]
        write_task(project.folder, rows=rows, images=["picture"])
    assert pair.changes() == ()
    (pair.head.folder / "shown.png").write_bytes(b"\x89PNG another")
    (change,) = pair.changes()
    assert effects([change]) == {"tasks.sums: pictures": "loosening"}
    assert change.why == "pictures of the dataset changed: 1"
    shutil.copy(pair.base.folder / "shown.png", pair.head.folder)
    write_task(pair.head.folder, rows=rows[1:], images=["picture"])
    whys = [change.why for change in pair.changes()]
    assert whys == ["the dataset's content changed", "other rows name the dataset's pictures"]


@pytest.mark.parametrize("key", ["dataset", "dataset.join"])
def test_a_dataset_of_the_hub_reads_no_file_of_this_machine(
    pair: Trees, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader takes folders of a dataset's name, and paths in its options, whose content nobody compares."""
    project, here = pair.head, str(pair.head.folder / "sums.jsonl")
    plain = {"prompt": "{{ q }}", "target": "{{ a }}", "metric": "numeric_match"}
    own = {} if key == "dataset" else {"dataset.hub": "org/own", "dataset.join.on": "q", "dataset.join.split": "test"}
    monkeypatch.chdir(project.folder)
    (project.folder / "org/here").mkdir(parents=True)

    def check(hub: str, files: Any) -> None:
        options = {} if files is None else {f"{key}.options": {"data_files": files}}
        keys = {**plain, **own, f"{key}.hub": hub, **options}
        (project.folder / "sums.toml").write_text("".join(f"{name} = {toml(value)}\n" for name, value in keys.items()))
        within_tree(load_config(project.config), project.folder)

    check("org/sums", None)
    check("org/sums", {"test": ["data/*.jsonl"]})
    check("json", "hf://datasets/org/sums/rows.jsonl")
    paths = (here, f"file://{here}", f"LOCAL://{here}", f"zip://rows.jsonl::{here}", "../rows.jsonl", "~/rows.jsonl")
    for hub, files in (("org/here", None), ("json", {"test": ["**/*.jsonl"]}), *(("org/sums", path) for path in paths)):
        with pytest.raises(BadInput, match="a file or folder here; name files of the repository"):
            check(hub, files)
    project.tasks["sums"]["dataset"] = "sums.jsonl"  # then nothing is read from the hub
    project.write()
    within_tree(load_config(project.config), project.folder)

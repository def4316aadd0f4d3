"""Code of lm-eval's tasks is a rule: it consists of what the guard compares, the folder of include_path."""

import sqlite3
from pathlib import Path

import pytest

from accgate.config.config import Config, load_config
from accgate.errors import BadInput, CannotEvaluate
from accgate.guard.base import within_tree
from accgate.planning.design import task_source
from tests.attacks.test_rule_digests import write
from tests.support.gates import Project
from tests.support.trees import effects, trees

pytestmark = pytest.mark.interop
LM_EVAL = """
task: adding
custom_dataset: !function utils.rows
output_type: generate_until
test_split: test
doc_to_text: "{{q}}"
doc_to_target: !function utils.target
process_results: !function utils.score
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
LM_EVAL_CODE = """
import datasets, pathlib, sqlite3
def rows(**_):
    return {"test": datasets.Dataset.from_list([{"q": "1 + 1", "a": "2"}])}
def target(doc):
    return doc["a"]
def score(doc, results):
    base = sqlite3.connect(pathlib.Path(__file__).parents[1] / "lib/level")
    return {"exact_match": float(base.execute("select * from levels").fetchone()[0])}
"""


def test_code_of_lm_evals_tasks_opens_only_files_of_its_folder_or_declared_ones(tmp_path: Path) -> None:
    """The guard compares these: what lies elsewhere could change unseen, and every wrong answer be right."""
    pytest.importorskip("lm_eval")
    project = Project(tmp_path, n=2)
    write(project, {"own/adding.yaml": LM_EVAL, "own/utils.py": LM_EVAL_CODE, "lib/other": ""})
    with sqlite3.connect(tmp_path / "lib/level") as base:
        base.execute("create table levels (level int)")
        base.execute("insert into levels values (1)")

    def points(**options: object) -> float:
        options |= {"include_path": "own", "metric": "exact_match"}
        project.tasks = {"adding": {"lm_eval": "adding", "options": options}}
        project.write()
        task = task_source(within_tree(load_config(project.config), tmp_path), "adding").harness
        assert task is not None
        return task.points(task.samples[0], ["wrong"])

    with pytest.raises(BadInput, match=r'/lib/level: lm-eval.* opens this file.*files = \["lib/level"\] to'):
        points()
    assert points(files=["lib/level"]) == 100.0


def test_yaml_of_lm_eval_loads_no_rows_from_outside_of_its_folder(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    project = Project(tmp_path, n=2)
    rows = f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: 'file://{tmp_path}/sums.jsonl'}}}}\n"
    yaml = LM_EVAL.replace("custom_dataset: !function utils.rows\n", rows).replace("!function utils.target", '"{{a}}"')
    write(project, {"own/adding.yaml": yaml.replace("process_results: !function utils.score\n", "")})
    project.tasks = {"adding": {"lm_eval": "adding", "options": {"include_path": "own"}}}
    project.write()
    with pytest.raises((BadInput, CannotEvaluate), match=r"opens this file|cannot load its task"):
        task_source(within_tree(load_config(project.config), tmp_path), "adding")


def test_a_worse_mean_of_a_metric_of_which_less_is_better_is_a_loosening(tmp_path: Path) -> None:
    """The guard does not load lm-eval: what its task says of the direction must stand in accuracy.toml."""
    pytest.importorskip("lm_eval")
    pair = trees(tmp_path)
    yaml = LM_EVAL.replace("exact_match", "toxic").replace("better: true", "better: false")
    code = "import datasets\ndef rows(**_):\n    return {'test': datasets.Dataset.from_list([{'q': '1', 'a': '2'}])}\n"
    code += "def target(doc):\n    return doc['a']\ndef score(doc, results):\n    return {'toxic': 1.0}\n"
    options = {"include_path": "own", "metric": "toxic", "scale": 100}

    def define(project: Project, target: float, **more: object) -> Config:
        write(project, {"own/adding.yaml": yaml, "own/utils.py": code})
        project.tasks = {"adding": {"lm_eval": "adding", "options": options | more, "sigma": 50.0, "target": target}}
        project.write()
        return load_config(project.config)

    with pytest.raises(BadInput, match="write higher_is_better = false"):
        task_source(define(pair.base, 20.0), "adding")
    base = define(pair.base, 20.0, higher_is_better=False)
    directions = [task_source(base, "adding", loaded=loaded).definition.higher_is_better for loaded in (True, False)]
    assert directions == [False, False]
    define(pair.head, 90.0, higher_is_better=False)
    assert effects(pair.changes()) == {"tasks.adding.target": "loosening"}

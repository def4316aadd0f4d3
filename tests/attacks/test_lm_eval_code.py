"""Code of lm-eval's tasks is a rule: it consists of what the guard compares, the folder of include_path."""

from pathlib import Path

import pytest

from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.base import within_tree
from accgate.planning.design import task_source
from tests.attacks.test_rule_digests import write
from tests.gates import Project

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
import datasets, pathlib
ROOT = pathlib.Path(__file__).parents[1]
def level(file):
    return float((ROOT / file).read_text())
def rows(**_):
    return {"test": datasets.Dataset.from_list([{"q": "1 + 1", "a": "2", "least": level(AS_ROWS)}])}
def target(doc):
    return f"{doc['a']}{level(AS_TARGET):.0f}"
def score(doc, results):
    return {"exact_match": max(level(AS_SCORE), float(results[0] == doc["a"]))}
"""


@pytest.mark.parametrize("when", ["AS_ROWS", "AS_TARGET", "AS_SCORE"])
def test_code_of_lm_evals_tasks_opens_only_files_of_its_folder(tmp_path: Path, when: str) -> None:
    """The guard compares that folder: what lies elsewhere could change unseen, and every wrong answer be right."""
    pytest.importorskip("lm_eval")
    names = dict.fromkeys(("AS_ROWS", "AS_TARGET", "AS_SCORE"), "own/level")
    project = Project(tmp_path, n=2)
    project.tasks = {"adding": {"lm_eval": "adding", "options": {"include_path": "own", "metric": "exact_match"}}}
    project.write()

    def points() -> float:
        code = LM_EVAL_CODE
        for name, file in names.items():
            code = code.replace(name, repr(file))
        write(project, {"own/adding.yaml": LM_EVAL, "own/utils.py": code, "own/level": "0", "lib/level": "1"})
        task = task_source(within_tree(load_config(project.config), tmp_path), "adding").harness
        assert task is not None
        return task.points(task.samples[0], ["wrong"])

    assert points() == 0.0
    names[when] = "lib/level"
    with pytest.raises(BadInput, match="the task's code opens this file, which is not part of the task"):
        points()

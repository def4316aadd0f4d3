"""What planning from records needs: no package that only scoring uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate import metrics
from accgate.config.config import load_config
from accgate.errors import AccgateError
from accgate.metrics.longbench import _jieba
from accgate.metrics.tokens import _mecab, _porter
from accgate.planning.checks import plan_checks
from tests.support.cases import each
from tests.support.gates import Project, questions, write_task

SCORING = (
    "datasets", "emoji", "jieba", "jiwer", "jsonschema", "langdetect", "lm_eval", "math_verify", "MeCab", "nltk",
    "nltk.stem.porter", "pandas", "pyarrow", "sacrebleu", "sacrebleu.tokenizers", "syllapy", "xllamacpp",
)  # fmt: skip
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "bleu": ("bleu", {}),
    "bleu by Japanese words": ("bleu", {"tokenize": "ja-mecab"}),
    "word errors": ("word_error_rate", {}),
    "Chinese F1": ("longbench_f1_zh", {}),
    "a schema": ("json_schema", {"formats": True}),
    "mathematics": ("math", {"timeout": 9.0}),
    "stems": ("rouge_2_recall", {"stem": True}),
    "Japanese sentences": ("rouge_lsum", {"tokenizer": "ja"}),
    "instructions": ("instruction_following", {"strict": False}),
    "instructions of IFBench": ("ifbench", {"level": "instruction"}),
    "code with a package": ("code_tests", {"packages": ["no-such-package"]}),
}


@pytest.fixture
def _core_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment with the core packages alone."""
    for name in SCORING:
        monkeypatch.setitem(sys.modules, name, None)
    for loader in (_jieba, _mecab, _porter):
        loader.cache_clear()
    yield
    for loader in (_jieba, _mecab, _porter):
        loader.cache_clear()


@each("case", CASES)
@pytest.mark.usefixtures("_core_alone")
def test_a_metric_is_described_without_its_packages_and_scores_nothing(case: str) -> None:
    name, options = CASES[case]
    assert metrics.describe(name, **options).name == name
    with pytest.raises(ImportError, match=r"pip install|not installed|nltk.downloader"):
        metrics.get(name, **options)


def project_of_all(folder: Path) -> Project:
    """A project with a task for each case, and a reference's mean."""
    names = [f"t{number}" for number in range(len(CASES))]
    project = Project(folder, tasks=names, n=20, reference=50.0, reference_num_samples=400, run_code=True)
    for task, (metric, options) in zip(names, CASES.values(), strict=True):
        target = "<<answer>>\nassert f() == {{ a }}" if metric == "code_tests" else "{{ a }}"
        write_task(folder, task, questions(20), metric=metric, metric_options=options, target=target)
    return project


@pytest.mark.usefixtures("_core_alone")
def test_a_run_is_planned_from_its_records_without_any_package_that_scores(tmp_path: Path) -> None:
    config = load_config(project_of_all(tmp_path).config)
    assert len(plan_checks(config, stored=True)) == len(CASES)
    with pytest.raises(AccgateError, match="pip install"):
        plan_checks(config)

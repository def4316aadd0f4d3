"""Logs that lm-eval and Inspect write themselves, without a model: a folder of many tasks, epochs in every way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.interop.inspect_logs import import_inspect
from accgate.interop.task_log import Choice
from accgate.records.file import read_records
from tests.interop.test_same_as import TWINS, VERSION, folder, their_name  # noqa: F401 a fixture
from tests.real.test_interop import LM_EVAL, inspect_installed
from tests.support.cases import refusal

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]
REDUCERS = ("mean", "mode", "median", "max", "at_least_2", "pass_at_2", "pass_k_2", "majority")
INSPECT = """
import json, random, sys
from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

@scorer(metrics=[accuracy()])
def letters():
    async def score(state, target):
        return Score(value=random.Random(f"{state.sample_id} {state.epoch}").choice("CCPIN"), answer="x")
    return score

@solver
def fixed():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("m", f"reply {state.epoch}")
        return state
    return solve

means = {}
samples = [Sample(id=i + 1, input=f"Question {i}?", target="x") for i in range(10)]
for reducers in (*([name] for name in sys.argv[1:]), ["max", "mode"]):
    name = "and".join(reducers)
    task = Task(MemoryDataset(samples), solver=fixed(), scorer=letters(), epochs=Epochs(5, reducers), name=name)
    for form in ("eval", "json"):
        log = eval(task, model="mockllm/model", log_dir=form, log_format=form, display="none")[0]
        means[name] = [score.metrics["accuracy"].value for score in log.results.scores]
print(json.dumps(means))
"""


def run(command: list[str], where: Path, **variables: str) -> str:
    """What a command printed, which must end well."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HOME": str(where), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, cwd=where, env=offline | variables, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    return done.stdout


def test_a_folder_of_lm_eval_s_own_logs_imports_every_task_with_one_score(
    folder: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["gsm8k", "arc_easy", "mmlu by likelihood", "truthfulqa_mc1"]
    tasks = ",".join(map(their_name, names))
    command = [sys.executable, "-c", LM_EVAL, "--model", "dummy", "--tasks", tasks, "--include_path", str(folder)]
    run([*command, "--log_samples", "--output_path", "log"], tmp_path)
    (path,) = tmp_path.rglob("results_*.json")
    results = json.loads(path.read_bytes())
    assert results["lm_eval_version"] == VERSION
    out = tmp_path / "out"
    command = ["import", "lm-eval", str(tmp_path / "log"), "--model", "m", "--out", str(out)]
    assert main(command) == 2  # gsm8k has two filters, arc_easy two metrics
    told = capsys.readouterr()
    assert "left out 2 of 4 logs" in told.err
    for choice in (["--metric", "acc_norm"], ["--filter", "flexible-extract"]):
        assert main([*command, *choice]) == 2
    keys = {"gsm8k": "exact_match,flexible-extract", "arc_easy": "acc_norm,none"}
    for name in names:
        (records,) = out.rglob(f"{their_name(name)}.jsonl")
        scores = [record.score or 0.0 for record in read_records(records)]
        assert len(scores) == len(TWINS[name].rows)
        reported = results["results"][their_name(name)][keys.get(name, "acc,none")]
        assert sum(scores) / len(scores) == pytest.approx(100 * reported)


def test_epochs_of_inspect_s_own_logs_have_the_mean_that_it_reports(tmp_path: Path) -> None:
    python = inspect_installed()
    (tmp_path / "logs.py").write_text(INSPECT)
    means = json.loads(run([python, "logs.py", *REDUCERS], tmp_path))
    for form in ("eval", "json"):
        logs = {path.name.split("_", 1)[1].rsplit("_", 1)[0]: path for path in (tmp_path / form).glob(f"*.{form}")}
        for reducer in REDUCERS:
            found = import_inspect(logs[reducer.replace("_", "-")], Choice())
            assert found.mean == pytest.approx(100 * means[reducer][0]), reducer
            assert found.reported == pytest.approx(found.mean)
            assert len(found.records) == (50 if reducer == "mean" else 10)
        assert "choose one: --reducer max, --reducer mode" in refusal(import_inspect, logs["maxandmode"], Choice())
        found = import_inspect(logs["maxandmode"], Choice(reducer="mode"))
        assert found.mean == pytest.approx(100 * means["maxandmode"][1])

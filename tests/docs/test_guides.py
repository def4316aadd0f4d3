"""The configs of the page that leads here from other tools make a plan, on rows of the same form as their datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from pydantic import TypeAdapter

from accgate.cli.main import main
from accgate.inputs.toml import tomllib
from accgate.records.file import file_name
from accgate.tasks.lm_eval.loading import LmEvalOptions
from tests.docs.blocks import Block, blocks
from tests.support.gates import write_lines

SUMS = [{"question": f"{i} + {i}?", "answer": f"They are {2 * i}. #### {2 * i}"} for i in range(1400)]
LETTERS = [
    {"question": f"{i}?", "subject": "sums", "choices": [f"{i + k}" for k in range(4)], "answer": i % 4}
    for i in range(4200)
]


def configs() -> list[Block]:
    """The whole configs: some are a table to add, and are read in test_blocks.py."""
    return [b for b in blocks("toml") if b.page == "docs/migrate.md" and "engine" in b.text]


@pytest.mark.parametrize("block", configs(), ids=str)
def test_a_config_of_a_guide_makes_a_plan(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = tomllib.loads(block.text)
    write_lines(tmp_path / "gsm8k.jsonl", SUMS)
    write_lines(tmp_path / "mmlu.jsonl", LETTERS[: found["tasks"].get("mmlu", {}).get("num_samples", len(SUMS))])
    write_lines(tmp_path / "solved-gsm8k.jsonl", SUMS[:6])  # five for each of these
    write_lines(tmp_path / "solved-mmlu.jsonl", LETTERS[:6])
    for name, task in found["tasks"].items():
        if task.pop("lm_eval", None) is not None:  # its own dataset is on the hub; the library's stands in for it
            TypeAdapter(LmEvalOptions).validate_python(task.pop("options"))
        task["dataset"] = f"{name}.jsonl"
        task["few_shot_dataset"] = f"solved-{name}.jsonl"
    for model in found["models"].values():  # what the guide imports before
        (tmp_path / "references" / file_name(model.get("baseline", "other"))).mkdir(parents=True, exist_ok=True)
    (tmp_path / "accuracy.toml").write_text(tomli_w.dumps(found), encoding="utf-8")
    assert main(["validate"]) == 0
    capsys.readouterr()
    assert main(["plan", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)
    assert {check["task"] for check in checks} == set(found["tasks"])
    for check in checks:
        wanted = found["tasks"][check["task"]].get("num_samples")
        assert check["n"] == wanted if wanted else check["n"] > 0

"""A plan of a dataset that cannot be had here: from the size that the task's file holds, and no further."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.errors import CannotEvaluate
from accgate.tasks import rows
from tests.support.gates import said

CONFIG = '[models.m]\nengine = "openai"\nmodel = "x"\noptions = { base_url = "http://127.0.0.1:9/v1" }\n'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def away(name: str, *_: object) -> None:
        raise CannotEvaluate(f"dataset {name}: cannot be loaded: no route to the hub")

    monkeypatch.setattr(rows, "hub_rows", away)
    path = tmp_path / "accuracy.toml"
    path.write_text(f"{CONFIG}[tasks.gsm8k]\ntheta = 4\n")
    return path


def test_plan_and_validate_take_the_size_of_the_task_and_say_so(config: Path, capsys) -> None:
    assert main(["plan", "--json", str(config)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert 0 < row["n"] <= 1319
    assert "planned for the 1,319 samples" in row["notes"][0]
    assert "no route to the hub" in row["notes"][0]
    assert main(["validate", str(config)]) == 0


def test_what_evaluates_still_ends_without_the_dataset(config: Path, capsys) -> None:
    for command in ("record", "run"):
        assert main([command, "--out", str(config.parent / "out"), str(config)]) == 3
        assert "no route to the hub" in said(capsys)


def test_a_file_of_ones_own_that_is_gone_is_no_dataset_of_known_size(config: Path, capsys) -> None:
    config.write_text(f'{CONFIG}[tasks.gsm8k]\ntheta = 4\ndataset = "gone.jsonl"\n')
    assert main(["plan", str(config)]) == 2
    assert "gone.jsonl" in said(capsys)


def test_samples_that_the_known_size_does_not_have_are_refused(config: Path, capsys) -> None:
    config.write_text(f"{CONFIG}[tasks.gsm8k]\nnum_samples = 2000\n")
    assert main(["plan", str(config)]) == 2
    assert "num_samples: is 2000, but the dataset has 1,319 samples" in said(capsys)

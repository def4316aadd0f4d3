"""A finished run that is decided again: records that are not as many as the rules plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.support.gates import questions, said, write_lines
from tests.support.servers import Server

N = 8


@pytest.mark.filterwarnings("ignore")
def test_records_of_another_number_of_samples_than_is_planned_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rules = tmp_path / "accuracy.toml"
    write_lines(tmp_path / "rows.jsonl", questions(N))
    (tmp_path / "sums.toml").write_text(
        'prompt = "{{ q }}"\ntarget = "{{ a }}"\nmetric = "exact_match"\nextract.regex = \'\\d+\'\n'
        f'[dataset]\nhub = "json"\nsplit = "test"\noptions.data_files.test = "{tmp_path}/rows.jsonl"\n'
    )

    def run(command: str, planned: int, *args: str) -> int:
        rules.write_text(
            f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {{ base_url = "{server.url}" }}\n'
            f'[tasks.sums]\nfile = "sums.toml"\ntarget = 50\nnum_samples = {planned}\n'
        )
        return main([command, *args])

    with Server() as server:
        assert run("run", N, str(rules), "--out", str(tmp_path / "out")) in {0, 1, 4}
        for planned in (N - 1, N + 1):
            assert run("verify", planned, str(tmp_path / "out"), "--config", str(rules)) == 2
            assert f"holds {N} samples, but {planned} are planned" in said(capsys)
        assert run("verify", N, str(tmp_path / "out"), "--config", str(rules)) == 0

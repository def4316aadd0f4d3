"""A dataset that changes under the same name: what was recorded of the old one decides nothing about the new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.gates import questions, write_lines
from tests.support.servers import Server

N = 40


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_refused_where_the_dataset_is_another_than_the_reference_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    datasets = pytest.importorskip("datasets")
    rows = questions(N)

    def run(command: str, *args: str, rows: list[dict[str, Any]]) -> tuple[int, str]:
        write_lines(tmp_path / "rows.jsonl", rows)
        cache = tmp_path / f"cache{len(list(tmp_path.iterdir()))}"  # as on another machine
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
        capsys.readouterr()
        code = main([command, str(tmp_path / "accuracy.toml"), "--out", str(cache / "out"), "--quiet", *args])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, " ".join((said.out + said.err).split())

    with Server() as server:
        (tmp_path / "sums.toml").write_text(
            'prompt = "{{ q }}"\ntarget = "{{ a }}"\nmetric = "exact_match"\nextract.regex = \'\\d+\'\n'
            f'[dataset]\nhub = "json"\nsplit = "test"\noptions.data_files.test = "{tmp_path}/rows.jsonl"\n'
        )
        (tmp_path / "accuracy.toml").write_text(
            f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {{ base_url = "{server.url}" }}\n'
            '[tasks.sums]\nfile = "sums.toml"\n'
        )
        code, said = run("record", rows=rows)
        assert code == 0, said
        code, said = run("run", rows=rows)
        assert code in (0, 4), said
        other = [{**rows[0], "a": 7}, *rows[1:]]
        for moved in (other, rows[1:]):
            asked = len(server.seen)
            code, said = run("run", rows=moved)
            assert (code, len(server.seen)) == (2, asked), said
            assert "dataset" in said
        code, said = run("run", rows=[*rows, {"q": "What is 900 + 1?", "a": 901}])
        assert code in (0, 4)
        assert f"{N} of {N + 1} questions have a reference" in said

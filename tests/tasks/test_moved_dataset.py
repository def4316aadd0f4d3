"""A dataset that changes under the same name: what was recorded of the old one decides nothing about the new."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.gates import questions
from tests.servers import Server

N = 40


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def published(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """The folder of a web server, and its address."""
    folder = tmp_path / "published"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_refused_where_the_dataset_is_another_than_the_reference_had(
    tmp_path: Path, published: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    datasets = pytest.importorskip("datasets")
    folder, address = published
    rows = questions(N)

    def run(command: str, *args: str, rows: list[dict[str, Any]]) -> tuple[int, str]:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        cache = tmp_path / f"cache{len(list(tmp_path.iterdir()))}"  # as on another machine
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
        monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", cache / "downloads")
        capsys.readouterr()
        code = main([command, str(tmp_path / "accuracy.toml"), "--out", str(cache / "out"), "--quiet", *args])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, " ".join((said.out + said.err).split())

    with Server() as server:
        (tmp_path / "sums.toml").write_text(
            'prompt = "{{ q }}"\ntarget = "{{ a }}"\nmetric = "exact_match"\nextract.regex = \'\\d+\'\n'
            f'[dataset]\nhub = "json"\nsplit = "test"\noptions.data_files.test = "{address}/rows.jsonl"\n'
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

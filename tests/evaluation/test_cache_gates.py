"""Whole runs with kept replies, of a server that is made to look as if its files were known; the command `cache`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines.base import IMAGE
from accgate.evaluation.cache import identity
from accgate.records.file import read_records
from accgate.tasks.definition import library_file
from tests.evaluation.serving import configure, served_by, sums_of
from tests.support.gates import without_seconds
from tests.support.servers import Server, sums

BESIDE: dict[str, Any] = {"baseline": "m"}


class Gate:
    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server, self.count = folder, server, 0
        (folder / "toy").write_text("weights")
        self.write()

    def write(self, model: Mapping[str, Any] = BESIDE, **task: Any) -> None:
        served = served_by(self.server.url)
        tables = {
            "gate": {"early_stopping": False},
            "models.m": served,
            "models.c": {**served, "variant": {"quant": "fp8"}, **model},
            "tasks.arithmetic": sums_of(40, **task),
        }
        self.config = configure(self.folder, tables)

    def run(self, *arguments: str, command: str = "run", model: str = "c") -> int:
        """Run; how often the server was asked."""
        self.count += 1
        before = len(self.server.seen)
        self.out = self.folder / f"out{self.count}"
        fixed = ["--out", str(self.out), "--quiet", "--models", model]
        assert main([command, str(self.config), *fixed, *arguments]) in (0, 1)
        return len(self.server.seen) - before

    def cached(self, *arguments: str, **keys: str) -> int:
        return self.run("--cache", str(self.folder / "cache"), *arguments, **keys)

    @property
    def result(self) -> Any:
        return json.loads((self.out / "accgate.json").read_text())

    @property
    def records(self) -> dict[str, Any]:
        return {record.id: record for record in read_records(self.out / "c" / "arithmetic.jsonl")}


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setitem(identity.DISTRIBUTIONS, "openai", "aiohttp")
    monkeypatch.setenv(IMAGE, "sha256:abc")
    for name in ("ACCGATE_CACHE", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    with Server(sums(wrong=0.2)) as server:
        made = Gate(tmp_path, server)
        assert made.run(command="record", model="m") == 40
        yield made


def test_a_cache_that_is_a_file_is_refused_before_anything_is_asked(gate: Gate, capsys) -> None:
    file, asked = gate.folder / "cache", len(gate.server.seen)
    file.write_text("in the way")
    capsys.readouterr()
    assert main(["run", str(gate.config), "--quiet", "--cache", str(file)]) == 2
    assert f"accgate: {file}: is no folder; name one with --cache" in capsys.readouterr().err
    assert len(gate.server.seen) == asked


def test_a_second_run_of_the_same_asks_nothing_and_decides_the_same(gate: Gate) -> None:
    assert gate.cached() == 40
    first, before = gate.result, gate.records
    assert (first["samples"], first["cached"]) == (40, 0)
    assert gate.cached() == 0
    assert (gate.result["samples"], gate.result["cached"], gate.result["prompt_tokens"]) == (40, 40, 0)
    assert without_seconds(gate.result["checks"]) == without_seconds(first["checks"])
    for id_, record in gate.records.items():
        assert record.cached is True
        assert replace(record, cached=None, seconds=0.0) == replace(before[id_], seconds=0.0)
    assert "40 from the cache" in (gate.out / "report.md").read_text()
    assert "measured" not in (gate.out / "c" / "arithmetic.settings.json").read_text()  # cached replies took no time


def test_without_a_folder_nothing_is_kept(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gate.run() == 40
    monkeypatch.setenv("ACCGATE_CACHE", str(gate.folder / "cache"))
    assert [gate.run("--no-cache"), gate.run(), gate.run()] == [40, 40, 0]


def test_kept_replies_are_scored_anew(gate: Gate) -> None:
    gate.cached()
    gate.server.answer = lambda _: "never asked"
    task = gate.folder / "mine.toml"
    library = library_file("arithmetic")
    task.write_text(library.read_text().replace("numeric_match", "exact_match"))
    assert "exact_match" in task.read_text()
    gate.write(model={}, file=str(task), reference=80, reference_num_samples=40, sigma=40)
    assert gate.cached() == 0
    assert len(gate.records) == 40


def test_whatever_can_change_an_answer_is_asked_again(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    gate.cached()
    (gate.folder / "toy").write_text("other weights")
    assert gate.cached() == 40
    monkeypatch.setenv(IMAGE, "sha256:def")
    assert gate.cached() == 40
    gate.write(BESIDE | {"sampling": {"temperature": 0.5, "seed": 1}})
    assert [gate.cached(), gate.cached()] == [40, 0]


def test_a_run_of_what_the_reference_was_recorded_with_keeps_nothing(gate: Gate, capsys) -> None:
    assert [gate.cached(model="m"), gate.cached(model="m")] == [40, 40]
    assert "cache: off for m / arithmetic: it runs what its reference was recorded with" in capsys.readouterr().err
    assert list((gate.folder / "cache").glob("*/*.lines")) == []


def test_record_asks_everything(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCGATE_CACHE", str(gate.folder / "cache"))
    gate.run()
    assert gate.run("--reason", "again", command="record") == 40


def test_a_server_is_not_kept_and_the_run_says_why(gate: Gate, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.delitem(identity.DISTRIBUTIONS, "openai")
    assert [gate.cached(), gate.cached()] == [40, 40]
    assert "cache: off for c: a server does not say what it was built from" in capsys.readouterr().err


def test_the_command_shows_and_prunes(gate: Gate, capsys) -> None:
    gate.cached()
    folder = ["--cache", str(gate.folder / "cache")]
    capsys.readouterr()
    assert main(["cache", "info", *folder]) == 0
    assert "40 replies" in capsys.readouterr().out
    assert main(["cache", "info", "--json", *folder]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["replies"], row["about"]["model"]) == (40, "c")
    assert main(["cache", "prune", "--older-than", "1d", *folder]) == 0
    assert "removed 0 files" in capsys.readouterr().out
    assert main(["cache", "prune", "--max-size", "1KB", *folder]) == 0
    assert "removed 1 file of" in capsys.readouterr().out
    assert gate.cached() == 40


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["info"], "which folder?"),
        (["info", "--cache", "nowhere"], "there is no such folder"),
        (["prune", "--cache", "."], "prune what?"),
    ],
)
def test_a_command_that_cannot_be_followed_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys, arguments: list[str], why: str
) -> None:
    monkeypatch.delenv("ACCGATE_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["cache", *arguments]) == 2
    assert why in capsys.readouterr().err

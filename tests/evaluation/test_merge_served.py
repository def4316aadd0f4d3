"""Shards of servers: merged only where replies and listings name one model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import paths_of
from tests.cases import each
from tests.gates import said, table
from tests.servers import Server

Parts = list[Path]


def configure(folder: Path, url: str, fingerprints: list[str]) -> None:
    options = {"base_url": url, "max_retries": 0, "fingerprints": fingerprints}
    tables = {
        "models.m": {"engine": "openai", "model": "toy", "options": options},
        "tasks.arithmetic": {"num_samples": 40, "target": 50.0, "options": {"high": 20}},
    }
    (folder / "accuracy.toml").write_text("".join(table(name, values) for name, values in tables.items()))


def shard(folder: Path, i: int, *arguments: str) -> Path:
    out = folder / f"shard-{i}"
    config = str(folder / "accuracy.toml")
    assert main(["run", config, "--shard", f"{i}/2", "--out", str(out), "--quiet", *arguments]) == 0
    return out


def merge(folder: Path, parts: Parts) -> int:
    where = ["--config", str(folder / "accuracy.toml"), "--out", str(folder / "merged")]
    return main(["merge", *map(str, parts), *where])


def listing(root: str | None) -> dict[str, Any]:
    return {"data": [{"id": "toy", "owned_by": "vllm", "root": root}] if root else []}


def test_servers_that_list_another_model_under_one_name_are_refused(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(tmp_path, server.url, [])
    parts = []
    for i, root in enumerate(("org/model-bf16", "org/model-int4"), 1):
        server.models = listing(root)
        parts.append(shard(tmp_path, i))
    capsys.readouterr()
    for given in (parts, parts[::-1]):
        assert merge(tmp_path, given) == 2
        words = said(capsys)
        assert re.search(r"m: listed\.toy is .*org/model-bf16.* in \S*shard-1\S*, .*org/model-int4", words)
    assert not (tmp_path / "merged").exists()
    edit_served(parts[1], {"model": "toy"})  # a server that says nothing is no other
    assert merge(tmp_path, parts) == 0


def edit_served(folder: Path, served: dict[str, Any]) -> None:
    path = paths_of(folder, "m", "arithmetic").settings
    path.write_text(json.dumps(json.loads(path.read_text()) | {"served": served}))


FINGERPRINTS: list[tuple[Any, Any, list[str], Any]] = [
    (["a", "b"], "c", [], None),
    (["a", "b"], "c", ["a", "b"], None),
    ("a", "b", [], None),
    (["a", "b"], "a", [], None),
    (["a", "b"], ["a", "b"], [], ["a", "b"]),
    (["a", "b"], "a", ["a", "b"], ["a", "b"]),
    ("a", "b", ["*"], ["a", "b"]),
    ("a", "a", [], "a"),
]


@each(("one", "two", "allowed", "merged"), FINGERPRINTS)
def test_fingerprints_of_shards_mix_only_where_all_have_them_or_an_option_names_them(
    tmp_path: Path,
    server: Server,
    one: Any,
    two: Any,
    allowed: list[str],
    merged: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(tmp_path, server.url, allowed)
    parts = [shard(tmp_path, 1), shard(tmp_path, 2)]
    for part, marks in zip(parts, (one, two), strict=True):
        edit_served(part, {"system_fingerprint": marks})
    for given in (parts, parts[::-1]):
        assert merge(tmp_path, given) == (2 if merged is None else 0)
        if merged is None:
            assert "evaluate every shard alike, or name those of one model in options.fingerprints" in said(capsys)
        else:
            settings = json.loads(paths_of(tmp_path / "merged", "m", "arithmetic").settings.read_text())
            assert settings["served"]["system_fingerprint"] == merged


def test_a_merged_run_of_several_fingerprints_goes_on_only_where_an_option_names_them(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(tmp_path, server.url, ["a", "b"])
    parts = []
    for i, mark in enumerate("ab", 1):
        server.says = {"system_fingerprint": mark}
        parts.append(shard(tmp_path, i))
    assert merge(tmp_path, parts) == 0
    records = paths_of(tmp_path / "merged", "m", "arithmetic").records
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:30]))
    server.says = {"system_fingerprint": "c"}
    resume = ["run", str(tmp_path / "accuracy.toml"), "--out", str(tmp_path / "merged"), "--quiet", "--resume"]
    assert main(resume) == 3
    configure(tmp_path, server.url, [])
    assert main(resume) == 2
    assert "answered by system_fingerprint a, b, and now options.fingerprints names none" in said(capsys)
    configure(tmp_path, server.url, ["*"])
    assert main(resume) == 0
    settings = json.loads(paths_of(tmp_path / "merged", "m", "arithmetic").settings.read_text())
    assert settings["served"]["system_fingerprint"] == ["a", "b", "c"]

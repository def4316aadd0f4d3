"""The files that a model is made of: which count, and records of another content that are never mixed."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.engines.openai.engine import OpenAIEngine
from accgate.errors import CannotEvaluate
from accgate.evaluation import files, run
from accgate.evaluation.files import FileDigests, content_of
from accgate.planning.design import planned_model
from accgate.planning.model import PlannedModel
from accgate.records.file import paths_of
from tests.evaluation.serving import command, configure, merge, served_by, sums_of
from tests.support.cases import each
from tests.support.gates import questions, refused, said, table, write_task
from tests.support.loading import load_task
from tests.support.servers import Fault, Server

Change = Callable[[Path], Any]


def test_a_file_is_read_once_and_again_when_it_changed(tmp_path: Path) -> None:
    file, memory = write(tmp_path / "w"), tmp_path / "memory.json"
    now = FileDigests(memory)  # the file changed a moment ago, and may again
    now(file)
    now.save()
    assert not memory.exists()
    later = FileDigests(memory, clock=lambda: file.stat().st_ctime + 60)
    first = later(file)
    later.save()
    assert str(file.resolve()) in memory.read_text()
    memory.write_text(memory.read_text().replace(first, "remembered"))
    assert FileDigests(memory)(file) == "remembered"
    file.write_text("two")
    assert FileDigests(memory)(file) not in ("remembered", first)


def test_a_memory_of_files_that_is_damaged_or_cannot_be_written_is_as_none(tmp_path: Path) -> None:
    file, stopper = write(tmp_path / "w"), write(tmp_path / "stopper")
    plain = FileDigests(tmp_path / "none")(file)
    for content in ("[]", "{", f'{{"{file}": 1}}'):
        write(tmp_path / "memory.json", content)
        assert FileDigests(tmp_path / "memory.json")(file) == plain
    digests = FileDigests(stopper / "memory.json", clock=lambda: file.stat().st_ctime + 60)
    assert digests(file) == plain
    digests.save()  # nor can the temporary file be removed, as on a file system that is read-only
    assert stopper.read_text() == "one"


def content(folder: Path, engine: str = "llamacpp", model: str = "w.gguf", **keys: Any) -> dict[str, str]:
    path = configure(
        folder, {"models.m": {"engine": engine, "model": model, **keys}, "tasks.arithmetic": {"target": 50}}
    )
    return content_of(planned_model(load_config(path), "m"), FileDigests())


def planned(folder: Path, model: str, **options: Any) -> PlannedModel:
    """A model of vLLM."""
    keys = {"engine": "vllm", "model": model, "options": options}
    path = configure(folder, {"models.m": keys, "tasks.arithmetic": {"target": 50}})
    return planned_model(load_config(path), "m")


def write(path: Path, text: str = "one") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(("room", "is_read"), [(1 << 40, True), (2, False)])
def test_the_next_models_files_are_read_where_memory_has_room_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, is_read: bool
) -> None:
    monkeypatch.setattr(files, "free_memory", lambda: room)
    write(tmp_path / "weights" / "model.safetensors")
    digests = FileDigests(clock=lambda: time.time() + 60)
    ahead = files.Prefetch(planned(tmp_path, "weights"), digests)
    ahead._thread.join(60.0)
    ahead.end()
    assert bool(digests._digests) == is_read
    assert files.free_memory() == room


@pytest.mark.parametrize("options", [{"revision": "abc"}, {"load_format": "dummy"}])
def test_the_next_models_weights_are_downloaded_until_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$4 $5" >"{tmp_path}/asked"\nexec sleep 60\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    ahead = files.Prefetch(planned(tmp_path, "org/name", **options), FileDigests())
    is_asked, end = "revision" in options, time.monotonic() + 60.0
    while is_asked and not (tmp_path / "asked").exists() and time.monotonic() < end:
        time.sleep(0.01)
    ahead.end()
    ahead._thread.join(60.0)
    assert (ahead._download is not None and ahead._download.returncode == -9) == is_asked
    assert (tmp_path / "asked").exists() == is_asked


def test_a_run_prefetches_each_model_but_the_first_and_no_failure_of_it_matters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Failing(files.Prefetch):
        def __init__(self, planned: PlannedModel, digests: FileDigests) -> None:
            asked.append(planned.name)
            super().__init__(None, digests)  # type: ignore[arg-type]  # of which its work fails

    monkeypatch.setattr(run, "Prefetch", Failing)
    write_task(tmp_path, rows=questions(4, 100))
    rows = [{"id": sample.id, "score": 100} for sample in load_task("sums", file=tmp_path / "sums.toml").samples]
    (tmp_path / "scores.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    models = {f"models.{name}": {"engine": "recorded", "model": "scores.jsonl"} for name in "abc"}
    config = configure(tmp_path, {**models, "tasks.sums": {"file": "sums.toml"}})
    assert main(["record", str(config), "--out", str(tmp_path / "out")]) == 0
    assert asked == ["b", "c"]


def serving(*words: str, **options: Any) -> dict[str, Any]:
    """A model whose server is started by this command."""
    return {"engine": "openai", "model": "m", "options": {"serve": words, **options}}


@each(
    ("file", "keys"),
    [
        ("w.gguf", {}),
        ("w-00002-of-00002.gguf", {"model": "w-00001-of-00002.gguf"}),
        ("lora.gguf", {"options": {"lora_adapters": [{"path": "lora.gguf", "scale": 1.0}]}}),
        ("t.jinja", {"sampling": {"extra": {"chat_template": "t.jinja"}}}),
        ("ckpt/sub/more.safetensors", {"engine": "vllm", "model": "ckpt"}),
        ("lora/a.safetensors", {"engine": "vllm", "model": "org/m", "options": {"lora": "lora"}}),
        ("ckpt/model.safetensors", serving("vllm", "ckpt")),
        ("w.gguf", serving("llama-server", "--model=w.gguf")),
        ("w-00002-of-00002.gguf", serving("llama-server", "-m", "w-00001-of-00002.gguf")),
        ("ckpt/model.safetensors", {"engine": "ray", "model": "ckpt", "options": {"engine": "vllm"}}),
    ],
)
def test_a_file_that_can_change_an_answer_counts(tmp_path: Path, file: str, keys: dict[str, Any]) -> None:
    for name in ("w.gguf", "w-00001-of-00002.gguf", "ckpt/config.json", "lora/adapter_config.json", file):
        write(tmp_path / name)
    before = content(tmp_path, **keys)
    elsewhere = shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-elsewhere"))
    assert content(elsewhere, **keys) == before
    write(tmp_path / file, "two")
    assert content(tmp_path, **keys) != before


@each(
    ("file", "keys"),
    [
        ("m.jsonl", {"engine": "recorded", "model": "m.jsonl"}),
        ("m", {"engine": "openai", "model": "m", "options": {"base_url": "http://127.0.0.1:1/v1"}}),
        ("s.py", serving("python", "s.py", "{port}")),
        ("log", serving("s", "{port}", serve_log="log")),
        ("config.json", serving("s", ".", "")),
        ("logs/today", serving("s", "logs")),
        ("ckpt/config.json", {"engine": "vllm", "model": "org/m", "options": {"download_dir": "ckpt"}}),
        ("x.gguf", {"engine": "ray", "model": "w.gguf", "options": {"engine": "llamacpp"}}),
    ],
)
def test_what_changes_no_answer_or_may_be_completed_does_not_count(
    tmp_path: Path, file: str, keys: dict[str, Any]
) -> None:
    write(tmp_path / file)
    assert content(tmp_path, **keys) == {}


def test_what_git_and_the_hub_keep_beside_a_checkpoint_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / "ckpt" / "config.json")
    before = content(tmp_path, engine="vllm", model="ckpt")
    for name in (".cache/huggingface/download/config.json.metadata", ".git/HEAD"):
        write(tmp_path / "ckpt" / name)
    assert content(tmp_path, engine="vllm", model="ckpt") == before != {}


# Records of two contents are not mixed: a run with a template beside accuracy.toml, which goes on with another.


@pytest.fixture
def folder(tmp_path: Path, server: Server) -> Path:
    model = {**served_by(server.url, concurrency=4), "sampling": {"extra": {"template": "t.jinja"}}}
    write(tmp_path / "t.jinja")
    configure(tmp_path, {"models.m": model, "tasks.arithmetic": sums_of(40, target=50.0)})
    return tmp_path


def unfinished(folder: Path, server: Server) -> None:
    server.fault_of = lambda _: Fault(status=401) if len(server.seen) > 10 else None
    assert command(folder, "run", "--out", str(folder / "out")) == 3
    server.fault_of = None


def test_a_run_does_not_go_on_with_another_content_of_a_file(folder: Path, server: Server, capsys) -> None:
    unfinished(folder, server)
    kept = paths_of(folder / "out", "m", "arithmetic").records.read_bytes()
    write(folder / "t.jinja", "two")
    assert command(folder, "run", "--out", str(folder / "out"), "--resume") == 2
    assert "the content of t.jinja changed" in said(capsys)
    assert paths_of(folder / "out", "m", "arithmetic").records.read_bytes() == kept
    write(folder / "t.jinja", "one")
    assert command(folder, "run", "--out", str(folder / "out"), "--resume") == 0


def shards(folder: Path, *between: Change) -> list[Path]:
    """The folders of two shards, with these changes after the first."""
    parts = [folder / f"shard-{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert command(folder, "run", "--shard", f"{i}/2", "--out", str(part)) == 0
        for change in between:
            change(folder)
    return parts


def test_shards_with_another_content_of_a_file_are_refused(folder: Path, capsys) -> None:
    parts = shards(folder, lambda folder: write(folder / "t.jinja", "two"))
    assert 'm: "the content of t.jinja" is "' in refused(capsys, merge(folder, parts))
    assert not (folder / "merged").exists()


def test_a_merge_needs_no_file_and_keeps_the_digests(folder: Path) -> None:
    parts = shards(folder)
    (folder / "t.jinja").unlink()
    assert merge(folder, parts) == 0
    settings = json.loads(paths_of(folder / "merged", "m", "arithmetic").settings.read_text())
    assert [*settings["files"]] == ["t.jinja"]


def test_a_shard_counts_no_records_of_another_content(folder: Path, server: Server) -> None:
    config = folder / "accuracy.toml"
    task = sums_of(200, high=300, theta=8.0)
    config.write_text(config.read_text().partition("[tasks")[0] + table("tasks.arithmetic", task))
    assert command(folder, "record", "--out", str(folder / "recorded")) == 0

    def together(shard: str) -> int:
        before = len(server.seen)
        assert command(folder, "run", "--shard", shard, "--together", str(folder / "all")) == 0
        return len(server.seen) - before

    assert together("1/2") == 100
    write(folder / "t.jinja", "two")
    assert together("2/2") == 100


def test_where_a_file_cannot_be_read_the_start_of_the_engine_ends_before_the_engine_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that went on launched a server that nothing ended any more."""
    told: list[str] = []

    def unreadable(*_: object) -> Any:
        raise CannotEvaluate("w.gguf: cannot be read: Input/output error")

    async def start(_: OpenAIEngine) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            told.append("start ended")

    async def close(_: OpenAIEngine) -> None:
        told.append("closed")

    monkeypatch.setattr("accgate.evaluation.run.content_of", unreadable)
    monkeypatch.setattr(OpenAIEngine, "start", start)
    monkeypatch.setattr(OpenAIEngine, "close", close)
    model = served_by("http://127.0.0.1:9/v1")
    config = configure(tmp_path, {"models.m": model, "tasks.arithmetic": sums_of(20, target=1.0)})
    assert main(["run", str(config), "--quiet", "--out", str(tmp_path / "out")]) == 3
    assert told == ["start ended", "closed"]

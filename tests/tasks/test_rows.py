"""Rows of JSONL, CSV, Parquet and Hugging Face files, and what is said of those that cannot be read."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput, CannotEvaluate
from accgate.tasks.rows import hub_rows, read_rows
from tests.support.cases import each, refusal, refused
from tests.support.gates import write_lines, write_task
from tests.support.loading import load_task


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def fault_of(path: Path) -> str:
    message = refusal(read_rows, path)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@each(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", ": holds no rows; a task needs at least one"),
        ("a.jsonl", '{"a": 1}\n\n{"a": 1', ":3: is not a JSON object (Expecting ',' delimiter: "),
        ("a.jsonl", b'{"a": 1}\n' * 5000 + b'{"a": "\xff"}\n', ":5001: is not UTF-8; save the file as UTF-8 text"),
        ("a.csv", "q,a\n", ": holds no rows; a task needs at least one"),
        ("a.csv", "q,a\n1,2\n1\n", ":3: has 1 cells under a header of 2"),
        ("a.csv", 'q,a\n1,2\n"x"y,2\n', ":3: is not CSV ("),
        ("a.csv", b"q,a\n1,2\n1,\xff\n", ":3: is not UTF-8; save the file as UTF-8 text"),
        ("a.parquet", "q,a\n1,2\n", ": cannot be read as Parquet ("),
    ],
)
def test_a_file_that_cannot_be_used_names_the_line(tmp_path: Path, name: str, content, message: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert fault_of(written(tmp_path, name, content)).startswith(message)


@each("name", ["a.jsonl", "a.csv"])
def test_a_missing_file_and_a_directory_say_so(tmp_path: Path, name: str) -> None:
    assert fault_of(tmp_path / name) == ": cannot be read: No such file or directory; is it in the commit?"
    (tmp_path / name).mkdir()
    assert fault_of(tmp_path / name) == ": is a folder, pipe or device; name a plain file"


def test_without_pyarrow_parquet_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CannotEvaluate, match=r"a\.parquet: Parquet needs pyarrow .*; pip install 'accgate\[parquet\]'"):
        read_rows(written(tmp_path, "a.parquet", ""))


def test_without_datasets_a_hub_dataset_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CannotEvaluate, match=r"dataset x/y: needs .*; pip install 'accgate\[datasets\]'"):
        hub_rows("x/y", None, "test", None, {})


def test_a_hub_dataset_is_loaded_by_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = [{"q": f"{i}?", "a": i} for i in range(3)]
    for split, part in (("test", rows[:2]), ("train", rows[2:])):
        write_lines(tmp_path / f"{split}.jsonl", part)
    files = {split: str(tmp_path / f"{split}.jsonl") for split in ("test", "train")}
    options = {"data_files": files, "cache_dir": str(tmp_path / "cache")}
    assert hub_rows("json", None, "test", None, options) == rows[:2]
    assert hub_rows("json", None, "train", None, options) == rows[2:]
    with pytest.raises(CannotEvaluate, match=r"dataset json, split valid: cannot be loaded: ValueError: "):
        hub_rows("json", None, "valid", None, options)


def test_a_hub_that_fails_or_has_no_rows_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=lambda *_, **__: iter(())))
    with pytest.raises(BadInput, match=r"dataset x/y, split test: holds no rows"):
        hub_rows("x/y", None, "test", None, {})

    def load_dataset(*_: Any, **__: Any) -> None:
        raise ConnectionError("no network\nand more")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    said = str(refused(CannotEvaluate, hub_rows, "x/y", None, "test", None, {}))
    assert said == "dataset x/y, split test: cannot be loaded: ConnectionError: no network"


def joined(folder: Path, rows: list[Any], answers: list[Any], **source: Any) -> list[str]:
    """What a task whose answers lie in a file of their own asks for, by the order of the questions."""
    write_lines(folder / "answers.jsonl", answers)
    task = write_task(folder, "task", rows, dataset__join={"on": "id", "file": "answers.jsonl"})
    samples = load_task("task", file=task, **source).samples
    return [sample.target for sample in sorted(samples, key=lambda sample: sample.prompt)]


def test_answers_are_joined_from_a_file_of_their_own(tmp_path: Path, messages: SnapshotAssertion) -> None:
    rows: list[Any] = [{"id": i, "q": f"{i}?"} for i in range(3)]
    answers: list[Any] = [{"id": i, "a": f"answer {i}", "q": "not this"} for i in (2, 1, 0, 7)]
    assert joined(tmp_path, rows, answers) == ["answer 0", "answer 1", "answer 2"]
    whole = written(tmp_path, "whole.jsonl", json.dumps({"q": "9?", "a": "nine"}))
    assert joined(tmp_path, rows, answers, dataset=whole) == ["nine"]  # a file in its place has the answers too
    pairs = [(rows, each) for each in (answers[1:], [*answers, {"id": 2, "a": "?"}])]
    pairs += [([row], answers) for row in ({"q": "?"}, {"id": "1", "q": "?"})]
    told = [refusal(joined, tmp_path, *pair) for pair in pairs]
    tables = ({"on": "id"}, {"on": "id", "file": "no.csv"})
    files = (write_task(tmp_path, "task", dataset__join=table) for table in tables)
    assert told + [refusal(load_task, "task", file=file) for file in files] == messages

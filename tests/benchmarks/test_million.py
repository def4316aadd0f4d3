"""Large runs: the benchmark runs, and what is kept of a sample stays small."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from accgate.records.file import Record, numbered_records, to_line
from accgate.tasks.sample import Sample
from benchmarks import million

pytestmark = pytest.mark.slow


def test_the_benchmark_measures_recording_and_running(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["million.py", "--samples", "50", "--json"])
    million.main()
    rows = json.loads(capsys.readouterr().out)
    assert [(row["command"], row["samples"]) for row in rows] == [("record", 50), ("run", 50)]
    assert all(row["peak_mb"] > 10 and row["seconds"] > 0 for row in rows)


@pytest.mark.parametrize("kind", [Record, Sample])
def test_what_there_are_a_million_of_has_no_dictionary(kind: type) -> None:
    assert dataclasses.is_dataclass(kind)
    assert "__dict__" not in dir(kind)


def test_records_are_read_line_by_line(tmp_path: Path) -> None:
    record = Record("a", 0, 100.0, "4", "4", "4", "stop", 1, 1, 0.1, None)
    path = tmp_path / "r.jsonl"
    path.write_bytes(to_line(record) + b"no record\n")
    rows: Any = numbered_records(path)
    assert next(rows) == (1, record)  # the damaged line after it is not looked at yet
    rows.close()

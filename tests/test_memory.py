"""Memory grows by little with the number of samples: what a run holds of each is figures, and texts lie in files."""

import tracemalloc
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.support.gates import Project, right_but

FEW, MANY = 100, 400
MOST = {
    "record {0}/accuracy.toml --out {0}/record --quiet": 600,
    "run {0}/accuracy.toml --out {0}/run --quiet": 600,
    "verify {0}/run --config {0}/accuracy.toml": 650,
    "report {0}/run/accgate.json --html {0}/report.html": 800,  # which lists each, in 4 MB at most
    "run {0}/accuracy.toml --out {0}/run --quiet --resume": 650,
    "run {0}/accuracy.toml --out {0}/shard-1 --quiet --shard 1/2": 600,
    "run {0}/accuracy.toml --out {0}/shard-2 --quiet --shard 2/2": 600,
    "merge {0}/shard-1 {0}/shard-2 --config {0}/accuracy.toml --out {0}/merged": 600,
}  # bytes of each further sample at the peak; whole records would take 750 where these are read


def peaks(folder: Path, n: int, *, traced: bool = True) -> dict[str, int]:
    """The most bytes that each command takes at one time on n samples; half of a run is left to be resumed."""
    folder.mkdir()
    project = Project(folder, n=n)
    project.answer(right_but(10, n))
    most = {}
    for command in MOST:
        if command.endswith("--resume"):
            records = folder / "run/m/sums.jsonl"
            records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[: n // 2]))
        if traced:
            tracemalloc.start()
        assert main(command.format(folder).split()) == 0, command
        most[command] = tracemalloc.get_traced_memory()[1]  # 0 where nothing is traced
        tracemalloc.stop()
    return most


@pytest.mark.slow
def test_each_further_sample_takes_less_memory_than_its_texts_and_records_would(tmp_path: Path) -> None:
    peaks(tmp_path / "imports", 20, traced=False)  # what is loaded once
    few, many = peaks(tmp_path / "few", FEW), peaks(tmp_path / "many", MANY)
    grown = {command: (many[command] - few[command]) / (MANY - FEW) for command in MOST}
    assert all(grown[command] < MOST[command] for command in MOST), grown

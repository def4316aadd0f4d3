"""Memory grows by little with the number of samples: what a run holds of each is figures, and texts lie in files."""

import tracemalloc
from pathlib import Path

from accgate.cli.main import main
from tests.gates import Project, right_but

FEW, MANY = 100, 400
MOST = {
    "record": 600,
    "run": 600,
}  # bytes of each further sample at the peak; objects would take twice that


def peaks(folder: Path, n: int, *, traced: bool = True) -> dict[str, int]:
    """The most bytes that recording and running n samples take at one time."""
    folder.mkdir()
    project = Project(folder, n=n)
    project.answer(right_but(10, n))
    most = {}
    for command in MOST:
        if traced:
            tracemalloc.start()
        assert main([command, str(project.config), "--out", str(folder / command), "--quiet"]) == 0
        most[command] = tracemalloc.get_traced_memory()[1]  # 0 where nothing is traced
        tracemalloc.stop()
    return most


def test_each_further_sample_takes_less_memory_than_its_texts_and_records_would(tmp_path: Path) -> None:
    peaks(tmp_path / "imports", 20, traced=False)  # what is loaded once
    few, many = peaks(tmp_path / "few", FEW), peaks(tmp_path / "many", MANY)
    grown = {command: (many[command] - few[command]) / (MANY - FEW) for command in MOST}
    assert all(grown[command] < MOST[command] for command in MOST), grown

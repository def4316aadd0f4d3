"""The benchmark of several runs prints what docs/measured.md says of them."""

import pytest

from accgate.stats.repeats import sum_tails
from benchmarks import runs


def test_equal_runs_save_no_samples_and_every_table_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "SHAPES", ((1, 1), (4, 1)))
    runs.main(["--runs", "3"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert ["5%", "0.0%", "833", "833", "833", "833"] in rows
    assert len(rows) == 3 + 6 + 2 * 2 * 3 + 8 + 3 + 26


def test_harmless_flips_beside_equal_runs_fail_if_all_answers_are_exchanged() -> None:
    tests = [(runs.exchanged_alone(run), sum_tails(run)[0]) for run in runs.World(200, 8, 1, 0.04, 0.0).runs(200)]
    alone, larger = (sum(p <= 0.05 for p in each) / len(tests) for each in zip(*tests, strict=True))
    assert alone > 0.1 > larger

"""The benchmark of accgate's own cost runs, and prints what it says."""

import json

import pytest

from benchmarks import overhead

pytestmark = pytest.mark.slow


def test_a_small_run_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    overhead.main(["--samples", "40", "--connections", "8", "--pairs", "1", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures.keys() == set(overhead.Figures.__dataclass_fields__)
    assert (figures["samples"], figures["connections"], figures["pairs"]) == (40, 8, 1)
    assert figures["accgate_samples_per_s"] > 0
    assert figures["ratio"] == pytest.approx(figures["accgate_samples_per_s"] / figures["bare_samples_per_s"])
    assert figures["extra_s"] == pytest.approx(figures["accgate_process_s"] - figures["bare_process_s"])


def test_a_process_that_cannot_run_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match="no-such-file"):
        overhead.process_seconds(["no-such-file"])

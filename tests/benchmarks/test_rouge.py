"""The speed of ROUGE is measured beside rouge-score on the same pairs."""

import json

import pytest

from accgate import metrics
from benchmarks import rouge


def test_a_tiny_run_prints_a_row_for_each_rouge_and_json_has_both_speeds(capsys: pytest.CaptureFixture[str]) -> None:
    rouge.main(["--pairs", "10", "--rounds", "1"])
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()[1:]] == list(rouge.THEIRS)
    rouge.main(["--pairs", "10", "--rounds", "1", "--json"])
    speeds = json.loads(capsys.readouterr().out)
    assert set(speeds) == set(rouge.THEIRS)
    for speed in speeds.values():
        assert speed["ratio"] == pytest.approx(speed["theirs"] / speed["ours"])


def test_a_score_that_is_not_rouge_scores_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "get", lambda _: lambda *_: 0.0)
    with pytest.raises(SystemExit, match="rouge_1 is not rouge-score's rouge1"):
        rouge.measured("rouge_1", rouge.texts(5, 60), 1)


def test_the_pairs_are_the_same_every_time_and_of_the_length_asked_for() -> None:
    pairs = rouge.texts(3, 60)
    assert pairs == rouge.texts(3, 60)
    assert {len(side.split()) for pair in pairs for side in pair} == {60}

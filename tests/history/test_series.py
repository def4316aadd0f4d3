"""Checks over time: which runs belong together, where a reference changed, and how a terminal shows them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.history.file import history_of
from accgate.history.run import Against
from accgate.history.series import series_of, sparkline
from accgate.verdict import Drift
from tests.history.made import point, run, season
from tests.support.cases import each

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

FIRST, OTHER, NONE = Against(76.0, 400, "aa"), Against(76.0, 400, "bb"), Against(None, None)


@each(
    ("references", "changed"),
    [
        ((FIRST, FIRST, OTHER, OTHER), [False, False, True, False]),
        ((FIRST, replace(FIRST, mean=75.0, n=300)), [False, False]),  # fewer samples of the same one
        ((Against(76.0, 400), Against(76.0, 400), Against(75.0, 400)), [False, False, True]),
        ((Against(76.0, 400), Against(75.0, 300)), [False, False]),
        ((FIRST, NONE, FIRST), [False, False, False]),
        ((FIRST, NONE, OTHER), [False, False, True]),
    ],
)
def test_another_digest_or_without_one_another_mean_of_as_many_samples_is_another_reference(
    references: tuple[Against, ...], changed: list[bool]
) -> None:
    runs = [run(day, point(reference=reference)) for day, reference in enumerate(references, 1)]
    assert [step.changed for step in series_of(runs)[0].steps] == changed


def test_variants_are_checks_of_their_own_and_a_model_without_one_means_all() -> None:
    runs = [run(1, point(), point(model="m@quant=int4"), point(model="m2"), point(task="mmlu"))]
    names = [one.name for one in series_of(runs)]
    assert names == ["m2 / gsm8k", "m@quant=fp8 / gsm8k", "m@quant=fp8 / mmlu", "m@quant=int4 / gsm8k"]
    assert [one.model for one in series_of(runs, "m/gsm8k")] == ["m@quant=fp8", "m@quant=int4"]
    assert [one.name for one in series_of(runs, "m@quant=fp8/mmlu")] == ["m@quant=fp8 / mmlu"]
    with pytest.raises(BadInput, match="no check 'm/gsm8'; did you mean"):
        series_of(runs, "m/gsm8")


def test_a_line_of_bars_without_values_has_dots_and_a_drift_test_without_figures_no_words() -> None:
    assert sparkline([None, None]) == "··"
    assert series_of([run(1, point(drift=Drift("2026-01-01", 2, None, None, 0.05, False)))])[0].drift == ""


@pytest.fixture
def shown(tmp_path, capsys):
    def show(history, *args: str) -> str:
        path = tmp_path / "history.jsonl"
        path.write_bytes(history if isinstance(history, bytes) else history.content)
        assert main(["history", "show", str(path), *args]) == 0
        captured = capsys.readouterr()
        return captured.out + captured.err

    return show


def test_the_table_has_mean_error_reference_gamma_drift_and_verdict(shown, messages: SnapshotAssertion) -> None:
    assert shown(season(20), "--check", "m/gsm8k") == messages


def test_the_latest_runs_are_shown_and_all_are_in_the_bars(shown) -> None:
    text = shown(season(20), "--check", "m/gsm8k", "--last", "3")
    assert re.findall("^2026-01-(..)", text, re.MULTILINE) == ["18", "19", "20"]
    bars = next(line for line in text.splitlines() if "█" in line)
    assert len(bars.split()[0]) == 20
    assert bars[5] == "·"
    with pytest.raises(SystemExit):
        shown(season(20), "--last", "0")


def test_a_damaged_line_is_said_and_names_and_commits_cannot_reach_the_terminal(shown) -> None:
    bad = "\x1b[2J[bold]x[/bold]"
    text = shown(history_of([run(1, point(model=bad, task=bad), commit="[red]\x1b]")]).content + b'{"id":"torn')
    assert "history.jsonl:2: is damaged" in text
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text
    assert "[red]\ufffd]" in text

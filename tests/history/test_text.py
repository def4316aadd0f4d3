"""The history in terminals of any width: what does not fit as a table is a paragraph, and nothing is cut."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.cells import cell_len

from accgate.history.file import History, history_of
from accgate.history.run import Against
from accgate.history.series import HEADINGS, cells, print_history, series_of, sparkline
from accgate.report.terminal import PlainConsole
from accgate.verdict import CandidateSummary
from tests.history.made import declining, point, run, season
from tests.support.cases import each

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

LONG = history_of([
    run(day, point(100.0 - day, "inconclusive", model="a-model-with-quite-a-long-name@gpu=H200,kv=fp8,quant=int4",
                   task="t" * 70, test="gsprt", n=1093, n_max=14_042, drift=declining(), candidate=CandidateSummary(
                       100.0 - day, 1093), reference=Against(76.0, 1093, f"{day}", "2026-01-01", 71.5)))
    for day in range(1, 29)
])  # fmt: skip
KINDS = {"season": season(28), "long": LONG, "one": history_of([run(1)])}


def shown(history: History, width: int) -> str:
    file = io.StringIO()
    print_history(PlainConsole(file=file, width=width, highlight=False), series_of(history.runs), last=20)
    return file.getvalue()


@each("kind", KINDS)
@each("width", [20, 60, 100, 200])
def test_nothing_is_cut_and_nothing_is_wider_than_the_terminal(kind: str, width: int) -> None:
    text = shown(KINDS[kind], width)
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    words = " ".join(text.split())
    whole = "".join(text.split())
    for one in series_of(KINDS[kind].runs):
        assert "".join(one.name.split()) in whole
        for step in one.steps[-20:]:
            row = cells(step)
            assert " ".join(row[:2]) in words or " / ".join(row[:2]) in words
            assert all(cell in words for cell in row)
    assert all(heading in words for heading in HEADINGS[2:])


def test_a_narrow_terminal_has_a_paragraph_for_each_run(messages: SnapshotAssertion) -> None:
    assert shown(history_of([run(1)]), 60) == messages


def test_the_bars_stand_on_one_line_with_the_latest_runs() -> None:
    bars = [line for line in shown(season(28), 20).splitlines() if line and set(line) <= set("▁▂▃▄▅▆▇█·")]
    latest = [sparkline([step.levels.mean for step in one.steps[-20:]]) for one in series_of(season(28).runs)]
    assert bars == latest

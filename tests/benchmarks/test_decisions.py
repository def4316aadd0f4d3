"""The published tables come from a script that runs, and have its form."""

from pathlib import Path

import numpy as np
import pytest

from accgate.stats.power import quantile
from benchmarks import decisions

PAGE = (decisions.DOCS / "decisions.md").read_text(encoding="utf-8")
PUBLISHED = PAGE.partition(decisions.BEGIN)[2].partition(decisions.END)[0]


def tables(text: str) -> list[list[list[str]]]:
    """Rows of cells of each Markdown table, its header first."""
    found: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not before.startswith("|"):
                found.append([])
            if set("".join(cells)) != {"-"}:
                found[-1].append(cells)
        before = line
    return found


@pytest.fixture(scope="module")
def tiny() -> dict[decisions.Cell, dict[str, decisions.Figures]]:
    cell = decisions.Cell(0.05, 8.0)
    return {cell: decisions.measured(cell, 3)}


def test_a_tiny_run_prints_all_tables_and_that_of_the_page_first(capsys: pytest.CaptureFixture[str]) -> None:
    decisions.main(["--runs", "3", "--cells", "10:8"])
    printed, published = tables(capsys.readouterr().out), tables(PUBLISHED)
    assert len(printed) == 8
    (theirs,), ours = published, printed[0]
    assert ours[0] == theirs[0]
    assert {row[0] for row in ours[1:]} <= {row[0] for row in theirs[1:]}
    assert {len(row) for row in theirs} == {len(ours[0])}


def test_the_page_has_the_fixed_n_and_the_maxima_that_are_planned_today(capsys: pytest.CaptureFixture[str]) -> None:
    decisions.main(["--runs", "1", "--cells", "10:8"])
    (_, printed), published = tables(capsys.readouterr().out)[0], tables(PUBLISHED)[0]
    row = next(row for row in published if row[:2] == printed[:2])
    maxima = [[cell.split(";")[0] for cell in cells[2:-2]] for cells in (printed, row)]
    assert maxima[0] == maxima[1], "run benchmarks/decisions.py --write"


def test_a_discordance_under_theta_is_raised_to_theta_and_shown() -> None:
    assert decisions.Cell(0.05, 8.0).q == 0.08
    assert decisions.Cell(0.05, 8.0).labels == ("5% (8%)", "8")
    assert decisions.Cell(0.05, 2.0).labels == ("5%", "2")


@pytest.mark.parametrize("drop", [0.0, 4.0])
def test_exact_rejection_rates_are_those_of_drawn_pairs(drop: float) -> None:
    n, q, runs = 400, 0.2, 200_000
    shares = [(q + drop / 100) / 2, (q - drop / 100) / 2, 1 - q]
    lost, gained, _ = np.random.default_rng(1).multinomial(n, shares, runs).T
    below = 100.0 * (gained - lost) / n < quantile(0.05) * np.sqrt(2 * 50.0**2 / n)
    z = lost - gained > -quantile(0.05) * np.sqrt(lost + gained)
    error = 4 * 0.5 / np.sqrt(runs)
    assert abs(decisions.rejection(n, q, drop, decisions.unpaired_losses(n)) - below.mean()) < error
    assert abs(decisions.rejection(n, q, drop, decisions.z_losses) - z.mean()) < error


def test_writing_replaces_what_is_between_the_markers_and_nothing_else() -> None:
    page = f"before\n{decisions.BEGIN}\nold\n{decisions.END}\nafter\n"
    assert decisions.rewritten(page, "new") == page.replace("old", "new")


def test_a_page_is_not_written_from_some_of_the_cells(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        decisions.main(["--write", "--cells", "5:2"])
    assert "all cells" in capsys.readouterr().err


def test_the_plot_is_an_svg_with_a_title_and_the_same_every_time(
    tiny: dict[decisions.Cell, dict[str, decisions.Figures]], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="the extra `bench` is not installed")
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        decisions.draw(tiny, file)
    first, second = (file.read_bytes() for file in files)
    assert f"<title>{decisions.TITLE}</title>".encode() in first
    assert first == second

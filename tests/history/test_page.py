"""The page of a history: what the chart shows is what the file holds, and nothing in a name becomes markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.history.file import History, history_of
from accgate.history.page import BOTTOM, HEIGHT, LEFT, RIGHT, ROWS, TOP, WIDTH, Chart, chart_of, html_page
from accgate.history.run import Against
from accgate.history.series import series_of
from accgate.report.html.inline import policy_hash
from tests.history.made import chart, declining, point, run, runs, season
from tests.report.hostile import hostile
from tests.report.html_pages import document

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion


def test_every_run_with_a_mean_is_a_mark_and_each_kind_has_its_shape() -> None:
    made = chart(*season(20).runs)
    assert len(made.dots) == 19  # the error has no mean
    assert [dot.kind for dot in made.dots].count("cross") == 1
    assert [dot.drift for dot in made.dots] == [False] * 18 + [True]
    assert len(made.changes) == 1
    assert made.line.count("M") == 2  # a gap where there is none


def scale(made: Chart) -> Callable[[float], float]:
    """The value at a height, by the labels of the axis."""
    (y1, v1), (y2, v2) = ((at, float(text)) for at, text in (made.rows[0], made.rows[-1]))
    return lambda y: v1 + (y - y1) / (y2 - y1) * (v2 - v1)


def test_the_axis_agrees_with_the_marks_and_a_better_mean_stands_higher() -> None:
    made = chart(*season(20).runs)
    for dot in made.dots:
        mean = float(re.search(r"mean ([\d.]+)", dot.text)[1])  # type: ignore[index]
        assert scale(made)(dot.y) == pytest.approx(mean, abs=0.05)
    assert scale(made)(0.0) > scale(made)(1.0)


def test_the_band_is_two_standard_errors_around_the_reference_and_ends_where_that_changes() -> None:
    made = chart(run(1), run(2))
    values = [scale(made)(float(y)) for y in re.findall(r"V(-?[\d.]+)", made.band)]
    assert values == pytest.approx([78.0, 78.0, 74.0, 74.0], abs=0.05)
    assert chart(*season(20).runs).band.count("Z") == 3  # the run without figures, then the new reference


@given(st.lists(runs, min_size=1, max_size=6))
def test_nothing_is_drawn_outside_the_drawing(made: list) -> None:
    found = series_of(history_of(made).runs) if any(one.checks for one in made) else ()
    for drawn in filter(None, map(chart_of, found)):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", f"{drawn.line}{drawn.reference}{drawn.band}{drawn.gamma}"):
            assert LEFT - 0.1 <= float(x) <= WIDTH - RIGHT + 0.1
            assert TOP - 0.1 <= float(y) <= HEIGHT - BOTTOM + 0.1
        for at, _ in drawn.rows:
            assert TOP - 0.1 <= at <= HEIGHT - BOTTOM + 0.1
        assert 2 <= len(drawn.rows) <= 6
        assert len({text for _, text in drawn.rows}) == len(drawn.rows)


def test_one_run_alone_and_equal_figures_have_a_chart() -> None:
    flat = point(50.0, reference=Against(50.0, 400), error=0.0, gamma=None)
    made = chart(run(1, flat))
    assert len(made.dots) == 1
    assert [text for _, text in made.dates] == ["2026-01-01"]


def test_a_chart_has_words_that_say_what_it_shows(messages: SnapshotAssertion) -> None:
    words = chart(*season(20).runs).words
    assert words == messages
    text = html_page(season(20))
    assert words in text
    assert text.count('role="img" aria-labelledby=') == 2
    rows = [row for row in document(text).rows if row and row[0].startswith("2026-")][:20]
    assert [row[0] for row in rows] == [f"2026-01-{day:02d}" for day in range(20, 0, -1)], "newest first"
    assert rows[0][3:] == ["74.0", "76.5", "1.0", "+2.5", "72.0", "−4.0 decline", "pass"]


def test_the_headline_says_what_the_latest_run_of_each_check_was(messages: SnapshotAssertion) -> None:
    other, many = point(task="b"), [point(verdict="regression", task=f"t{number}") for number in range(5)]
    checks = (
        [point(), other], [point(drift=declining()), other], [replace(other, verdict="regression")], many,
        [point(), replace(other, verdict="inconclusive")], [point(verdict="inconclusive")],
    )  # fmt: skip
    pages = [html_page(history_of([run(1, *points)])) for points in checks]
    assert [re.findall("<h1>(.*)</h1>", page) for page in pages] == messages


def test_a_page_loads_and_runs_nothing_whatever_stands_in_the_names() -> None:
    plain = document(html_page(season(2)))
    assert plain.policy.startswith(f"default-src 'none'; style-src {policy_hash(plain.style)}; ")
    points = [point(model=f"{number} {name}", task=name) for number, name in enumerate(hostile()[::4])]
    page = html_page(history_of([run(1, *points, commit="<script>alert(1)</script>")]))
    drawings = re.findall(r"<svg class=\"chart\".*?</svg>", page, re.DOTALL)
    assert len(drawings) == len(points)
    for drawing in drawings:
        ET.fromstring(drawing)
    wild = document(page)
    assert set(wild.tags) <= set(plain.tags)
    assert wild.attributes <= plain.attributes
    assert not {"script", "img", "a", "link", "use"} & set(wild.tags)


def test_what_cannot_be_drawn_or_read_is_said_on_the_page() -> None:
    bare = point(None, "no-reference", reference=Against(None, None), error=None, gamma=None)
    page = html_page(history_of([run(1, bare)]))
    assert "No run of this check has figures to draw." in page
    assert 'class="chart"' not in page
    whole = season(3)
    assert "could not be read" not in html_page(whole)
    assert "1 line of the history could not be read and is not shown" in html_page(replace(whole, damaged=(b"x",)))


def test_a_long_history_stays_small_and_says_what_it_leaves_out() -> None:
    starts = [f"20{at // 12:02d}-{1 + at % 12:02d}-01T03:00:00+00:00" for at in range(600)]
    days = [run(1, started=start, result=start) for start in starts]
    page = html_page(history_of(days))
    assert len(page) < 250_000
    assert f"{600 - ROWS} earlier runs are in the history file" in page
    assert "600 runs, 2000-01-01 to 2049-12-01" in page


def test_the_command_writes_the_page_of_a_history_that_has_runs(tmp_path: Path) -> None:
    history, page = tmp_path / "history.jsonl", tmp_path / "p.html"
    with pytest.raises(BadInput, match="no run yet"):
        html_page(History())
    assert main(["history", "html", str(history), "--out", str(page)]) == 2
    assert not page.exists()
    history.write_bytes(season().content)
    assert main(["history", "html", str(history), "--out", str(page), "--check", "m/mmlu"]) == 0
    assert page.read_text() == html_page(season(), "m/mmlu")

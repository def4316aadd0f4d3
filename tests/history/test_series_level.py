"""Runs that stopped after different samples stand on one level: that of the whole reference."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.history.file import history_of, read_content, read_history
from accgate.history.page import BAND, html_page
from accgate.history.run import Against, Point
from accgate.history.series import HEADINGS, as_rows, cells, levels, series_of
from accgate.stats.group_sequential import group_sequential_test
from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import units_of
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
from tests.history.made import chart, point, run
from tests.support.cases import each
from tests.support.gates import RIGHT, WRONG, Project, right_but

# As accgate wrote it before it kept the whole reference's mean and n_max.
OLD = (
    b'{"id":"01a834ac153f5eaa","accgate":"0.1.0","checks":[{"candidate":{"errors":0,"mean":30.927835051546392,"n":97},'
    b'"difference":-17.52577319587629,"drift":null,"error":5.286123732960536,"gamma":31.95876288659794,'
    b'"higher_is_better":true,"model":"smollm2-kv-q4","n":97,"reference":{"date":"","digest":"",'
    b'"mean":48.45360824742268,"n":97},"sigma":52.06228096862792,"statistic":null,"task":"arithmetic","test":"gsprt",'
    b'"theta":8.0,"verdict":"regression"}],"commit":"0ffe64c6bb08155766499a8846ddbc48263c802c",'
    b'"result":"0ac887a89b76868e","started":"2026-11-21T11:17:06+00:00","verdict":"regression"}'
)


def early(n: int, reference: float, difference: float, **keys: object) -> Point:
    """A check that was decided on the first n of 400 samples, of which the reference has 76 on all."""
    against = Against(reference, n, "aa" * 8, "2026-01-01", whole_mean=76.0)
    mean = reference + difference
    plain = point(mean, test="gsprt", n=n, n_max=400, reference=against, candidate=CandidateSummary(mean, n))
    return replace(plain, difference=difference, gamma=reference - 6.0, error=100.0 / n, **keys)


def test_without_the_whole_reference_s_mean_the_run_s_own_figures_stand() -> None:
    bare = early(22, 36.0, 5.0)
    without = replace(bare.reference, whole_mean=None)
    for reference, mean in ((without, 36.0), (Against(None, None, whole_mean=76.0), None)):
        own = levels(replace(bare, reference=reference))
        assert (own.reference, own.mean, own.gamma) == (mean, 41.0, 30.0)


def test_a_line_of_the_old_format_still_reads_and_stands_as_it_stood() -> None:
    old = read_content(OLD, "old")
    assert old.content == OLD + b"\n"
    own = levels(old.runs[0].checks[0])
    assert (own.reference, own.mean, own.gamma) == (48.45360824742268, 30.927835051546392, 31.95876288659794)


def test_the_chart_draws_marks_reference_and_gamma_on_that_level() -> None:
    made = chart(run(1, early(93, 31.0, -2.0)), run(2, early(22, 36.0, -2.0)), run(3, early(400, 76.0, -2.0)))
    assert len({dot.y for dot in made.dots}) == 1
    (reference,) = {float(y) for y in re.findall(r"V([\d.]+)", made.reference)}
    (gamma,) = {float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)", made.gamma)}
    assert reference < made.dots[0].y < gamma
    assert "mean 74.0, reference 76.0 ± 4.5, 22 of 400 samples" in made.dots[1].text
    assert "between 74.0 and 74.0" in made.words


def test_each_run_has_a_band_of_its_own_width() -> None:
    made = chart(run(1, early(100, 31.0, -2.0)), run(2, early(25, 36.0, -2.0)))
    tops = [float(y) for y in re.findall(r"V([\d.]+)", made.band)]
    middle = float(re.findall(r"V([\d.]+)", made.reference)[0])
    narrow, wide = middle - tops[0], middle - tops[1]
    assert wide == pytest.approx(4.0 * narrow, rel=0.02)


def test_table_page_and_json_show_the_same_level() -> None:
    runs = [run(1, early(93, 31.0, -2.0)), run(2, early(22, 36.0, -2.0)), run(3, early(400, 76.0, -2.0))]
    (one,) = series_of(runs)
    for step, n in zip(one.steps, ("93 of 400", "22 of 400", "400"), strict=True):
        shown_cells = dict(zip(HEADINGS, cells(step), strict=True))
        figures = [shown_cells[name] for name in ("n", "Reference", "Mean", "Difference", "Gamma")]
        assert figures == [n, "76.0", "74.0", "−2.0", "70.0"]
    shown = as_rows([one])[0]["runs"][1]
    assert shown["level"] == {"reference": 76.0, "mean": pytest.approx(74.0), "gamma": pytest.approx(70.0)}
    assert (shown["candidate"]["mean"], shown["n_max"]) == (34.0, 400)
    page = " ".join(html_page(history_of(runs)).split())
    assert "the reference's mean on all its samples plus the run's difference" in page
    assert "74.0</td>" in page
    assert "34.0</td>" not in page


SAME = right_but(40, start=10)


class TestOfRealGates:
    """The reference is wrong on 40 samples of 200 near the beginning, so that the mean of a beginning says little."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Project:
        project = Project(tmp_path, theta=8.0)  # of which 158 samples are planned, and recorded
        project.write(early_stopping=True)
        return project.recorded(SAME)

    @pytest.fixture
    def whole(self, tmp_path: Path) -> Project:
        """A project whose runs take all 200 samples."""
        return Project(tmp_path).recorded(SAME)

    def added(self, project: Project, scores: list[float] | None = None, day: int = 1) -> Point:
        """The check of a run, which is added to the history; of the last one where there are no scores."""
        if scores is not None:
            project.run(scores)
        path, file = project.out / "accgate.json", project.folder / "h.jsonl"
        path.write_text(json.dumps(project.result | {"started": f"2026-03-{day:02d}T03:00:00+00:00"}))
        assert main(["history", "add", str(path), "--file", str(file), "--config", str(project.config)]) == 0
        return read_history(file).runs[-1].checks[0]

    def test_a_run_that_changed_nothing_and_one_that_stopped_later_are_on_one_level(self, project: Project) -> None:
        swapped = [WRONG if i == 5 else RIGHT if i == 12 else value for i, value in enumerate(SAME)]
        first, second = self.added(project, SAME, 1), self.added(project, swapped, 2)
        assert (first.difference, second.difference) == (0.0, 0.0)
        assert second.n_max is not None
        assert first.n < second.n < second.n_max == first.n_max
        assert first.candidate.mean != pytest.approx(second.candidate.mean, abs=1.0)  # raw, as the run had them
        assert [levels(check).mean for check in (first, second)] == pytest.approx([100.0 * 118 / 158] * 2)

    def test_a_run_of_all_samples_keeps_its_mean_but_none_of_a_reference_that_was_replaced(
        self, whole: Project
    ) -> None:
        check = self.added(whole, right_but(43))
        assert check.reference.whole_mean == 80.0
        assert levels(check).mean == check.candidate.mean == 78.5
        whole.run(right_but(41))
        assert whole.record(right_but(60), args=["--reason", "other hardware"]) == 0
        assert self.added(whole, day=2).reference == Against(80.0, 200)

    @pytest.mark.parametrize(
        ("told", "mean"),
        [({"test": "bootstrap", "statistic": "f1"}, None), ({"test": "two-sample"}, None), ({"n": 201}, None),
         ({"n": 150}, 80.0)],
    )  # fmt: skip
    def test_only_a_mean_of_scores_of_this_very_reference_has_a_level(
        self, whole: Project, told: dict[str, object], mean: float | None
    ) -> None:
        whole.run(right_but(43))
        check = whole.check | told
        check["reference"] |= {"n": check["n"], "mean": 70.0 if "statistic" in told else 80.0}
        (whole.out / "accgate.json").write_text(json.dumps(whole.result | {"checks": [check]}))
        reference = self.added(whole).reference
        assert (reference.whole_mean, reference.digest == "") == (mean, told == {"n": 201})


@each(("test", "share", "theta", "n"), [
    (test, share, theta, n) for test in (gsprt_test, group_sequential_test)
    for share, theta, n in ((0.02, 8.0, 200), (0.3, 8.0, 200), (0.15, 4.0, 1319))
])  # fmt: skip
@pytest.mark.slow
def test_19_of_20_healthy_runs_lie_within_their_bands_whenever_they_stopped(
    test: Any, share: float, theta: float, n: int
) -> None:
    draw, inside, runs = np.random.default_rng(4), 0, 100
    sides = ReferenceSummary(75.0, n), CandidateSummary(75.0, n)
    for _ in range(runs):
        change = np.where(draw.random(n) < share, np.where(draw.random(n) < 0.5, -100.0, 100.0), 0.0)
        result = test(units_of(change), theta=theta, alpha=0.05, beta=0.2)
        verdict = Verdict(
            "m", "t", "pass", "gsprt", result.n, *sides, 0.05, 0.2, difference=result.difference, stop=result.stop,
            sigma=result.sigma, interval=result.interval,
        )  # fmt: skip
        assert verdict.error is not None
        inside += abs(result.difference) <= BAND * verdict.error
    assert inside / runs >= 0.95

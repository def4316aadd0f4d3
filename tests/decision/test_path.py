"""The path of a sequential check: its boundaries are those at which the test itself stopped, and nowhere before."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from accgate.decision.evidence import Evidence
from accgate.decision.path import SequentialPath, path_of
from accgate.report.charts.evidence import evidence_chart
from accgate.report.html.run import Sides
from accgate.verdict import Verdict
from tests.report.html_pages import changed, document
from tests.support.cases import each
from tests.support.decisions import compare_in_order as compare


def walked(test: str, lost: float, seed: int, *, n: int = 900, theta: float = 3.0) -> tuple[Verdict, SequentialPath]:
    before, after = changed(n, lost, 0.02, seed=seed)
    verdict = compare(before, after, test=test, theta=theta)  # type: ignore[arg-type]
    return verdict, path_from(verdict, before, after)


def path_from(
    verdict: Verdict, before: list[float], after: list[float], clusters: tuple[str, ...] | None = None
) -> SequentialPath:
    """The path by the samples that a check used, as a report reads them from a run's folder."""
    n = verdict.n
    ids, binary = tuple(map(str, range(n))), all(score in (0.0, 100.0) for score in before)
    used = None if clusters is None else clusters[:n]
    evidence = Sides(ids, np.array(after[:n]), np.array(before[:n]), used, (), binary).evidence(verdict)
    assert isinstance(evidence, Evidence)
    path = path_of(evidence, verdict)
    assert path is not None, "no path"
    return path


@pytest.mark.parametrize("test", ["gsprt", "group-sequential"])
def test_the_run_meets_a_boundary_where_the_test_stopped_and_not_before(test: str) -> None:
    stops = set()
    for lost, seed in product((0.02, 0.10), range(4)):
        verdict, path = walked(test, lost, seed)
        assert path.is_whole
        assert path.n[-1] == verdict.n
        assert path.sums[-1] / verdict.n == pytest.approx(verdict.difference_raw)
        total = dict(zip(path.n, path.sums, strict=True))
        failed = [n for n, limit in path.fails if total[int(n)] <= limit]
        passed = [n for n, limit in path.passes if total[int(n)] >= limit]
        if verdict.stop == "regression":
            assert (failed, passed) == ([path.fails[-1][0]], [])
            assert failed[0] <= verdict.n
        else:
            assert (failed, passed) == ([], [verdict.n])
            assert path.passes[-1][0] == verdict.n
        stops.add(verdict.stop)
    assert stops == {"regression", "futility"}


@pytest.mark.parametrize("test", ["gsprt", "group-sequential"])
def test_scores_between_0_and_100_have_boundaries_in_points(test: str) -> None:
    draw = random.Random(3)
    before = [draw.uniform(20.0, 80.0) for _ in range(800)]
    after = [score - draw.uniform(-8.0, 14.0) for score in before]
    verdict = compare(before, after, test=test, theta=2.0)  # type: ignore[arg-type]
    path = path_from(verdict, before, after)
    assert path.is_whole
    assert not path.exact
    assert path.sums[-1] / verdict.n == pytest.approx(verdict.difference_raw)
    assert verdict.stop == "regression"
    assert path.fails[-1][0] == verdict.n
    assert path.sums[-1] <= path.fails[-1][1] == pytest.approx(verdict.n * (verdict.gamma - verdict.reference.mean))
    assert "Sum of the differences in points" in evidence_chart(verdict, path, "k").about


def test_where_lower_is_better_worse_is_still_down() -> None:
    before, after = changed(900, 0.10, 0.02)
    flipped = [100.0 - s for s in before], [100.0 - s for s in after]
    verdict = compare(*flipped, test="gsprt", theta=3.0, higher_is_better=False)
    path = path_from(verdict, *flipped)
    assert path.is_whole
    assert path.sums[-1] < 0.0 < verdict.difference
    assert path.sums == walked("gsprt", 0.10, 0)[1].sums


def test_clusters_are_the_steps_and_too_few_of_them_changed_draw_no_limit_of_failing() -> None:
    for n, lost, size, stop in ((900, 0.10, 3, "regression"), (700, 0.02, 5, "futility")):
        before, after = changed(n, lost, 0.02)
        clusters = tuple(f"c{at // size}" for at in range(n))
        verdict = compare(before, after, test="gsprt", theta=3.0, clusters=clusters)
        path = path_from(verdict, before, after, clusters)
        assert (verdict.stop, path.is_whole, bool(path.fails)) == (stop, True, stop == "regression")
        assert path.n == tuple(range(size, verdict.n + 1, size))


def test_the_boundaries_of_a_run_planned_with_a_discordance_are_its_own() -> None:
    before, after = changed(900, 0.10, 0.02)
    verdict = compare(before, after, test="gsprt", theta=4.0, discordance=0.3)
    assert verdict.discordance_planned == 0.3
    path = path_from(verdict, before, after)
    assert path.is_whole
    assert path.passes != walked("gsprt", 0.10, 0)[1].passes


@pytest.mark.parametrize("change", [{"p_value": 0.0123}, {"theta_target": 9.0}, {"test": "e-process"}])
def test_boundaries_that_do_not_lead_to_the_verdict_are_not_drawn_as_its_own(change: dict[str, object]) -> None:
    verdict, _ = walked("gsprt", 0.10, 0)
    before, after = changed(900, 0.10, 0.02)
    path = path_from(replace(verdict, **change), before, after)
    assert not path.is_whole
    assert path.passes == ()
    ((n, limit),) = path.fails
    assert (n, limit) == (verdict.n, pytest.approx((verdict.gamma - verdict.reference.mean) * verdict.n))
    assert "The limit shown holds at the last sample" in evidence_chart(verdict, path, "k").caption


def test_a_long_way_is_thinned_but_keeps_its_end() -> None:
    verdict, path = walked("group-sequential", 0.02, 1, n=6_000, theta=1.5)
    chart = evidence_chart(verdict, path, "k")
    assert len(chart.svg) < 9_000
    (picture,) = document(chart.svg).pictures
    assert f"after {verdict.n:,} of " in picture.title


def test_of_an_e_process_only_the_last_limit_is_drawn() -> None:
    before, after = changed(1_500, 0.12, 0.02)
    verdict = compare(before, after, test="e-process", theta=4.0)
    path = path_from(verdict, before, after)
    assert (verdict.stop, path.n[-1], path.passes) == ("regression", verdict.n, ())
    assert len(path.fails) <= 1


def test_the_path_of_a_test_at_a_fixed_n_ends_at_the_difference_and_at_its_one_limit() -> None:
    before, after = changed(400, 0.06, 0.02)
    verdict = compare(before, after, theta=3.0)
    path = path_from(verdict, before, after)
    assert verdict.stop is None
    assert path.n == tuple(range(1, 401))
    assert path.exact
    assert path.sums[-1] / 400 == pytest.approx(verdict.difference)
    ((n, limit),) = path.fails
    assert (n, limit / 400) == (400, pytest.approx(verdict.gamma - verdict.reference.mean))
    assert "fails below" in evidence_chart(verdict, path, "k").svg


@each("test", ["gsprt", "group-sequential"])
@each("seed", [1, 2, 3, 4, 6, 7])
def test_a_run_that_used_all_samples_and_failed_nowhere_ends_above_the_limits_it_passed(test: str, seed: int) -> None:
    met = False
    for lost in (0.03, 0.06, 0.10):
        before, after = changed(150, lost, 0.03, seed=seed)
        verdict = compare(before, after, test=test, theta=3.0)  # type: ignore[arg-type]
        path = path_from(verdict, before, after)
        assert path.is_whole
        if verdict.stop != "end":
            continue
        met = True
        last, limit = path.fails[-1]
        assert path.sums[int(last) - 1] > limit
        assert all(path.sums[int(n) - 1] < limit for n, limit in path.passes if n < verdict.n)
        assert path.sums[-1] >= (verdict.gamma - verdict.reference.mean) * verdict.n - 1e-6
    assert met or test == "group-sequential"


def test_a_result_that_does_not_say_at_which_alpha_it_was_decided_has_no_path() -> None:
    before, after = changed(1_500, 0.12, 0.02)
    verdict = compare(before, after, test="gsprt", theta=4.0)
    assert verdict.stop == "regression"
    with pytest.raises(AssertionError, match="no path"):
        path_from(replace(verdict, alpha_applied=None), before, after)

"""The table of shapes: its rates are those that docs/measured.md promises, its runs those of the tests."""

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest

from accgate.stats.graded import graded_test
from accgate.stats.sequential import units_of
from benchmarks.shapes import BEGIN, END, PAGE, SHAPES, drop_seen, lowered, main, rates, share, stopped

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["ROUGE-like", "lognormal gains", "3% of 0/100 among small changes", "clusters of 5"])
def test_healthy_runs_fail_about_alpha_and_dropped_ones_mostly(name: str) -> None:
    healthy, dropped = rates(name, 300, 0.0, 600), rates(name, 300, 1.0, 600)
    assert healthy.auto <= 0.06 + 3.0 * math.sqrt(0.06 / 600)
    assert healthy.sequential <= 0.06 + 3.0 * math.sqrt(0.06 / 150)
    holding = [
        power
        for error, power in ((healthy.student, dropped.student), (healthy.bootstrap, dropped.bootstrap))
        if error <= 0.06
    ]
    assert dropped.auto >= 0.9 * max(holding, default=0.0) - 0.03
    assert dropped.sequential >= 0.66
    assert healthy.samples < 0.95


@pytest.mark.parametrize("name", ["ROUGE-like", "lognormal gains", "clusters of 5"])
def test_the_runs_that_stop_early_are_those_of_the_test(name: str) -> None:
    per_unit = 5 if name.startswith("clusters") else 1
    draw, units = SHAPES[name], 240
    example = draw(np.random.default_rng(0), (100, 500))
    theta = 1.2 * drop_seen(example, units * per_unit, per_unit)
    totals = lowered(draw(np.random.default_rng(1), (12, units)), example, 0.5 * theta * per_unit)
    results = []
    for row in totals:
        samples = np.zeros((units, per_unit))
        samples[:, 0] = row
        codes = np.repeat(np.arange(units), per_unit) if per_unit > 1 else None
        sums = units_of(samples.ravel(), codes, binary=False)
        results.append(graded_test(sums, theta=theta, alpha=0.05, beta=0.2, figures=False))
    failed, used = stopped(totals, per_unit, theta)
    assert failed == pytest.approx(np.mean([result.stop == "regression" for result in results]))
    assert used == pytest.approx(np.mean([result.n for result in results]) / (units * per_unit), abs=0.02)


def test_healthy_shapes_have_a_mean_of_zero() -> None:
    for name, draw in SHAPES.items():
        example = draw(np.random.default_rng(0), (2_000, 500))
        assert abs(example.mean()) < 4.0 * example.std() / 1_000, name


def rows() -> Iterator[tuple[str, int, list[float]]]:
    """(shape, n, figures) of the table in the documentation."""
    text, name = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0], ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 9 and re.fullmatch(r"[\d,]+", cells[1]):
            name = cells[0] or name
            yield name, int(cells[1].replace(",", "")), [math.nan if c == "-" else float(c) for c in cells[2:10]]


def test_the_documented_table_keeps_the_promises_beside_it() -> None:
    """But for the shapes that the page names as exceptions."""
    seen = set()
    for name, n, (auto, early, student, bootstrap, power, of_student, of_bootstrap, _) in rows():
        seen.add(name)
        if n < 100 or (n == 100 and name in ("28.5% lose 1, 1.5% gain 19", "lognormal gains in half")):
            continue
        most = 0.07 if n < 300 else 0.06
        assert auto <= most + 3.0 * math.sqrt(most / 3_000), (name, n)
        assert math.isnan(early) or early <= most + 3.0 * math.sqrt(most / (750 if n <= 300 else 300)), (name, n)
        holding = [p for error, p in ((student, of_student), (bootstrap, of_bootstrap)) if error <= most]
        assert power >= (0.85 if n == 100 else 0.9) * max(holding, default=0.0) - 0.01, (name, n)
    assert seen == set(SHAPES)


def test_a_few_runs_of_one_shape_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", "40", "--shapes", "normal", "--sizes", "50", "100"])
    table = capsys.readouterr().out.splitlines()
    assert table[-2].startswith("| normal | 50")
    assert table[-1].count("|") == table[-2].count("|") == 12
    assert share(0.04251) == "0.043"

"""`accgate sigma`: how noisy a task is, from one run, two runs of a model, or repeated answers."""

import json
from pathlib import Path

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.planning.noise import noise_of
from accgate.planning.samples import plan
from tests.support.gates import write_lines

N = 400


def run_of(path: Path, scores: np.ndarray, repeats: int = 1) -> Path:
    """A file of these scores, the rows of each id in `repeats` lines."""
    table = scores.reshape(-1, repeats)
    rows = [{"id": f"q{i}", "repeat": r, "score": float(s)} for i, row in enumerate(table) for r, s in enumerate(row)]
    return write_lines(path, rows)


@pytest.fixture
def two_runs(tmp_path: Path) -> list[Path]:
    """Half of 400 right, and again with every twentieth changed: a discordance of 5%."""
    first = np.tile([100.0, 0.0], N // 2)
    second = first.copy()
    second[::20] = 100.0 - second[::20]
    return [run_of(tmp_path / "a.jsonl", first), run_of(tmp_path / "b.jsonl", second)]


def test_two_runs_give_sigma_discordance_and_what_each_design_needs(two_runs: list[Path]) -> None:
    noise = noise_of(two_runs, theta=2.0)
    assert (noise.n, noise.mean, noise.sigma.value) == (N, 50.0, pytest.approx(50.0))
    assert noise.discordance.value == 0.05
    assert noise.discordance.low < 0.05 < noise.discordance.high
    rows = {row.test: row for row in noise.designs}
    assert rows["two-sample"].n == plan(2.0, sigma=50.0).n
    assert rows["unconditional"].n == plan(2.0, discordance=0.05).n
    assert rows["gsprt"].n == plan(2.0, discordance=0.05, test="gsprt").n
    assert rows["gsprt"].expected_n_healthy < rows["unconditional"].n < rows["two-sample"].n
    assert rows["two-sample"].theta > rows["unconditional"].theta


def test_one_run_shows_sigma_alone(two_runs: list[Path]) -> None:
    noise = noise_of(two_runs[:1], theta=2.0)
    assert noise.discordance is None
    assert [row.test for row in noise.designs] == ["two-sample"]


def test_repeats_split_the_variance_and_show_the_discordance(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    shares = draw.choice([0.0, 0.5, 1.0], (300, 1))
    noise = noise_of([run_of(tmp_path / "a.jsonl", 100.0 * (draw.random((300, 4)) < shares), 4)], theta=2.0)
    assert noise.parts.within == pytest.approx(10_000 * 0.25 / 3, rel=0.15)
    assert noise.parts.between == pytest.approx(10_000 / 6, rel=0.15)
    assert noise.discordance.value == pytest.approx(0.5 / 3, rel=0.2)


def test_other_scores_are_planned_by_the_spread_of_their_differences(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    first = draw.normal(50.0, 10.0, N)
    files = [run_of(tmp_path / "a.jsonl", first), run_of(tmp_path / "b.jsonl", first + draw.normal(0.0, 2.0, N))]
    noise = noise_of(files, theta=1.0)
    assert noise.differences_sigma.value == pytest.approx(2.0, rel=0.15)
    rows = {row.test: row.n for row in noise.designs}
    assert rows["paired"] == plan(1.0, sigma=noise.differences_sigma.value, test="paired").n


def test_the_command_prints_a_table_or_json(two_runs: list[Path], capsys) -> None:
    assert main(["sigma", *map(str, two_runs)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "discordance: 5.00 (95%:" in shown
    assert "To plan with it, set discordance = 0.0500" in shown
    assert main(["sigma", "--json", "--theta", "4", *map(str, two_runs)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["theta"], found["discordance"]["value"]) == (4.0, 0.05)


def test_the_command_says_what_repeats_would_buy(tmp_path: Path, capsys) -> None:
    file = run_of(tmp_path / "a.jsonl", np.random.default_rng(3).choice([0.0, 100.0], 80), 4)
    assert main(["sigma", str(file)]) == 0
    assert "with twice the repeats" in " ".join(capsys.readouterr().out.split())


def test_runs_of_other_samples_and_three_files_are_refused(two_runs: list[Path], tmp_path: Path) -> None:
    other = run_of(tmp_path / "c.jsonl", np.zeros(N - 1))
    with pytest.raises(BadInput, match="hold different samples"):
        noise_of([two_runs[0], other], theta=2.0)
    with pytest.raises(BadInput, match="3 files are given"):
        noise_of([*two_runs, other], theta=2.0)


def test_test_cases_to_annotate_are_planned_without_a_config(capsys) -> None:
    assert main(["plan", "--margin", "0.01", "--confidence", "0.95", "--range", "0", "1"]) == 0
    assert "Annotate 18,445 test cases" in capsys.readouterr().out
    assert main(["plan", "--margin", "0.05", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 738
    assert main(["plan", "--margin", "7"]) == 2
    assert "margin is 7" in capsys.readouterr().err


def test_compare_takes_the_options_of_sequential_tests(two_runs: list[Path], capsys) -> None:
    options = ["--theta", "8", "--early-stopping", "--discordance", "0.05", "--seed", "3", "--json"]
    assert main(["compare", *map(str, two_runs), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["test"], found["stop"], found["n_max"]) == ("gsprt", "futility", N)
    assert found["n"] < N

"""`accgate compare`: figures against scipy's, published figures, file forms, and bad arguments."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, t, ttest_rel

from accgate.cli.main import main
from tests.support.cases import each
from tests.support.decisions import unconditional_p
from tests.support.gates import Project, right_but, write_lines

Scores = Sequence[float]


class Files:
    """Two files of scores and the command that compares them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def write(self, side: str, scores: Scores, *, shuffle: int | None = None) -> Path:
        rows = [{"id": f"q{i}", "score": s if isinstance(s, (bool, str)) else float(s)} for i, s in enumerate(scores)]
        if shuffle is not None:
            rows = [rows[i] for i in np.random.default_rng(shuffle).permutation(len(rows))]
        return write_lines(self.folder / f"{side}.jsonl", rows)

    def compare(self, reference: Path, candidate: Path, *options: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        try:
            code = main(["compare", str(reference), str(candidate), *options])
        except SystemExit as stop:  # argparse's own refusal
            code = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def verdict(self, reference: Scores, candidate: Scores, *options: str) -> dict[str, Any]:
        """The verdict that --json prints; the candidate's rows come in another order."""
        left, right = self.write("reference", reference), self.write("candidate", candidate, shuffle=1)
        code, out, _ = self.compare(left, right, "--json", *options)
        verdict = json.loads(out)
        assert code == {"pass": 0, "regression": 1, "inconclusive": 4}[verdict["verdict"]]
        return verdict


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


@each("seed", range(3))
@each("n", [30, 400])
@each("test", ["auto", "paired"])
def test_right_and_wrong_answers_get_an_exact_test(files: Files, test: str, seed: int, n: int) -> None:
    rng = np.random.default_rng([seed, n])
    reference = 100.0 * (rng.random(n) < 0.7)
    changed = rng.random(n) < 0.15
    candidate = np.where(changed, 100.0 * (rng.random(n) < 0.3), reference)
    alpha = float(rng.uniform(0.01, 0.2))
    verdict = files.verdict(reference, candidate, "--alpha", repr(alpha), "--test", test)

    lost, gained = int((candidate < reference).sum()), int((candidate > reference).sum())
    assert verdict["test"] == ("unconditional" if test == "auto" else "paired")

    def exact(lost: int, gained: int = gained) -> float:
        if test == "auto":
            return unconditional_p(lost, gained, n)
        return float(binomtest(lost, lost + gained, alternative="greater").pvalue)

    p_value = exact(lost)
    assert verdict["p_value"] == pytest.approx(p_value, rel=1e-3)
    assert (verdict["lost"], verdict["gained"]) == (lost, gained)
    assert verdict["verdict"] == ("regression" if p_value <= alpha else "pass")
    right = int((reference == 100.0).sum())
    least = next(c for c in range(1, right + 1) if exact(c) <= alpha)
    assert verdict["gamma"] == pytest.approx(reference.mean() - 100 * (least - 1 - gained) / n, abs=1e-6)


@each("seed", range(3))
@each("direction", [(), ("--lower-is-better",)])
def test_other_scores_get_the_paired_t_test_by_name(files: Files, seed: int, direction: tuple[str, ...]) -> None:
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(20, 200))
    reference = rng.uniform(20, 80, n)
    candidate = reference + rng.normal(rng.normal(0, 1), 4, n)
    verdict = files.verdict(reference, candidate, *direction, "--test", "paired")

    worse = "greater" if direction else "less"
    test = ttest_rel(candidate, reference, alternative=worse)
    assert verdict["p_value"] == pytest.approx(test.pvalue, abs=1e-6)
    assert verdict["verdict"] == ("regression" if test.pvalue <= 0.05 else "pass")
    difference = candidate - reference
    sd = float(np.std(difference, ddof=1))
    margin = t.ppf(0.95, n - 1) * sd / math.sqrt(n)
    assert verdict["gamma"] == pytest.approx(reference.mean() + (margin if direction else -margin), abs=1e-6)
    assert verdict["difference"] == pytest.approx(difference.mean(), abs=1e-6)
    low, high = verdict["interval"]["two_sided"]
    better, worst = (low, high) if direction else (high, low)
    assert better == pytest.approx(difference.mean() + (-margin if direction else margin), abs=1e-6)
    assert (worst > difference.mean() + margin) if direction else (worst < difference.mean() - margin)
    worst_first = np.argsort(-difference if direction else difference, kind="stable")
    worse_ids = [f"q{i}" for i in worst_first if (difference[i] > 0 if direction else difference[i] < 0)]
    assert verdict["flips"] == worse_ids


@each(
    ("n", "sigma", "alpha", "theta", "below"),
    [(1319, 50.0, 0.05, 4.8411, 3.2025), (4096, 50.0, 0.05, 2.7472, 1.8173), (512, 11.06, 0.002, 2.5713, 1.9895)],
)
def test_the_two_sample_test_gives_the_published_figures(
    files: Files, n: int, sigma: float, alpha: float, theta: float, below: float
) -> None:
    options = ("--test", "two-sample", "--sigma", str(sigma), "--alpha", str(alpha))
    reference = right_but(n // 4, n)
    verdict = files.verdict(reference, right_but(n // 4, n, start=5), *options)
    assert verdict["theta"] == pytest.approx(theta, abs=5e-5)
    assert np.mean(reference) - verdict["gamma"] == pytest.approx(below, abs=5e-5)


def test_jsonl_csv_and_run_records_of_the_same_scores_compare_alike(tmp_path: Path, files: Files) -> None:
    project = Project(tmp_path, n=60)
    assert project.recorded(right_but(10, 60)).run(right_but(16, 60)) == 1
    reference = project.store / "m" / "sums.scores.csv"
    records = project.out / "m" / "sums.jsonl"
    table = tmp_path / "candidate.CSV"
    rows = zip(project.ids(), right_but(16, 60), strict=True)
    table.write_text("score,id\n" + "".join(f"{score},{id_}\n" for id_, score in rows), encoding="utf-8")
    outs = [files.compare(reference, path, "--json") for path in (records, table, project.scores)]
    assert [code for code, _, _ in outs] == [1, 1, 1]
    figures = [{k: v for k, v in json.loads(out).items() if k != "flips"} for _, out, _ in outs]
    assert figures[0] == figures[1] == figures[2]
    assert figures[0]["p_value"] == pytest.approx(unconditional_p(6, 0, 60), rel=1e-3)
    of_the_run = project.check
    of_the_run["reference"] |= dict.fromkeys(("name", "date", "commit", "runs", "engine"))  # a file of scores has none
    assert figures[0] | {"model": "m", "task": "sums"} == {k: v for k, v in of_the_run.items() if k != "flips"}


def test_fractions_need_a_scale(files: Files) -> None:
    reference, candidate = [1.0, 0.5] * 30, [1.0, 0.5] * 20 + [0.5] * 20
    left, right = files.write("reference", reference), files.write("candidate", candidate)
    code, out, err = files.compare(left, right)
    assert (code, out) == (2, "")
    assert "--scale 100" in err
    assert files.verdict(reference, candidate, "--scale", "100")["difference"] == pytest.approx(-100 / 12)
    assert files.verdict(reference, candidate, "--scale", "1")["difference"] == pytest.approx(-1 / 12)


@each("form", [lambda value: value, bool, lambda value: "pass" if value else "fail"])
def test_scores_of_0_and_1_on_both_sides_are_0_and_100_points_and_it_is_said(files: Files, form: Any) -> None:
    sides = [1, 0] * 30, [1, 0] * 20 + [0] * 20
    left, right = (files.write(name, [form(each) for each in side]) for name, side in zip("ab", sides, strict=True))
    code, out, _ = files.compare(left, right)
    assert code == 1
    assert "only 0 and 1, or right and wrong: taken as 0 and 100 points" in " ".join(out.split())


@each(
    ("options", "message"),
    [
        ("--alpha 0.5", "alpha is 0.5; give a number"), ("--alpha nan --json", "alpha is nan; "),
        ("--beta 1", "beta is 1.0; give"), ("--theta 0", "theta is 0.0; give"), ("--sigma -1", "sigma is -1.0; give"),
        ("--scale 0", "scale is 0.0; give"), ("--discordance 2", "discordance is 2.0; give"),
        ("--test target --json", "--test: there is no 'target'; known are auto, bootstrap, "),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_in_one_message(files: Files, options: str, message: str) -> None:
    side = files.write("side", right_but(5, 50))
    code, out, err = files.compare(side, side, *options.split())
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("accgate")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_missing_file_is_named(files: Files, tmp_path: Path) -> None:
    side, gone = files.write("side", right_but(5, 50)), tmp_path / "gone.jsonl"
    for paths in ((gone, side), (side, gone)):
        code, out, err = files.compare(*paths)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"accgate: {gone}: cannot be read: No such file or directory; give a ")


@each(("options", "code"), [("", 2), ("--may-differ question", 0), ("--test two-sample", 0)])
def test_ids_that_name_other_samples_on_each_side_are_refused(files: Files, options: str, code: int) -> None:
    sides = [
        write_lines(
            files.folder / f"{side}.jsonl",
            [{"id": i, "question": f"{side} {i}", "score": 100.0 * (i > 9)} for i in range(99)],
        )
        for side in ("before", "after")
    ]
    ended, _, err = files.compare(*sides, *options.split())
    assert ended == code, err
    assert ("the question of 99 of 99 samples differs" in err) is bool(code)


@pytest.mark.parametrize("side", ["", "n" * 245])  # the end of a name alone; one to which nothing can be added
def test_files_of_any_name_are_compared(files: Files, side: str) -> None:
    other = files.write("other", right_but(5, 50))
    assert files.compare(other, files.write(side, right_but(5, 50)))[0] == 0


def test_the_terminal_shows_the_figures_of_the_json(files: Files) -> None:
    left, right = files.write("reference", right_but(25, 200)), files.write("candidate", right_but(40, 200))
    code, out, err = files.compare(left, right)
    assert (code, err) == (1, "")
    assert "✕ Regression: the candidate fell" in out
    least = next(lost for lost in range(1, 16) if unconditional_p(lost, 0, 200) <= 0.05)
    gamma = f"{87.5 - 100 * (least - 1) / 200:.1f}"
    assert "the candidate fell 7.5 points, 87.5 to 80.0" in out
    figures = " ".join(out.partition("Figures")[2].split())
    assert figures.startswith(f"gamma {gamma}, theta ")
    assert "p <0.0001, n 200 Answers 15 got worse, 0 better Exit code 1." in figures


def test_json_of_an_id_with_half_a_character_is_printed(tmp_path: Path, files: Files) -> None:
    scores = {"reference": right_but(0, 20), "candidate": right_but(9, 20)}
    for side, values in scores.items():
        write_lines(tmp_path / side, [{"id": f"\ud800{i}", "score": score} for i, score in enumerate(values)])
    code, out, _ = files.compare(*(tmp_path / side for side in scores), "--json")
    assert (code, json.loads(out)["verdict"]) == (1, "regression")

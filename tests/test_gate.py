"""The whole story on recorded scores: plan, evaluate, decide, report, and what each ends with."""

import math
from pathlib import Path

import pytest
from scipy.stats import norm

from accgate import load_config
from accgate import run as run_gate
from accgate.errors import BadInput
from tests.support.cases import each
from tests.support.decisions import unconditional_p
from tests.support.gates import RIGHT, Project, right_but

N = 200
FULL = [RIGHT] * N
UNNAMED = dict.fromkeys(("name", "date", "commit", "runs", "engine"))  # nothing recorded


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A recorded reference with a mean of 75."""
    return Project(tmp_path, n=N).recorded(right_but(50, N))


@pytest.mark.parametrize("theta", [None, 6.0])
@each(
    ("wrong", "code", "verdict", "difference"),
    [(50, 0, "pass", 0.0), (84, 1, "regression", -17.0), (16, 0, "pass", 17.0)],
)
def test_a_clear_drop_is_a_regression_and_a_gain_none(tmp_path: Path, theta, wrong, code, verdict, difference) -> None:
    project = Project(tmp_path, n=N).recorded(right_but(50, N))
    project.tasks["sums"] |= {} if theta is None else {"theta": theta}
    project.write()
    assert project.run(right_but(wrong, N)) == code
    check = project.check
    assert (project.result["verdict"], check["verdict"], check["difference"]) == (verdict, verdict, difference)
    assert check["flips"] == project.ids()[50:wrong]


@pytest.mark.parametrize(("on_inconclusive", "code"), [("fail", 4), ("warn", 0)])
def test_too_few_samples_for_the_target_are_inconclusive(project: Project, on_inconclusive: str, code: int) -> None:
    project.tasks["sums"] |= {"theta": 1.0, "num_samples": 100}
    project.write(on_inconclusive=on_inconclusive)
    candidate = right_but(50, N)
    candidate[0:5], candidate[60:65] = [RIGHT] * 5, [0.0] * 5
    assert project.run(candidate) == code
    assert project.check["verdict"] == "inconclusive"
    assert project.check["theta"] > project.check["theta_target"] == 1.0
    assert "you asked for 1" in " ".join(project.check["reasons"])


def test_a_task_without_a_reference_is_not_evaluated_and_stands_beside_one_that_is_decided(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("old", "new"), n=20)
    project.record([RIGHT] * 20, [RIGHT] * 20)
    (project.store / "m/new.toml").unlink()
    assert project.run() == 4
    old, new = project.result["checks"]
    assert (old["verdict"], new["verdict"]) == ("pass", "no-reference")
    assert "accgate record" in new["reasons"][0]
    assert [path.stem for path in (project.out / "m").glob("*.jsonl")] == ["old"]


def test_a_reference_mean_gives_the_two_sample_test(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N, reference=80.0, reference_num_samples=1319, sigma=50.0)
    assert project.run(right_but(50, N)) == 0
    error = 50 * math.sqrt(1 / 1319 + 1 / N)
    check = project.check
    assert check["test"] == "two-sample"
    assert check["reference"] == {"mean": 80.0, "n": 1319, "readings": None, **UNNAMED}
    assert check["gamma"] == pytest.approx(80 + norm.ppf(0.05) * error, abs=1e-6)
    assert check["theta"] == pytest.approx(-(norm.ppf(0.05) + norm.ppf(0.2)) * error, abs=1e-6)
    assert check["p_value"] == pytest.approx(norm.cdf(-5.0 / error), abs=1e-9)
    assert project.run(right_but(53, N)) == 1  # 73.5, and gamma is 73.76


@pytest.mark.parametrize(("wrong", "code"), [(61, 0), (62, 1)])
def test_an_absolute_target_is_held_to(tmp_path: Path, wrong: int, code: int) -> None:
    project = Project(tmp_path, n=N, target=75.0, sigma=50.0)
    assert project.run(right_but(wrong, N)) == code
    check = project.check
    assert (check["test"], check["reference"]) == ("target", {"mean": 75.0, "n": None, "readings": None, **UNNAMED})
    assert check["gamma"] == pytest.approx(75 + norm.ppf(0.05) * 50 / math.sqrt(N), abs=1e-6)  # 69.18


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """Three recorded tasks of right answers, without their overall check."""
    project = Project(tmp_path, tasks=("one", "two", "three"), n=N)
    project.write(overall=False)
    return project.recorded(FULL, FULL, FULL)


def test_holm_spares_what_each_check_alone_would_reject(three: Project) -> None:
    scores = (right_but(4, N), right_but(4, N), FULL)
    assert 0.05 / 3 < unconditional_p(4, 0, N) < 0.05
    assert three.run(*scores) == 0
    assert [c["alpha_applied"] for c in three.result["checks"]] == pytest.approx([0.05 / 3] * 3)
    three.write(correction="none")
    assert three.run(*scores) == 1
    assert [c["verdict"] for c in three.result["checks"]] == ["regression", "regression", "pass"]


def test_a_task_is_checked_for_its_own_models_only(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=20)
    project.models["other"] = {"engine": "recorded", "model": "other.jsonl"}
    project.tasks["two"]["models"] = ["other"]
    project.write()
    project.answer([RIGHT] * 20, tasks=["one"])
    project.answer([RIGHT] * 20, [RIGHT] * 20, path=tmp_path / "other.jsonl")
    assert project.record() == 0
    assert project.run() == 0
    assert [(c["model"], c["task"]) for c in project.result["checks"]] == [
        ("m", "one"), ("other", "one"), ("other", "two")]  # fmt: skip


def test_from_python_run_takes_a_path_as_well_as_a_config(project: Project) -> None:
    project.answer(right_but(84, N))
    for config in (str(project.config), project.config, load_config(project.config)):
        result = run_gate(config, out=project.out)
        assert (result.verdict, result.exit_code, [check.task for check in result.checks]) == (
            "regression",
            1,
            ["sums"],
        )
    assert project.result["exit_code"] == 1
    project.scores.write_text("")
    with pytest.raises(BadInput, match="holds no records"):
        run_gate(load_config(project.config), out=project.out)

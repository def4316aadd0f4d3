"""The checks of a config: how many samples each takes, what judges them, and what that can see."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import beta, norm

from accgate import load_config, plan
from accgate.cli.main import main
from accgate.config.config import select
from accgate.errors import BadInput
from accgate.planning import sizing
from accgate.planning.checks import Check, plan_checks
from accgate.verdict.reasons import words_of
from tests.support.cases import each
from tests.support.gates import Project, questions, right_but, table, write_lines, write_task

N = 100
K = norm.ppf(0.95) + norm.ppf(0.8)


def project_with(folder: Path, /, *, recorded: bool = False, n: int = N, **keys: Any) -> Project:
    """A project whose task has these keys, recorded without them where asked."""
    project = Project(folder, n=n)
    if recorded:
        assert project.record(right_but(20, n)) == 0
    project.tasks["sums"] |= keys
    project.write()
    return project


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every dataset for one that is too large to be asked whole."""
    monkeypatch.setattr(sizing, "MOST_WHOLE", 0)


def check_of(project: Project) -> Check:
    (check,) = plan_checks(load_config(project.config))
    return check


def aim_at(project: Project, theta: float) -> None:
    project.tasks["sums"]["theta"] = theta
    project.write()


def refusal(project: Project) -> str:
    with pytest.raises(BadInput) as caught:
        plan_checks(load_config(project.config))
    return str(caught.value)


@each(
    ("keys", "n"),
    [
        ({}, N), ({"num_samples": 30}, 30), ({"limit": 40}, 40), ({"num_samples": 30, "limit": 40}, 30),
        ({"theta": 20.0, "limit": 7}, 7), ({"theta": 20.0, "num_samples": 9}, 9), ({"theta": 20.0}, N),
    ],
)  # fmt: skip
@pytest.mark.parametrize("recorded", [False, True], ids=["no reference", "recorded"])
def test_samples_come_from_num_samples_theta_or_what_there_is_and_limit_caps_them(tmp_path, keys, n, recorded) -> None:
    check = check_of(project_with(tmp_path, recorded=recorded, **keys))
    assert check.n == n
    assert [sample.id for sample in check.task.samples] == Project(tmp_path, n=N).ids()[:n]
    assert check.reference_n == (n if recorded else None)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("discordance", [0.02, 0.1])
def test_theta_sets_the_number_at_what_the_test_needs_that_will_decide(tmp_path: Path, discordance: float) -> None:
    """Without a reference nobody knows yet that scores are 0 or 100: McNemar's number is enough for either test."""
    project = project_with(tmp_path, theta=20.0, discordance=discordance)
    first = check_of(project).n
    assert first == plan(20.0, discordance=discordance, test="paired").n
    assert project.record(right_but(20, N)) == 0
    assert check_of(project).n == plan(20.0, discordance=discordance).n < first


@each(("keys", "n"), [({}, 12), ({"num_samples": 50}, 50), ({"recorded": True}, N)])
def test_a_definition_says_how_many_samples_where_nothing_else_does(tmp_path: Path, keys, n: int) -> None:
    project = project_with(tmp_path, **keys)
    write_task(tmp_path, rows=questions(N), num_samples=12)
    assert check_of(project).n == n


@pytest.mark.usefixtures("large")
def test_a_reference_mean_sets_the_number_at_its_own_and_theta_at_what_it_allows(tmp_path: Path) -> None:
    project = project_with(tmp_path, reference=80.0, reference_num_samples=64, sigma=50.0)
    check = check_of(project)
    assert (check.test, check.n, check.reference_n, check.reference_mean) == ("two-sample", 64, 64, 80.0)
    error = 50 * math.sqrt(1 / 64 + 1 / 64)
    assert check.theta == pytest.approx(K * error)
    assert check.gamma == pytest.approx(80 - norm.ppf(0.95) * error)
    aim_at(project, 20.0)
    ratio = (K * 50 / 20) ** 2
    assert check_of(project).n == math.ceil(ratio / (1 - ratio / 64))


def test_a_reference_or_a_dataset_too_small_for_theta_is_noted(tmp_path: Path) -> None:
    few = project_with(tmp_path, theta=5.0, reference=80.0, reference_num_samples=64, sigma=50.0)
    (note,) = check_of(few).notes
    assert "drop of 5.0 points needs a larger reference" in words_of(note)
    project = project_with(tmp_path, recorded=True, theta=7.0)
    check = check_of(project)
    assert f"needs {plan(7.0).n} samples; this check has 100" in words_of(check.notes[0])
    assert check.theta == pytest.approx(plan(7.0, n_max=N).theta)
    project.write(early_stopping=True)  # what stops early can take so many
    assert f"may need {plan(7.0, test='gsprt').n} samples" in words_of(check_of(project).notes[0])


@pytest.mark.parametrize(("recorded", "enough"), [(False, 5), (True, 4)], ids=["no reference", "recorded"])
@each("theta", [5.0, 5e-324])
def test_a_theta_that_the_dataset_cannot_show_is_refused_with_the_least_that_it_can(
    tmp_path, theta, recorded, enough
) -> None:
    """The least is a drop of losses alone: five, or for the unconditional test four, must be there in 80% of runs."""
    least = math.ceil(1e4 * beta.ppf(0.8, enough, N - enough + 1)) / 100.0
    project = project_with(tmp_path, recorded=recorded, theta=theta)
    fault = f"is {theta:g}; 100 samples detect no drop under {least:g} points"
    assert refusal(project).startswith(f"{project.config}:10: tasks.sums.theta: {fault}")
    aim_at(project, least)
    assert check_of(project).theta >= least


def generated(folder: Path, **keys: Any) -> Project:
    """A project whose task is generated, of numbers large enough for any number of samples."""
    project = Project(folder, tasks=("arithmetic",))
    project.tasks["arithmetic"] = {"options": {"high": 10**6}, **keys}
    project.write()
    return project


@each("theta", [0.24, 5e-324])
@each("keys", [{"discordance": 0.3}, {"test": "e-process"}, {"allowed_drop": 0.5}])
def test_a_generated_task_of_too_many_samples_is_refused_with_the_least_theta(tmp_path, theta: float, keys) -> None:
    message = refusal(generated(tmp_path, theta=theta, **keys))
    told = re.search(r"is (\S+); 100,000 samples, .* detect no drop under (\S+) points", message)
    assert float(told[1]) == pytest.approx(theta, rel=1e-5)
    if "allowed_drop" not in keys:
        rates: dict[str, Any] = {"discordance": 0.1, "test": "paired"} | keys
        assert plan(float(told[2]), **rates).n <= 100_000 < plan(float(told[2]) - 0.01, **rates).n


def test_a_generated_task_of_fewer_samples_than_theta_takes_is_refused(tmp_path: Path) -> None:
    assert check_of(generated(tmp_path, theta=0.1, limit=7)).n == 7
    message = refusal(generated(tmp_path, theta=5.0, options={"high": 50, "count": 30}))
    assert f"is 5; 30 samples detect no drop under {math.ceil(1e4 * beta.ppf(0.8, 5, 26)) / 100:g} points" in message


@each("keys", [{"target": 70.0}, {"test": "two-sample"}])
def test_a_theta_that_no_number_of_samples_shows_has_its_place(tmp_path: Path, keys: dict[str, Any]) -> None:
    message = refusal(project_with(tmp_path, recorded="test" in keys, theta=1e-300, sigma=50.0, **keys))
    assert re.search(r"tasks\.sums\.theta: is 1e-300; 1,000,000,000 samples.* under 0\.01 points", message)


def add_runs(project: Project, wrong: list[int], *flags: str, step: int = 10) -> None:
    """Record a run for each of the numbers, in which every tenth (or so) sample from it on is wrong."""
    rows = [{"id": i, "repeat": run, "score": 100.0 * (place % step != digit)} for run, digit in enumerate(wrong)
            for place, i in enumerate(project.ids())]  # fmt: skip
    write_lines(project.scores, rows)
    assert project.record(args=[*flags, "--runs", str(len(wrong))]) == 0


def test_more_runs_of_the_reference_are_offered_where_its_answers_flicker(tmp_path: Path) -> None:
    project = project_with(tmp_path, n=600)
    add_runs(project, [0, 1])
    aim_at(project, 5.0)
    (note,) = check_of(project).advice
    offered = re.match(r"with 4 runs of the reference ([\d,]+) samples see what takes (\d+) with 2: ", note)
    assert note.endswith("`accgate record --add --runs 2`")
    assert int(offered[2]) == plan(5.0, discordance=0.2, test="paired").n
    del project.tasks["sums"]["theta"]
    project.write()
    add_runs(project, [2, 3], "--add")
    aim_at(project, 5.0)
    check = check_of(project)
    assert (check.n, check.notes, check.advice) == (int(offered[1]), (), ())


def test_a_reference_too_near_chance_for_the_drop_that_is_seen_is_noted(tmp_path: Path) -> None:
    project = project_with(tmp_path, n=600, discordance=0.3)  # which sees 5.6 points; two standard errors are 3.5
    write_task(tmp_path, rows=questions(600), chance=75.0)
    project.record(right_but(123, 600))
    assert [note.kind for note in check_of(project).notes] == ["near-chance"]


def test_runs_that_flicker_little_leave_what_two_builds_are_assumed_to_differ_by(tmp_path: Path) -> None:
    """They differ by 4%, of which three quarters count with two runs; two more runs would save too little."""
    project = project_with(tmp_path, n=600)
    add_runs(project, [0, 1], step=50)
    aim_at(project, 5.0)
    check = check_of(project)
    assert (check.n, check.advice) == (plan(5.0, discordance=0.75 * 0.04 + 0.06, test="paired").n, ())


def test_runs_that_agree_plan_as_one_does(tmp_path: Path) -> None:
    """They took discordance for 0, as if no build differed from another by more than its runs from each other."""
    project = project_with(tmp_path, n=600)
    add_runs(project, [0, 0, 0, 0])
    aim_at(project, 5.0)
    check = check_of(project)
    assert (check.n, check.advice) == (plan(5.0, test="paired").n, ())


@pytest.mark.usefixtures("large")
def test_an_absolute_target_is_planned_as_one_sample(tmp_path: Path) -> None:
    check = check_of(project_with(tmp_path, target=70.0, sigma=50.0, theta=15.0))
    assert (check.test, check.reference_mean, check.reference_n) == ("target", 70.0, None)
    assert check.n == plan(15.0, sigma=50.0, test="target").n
    assert check.gamma == pytest.approx(70 - norm.ppf(0.95) * 50 / math.sqrt(check.n))
    assert check.notes == ()
    unforeseen = check_of(project_with(tmp_path, target=70.0, theta=5.0))  # without a sigma
    assert (unforeseen.theta, unforeseen.gamma, unforeseen.n) == (None, None, N)


@pytest.mark.usefixtures("large")
def test_a_recorded_reference_can_be_held_to_the_two_sample_test(tmp_path: Path) -> None:
    check = check_of(project_with(tmp_path, recorded=True, test="two-sample", sigma=40.0, theta=18.0))
    assert check.test == "two-sample"
    assert check.n == plan(18.0, sigma=40.0).n
    assert check.reference_n == check.n


@pytest.mark.usefixtures("large")
def test_scores_between_0_and_100_are_planned_by_the_spread_of_their_differences(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N, theta=8.0)
    project.record([float(i) for i in range(N)])
    check = check_of(project)
    assert check.discordance is None
    assert check.n == min(N, plan(8.0, sigma=100 * math.sqrt(0.1 - 0.08), test="bootstrap").n)
    assert check.theta == pytest.approx(K * 100 * math.sqrt(0.1 / check.n), rel=0.15)  # the drop is one of the changes


def ranged(folder: Path, high: float, *, recorded: bool, **keys: Any) -> Project:
    """A project of scores from 0 to `high` points, with a reference of them where asked."""
    folder.mkdir()
    project = Project(folder, n=400)
    (folder / "scores.py").write_text("def points(answer, target):\n    return 0.0\n")
    rows = questions(400)
    write_task(folder, rows=rows, metric="scores.py:points", metric_options__highest=high)
    if recorded:
        assert project.record([high * (i % 11) / 10.0 for i in range(len(rows))]) == 0
    project.tasks["sums"] |= keys
    project.write()
    return project


@pytest.mark.usefixtures("large")
@each("test", ["gsprt", "paired"])
def test_the_plan_of_graded_scores_goes_by_the_range_of_their_metric(tmp_path: Path, test: str) -> None:
    """Whatever the unit, the same share of the range takes the same samples."""
    usual, other = (
        check_of(ranged(tmp_path / f"{high:g}", high, recorded=True, theta=0.1 * high, test=test))
        for high in (100.0, 5.0)
    )
    assert usual.n < 400
    assert (other.n, other.theta) == (usual.n, pytest.approx(0.5, rel=0.05))
    assert other.expected_n_healthy == pytest.approx(usual.expected_n_healthy)


def test_before_a_reference_is_recorded_a_range_other_than_0_to_100_is_that_of_graded_scores(tmp_path: Path) -> None:
    first = check_of(ranged(tmp_path / "first", 10.0, recorded=False, theta=1.0, test="paired"))
    then = check_of(ranged(tmp_path / "then", 10.0, recorded=True, theta=1.0, test="paired"))
    assert first.n == then.n


def test_a_theta_beyond_the_range_of_the_metric_is_refused(tmp_path: Path) -> None:
    project = ranged(tmp_path / "ten", 10.0, recorded=False, theta=20.0)
    assert "tasks.sums.theta: is 20; scores of 0 to 10 cannot drop" in refusal(project)


@pytest.mark.usefixtures("large")
def test_several_checks_are_planned_at_the_alpha_that_is_left(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=N, theta=20.0)
    for check in plan_checks(load_config(project.config)):
        assert check.alpha_planned == 0.025
        assert check.n == plan(20.0, checks=2, test="paired").n
    project.write(correction="none")
    assert {check.alpha_planned for check in plan_checks(load_config(project.config))} == {0.05}


@pytest.mark.usefixtures("large")
def test_a_task_has_its_own_alpha_beta_and_repeats(tmp_path: Path) -> None:
    check = check_of(project_with(tmp_path, alpha=0.01, beta=0.1, repeats=3, theta=20.0))
    assert (check.design.alpha, check.design.beta, check.repeats) == (0.01, 0.1, 3)
    assert check.n == plan(20.0, alpha=0.01, beta=0.1, test="paired").n
    assert check.max_tokens == check.n * 3 * 256
    project = project_with(tmp_path, num_samples=10)
    project.models["m"]["sampling"] = {"max_tokens": 7}
    project.write()
    assert check_of(project).max_tokens == 70


def test_recording_looks_for_no_reference(tmp_path: Path) -> None:
    project = project_with(tmp_path, recorded=True)
    (project.store / "m/sums.toml").write_text("damaged")
    (check,) = plan_checks(load_config(project.config), recording=True)
    assert (check.reference, check.notes, check.n) == (None, (), N)


def test_the_faults_of_all_checks_come_at_once(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two", "good"), n=N)
    project.tasks["one"]["num_samples"] = project.tasks["two"]["num_samples"] = 1000
    project.models["other"] = project.models["m"]
    project.write()
    message = refusal(project)
    assert message.count("num_samples: is 1000") == 2
    assert len(message.splitlines()) == 2


def test_a_config_in_which_no_model_has_a_task_is_refused(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, tasks=("one",), n=4)
    project.models["other"] = project.models["m"]
    project.tasks["one"]["models"] = ["m"]
    project.write()
    assert main(["plan", str(project.config), "--models", "other"]) == 2
    assert "no model has a task" in capsys.readouterr().err


def test_a_reference_is_sized_for_every_check_that_the_file_will_judge(tmp_path: Path) -> None:
    path = tmp_path / "accuracy.toml"
    keys = {"engine": "openai", "model": "x", "options": {"base_url": "http://127.0.0.1:1/v1"}}
    models = [table(f"models.m{i}", keys | ({"baseline": "m0"} if i else {})) for i in range(3)]
    path.write_text("".join([*models, table("tasks.arithmetic", {"theta": 5.0})]), encoding="utf-8")
    config = load_config(path)
    (recorded,) = plan_checks(config.without_baselines(), recording=True)
    judged = plan_checks(config)
    assert [check.n for check in judged] == [recorded.n] * 3
    assert recorded.n > plan_checks(select(config, ("m1",)))[0].n

"""The overall check of a model, in whole runs: what it pools, at which alpha, and what its verdict does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from accgate.cli.main import main
from accgate.engines import Reply, Request
from accgate.engines.recording import RecordedEngine
from accgate.report.comment import About, render_comment
from accgate.report.markdown import render_markdown
from accgate.report.result_file import junit_xml, read_result
from accgate.stats.paired import mcnemar_exact
from tests.support.gates import RIGHT, WRONG, N, Project, right_but, write_lines

FULL = [RIGHT] * N


def three(tmp_path: Path, **gate: object) -> Project:
    project = Project(tmp_path, tasks=("one", "two", "three"), n=N)
    project.write(**gate)
    return project.recorded(FULL, FULL, FULL)


def test_a_small_drop_everywhere_fails_though_no_check_does(tmp_path: Path) -> None:
    project = three(tmp_path)
    assert project.run(right_but(4, N), right_but(3, N), right_but(3, N)) == 1
    result = project.result
    assert [check["verdict"] for check in result["checks"]] == ["pass"] * 3
    (overall,) = result["overall"]
    assert result["verdict"] == overall["verdict"] == "regression"
    assert (overall["model"], overall["task"], overall["n"]) == ("m", "overall", 3 * N)
    assert (overall["lost"], overall["gained"]) == (10, 0)
    assert overall["difference"] == pytest.approx(-10 / 6)
    assert overall["p_value"] == pytest.approx(0.5**10)
    assert (overall["alpha"], overall["alpha_applied"]) == (0.05, pytest.approx(0.01))
    assert overall["p_adjusted"] == pytest.approx(5 * 0.5**10)
    alone = mcnemar_exact(10, 0, 3 * N, alpha=0.01, beta=0.2)
    assert (overall["theta"], overall["sigma"]) == pytest.approx((alone.theta, alone.sigma))
    assert overall["interval"]["two_sided"] == pytest.approx(alone.interval.two_sided)
    assert overall["candidate"]["mean"] < overall["gamma"]
    assert "3 checks together, each of their 600 samples with the same weight" in overall["reasons"]
    assert [check["alpha_applied"] for check in result["checks"]] == pytest.approx([0.04 / 3] * 3)

    read = read_result(project.out / "accgate.json")
    assert "Regression: overall fell" in render_markdown(read)
    assert "overall" in render_comment(read, About("t", "accuracy.toml", "0" * 40))
    assert 'tests="4" failures="1"' in junit_xml(read)


def test_without_it_the_checks_have_all_of_alpha(tmp_path: Path) -> None:
    project = three(tmp_path, overall=False)
    assert project.run(right_but(4, N), right_but(3, N), right_but(3, N)) == 0
    assert project.result["overall"] == []
    assert [check["alpha_applied"] for check in project.result["checks"]] == pytest.approx([0.05 / 3] * 3)
    project.tasks["two"]["target"] = project.tasks["three"]["target"] = 50.0  # one paired check is not pooled
    project.write(overall=True)
    assert project.run(FULL, FULL, FULL) == 0
    assert project.result["overall"] == []
    assert [check["alpha_applied"] for check in project.result["checks"]] == pytest.approx([0.05 / 3] * 3)


@pytest.mark.parametrize(("correction", "share"), [("bh", 0.1), ("none", 0.2)])
def test_models_share_the_fifth_unless_nothing_is_corrected(tmp_path: Path, correction: str, share: float) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=N)
    project.models["other"] = {"engine": "recorded", "model": "m.jsonl"}
    project.write(correction=correction)
    assert project.recorded(FULL, FULL).run() == 0
    assert [check["model"] for check in project.result["overall"]] == ["m", "other"]
    assert [check["alpha_applied"] for check in project.result["overall"]] == pytest.approx([share * 0.05] * 2)
    left = 0.05 if correction == "none" else 0.04 / 4
    assert project.result["checks"][0]["alpha_applied"] >= left * (1.0 - 1e-9)


def test_it_names_the_checks_that_it_leaves_out(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two", "partial", "fixed", "lenient"), n=N)
    project.tasks["fixed"]["target"] = 50.0
    project.tasks["lenient"]["allowed_drop"] = 30.0
    project.write()
    partial = [*[40.0] * 10, *FULL[10:]]
    project.recorded(FULL, FULL, partial, FULL, FULL)
    assert project.run(FULL, FULL, partial, FULL, right_but(40, N)) == 0
    (overall,) = project.result["overall"]
    assert (overall["verdict"], overall["n"]) == ("pass", 2 * N)
    left_out = "partial (scores other than 0 and 100), fixed (not paired), lenient (a drop is allowed)"
    assert f"left out: {left_out}" in overall["reasons"]


def test_checks_of_several_answers_are_pooled_by_their_draws(tmp_path: Path) -> None:
    """Two answers on either side beside one, and then one of the reference against two."""
    project = Project(tmp_path, tasks=("one", "two"), n=60)
    project.tasks["two"]["repeats"] = 2
    project.write()

    def answer(*lost: int) -> None:
        rows = [{"id": i, "repeat": r, "score": RIGHT * (k >= lost[task == "two"])} for task in project.tasks
                for k, i in enumerate(project.ids(task)) for r in range(2 if task == "two" else 1)]  # fmt: skip
        write_lines(project.scores, rows)

    answer(0, 0)
    assert project.record() == 0
    answer(4, 5)
    assert project.run() == 1
    (overall,) = project.result["overall"]
    assert (overall["n"], overall["lost"], overall["gained"]) == (120, 9, 0)
    assert overall["p_value"] == pytest.approx(0.5**9)  # with as many answers on either side whole sides are exchanged
    # Of whole losses alone seven are the least at 0.01, and the last lost sample of "two" is the first to come back.
    assert (overall["verdict"], overall["gamma"]) == ("regression", pytest.approx(100.0 - 100.0 * 6 / 120))
    assert [check["verdict"] for check in project.result["checks"]] == ["pass"] * 2

    project.tasks["one"]["repeats"] = 2
    project.write()
    rows = [{"id": i, "repeat": r, "score": RIGHT * (k >= 2 or r)} for task in project.tasks
            for k, i in enumerate(project.ids(task)) for r in range(2)]  # fmt: skip
    write_lines(project.scores, rows)
    assert project.run() == 0
    (overall,) = project.result["overall"]
    assert overall["p_value"] == pytest.approx((2 / 3) ** 2 * (1 / 2) ** 2)  # two of three answers, and either side


def test_a_check_in_error_leaves_it_without_a_verdict(tmp_path: Path) -> None:
    project = three(tmp_path, max_failed=0.5)
    lines = project.scores.read_text(encoding="utf-8").splitlines(keepends=True)
    project.scores.write_text("".join(lines[60:]))
    assert project.run() == 3
    (overall,) = project.result["overall"]
    assert (overall["verdict"], overall["n"], overall["candidate"]["n"]) == ("error", 0, 0)
    assert overall["reasons"] == ["1 of its 3 checks could not be decided: one"]


@pytest.mark.parametrize(
    ("lost", "code", "verdict"),
    [(2, 0, "pass"), (6, 3, "error"), (7, 1, "regression")],  # (1 / 2)^7 is the first below 0.01
)
def test_a_failed_sample_counts_as_lost_and_as_right(tmp_path: Path, lost: int, code: int, verdict: str) -> None:
    project = three(tmp_path)
    project.answer(*(right_but(lost // 3 + (place < lost % 3), N) for place in range(3)))
    rows = [json.loads(line) for line in project.scores.read_text(encoding="utf-8").splitlines()]
    write_lines(project.scores, [*rows[:-1], rows[-1] | {"score": None, "error": "lost"}])
    assert project.run() == code
    assert {check["verdict"] for check in project.result["checks"]} == {"pass"}
    (overall,) = project.result["overall"]
    assert (overall["verdict"], overall["candidate"]["errors"]) == (verdict, 1)


def test_too_few_samples_for_any_outcome_to_fail_are_no_pass(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=3)
    assert project.record([RIGHT] * 3, [RIGHT] * 3) == 0
    assert project.run([WRONG] * 3, [WRONG] * 3) == 4
    (overall,) = project.result["overall"]
    assert overall["verdict"] == "inconclusive"
    assert "no outcome of 6 samples could fail at alpha 0.01: evaluate more" in overall["reasons"]


def test_checks_that_stopped_early_are_pooled_up_to_their_stop(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=200, theta=10.0)
    project.write(early_stopping=True)
    project.recorded(*[[RIGHT] * 200] * 2)
    rng = np.random.default_rng(0)
    changed = [[WRONG if x < 0.02 else RIGHT for x in rng.random(200)] for _ in range(2)]
    project.run(*changed)
    checks, (overall,) = project.result["checks"], project.result["overall"]
    assert overall["n"] == sum(check["n"] for check in checks) < overall["n_max"]
    assert overall["lost"] == sum(check["lost"] for check in checks)
    assert overall["interval"] is None
    assert (overall["verdict"] == "regression") == (overall["candidate"]["mean"] < overall["gamma"])
    naive = binomtest(overall["lost"], overall["lost"], alternative="greater").pvalue
    assert naive < overall["p_value"] <= 1.0  # a fixed-n reading would be too bold


@pytest.mark.parametrize("score", [None, 50.0])
def test_what_ends_after_a_check_stopped_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, score: float | None
) -> None:
    """Of many requests in flight some end after the decision: without a score, or with one that no test pools."""
    project = Project(tmp_path, tasks=("one", "two"), n=200, theta=10.0)
    project.write(early_stopping=True, max_failed=0.5)
    assert project.recorded(*[[RIGHT] * 200] * 2).run() == 0
    before = project.result
    complete = RecordedEngine.complete

    async def later(self: RecordedEngine, request: Request) -> Reply:
        await asyncio.sleep(0)
        return await complete(self, request)

    monkeypatch.setattr(RecordedEngine, "complete", later)
    monkeypatch.setattr(RecordedEngine, "concurrency", 100)
    n = before["checks"][0]["n"]
    lines = [json.loads(line) for line in project.scores.read_text().splitlines()]
    past = {*project.ids("one")[n:], *project.ids("two")[n:]}
    lines = [line | {"score": score, "error": "lost"} if line["id"] in past else line for line in lines]
    write_lines(project.scores, lines)
    assert project.run() == 0
    assert project.result["samples"] > before["samples"]
    for key in ("checks", "overall"):
        assert [*map(without_counts, project.result[key])] == [*map(without_counts, before[key])]


def without_counts(check: dict[str, Any]) -> dict[str, Any]:
    """A verdict without what is counted of all records."""
    candidate = {key: value for key, value in check["candidate"].items() if key != "readings"}
    return {key: value for key, value in check.items() if key != "costs"} | {"candidate": candidate}


def test_no_task_has_its_name(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, tasks=("overall", "one"), n=10)
    assert main(["validate", str(project.config)]) == 2
    assert "tasks.overall: is the name of a model's overall check; use another" in capsys.readouterr().err


def test_the_plan_says_what_it_sees(tmp_path: Path, capsys) -> None:
    project = three(tmp_path)
    capsys.readouterr()
    for command in ("plan", "validate"):
        assert main([command, str(project.config)]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "m, overall: 3 checks pooled at alpha 0.01" in text
        assert "600 samples see" in text


def test_of_several_rates_it_has_those_that_promise_least(tmp_path: Path) -> None:
    """The least alpha, so that it fails no healthy change more often, and the largest beta, whose theta it shows."""
    project = Project(tmp_path, tasks=("one", "two"), n=N)
    project.tasks["one"] |= {"alpha": 0.02, "beta": 0.1}
    project.tasks["two"]["beta"] = 0.3
    project.write()
    assert project.recorded(FULL, FULL).run() == 0
    (overall,) = project.result["overall"]
    assert (overall["alpha"], overall["beta"]) == (0.02, 0.3)

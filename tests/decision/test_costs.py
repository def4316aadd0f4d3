"""Gates on tokens and seconds: the test's own error rate, what fails closed, and that a result can be decided again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from accgate import gate
from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.decision.costs import fewest_for_limits
from accgate.errors import BadInput
from accgate.planning.checks import plan_checks
from accgate.records.figures import Figures
from accgate.records.file import Record
from accgate.references.columns import value_of
from accgate.stats.bootstrap import drop_evidence, ratio_test
from accgate.stats.power import quantile
from accgate.text import figure
from benchmarks import tails
from tests.support.cases import each
from tests.support.gates import Project, right_but, said, write_lines

N = 120
Cost = Callable[[int], dict[str, Any]]  # the columns of the sample at a place


def test_p_is_that_of_exponential_weights_and_the_interval_excludes_what_it_rejects() -> None:
    draw = np.random.default_rng(1)
    weights = draw.exponential(size=(100_000, 201))
    for grown in (0.0, 0.05, 0.1, 0.2):
        before = draw.lognormal(4.0, 0.8, 200)
        now = before * (1.0 + grown) * draw.lognormal(0.0, 0.2, 200)
        result = ratio_test(before, now, longest=(2_000.0, 2_000.0), allowed=0.1, alpha=0.05)
        oracle = np.mean(weights @ np.append(1.1 * before - now, 1.1 * 2_000.0) >= 0.0)
        assert result.p_value == pytest.approx(oracle, rel=0.03, abs=0.003)
        assert result.change == pytest.approx(now.mean() / before.mean() - 1.0)
        assert result.interval[0] <= result.change <= result.interval[1]
        assert (result.interval[0] > 0.1) == (result.p_value < 0.05)
        for end, sides in zip(result.interval, ((before, now), (now, before)), strict=True):
            rate = (1.0 + end) ** (1 if sides[0] is before else -1)
            at_end = ratio_test(*sides, longest=(2_000.0, 2_000.0), allowed=rate - 1.0, alpha=0.05)
            assert at_end.p_value == pytest.approx(0.05, abs=1e-6)


def test_with_clusters_the_interval_is_that_of_the_clusters_totals() -> None:
    draw = np.random.default_rng(2)
    codes = np.repeat(np.arange(50), 4)
    before = draw.lognormal(4.0, 0.5, 200)
    now = before * np.repeat(draw.lognormal(0.05, 0.3, 50), 4)
    longest, most = (500.0, 600.0), (2_000.0, 2_400.0)
    result, alone = (ratio_test(before, now, longest=longest, alpha=0.05, codes=c) for c in (codes, None))
    totals = ratio_test(before.reshape(50, 4).sum(1), now.reshape(50, 4).sum(1), longest=most, alpha=0.05)
    assert result.interval == pytest.approx(totals.interval)
    assert result.interval[0] < alone.interval[0]


@each("n", [20, 100, 1_000])
@each("runaway", [0.001, 0.005, 0.02, 0.05, 0.2])
@each("most", [512.0, 4_096.0])
def test_rare_runaway_answers_of_the_reference_fail_no_healthy_change(n: int, runaway: float, most: float) -> None:
    """The reference takes 180 tokens or the most there are, the candidate always their mean: an exact sum."""
    mean = (1.0 - runaway) * 180.0 + runaway * most
    failed = 0.0
    for seen in range(n + 1):
        room = np.repeat([180.0 - mean, most - mean], [n - seen, seen])
        if float(drop_evidence(room, most)) < -quantile(0.05):
            break
        failed += float(binom.pmf(seen, n, runaway))
    assert failed <= 0.05


@pytest.mark.slow
@each("cell", tails.COST_CELLS[::2])
def test_healthy_changes_of_every_shape_fail_at_most_at_alpha_and_growth_is_seen(cell: tails.CostCell) -> None:
    runs = 1_000
    healthy, grown = tails.cost_rates(cell, runs, seed=5)
    assert healthy <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    if cell.most < 1_000 and cell.n >= 100:
        assert grown >= 0.8


def test_without_a_spread_nothing_is_rejected_by_chance() -> None:
    """p of n equal changes d is (most / (most + d)) ** n: the chance that so many do not show the one that balances."""
    one = ratio_test(np.array([10.0]), np.array([50.0]), longest=(10.0, 50.0), alpha=0.05)
    assert one.p_value > 0.2
    assert one.interval[0] < 0.0 < one.interval[1]
    same = ratio_test(np.full(80, 10.0), np.full(80, 12.0), longest=(10.0, 12.0), allowed=0.1, alpha=0.05)
    assert same.p_value == pytest.approx((11.0 / 12.0) ** 80, rel=0.03)
    assert 0.1 < same.interval[0] < 0.2 < same.interval[1]


def answered(project: Project, scores: Sequence[float], cost: Cost) -> None:
    rows = [{"id": i, "score": s, **cost(at)} for at, (i, s) in enumerate(zip(project.ids(), scores, strict=True))]
    write_lines(project.scores, rows)


def tokens(share: float = 1.0) -> Cost:
    return lambda at: {"completion_tokens": round(share * (40 + at % 30)), "seconds": share * (0.5 + at % 7 / 10)}


def project_of(folder: Path, recorded: Cost | None = None, n: int = N, **keys: Any) -> Project:
    project = Project(folder, n=n, **keys)
    project.models["m"]["sampling"] = {"max_tokens": 64}
    project.write()
    answered(project, right_but(n // 6, n), recorded or tokens())
    return project.recorded()


def run(project: Project, cost: Cost, scores: Sequence[float] | None = None) -> dict[str, Any]:
    answered(project, right_but(20, N) if scores is None else scores, cost)
    project.run()
    return project.check


def test_costs_are_told_without_a_gate_and_decide_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    check = run(project, tokens(1.5))
    first, second = check["costs"]
    assert (check["verdict"], check["by_scores"]) == ("pass", None)
    assert (first["name"], first["n"], first["outcome"], first["allowed"]) == ("tokens", N, None, None)
    assert [first["change"], second["change"]] == pytest.approx([0.5, 0.5], abs=0.01)
    assert "as many requests ran at once" in second["note"]
    project.record(right_but(20, N), args=["--reason", "none has costs, as in an earlier version"])
    assert "seconds" not in (project.store / "m/sums.scores.csv").read_text(encoding="utf-8").splitlines()[0]
    assert run(project, tokens())["costs"] == []


@each(("share", "outcome"), [(1.09, "pass"), (1.109, "regression")])
def test_growth_is_held_against_the_allowed_share_itself(tmp_path: Path, share: float, outcome: str) -> None:
    project = project_of(tmp_path, n=1_500, max_more_tokens="10%")
    check = run(project, tokens(share), right_but(250, 1_500))
    assert check["costs"][0]["change"] == pytest.approx(share - 1.0, abs=0.002)
    assert check["verdict"] == outcome


@each(("key", "at"), [("max_more_tokens", 0), ("max_slower", 1)])
def test_a_gate_fails_what_grew_beyond_the_allowed_and_verify_decides_it_again(
    tmp_path: Path, key: str, at: int
) -> None:
    project = project_of(tmp_path, **{key: "10%"})
    check = run(project, tokens(1.3))
    assert (check["verdict"], check["by_scores"]) == ("regression", "pass")
    cost = check["costs"][at]
    assert (cost["outcome"], cost["allowed"], cost["alpha"]) == ("regression", 0.1, pytest.approx(0.01))
    assert cost["p_value"] < 1e-6
    assert cost["interval"][0] > 0.1
    assert f"rose {figure(100 * cost['change'])}%" in check["reasons"][-1]
    assert gate.verify(project.config, project.out).verdict == "regression"
    path = project.out / "accgate.json"
    forged = json.loads(path.read_text(encoding="utf-8"))
    forged["checks"][0] |= {"verdict": "pass", "by_scores": None}
    path.write_text(json.dumps(forged | {"verdict": "pass", "exit_code": 0}), encoding="utf-8")
    with pytest.raises(BadInput, match="the records give 'regression'"):
        gate.verify(project.config, project.out)
    assert run(project, tokens(1.04))["verdict"] == "pass"


def test_the_limits_of_a_run_share_a_fifth_of_alpha_unless_nothing_is_corrected(tmp_path: Path) -> None:
    project = project_of(tmp_path, max_more_tokens="10%", max_slower="10%")
    for correction, limit, scores in (("holm", 0.005, 0.04), ("none", 0.05, 0.05)):
        project.write(correction=correction)
        check = run(project, tokens())
        assert [cost["alpha"] for cost in check["costs"]] == pytest.approx([limit, limit])
        assert check["alpha_applied"] == pytest.approx(scores)


@each(("correction", "left"), [("holm", 0.01), ("bonferroni", 0.005)])
def test_a_limit_that_is_broken_leaves_its_share_to_the_other_as_the_correction_says(
    tmp_path: Path, correction: str, left: float
) -> None:
    project = project_of(tmp_path, max_more_tokens="10%", max_slower="10%")
    project.write(correction=correction)

    def more_tokens(at: int) -> dict[str, Any]:
        return tokens()(at) | {"completion_tokens": tokens(1.5)(at)["completion_tokens"]}

    first, second = run(project, more_tokens)["costs"]
    assert (first["outcome"], second["outcome"]) == ("regression", "pass")
    assert second["alpha"] == pytest.approx(left)
    assert gate.verify(project.config, project.out).verdict == "regression"


@each(
    ("key", "limit", "hidden"),
    [("max_more_tokens", 4_096, "up to 4,096 tokens"), ("max_slower", 8_192, "up to 119.9 seconds")],
)
def test_a_gate_that_one_runaway_reply_outweighs_cannot_be_decided(
    tmp_path: Path, key: str, limit: int, hidden: str
) -> None:
    """The reference's limit counts: a pull request that raises its own makes no gate blind."""
    project = project_of(tmp_path, **{key: "10%"})
    project.models["m"]["sampling"] = {"max_tokens": limit}
    project.write()
    assert run(project, tokens())["verdict"] == "pass"
    assert project.record(args=["--reason", "longer replies"]) == 0
    check = run(project, tokens())
    assert (check["verdict"], check["by_scores"]) == ("error", "pass")
    assert f"{key} cannot be decided: 120 samples are too few, for one reply of {hidden}" in check["reasons"][-1]
    assert run(project, tokens(300.0))["verdict"] == "regression"


def test_seconds_of_other_hardware_decide_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path, max_slower="10%")
    path = project.store / "m/sums.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('hardware = "recorded"', 'hardware = "H100"'))
    check = run(project, tokens())
    assert check["verdict"] == "error"
    assert any("measured on H100, this run on recorded" in reason for reason in check["reasons"])


def test_an_early_stop_decides_costs_on_the_samples_that_it_used(tmp_path: Path) -> None:
    project = project_of(tmp_path, theta=8.0, max_more_tokens="10%")
    project.write(early_stopping=True)
    check = run(project, tokens(2.0))
    assert check["n"] < N
    assert check["costs"][0]["n"] == check["n"]
    assert (check["verdict"], check["by_scores"]) == ("regression", "pass")
    for cost, outcome in ((tokens(2.0), "regression"), (zero, "error")):  # a loss of accuracy stays the verdict
        check = run(project, cost, right_but(70, N))
        assert (check["verdict"], check["by_scores"], check["costs"][0]["outcome"]) == ("regression", None, outcome)


def test_a_failed_sample_lacks_no_figure(tmp_path: Path) -> None:
    project = project_of(tmp_path, max_more_tokens="10%")
    project.write(max_failed=0.1)
    answered(project, right_but(20, N), tokens())
    *lines, last = project.scores.read_text().splitlines()
    write_lines(project.scores, [*map(json.loads, lines), {"id": json.loads(last)["id"], "error": "HTTP 500"}])
    assert project.run() == 0
    assert (project.check["costs"][0]["n"], project.check["costs"][0]["outcome"]) == (N - 1, "pass")


def test_several_limits_take_the_samples_of_the_most_demanding(tmp_path: Path) -> None:
    project, counts = project_of(tmp_path), []
    for limits in ({"max_more_tokens": "10%"}, {"max_slower": "10%"}, {"max_more_tokens": "10%", "max_slower": "10%"}):
        project.tasks["sums"] = {"file": "sums.toml", **limits}
        project.write()
        (check,) = plan_checks(load_config(project.config))
        counts.append(fewest_for_limits(check))
    of_tokens, of_seconds, of_both = counts
    assert 0 < of_tokens < of_seconds <= of_both < N


def drafts(scale: float = 1.0) -> Cost:
    """Acceptance lengths of 2 to 3.9 tokens a step, so many times as long, and 1 at least."""
    return lambda at: tokens()(at) | {"acceptance": max(scale * (2.0 + at % 20 / 10), 1.0)}


def test_accepted_drafts_that_collapse_fail_a_check_of_unchanged_accuracy(tmp_path: Path, capsys) -> None:
    project = project_of(tmp_path, drafts(), max_less_accepted="10%")
    check = run(project, drafts(0.6))
    assert (check["verdict"], check["by_scores"], check["difference"]) == ("regression", "pass", 0.0)
    cost = check["costs"][2]
    sides = ([side(at)["acceptance"] for at in range(N)] for side in (drafts(), drafts(0.6)))
    before, now = (N / sum(1 / length for length in side) for side in sides)  # tokens over steps, of equal replies
    assert [cost["reference"], cost["candidate"]] == pytest.approx([before, now])
    assert cost["change"] == pytest.approx(now / before - 1.0)
    assert cost["interval"][0] < cost["change"] < cost["interval"][1] < -0.1
    assert "acceptance length fell 40.0%, 2.83 to 1.70" in check["reasons"][-1]
    assert gate.verify(project.config, project.out).verdict == "regression"
    assert "sums has a 40.0% shorter acceptance length, 2.83 to 1.70" in capsys.readouterr().out


def zero(_: int) -> dict[str, Any]:
    return {"completion_tokens": 0}


def half(at: int) -> dict[str, Any]:
    return tokens()(at) if at % 2 else {}


silent = tokens()  # of a server that reports no acceptance
TOKENS, DRAFTS = "max_more_tokens", "max_less_accepted"


@each(
    ("limit", "recorded", "ran", "verdict", "words"),
    [
        (TOKENS, half, tokens(), "error", "60 of 120 samples have no counted tokens in the reference"),
        (TOKENS, zero, tokens(), "error", "120 of 120 samples have no counted tokens in the reference"),
        (TOKENS, tokens(), half, "error", "60 of 120 samples have no counted tokens in the run"),
        (TOKENS, tokens(), zero, "error", "120 of 120 samples have no counted tokens in the run"),
        (DRAFTS, drafts(), drafts(0.95), "pass", ""),
        (DRAFTS, drafts(), drafts(0.0), "regression", "max_less_accepted allows 10%"),
        (DRAFTS, drafts(), silent, "error", "120 of 120 samples have no acceptance length in the run; the engine"),
        (DRAFTS, drafts(), lambda at: (drafts() if at else tokens())(at), "error", "1 of 120 samples have no accept"),
        (DRAFTS, drafts(0.0), drafts(0.0), "error", "samples have no acceptance length in the reference"),
        (DRAFTS, lambda at: drafts(0.0 if at else 1.0)(at), drafts(0.0), "error", "is too short to fall so far"),
    ],
)
def test_a_limit_without_its_figures_is_an_error_and_no_pass(
    tmp_path: Path, limit: str, recorded: Cost, ran: Cost, verdict: str, words: str
) -> None:
    check = run(project_of(tmp_path, recorded, **{limit: "10%"}), ran)
    (outcome,) = [cost["outcome"] for cost in check["costs"] if cost["allowed"] is not None]
    assert (check["verdict"], outcome) == (verdict, verdict)
    assert check["by_scores"] == (None if verdict == "pass" else "pass")
    assert words in "".join(check["reasons"])


def test_too_few_samples_to_show_a_dead_drafter_are_an_error(tmp_path: Path) -> None:
    check = run(project_of(tmp_path, drafts(), n=8, max_less_accepted="10%"), drafts(), right_but(1, 8))
    assert check["costs"][-1]["note"].startswith("8 samples are too few to show a complete loss of accepted tokens")


@each(("recorded", "ran", "told"), [(drafts(), drafts(0.5), 1), (silent, drafts(), 0), (drafts(), silent, 0)])
def test_without_a_limit_acceptance_is_told_where_both_sides_know_it(
    tmp_path: Path, recorded: Cost, ran: Cost, told: int
) -> None:
    check = run(project_of(tmp_path, recorded), ran)
    assert check["verdict"] == "pass"
    assert [cost["name"] for cost in check["costs"]] == ["tokens", "seconds", *["acceptance"] * told]


def test_replies_that_were_kept_of_an_earlier_run_say_nothing_of_this_drafter() -> None:
    record = Record("a", 0, 100.0, "4", "4", "4", "stop", 3, 4, 0.5, None, acceptance=2.5)
    both = [record, replace(record, cached=True)]
    assert [row["acceptance"] for row in Figures.of(both).columns] == pytest.approx([2.5, np.nan], nan_ok=True)
    assert [value_of(record, "acceptance") for record in both] == [2.5, None]


@pytest.mark.parametrize("n", [30, 200])
def test_a_healthy_change_of_steps_fails_as_often_as_alpha_says(n: int) -> None:
    """Steps a token lie between a sixth and 1; exactly the allowed share is the hardest healthy change."""
    draw, runs = np.random.default_rng(7), 2_000
    before = draw.uniform(1 / 6, 0.7, (runs, n))
    now = np.clip(before * draw.uniform(0.8, 1.2, (runs, n)) / 0.9, 1 / 6, 1.0)
    room = before * (now.mean() / before.mean()) - now
    failed = np.mean(drop_evidence(room, now.mean() / before.mean()) >= -quantile(0.05))
    assert failed < 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


@each(
    ("key", "value", "words"),
    [
        ("max_less_accepted", "100%", "give a percentage below 100"),
        *(("max_more_tokens", value, "give a percentage of 0 or more") for value in ("10", "-5%", "nan%")),
    ],
)
def test_what_is_no_percentage_is_refused(tmp_path: Path, key: str, value: str, words: str, capsys) -> None:
    project = Project(tmp_path, n=N, **{key: value})
    assert main(["validate", str(project.config)]) == 2
    assert words in said(capsys)

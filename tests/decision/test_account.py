"""The account of alpha in whole runs: its sum is what is printed, and what a pull request adds takes nothing of it."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate import gate
from accgate.config.config import load_config
from accgate.evaluation.outcome import EvaluatedCheck, EvaluatedRun, Evaluation
from accgate.github.outcome import Outcome
from accgate.github.rules import Trees, by_rules_in_force
from accgate.guard.base import Selection, rule_sets_of
from accgate.guard.changes import changed_rules
from accgate.guard.state import Guard
from accgate.planning.checks import Check
from accgate.records.file import Record
from accgate.report.plans import gate_sentence
from accgate.report.story import story_of
from accgate.report.words import explanation_of, figures_legend
from accgate.result import Result
from accgate.run_plan import RunPlan, plan_run
from accgate.verdict import Allowed, Verdict
from tests.support.cases import each
from tests.support.gates import Project, questions, write_lines, write_task

N = 60
LIMITS = {"max_more_tokens": "10%", "max_slower": "10%"}
Tasks = Mapping[str, Mapping[str, Any]]


def project_of(folder: Path, tasks: Tasks, models: int = 1, **rules: object) -> Project:
    """A recorded project: of each task half of the answers are right, and each took 40 tokens and more."""
    folder.mkdir(exist_ok=True)
    project = Project(folder, tasks=(), n=N)
    project.write(**rules)
    for name in (f"m{at}" for at in range(models)):
        project.models[name] = {"engine": "recorded", "model": f"{name}.jsonl", "sampling": {"max_tokens": 64}}
    del project.models["m"]
    return with_tasks(project, tasks)


def with_tasks(project: Project, tasks: Tasks) -> Project:
    """The project with these tasks besides its own, all recorded."""
    for name, keys in tasks.items():
        if name not in project.tasks:
            write_task(project.folder, name, questions(N, start=1000 * len(project.tasks)))
        project.tasks[name] = {"file": f"{name}.toml", **keys}
    project.write()
    rows = [
        {"id": i, "score": 100 * (at % 2), "completion_tokens": 40 + at % 13, "seconds": 0.5 + at % 7 / 10}
        for task in project.tasks for at, i in enumerate(project.ids(task))
    ]  # fmt: skip
    for name in project.models:
        write_lines(project.folder / f"{name}.jsonl", rows)
    return project.recorded(args=["--reason", "all anew"])


def pull_request(base: Project, tasks: Tasks, **rules: object) -> RunPlan:
    """The plan, for records alone, of a pull request that adds these tasks, or these keys to tasks of the base."""
    folder = base.folder.parent / "head"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base.folder, folder)
    head = Project.__new__(Project)
    vars(head).update(vars(base))
    head.folder, head.config, head.store = folder, folder / "accuracy.toml", folder / "references"
    head.gate, head.tasks = dict(base.gate) | rules, dict(base.tasks)
    with_tasks(head, tasks)
    sets = rule_sets_of(load_config(head.config), base.config, Selection())
    return plan_run(sets.own, sets, stored=True)


def records_of(check: Check, scores: Any, growth: Any = 1.0, draw: np.random.Generator | None = None) -> list[Record]:
    """Records with these scores, which took so many times the reference's tokens and seconds."""
    known = {record.id: record for record in check.recorded.records()}
    ids = check.task.samples.ids
    tokens = np.array([known[id_].completion_tokens for id_ in ids]) * growth
    tokens = np.floor(tokens + (0.5 if draw is None else draw.random(len(ids))))
    seconds = np.array([known[id_].seconds for id_ in ids]) * growth
    return [
        Record(id_, 0, float(score), "", None, "", "stop", 9, int(count), float(time), None, reading="read")
        for id_, score, count, time in zip(ids, scores, tokens, seconds, strict=True)
    ]


def decided(plan: RunPlan, records: Mapping[tuple[str, str], list[Record]]) -> Result:
    items = tuple(EvaluatedCheck(c, Evaluation(records[c.key], complete=True)) for c in plan.decidable)
    return gate.decide(plan, EvaluatedRun(items, {}))


def reference_of(check: Check) -> Any:
    return check.recorded.scores.take(check.task.samples.ids).values[:, 0]


def unchanged(plan: RunPlan) -> Result:
    return decided(plan, {check.key: records_of(check, reference_of(check)) for check in plan.decidable})


def spent(verdicts: tuple[Verdict, ...]) -> float:
    """What all that can fail may spend where nothing is rejected, from the alphas that it was decided at."""
    costs = [cost.alpha or 0.0 for verdict in verdicts for cost in verdict.costs if cost.allowed is not None]
    return sum(verdict.level for verdict in verdicts) + sum(costs)


def printed(text: str) -> int:
    (count,) = re.findall(r"[Aa]t most ([\d,]+) of 10,000 harmless changes fail", text)
    return int(count.replace(",", ""))


RUNS: dict[str, dict[str, Any]] = {
    "several": {"tasks": {"a": {}, "b": {}, "c": LIMITS}},
    "models": {"tasks": {"a": {}, "b": LIMITS}, "models": 2},
    "no overall check": {"tasks": {"a": {}, "b": {}}, "overall": False},
    "own alphas": {"tasks": {"a": {"alpha": 0.002}, "b": {"alpha": 0.1} | LIMITS, "c": {}}},
    "early stops": {"tasks": {"a": {"theta": 20.0}, "b": {"theta": 20.0} | LIMITS}, "early_stopping": True},
    "scores and a target": {"tasks": {"a": {}, "b": {}, "c": {"target": 40.0}}},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """A recorded project of each kind; a correction changes no reference."""
    return {kind: project_of(tmp_path_factory.mktemp("runs") / "base", **keys) for kind, keys in RUNS.items()}


@each(("kind", "correction"), [*((kind, "holm") for kind in RUNS), *(("several", c) for c in ("none", "bh"))])
def test_the_sum_of_all_alphas_is_what_is_printed(runs: dict[str, Project], kind: str, correction: str) -> None:
    project = runs[kind]
    project.write(correction=correction)
    plan = plan_run(load_config(project.config))
    result = unchanged(plan)
    assert {verdict.verdict for verdict in result.decided} <= {"pass", "inconclusive"}
    assert result.allowed.total == pytest.approx(spent(result.decided))
    if correction != "none" and kind != "own alphas":
        assert result.allowed.total == pytest.approx(0.05)
    count = round(1e4 * spent(result.decided))
    assert printed(figures_legend(result)) == count
    assert printed(gate_sentence(project.config, plan.parts[0].gate, plan.checks)) == count
    for verdict in result.decided:
        assert printed(dict(explanation_of(result, verdict))["Alpha"]) == count


ADDED: dict[str, tuple[Tasks, dict[str, Any]]] = {
    "limits of old checks": ({"a": LIMITS, "b": LIMITS}, {}),
    "a lower alpha": ({"x": {"alpha": 0.001}, "y": LIMITS}, {"alpha": 0.2}),
    "a dozen checks": ({f"x{at}": {} for at in range(12)}, {"correction": "none"}),
}


@each(("kind", "early_stopping"), [*((kind, False) for kind in [*ADDED][:-1]), ([*ADDED][-1], True)])
def test_what_a_pull_request_adds_has_a_rate_of_its_own_which_is_said(
    tmp_path: Path, kind: str, early_stopping: bool
) -> None:
    """The base's checks keep their alpha, their samples and their verdict whatever is added."""
    tasks, rules = ADDED[kind]
    base = project_of(tmp_path / "base", {"a": {"theta": 40.0}, "b": {}}, early_stopping=early_stopping)
    alone = plan_run(load_config(base.config))
    plan = pull_request(base, tasks, **rules)
    lost = {}
    for check in plan.decidable:
        right = np.arange(check.n) % (30 if check.task.name == "a" else 6) != 1
        lost[check.key] = records_of(check, reference_of(check) * right)
    before, now = decided(alone, lost), decided(plan, lost)
    assert [c.n for c in alone.checks] == [c.n for c in plan.checks[:2]]
    assert [c.alpha_planned for c in alone.checks] == [c.alpha_planned for c in plan.checks[:2]]
    old, new = (tuple(v for v in now.decided if v.is_new == added) for added in (False, True))
    assert [v.verdict for v in old] == [v.verdict for v in before.decided]
    assert "regression" in {v.verdict for v in old}
    assert [(v.level, v.gamma) for v in old] == [(v.level, v.gamma) for v in before.decided]
    assert before.allowed.total == now.allowed.base == pytest.approx(0.05)
    healthy = unchanged(plan)
    assert now.allowed.new == pytest.approx(spent(tuple(v for v in healthy.decided if v.is_new)))
    assert bool(new) == (now.allowed.new > 0.0)
    story = " ".join(story_of(now).sentences)
    if new:
        added = f"{1e4 * now.allowed.new:,.0f} more by those that this pull request adds"
        total = f"{1e4 * min(1.0, 0.05 + now.allowed.new):,.0f} in all: 500 by the base's checks, {added}"
        assert total in story
        assert printed(figures_legend(now)) == round(1e4 * now.allowed.total)
    else:
        assert "500 in all 3 checks together" in story


def test_a_new_check_is_never_pooled_with_one_of_the_base(tmp_path: Path) -> None:
    plan = pull_request(project_of(tmp_path / "base", {"a": {}}), {"x": {}, "y": {}})
    result = unchanged(plan)
    (overall,) = result.overall
    assert (overall.is_new, overall.n, overall.level) == (True, 2 * N, pytest.approx(0.01))
    assert [verdict.level for verdict in result.checks] == pytest.approx([0.05, 0.02, 0.02])
    assert astuple(result.allowed) == pytest.approx((0.05, 0.0, 0.0, 0.0, 0.0, 0.05))


def test_limits_that_a_pull_request_adds_to_a_check_begin_with_the_merge(tmp_path: Path) -> None:
    """By its own rules too the checks of the base keep their alpha, and the base's limits hold."""
    base = project_of(tmp_path / "base", {"a": {"max_more_tokens": "10%"}, "b": {}})
    plan = pull_request(base, {"b": LIMITS | {"max_less_accepted": "10%"}, "a": {"max_more_tokens": "20%"}}, alpha=0.04)
    records = {check.key: records_of(check, reference_of(check), 1.5) for check in plan.decidable}
    result = decided(plan, records)
    own = {verdict.task: verdict for verdict in result.beside}
    assert (own["a"].verdict, own["b"].verdict) == ("regression", "pass")
    assert own["a"].alpha_applied == own["b"].alpha_applied == pytest.approx(0.04 * 0.6 / 2)
    trees = Trees(base.folder.parent / "head", base.folder, "accuracy.toml")
    changes = changed_rules(load_config(base.config), load_config(trees.head_config))
    approved = by_rules_in_force(Outcome(result), Guard("approved", changes), trees).result
    assert (approved.verdict, approved.allowed) == ("regression", result.allowed_beside)
    assert astuple(result.allowed_beside) == pytest.approx(astuple(Allowed(0.024, 0.008, 0.008)))


@pytest.mark.slow
def test_harmless_runs_with_new_checks_and_limits_fail_no_more_often_than_is_printed(tmp_path: Path) -> None:
    """Answers flip either way, and tokens grow by just what is allowed: the hardest change that is harmless."""
    tokens = {"max_more_tokens": "10%"}
    base = project_of(tmp_path / "base", {"a": tokens, "b": {}}, alpha=0.2)
    plan = replace(pull_request(base, {"x": tokens, "y": {}}), own=None)
    draw, runs, failed = np.random.default_rng(11), 60, 0
    for _ in range(runs):
        records = {}
        for check in plan.decidable:
            flips = draw.random(check.n) < 0.3
            scores = np.where(flips, 100.0 - reference_of(check), reference_of(check))
            growth = 1.1 * draw.lognormal(-0.02, 0.2, check.n)
            records[check.key] = records_of(check, scores, growth, draw)
        result = decided(plan, records)
        failed += result.verdict == "regression"
    count = printed(figures_legend(result)) / 1e4
    assert failed / runs <= count + 3.0 * (count * (1.0 - count) / runs) ** 0.5
    assert failed > 0

"""Evaluations with a stop rule: what it is shown, when they stop, and what they leave behind."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate.config.tables import Model, Sampling
from accgate.decision.comparison import compare_scores, decide
from accgate.decision.evidence import evidence_of
from accgate.decision.progress import early_stop, watch_of
from accgate.design import Choice, Data, Design, choose_test
from accgate.engines import Reply, Request, RequestFailed
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.ahead import Prefix
from accgate.evaluation.assignment import Assignment, Decides, Observer, StopRule
from accgate.evaluation.check import evaluate
from accgate.evaluation.outcome import Evaluation
from accgate.evaluation.pair import SideBySide
from accgate.evaluation.resume import refuse_unfinished, resumable_records
from accgate.inputs.toml import TomlFile
from accgate.planning.checks import Check
from accgate.planning.model import PlannedModel
from accgate.records.file import Record, RecordPaths, paths_of, read_records, to_line
from accgate.records.log import empty_log
from accgate.records.scores import Scores
from accgate.tasks.task import Task
from accgate.verdict import Verdict
from tests.evaluation.serving import Toy
from tests.support.cases import refusal
from tests.support.gates import RIGHT, WRONG, questions, write_task
from tests.support.loading import load_task

N = 300


class Hurried(Toy):
    """An engine that adds up, but for the ids in `wrong` and `broken`; replies finish in an order drawn from a seed."""

    concurrency = 16

    def __init__(self, seed: int = 0, *, wrong: Sequence[str] = (), broken: Sequence[str] = ()) -> None:
        self.random, self.wrong, self.broken = random.Random(seed), set(wrong), set(broken)
        self.asked: list[tuple[str, int]] = []
        self.finished: list[tuple[str, int]] = []
        self.in_flight = self.cancelled = 0

    async def complete(self, request: Request) -> Reply:
        self.asked.append((request.id, request.repeat))
        self.in_flight += 1
        try:
            for _ in range(self.random.choice([0, 0, 1, 2, 3, 30])):  # turns of the loop, which take no time
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        self.finished.append((request.id, request.repeat))
        if request.id in self.broken:
            raise RequestFailed("overloaded")
        a, b = map(int, re.findall(r"(\d+) \+ (\d+)", request.prompt)[-1])
        return Reply(str(a + b + (request.id in self.wrong)))


class StopsAfter:
    """Notes what it is shown, and says that `enough` samples decide."""

    def __init__(self, enough: float) -> None:
        self.enough = enough
        self.shown: list[list[tuple[str, int]]] = []

    def __call__(self, records: Sequence[Record]) -> bool:
        self.shown.append([record.key for record in records])
        return len({record.id for record in records}) >= self.enough


TASK = load_task("arithmetic", options={"high": 30}, count=N)
MODEL = PlannedModel("m", Model(engine="recorded", model="m.jsonl"), TomlFile(Path("accuracy.toml"), "", {}))
IDS = [sample.id for sample in TASK.samples]


def assignment(**changes: Any) -> Assignment:
    return replace(Assignment("m", TASK, 1, Sampling(), {"model": "toy"}, max_failed=0.1), **changes)


def evaluated(
    engine: Any,
    asked: Assignment,
    paths: RecordPaths,
    rule: Decides | StopRule | None,
    earlier: Sequence[Record] = (),
) -> Evaluation:
    rule = StopRule(rule) if callable(rule) else rule
    return asyncio.run(evaluate(engine, asked, paths, earlier=earlier, observer=Observer(), stop_rule=rule))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("repeats", [1, 3])
def test_an_evaluation_ends_on_a_gapless_beginning_of_the_order_soon_after_that_decides(
    paths: RecordPaths, seed: int, repeats: int
) -> None:
    engine, stop_rule = Hurried(seed), StopsAfter(enough=60)
    done = evaluated(engine, assignment(repeats=repeats), paths, stop_rule)
    assert (done.stopped, done.complete) == (True, True)
    order = [(id_, repeat) for id_ in IDS for repeat in range(repeats)]
    assert engine.finished != order[: len(engine.finished)]

    lengths = [len(shown) for shown in stop_rule.shown]
    assert stop_rule.shown == [order[:length] for length in lengths]
    assert all(length % repeats == 0 for length in lengths)
    assert lengths == sorted(set(lengths))
    first = next(length for length in lengths if length >= 60 * repeats)
    assert lengths[-1] < first + 16 * 3  # what finished at the same moment

    assert engine.asked == order[: len(engine.asked)]
    assert len(engine.asked) <= 60 * repeats + 6 * engine.concurrency
    assert engine.in_flight == 0
    assert engine.cancelled == len(engine.asked) - len(engine.finished) > 0

    in_file = read_records(paths.records)
    assert [record.key for record in in_file] == engine.finished
    gap = next(place for place, key in enumerate(order) if key not in engine.finished)
    assert [record.key for record in done.records] == order[: gap - gap % repeats]
    assert lengths[-1] <= len(done.records) <= lengths[-1] + 16 + 2
    assert sorted(map(to_line, in_file)) == sorted(map(to_line, (*done.records, *done.beyond)))


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_stop_rule_is_asked_again_where_the_beginning_has_grown_by_a_fiftieth(
    paths: RecordPaths, concurrency: int
) -> None:
    engine, stop_rule = Hurried(1), StopsAfter(enough=float("inf"))
    engine.concurrency = concurrency
    found = evaluated(engine, assignment(), paths, stop_rule)
    assert not found.stopped
    assert len(found.records) == N
    lengths = [len(shown) for shown in stop_rule.shown]
    assert all(later >= earlier + max(1, earlier // 50) for earlier, later in pairwise(lengths))
    if concurrency == 1:
        assert lengths[:100] == list(range(1, 101))
        assert lengths[-1] > N - 7
        assert len(lengths) < 175
    assert N not in lengths  # the whole is decided, not stopped


def test_the_fewest_samples_of_a_pass_count_with_all_their_repeats(paths: RecordPaths) -> None:
    asked, rule = assignment(repeats=3), StopRule(lambda _: False, fewest=lambda: 20)
    assert Prefix(rule, empty_log(paths.records, asked.task.samples.ids, 3), asked, 16).limits[0] == 60


def test_a_run_that_lost_a_record_after_it_stopped_is(paths: RecordPaths) -> None:
    evaluated(Hurried(), assignment(), paths, StopsAfter(enough=60))
    lines = paths.records.read_bytes().splitlines(keepends=True)
    paths.records.write_bytes(b"".join(lines[:-1]))
    assert f"holds {len(lines) - 1} records of an unfinished run" in refusal(refuse_unfinished, paths)


def test_a_stopped_run_that_is_begun_again_and_killed_is_unfinished(paths: RecordPaths) -> None:
    evaluated(Hurried(), assignment(), paths, StopsAfter(enough=60))
    kept = resumable_records(assignment(), paths)

    class Down(Hurried):
        async def complete(self, request: Request) -> Reply:
            if len(self.asked) == 20:
                raise CannotEvaluate("down")
            return await super().complete(request)

    with pytest.raises(CannotEvaluate, match="down"):
        evaluated(Down(), assignment(), paths, None, kept)
    assert "go on with --resume" in refusal(refuse_unfinished, paths)


def test_a_resumed_run_that_does_not_decide_yet_goes_on_with_what_is_missing(paths: RecordPaths) -> None:
    evaluated(Hurried(), assignment(), paths, StopsAfter(enough=60))
    kept = resumable_records(assignment(), paths)
    engine = Hurried(1)
    again = evaluated(engine, assignment(), paths, StopsAfter(enough=150), kept)
    assert again.stopped
    assert len(again.records) >= 150
    assert not {record.key for record in kept} & set(engine.asked)


def test_failed_samples_are_looked_at_too_and_asked_again_on_resume(paths: RecordPaths) -> None:
    broken = IDS[10:15]
    stop_rule = StopsAfter(enough=60)
    found = evaluated(Hurried(broken=broken), assignment(), paths, stop_rule)
    assert found.stopped
    assert [record.id for record in found.failed] == broken
    refuse_unfinished(paths)
    kept = resumable_records(assignment(), paths)
    assert not {record.id for record in kept} & set(broken)
    engine = Hurried(1)
    again = evaluated(engine, assignment(), paths, StopsAfter(enough=60), kept)
    assert {id_ for id_, _ in engine.asked} >= set(broken)
    assert again.failed == ()
    assert again.stopped


def test_past_max_failed_a_stop_rule_does_not_make_it_complete(paths: RecordPaths) -> None:
    found = evaluated(Hurried(broken=IDS[:40]), assignment(), paths, StopsAfter(enough=200))
    assert not found.complete
    assert not found.stopped


def test_an_error_of_the_stop_rule_ends_the_evaluation_and_leaves_nothing_in_flight(paths: RecordPaths) -> None:
    def stop_rule(records: Sequence[Record]) -> bool:
        if len(records) > 30:
            raise BadInput("out of bounds")
        return False

    engine = Hurried()
    assert "out of bounds" in refusal(evaluated, engine, assignment(), paths, stop_rule)
    assert engine.in_flight == 0
    assert len(engine.asked) < N
    assert [record.key for record in read_records(paths.records)] == engine.finished


def check(task: Task, *, repeats: int = 1, reference: Sequence[float] | None = None, **design: Any) -> Check:
    """A check against a reference that was right throughout, or had these scores."""
    values = np.full((len(task.samples), 1), 100.0) if reference is None else np.array(reference)[:, None]
    clusters = tuple(sample.cluster or "" for sample in task.samples) if task.samples[0].cluster else None
    known = Scores(tuple(sample.id for sample in task.samples), values, clusters)
    made = Design(**{"theta": 10.0, "early_stopping": True} | design)
    count = None if clusters is None else len(set(clusters))
    choice = choose_test(made, Data(n=known.n, binary=known.is_binary, answers=(1, repeats), clusters=count))
    return Check("m", MODEL, task, "m", Path("references"), repeats, made, choice, known, alpha_planned=0.05)


def gate(engine: Hurried, made: Check, paths: RecordPaths) -> tuple[Verdict, Evaluation]:
    """Evaluate with the stop rule of a check, then decide."""
    asked = assignment(task=made.task, repeats=made.repeats)
    found = evaluated(engine, asked, paths, watch_of(made).stop_rule)
    (verdict,) = decide([evidence_of(made, found.records, stopped=found.stopped)])
    return verdict, found


def figures(verdict: Verdict) -> dict[str, Any]:
    return asdict(replace(verdict, reasons=(), causes=()))


@pytest.mark.slow
@pytest.mark.parametrize("test", ["auto", "group-sequential", "e-process"])
@pytest.mark.parametrize(("share", "expected"), [(0.02, "pass"), (0.3, "regression")])
@pytest.mark.parametrize("repeats", [1, 2])
def test_verdict_n_and_figures_are_the_same_whatever_the_order_in_which_replies_finish(
    tmp_path: Path, test: Any, share: float, expected: str, repeats: int
) -> None:
    wrong = [id_ for i, id_ in enumerate(IDS) if np.random.default_rng(i).random() < share]
    made = check(TASK, repeats=repeats, test=test)
    averaged = test == "group-sequential" and repeats > 1  # which takes most samples before it fails a run
    orders = range(2 if averaged else 4)
    found = [gate(Hurried(seed, wrong=wrong), made, paths_of(tmp_path, str(seed), "t")) for seed in orders]
    verdicts = [verdict for verdict, _ in found]
    assert averaged or len({len(each.records) for _, each in found}) > 1
    assert averaged or all(evaluation.stopped for _, evaluation in found)
    assert {verdict.verdict for verdict in verdicts} == {expected}
    assert averaged or verdicts[0].n < N
    assert all(figures(verdict) == figures(verdicts[0]) for verdict in verdicts)
    ids, scores = tuple(sample.id for sample in TASK.samples), [WRONG if id_ in wrong else RIGHT for id_ in IDS]
    sides = Scores(ids, np.full((N, 1), RIGHT)), Scores(ids, np.repeat(np.array(scores)[:, None], repeats, axis=1))
    whole = compare_scores(*sides, Design(test, theta=10.0, early_stopping=True), order="given")
    assert (whole.n, whole.p_value, whole.lost) == (verdicts[0].n, verdicts[0].p_value, verdicts[0].lost)
    assert whole.interval == verdicts[0].interval


def clustered_task(tmp_path: Path, n: int, size: int) -> Task:
    rows = [{**row, "page": f"p{i // size}"} for i, row in enumerate(questions(n))]
    path = write_task(tmp_path, "pages", rows, columns__cluster="page")
    return load_task("pages", file=path)


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_with_clusters_only_whole_ones_are_looked_at_and_decided_on(tmp_path: Path, share: float) -> None:
    """A cluster of 3 samples is one change; 100 of them are needed for a regression."""
    task = clustered_task(tmp_path, 450, 3)
    made = check(task, theta=15.0)
    pages = list(dict.fromkeys(sample.cluster for sample in task.samples))
    hit = {page for i, page in enumerate(pages) if np.random.default_rng(i).random() < share}
    wrong = [sample.id for sample in task.samples if sample.cluster in hit]
    ns = set()
    for seed in range(2):
        verdict, found = gate(Hurried(seed, wrong=wrong), made, paths_of(tmp_path, str(seed), "pages"))
        assert found.stopped
        assert verdict.verdict == ("regression" if share else "pass")
        assert verdict.n % 3 == 0
        evidence = evidence_of(made, found.records, stopped=True)
        assert evidence.candidate.n == len(found.records) // 3 * 3
        ns.add((verdict.n, verdict.p_value, verdict.lost))
    assert len(ns) == 1


def test_before_the_first_cluster_is_whole_nothing_is_decided(tmp_path: Path) -> None:
    task = clustered_task(tmp_path, 800, 20)
    stop_rule = early_stop(check(task, theta=60.0))
    assert stop_rule is not None
    assert not stop_rule([record(sample.id, 100.0) for sample in task.samples[:19]])


def record(id_: str, score: float | None) -> Record:
    return Record(id_, 0, score, "", None, None, None, None, None, 0.0, None if score is not None else "down")


def test_clusters_and_failures_do_not_depend_on_the_order_in_which_replies_finish(tmp_path: Path) -> None:
    in_clusters = check(clustered_task(tmp_path, 400, 5), theta=15.0)
    for made, broken in ((in_clusters, []), (check(TASK), IDS[20::11])):
        places = [paths_of(tmp_path, f"{made.task.name}-{seed}", "t") for seed in range(4)]
        verdicts = [gate(Hurried(seed, broken=broken), made, place)[0] for seed, place in enumerate(places)]
        assert len({(each.n, each.clusters, each.verdict, each.candidate.errors) for each in verdicts}) == 1


def test_with_under_30_clusters_the_whole_run_is_evaluated(tmp_path: Path) -> None:
    task = clustered_task(tmp_path, 200, 10)
    verdict, found = gate(Hurried(), check(task, theta=20.0), paths_of(tmp_path, "m", "pages"))
    assert not found.stopped
    assert (verdict.n, verdict.stop) == (200, None)


def test_the_first_answers_of_a_long_run_with_other_scores_can_be_decided() -> None:
    task = load_task("arithmetic", options={"high": 99}, count=5200)
    stop_rule = early_stop(check(task))
    assert stop_rule is not None
    assert not stop_rule([record(task.samples[0].id, 97.5)])


def test_without_a_sequential_test_or_scores_of_a_reference_nothing_stops_early() -> None:
    made = check(TASK)
    assert early_stop(made) is not None
    assert early_stop(replace(made, choice=Choice("paired", "mcnemar"))) is None
    assert early_stop(replace(made, reference=None)) is None


def test_two_sides_expect_a_decision_by_the_planned_samples_and_beyond_these_at_no_number() -> None:
    sides = SideBySide(replace(check(TASK), expected_n_healthy=19.5), lambda *_: False)
    assert sides.expected() == 20
    for side in (0, 1):
        assert not sides.look(side, [record(id_, 100.0) for id_ in IDS[:20]])
    assert sides.expected() is None


@pytest.mark.parametrize("ended", [None, Evaluation([], complete=False)])
def test_where_one_of_two_sides_gives_no_verdict_the_other_ends_at_its_next_answer(ended: Evaluation | None) -> None:
    sides = SideBySide(check(TASK), lambda *_: False)
    sides.end(0, ended)
    assert sides.look(1, [record(IDS[0], 100.0)])

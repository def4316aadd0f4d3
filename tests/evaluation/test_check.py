"""Evaluation: how many requests are in flight, what is recorded when, and what an earlier run leaves to do."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from accgate.config.tables import Sampling
from accgate.engines import Reply, Request, RequestFailed
from accgate.errors import CannotEvaluate
from accgate.evaluation.assignment import Assignment, Observer
from accgate.evaluation.check import evaluate
from accgate.evaluation.outcome import Evaluation
from accgate.evaluation.resume import begin_anew, resumable_records
from accgate.records.file import Record, RecordPaths, paths_of, read_gzip_lines, read_records, to_line
from tests.evaluation.serving import Toy
from tests.support.cases import refusal
from tests.support.loading import load_task


class Solver(Toy):
    """An engine that adds up, `concurrency` at once; `reply` says otherwise."""

    def __init__(self, concurrency: int = 3, reply: Callable[[Request], Reply] | None = None) -> None:
        self.concurrency = concurrency
        self.reply = reply or (lambda request: Reply(total(request), "stop", 30, 2))
        self.asked: list[Request] = []
        self.in_flight = self.most_in_flight = self.cancelled = 0

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0.001)
            return self.reply(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1


class Watcher(Observer):
    """An observer that calls back, and notes what it saw."""

    def __init__(self, on_finished: Callable[[Record], None] = lambda _: None) -> None:
        self.events: list[Any] = []
        self.on_finished = on_finished

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        self.events.append((model, task, total, len(kept)))

    def finished(self, record: Record) -> None:
        self.events.append(record.key)
        self.on_finished(record)

    def ended(self) -> None:
        self.events.append("ended")


def total(request: Request) -> str:
    a, b = map(int, re.findall(r"(\d+) \+ (\d+)", request.prompt)[-1])
    return f" {a + b}"


def assignment(samples: int = 20, **changes: Any) -> Assignment:
    task = load_task("arithmetic", options={"high": 20}, count=samples)
    made = Assignment("m", task, 1, Sampling(), {"model": "toy"}, max_failed=0.1)
    return dataclasses.replace(made, **changes)


def evaluated(
    engine: Any, asked: Assignment, paths: RecordPaths, earlier: Sequence[Record] = (), observer: Any = None
) -> Evaluation:
    return asyncio.run(evaluate(engine, asked, paths, earlier=earlier, observer=observer or Watcher()))


def test_every_sample_is_asked_once_scored_and_recorded_in_the_fixed_order(paths: RecordPaths) -> None:
    asked, engine, watcher = assignment(), Solver(), Watcher()
    found = evaluated(engine, asked, paths, observer=watcher)
    assert found.complete
    assert found.failed == ()
    assert [record.id for record in found.records] == [sample.id for sample in asked.task.samples]
    assert [request.id for request in engine.asked] == [sample.id for sample in asked.task.samples]
    assert {record.score for record in found.records} == {100.0}
    sample, record = asked.task.samples[0], found.records[0]
    assert dataclasses.replace(record, seconds=0.0) == Record(
        sample.id, 0, 100.0, sample.target, sample.target, f" {sample.target}", "stop", 30, 2, 0.0, None,
        reading="read",
    )  # fmt: skip
    assert set(read_records(paths.records)) == set(found.records)
    assert {row["id"]: row["prompt"] for row in read_gzip_lines(paths.prompts, "prompt")} == {
        sample.id: sample.prompt for sample in asked.task.samples
    }
    assert watcher.events[0] == ("m", "arithmetic", 20, 0)
    assert watcher.events[-1] == "ended"
    assert sorted(watcher.events[1:-1]) == sorted(record.key for record in found.records)


@pytest.mark.parametrize("concurrency", [3, 50])
def test_no_more_than_the_engines_concurrency_is_in_flight_and_it_is_reached(
    paths: RecordPaths, concurrency: int
) -> None:
    engine = Solver(concurrency)
    evaluated(engine, assignment(), paths)
    assert engine.most_in_flight == min(concurrency, 20)


def test_records_are_in_the_file_as_samples_finish(paths: RecordPaths) -> None:
    lengths: list[int] = []
    watcher = Watcher(lambda _: lengths.append(len(read_records(paths.records))))
    evaluated(Solver(), assignment(), paths, observer=watcher)
    assert lengths == [*range(1, 21)]


def test_seconds_are_of_each_request(paths: RecordPaths) -> None:
    now = iter(range(100))
    asked = assignment(4)
    found = asyncio.run(
        evaluate(Solver(1), asked, paths, observer=Watcher(), clock=lambda: float(next(now)))  # two readings a sample
    )
    assert [record.seconds for record in found.records] == [1.0] * 4


@pytest.mark.parametrize(("message", "said"), [("HTTP 400", "HTTP 400"), ("", "no reply")])
def test_a_failed_sample_is_recorded_with_its_error_and_no_score(paths: RecordPaths, message: str, said: str) -> None:
    asked = assignment()
    bad = asked.task.samples[4].id

    def reply(request: Request) -> Reply:
        if request.id == bad:
            raise RequestFailed(message)
        return Reply(total(request))

    done = evaluated(Solver(reply=reply), asked, paths)
    (failed,) = done.failed
    assert (failed.id, failed.score, failed.answer, failed.reply, failed.error) == (bad, None, None, None, said)
    assert (done.complete, len(done.records)) == (True, 20)


def without_bounds(asked: Assignment) -> Assignment:
    metric = dataclasses.replace(asked.task.metric, lowest=None, highest=None)
    return dataclasses.replace(asked, task=dataclasses.replace(asked.task, metric=metric))


@pytest.mark.parametrize("text", ["I cannot say", "", None])
def test_a_reply_without_an_answer_scores_0_or_fails_where_no_score_is_the_worst(
    paths: RecordPaths, text: str | None
) -> None:
    engine, asked = Solver(reply=lambda _: Reply(text)), assignment(3)
    records = evaluated(engine, asked, paths).records
    assert [(r.score, r.answer, r.reply, r.error) for r in records] == [(0.0, None, text, None)] * 3
    done = evaluated(engine, without_bounds(asked), paths)
    assert done.failed[0].error == "no answer in the reply, and the metric has no worst score"


@pytest.mark.parametrize("score", [-0.1, 100.1])
def test_a_replayed_score_is_bad_input_where_the_metric_cannot_give_it(paths: RecordPaths, score: float) -> None:
    engine, asked = Solver(reply=lambda _: Reply("7", score=score)), assignment(3)
    assert f"has the score {score:g}, which is outside" in refusal(evaluated, engine, asked, paths)
    records = evaluated(engine, without_bounds(asked), paths).records
    assert [(record.score, record.answer) for record in records] == [(score, "7")] * 3


@pytest.mark.parametrize(("max_failed", "failures"), [(0.0, 1), (0.1, 3), (0.29, 6)])
def test_past_max_failed_the_evaluation_stops_and_is_not_complete(
    paths: RecordPaths, max_failed: float, failures: int
) -> None:
    def reply(request: Request) -> Reply:
        raise RequestFailed("no")

    engine = Solver(1, reply)
    found = evaluated(engine, assignment(max_failed=max_failed), paths)
    assert not found.complete
    assert len(found.failed) == len(engine.asked) == failures
    assert read_records(paths.records) == list(found.records)


@pytest.mark.parametrize("error", [CannotEvaluate("down"), RuntimeError("bug"), KeyboardInterrupt()])
def test_an_error_of_the_engine_cancels_the_others_and_keeps_the_records(
    paths: RecordPaths, error: BaseException
) -> None:
    asked = assignment()

    def reply(request: Request) -> Reply:
        if request.id == asked.task.samples[9].id:
            raise error
        return Reply(total(request))

    engine, watcher = Solver(4, reply), Watcher()
    with pytest.raises(type(error)):
        evaluated(engine, asked, paths, observer=watcher)
    assert engine.in_flight == 0
    assert engine.cancelled > 0
    assert len(engine.asked) < 20
    assert len(read_records(paths.records)) == len(engine.asked) - engine.cancelled - 1
    assert watcher.events[-1] == "ended"


def test_repeats_have_seeds_of_their_own_and_unique_keys(paths: RecordPaths) -> None:
    engine = Solver()
    found = evaluated(engine, assignment(5, repeats=3, sampling=Sampling(seed=40)), paths)
    assert [record.repeat for record in found.records] == [0, 1, 2] * 5
    assert Counter(record.key for record in found.records).most_common(1)[0][1] == 1
    assert {(request.repeat, request.seed) for request in engine.asked} == {(0, 40), (1, 41), (2, 42)}


def test_sampling_reaches_the_request_and_unset_values_leave_the_tasks(paths: RecordPaths) -> None:
    engine, asked = Solver(1), assignment(1)
    evaluated(engine, asked, paths)
    values: dict[str, Any] = {"temperature": 0.7, "max_tokens": 99, "top_p": 0.9, "top_k": 40, "seed": 3}
    values["extra"] = {"min_p": 0.1}
    evaluated(engine, dataclasses.replace(asked, sampling=Sampling(**values, stop=("Q:",))), paths)
    plain, full = engine.asked
    sample, content = asked.task.samples[0], asked.task.content
    assert plain == Request(sample.id, 0, sample.user, "", content.mode, content.max_tokens, 0.0, stop=content.stop)
    assert full == dataclasses.replace(plain, **values, stop=(*content.stop, "Q:"))


def test_columns_and_the_system_message_of_a_task_are_kept(tmp_path: Path, paths: RecordPaths) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "1 + 1 =", "a": 2, "doc": "d", "who": "w", "yes": 1}\n')
    (tmp_path / "own.toml").write_text(
        'prompt = "{{ q }}"\nsystem = "Add."\ntarget = "{{ a }}"\nmetric = "numeric_match"\n'
        'columns = { cluster = "doc", group = "who", label = "yes" }\n[dataset]\nfile = "rows.jsonl"\n'
    )
    engine, task = Solver(), load_task("own", file=tmp_path / "own.toml")
    (record,) = evaluated(engine, assignment(task=task), paths).records
    assert (record.cluster, record.group, record.label) == ("d", "w", "1")
    assert (engine.asked[0].system, engine.asked[0].prompt, engine.asked[0].mode) == ("Add.", "1 + 1 =", "chat")


def unfinished(asked: Assignment, paths: RecordPaths, scored: int = 7, failed: int = 0) -> list[Record]:
    """The records of a run that stopped after so many samples."""
    records = evaluated(Solver(), asked, paths).records
    kept = [*records[:scored], *(dataclasses.replace(r, score=None, error="no") for r in records[scored:][:failed])]
    paths.records.write_bytes(b"".join(map(to_line, kept)))
    return kept


def test_a_run_without_one_scored_record_starts_anew_with_any_settings(paths: RecordPaths) -> None:
    unfinished(assignment(), paths, scored=0, failed=3)
    assert resumable_records(assignment(settings={"model": "mended"}), paths) == []


def test_records_with_a_score_out_of_range_are_refused_on_resume(paths: RecordPaths) -> None:
    unfinished(assignment(), paths)
    first = json.loads(paths.records.read_text().splitlines()[0])
    text = paths.records.read_text().replace(f'"score":{first["score"]}', '"score":10000.0', 1)
    paths.records.write_text(text)
    fault = refusal(resumable_records, assignment(), paths)
    assert fault.startswith(f"{paths.records}: a score outside ")
    assert f"{first['id']} (a score of 10000)" in fault


def test_records_of_other_samples_are_refused_on_resume(paths: RecordPaths) -> None:
    unfinished(assignment(), paths)
    asked = assignment()
    other = dataclasses.replace(asked.task, samples=asked.task.samples[3:])
    settings = json.loads(paths.settings.read_text())
    paths.settings.write_text(json.dumps({**settings, "records": 17}))
    assert "3 of 7 records" in refusal(resumable_records, dataclasses.replace(asked, task=other), paths)


def test_records_without_readable_settings_are_refused(paths: RecordPaths) -> None:
    unfinished(assignment(), paths)
    for content in ("[1]", "{", None):
        paths.settings.unlink() if content is None else paths.settings.write_text(content)
        for fault in (refusal(begin_anew, [paths]), refusal(resumable_records, assignment(), paths)):
            assert re.search(r"\.settings\.json: .*; delete .* name another --out", fault)


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "m").touch()
    with pytest.raises(
        CannotEvaluate, match=r"m: cannot be written: (Not a directory|File exists); name another folder"
    ):
        evaluated(Solver(), assignment(), paths_of(tmp_path, "m", "arithmetic"))

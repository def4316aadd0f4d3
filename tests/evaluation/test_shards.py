"""`accgate run --shard i/N`: which samples a shard takes, and what it leaves behind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.cli.main import main
from accgate.evaluation.shards.shard import Shard
from accgate.records.file import paths_of, read_gzip_lines, read_records
from accgate.tasks.sample import Sample
from accgate.tasks.task import Task
from tests.evaluation.serving import command, configure, served_by, sums_of
from tests.support.cases import each
from tests.support.gates import N, Project, refused, right_but, said, write_lines
from tests.support.launcher import Launched
from tests.support.loading import load_task
from tests.support.servers import Fault, Server

TASK = load_task("arithmetic", options={"high": 20}, count=1)


def run(project: Project, shard: str, *args: str, out: Path | None = None) -> int:
    folder = out or project.folder / f"shard-{shard.split('/', maxsplit=1)[0]}"
    return main(["run", str(project.config), "--shard", shard, "--out", str(folder), "--quiet", *args])


def left(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "shard.json").read_text())


def recorded_ids(folder: Path, task: str = "sums") -> list[str]:
    return [record.id for record in read_records(paths_of(folder, "m", task).records)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path).recorded(right_but(10))


def task_of(clusters: list[str | None]) -> Task:
    return replace(TASK, samples=tuple(Sample(f"s{i}", "p", "p", "", "t", c) for i, c in enumerate(clusters)))


@each("text", ["0/4", "5/4", "a/b", "4", "1/4/4", "1.0/4", "1 / 4", "²/4"])
def test_what_is_no_shard_is_bad_input_with_the_mend(tmp_path: Path, text: str, capsys) -> None:
    assert main(["run", str(Project(tmp_path).config), f"--shard={text}", "--out", str(tmp_path / "out")]) == 2
    assert f"--shard is {text!r}; write i/N with i from 1 to N, such as 1/4 to 4/4" in said(capsys)


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 7))
def test_the_shards_have_every_sample_once_and_their_beginnings_are_a_beginning(n: int, count: int, first: int) -> None:
    task = task_of([None] * n)
    parts = [Shard(i, count).of(task).samples for i in range(1, count + 1)]
    assert sorted(s.id for part in parts for s in part) == sorted(s.id for s in task.samples)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    beginning = {s.id for part in parts for s in part[:first]}
    assert beginning == {s.id for s in task.samples[: first * count]}


@given(st.lists(st.integers(1, 5), max_size=30), st.integers(1, 6))
@settings(max_examples=50)
def test_a_cluster_is_in_one_shard_whole(sizes: list[int], count: int) -> None:
    task = task_of([f"c{i}" for i, size in enumerate(sizes) for _ in range(size)])
    parts = [Shard(i, count).of(task).samples for i in range(1, count + 1)]
    assert sum(map(len, parts)) == len(task.samples)
    clusters = [{s.cluster for s in part} for part in parts]
    assert sum(map(len, clusters)) == len(sizes)
    assert max(map(len, clusters)) - min(map(len, clusters)) <= 1


def test_a_shard_evaluates_every_fourth_sample_of_the_order_and_decides_nothing(project: Project) -> None:
    folder = project.folder / "shard-2"
    folder.mkdir()
    (folder / "accgate.json").write_text("an old verdict")
    (folder / "report.md").write_text("an old report")
    assert run(project, "2/4", "--html") == 0
    assert recorded_ids(folder) == project.ids()[1::4]
    assert sorted(path.name for path in folder.iterdir()) == ["m", "shard.json"]
    prompts = read_gzip_lines(paths_of(folder, "m", "sums").prompts, "prompt")
    assert [row["id"] for row in prompts] == project.ids()[1::4]
    shard = left(folder)
    assert (shard["shards"], shard["exit_code"]) == (["2/4"], 0)
    assert shard["checks"] == [{"model": "m", "task": "sums", "records": 50, "failed": 0, "problem": None}]
    assert shard["plan"]["checks"]["m / sums"]["n"] == N


def test_the_words_on_standard_output_say_that_merge_decides(project: Project, capsys) -> None:
    assert run(project, "2/4") == 0
    first, last = capsys.readouterr().out.splitlines()
    assert (first, "decide with `accgate merge` of all 4 shards" in last) == ("shard 2/4: m / sums: 50 records", True)
    assert run(project, "2/4", "--json") == 0
    assert json.loads(capsys.readouterr().out) == left(project.folder / "shard-2")


def test_more_shards_than_samples_leave_some_without_any(tmp_path: Path) -> None:
    project = Project(tmp_path, n=3)
    assert project.record(right_but(0, 3)) == 0
    assert run(project, "3/5") == 0
    assert run(project, "4/5") == 0
    assert len(recorded_ids(project.folder / "shard-3")) == 1
    assert recorded_ids(project.folder / "shard-4") == []


def without_scores(project: Project, ids: list[str]) -> None:
    """The model fails on these samples."""
    rows = ({"id": i, "error": "timed out"} if i in ids else {"id": i, "score": 100.0} for i in project.ids())
    write_lines(project.scores, [*rows])


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (2, 0), (3, 3)])
def test_as_many_samples_may_fail_as_in_the_whole_check(project: Project, failed: int, code: int) -> None:
    without_scores(project, project.ids()[::4][:failed])  # max_failed 1% of 200
    assert run(project, "1/4") == code
    (share,) = left(project.folder / "shard-1")["checks"]
    assert share["failed"] == failed
    assert (share["problem"] is None) == (code == 0)


def test_what_a_recording_lacks_counts_in_its_own_shard_only(project: Project, capsys) -> None:
    ids = project.ids()
    write_lines(project.scores, [{"id": i, "score": 100.0} for i in ids if i != ids[2]])
    assert run(project, "1/4") == 0
    assert run(project, "3/4") == 3
    assert f"no record of 1 of 50 samples: {ids[2]}" in capsys.readouterr().out
    assert left(project.folder / "shard-3")["exit_code"] == 3


def test_recorded_samples_of_no_task_are_refused_in_every_shard(project: Project, capsys) -> None:
    with project.scores.open("a") as file:
        file.write('{"id": "ffffffffffffffff", "score": 100}\n')
    assert "1 recorded sample belongs to none of its tasks" in refused(capsys, run(project, "1/4"))


def test_without_a_reference_nothing_is_evaluated(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.answer(right_but(0))
    assert run(project, "1/1") == 0
    assert left(tmp_path / "shard-1")["checks"] == []
    assert main(["merge", str(tmp_path / "shard-1"), "--config", str(project.config), "--out", str(project.out)]) == 4


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server() as made:
        model, task = served_by(made.url, concurrency=4), sums_of(40, target=50)
        configure(tmp_path, {"gate": {"max_failed": 0.1}, "models.m": model, "tasks.arithmetic": task})
        yield made


def asked(tmp_path: Path, shard: str, *args: str) -> int:
    return command(tmp_path, "run", "--shard", shard, "--out", str(tmp_path / "out"), *args)


def test_a_shard_resumes_and_asks_only_for_what_it_lacks(tmp_path: Path, server: Server) -> None:
    server.fault_of = lambda _: Fault(status=401) if len(server.seen) > 9 else None
    assert asked(tmp_path, "2/2") == 3
    assert left(tmp_path / "out")["exit_code"] == 3
    assert "401" in left(tmp_path / "out")["checks"][0]["problem"]
    done = recorded_ids(tmp_path / "out", "arithmetic")
    assert 5 <= len(done) < 20
    server.fault_of = None
    server.settle()
    server.seen.clear()
    assert asked(tmp_path, "2/2", "--resume") == 0
    assert len(server.seen) == 20 - len(done)
    assert len(set(recorded_ids(tmp_path / "out", "arithmetic"))) == 20


def test_one_shard_does_not_go_on_with_anothers_records(tmp_path: Path, server: Server, capsys) -> None:
    server.fault_of = lambda _: Fault(status=401) if len(server.seen) > 9 else None
    assert asked(tmp_path, "2/2") == 3
    before = recorded_ids(tmp_path / "out", "arithmetic")
    for more, why in ((), "holds"), (("--resume",), "shard changed since the run began"):
        assert why in refused(capsys, asked(tmp_path, "1/2", *more))
    assert recorded_ids(tmp_path / "out", "arithmetic") == before


def test_an_engine_that_does_not_start_leaves_no_records_of_an_earlier_run(tmp_path: Path, server: Server) -> None:
    assert asked(tmp_path, "1/2") == 0
    server.models = Fault(500)
    assert asked(tmp_path, "1/2") == 3
    assert not paths_of(tmp_path / "out", "m", "arithmetic").records.exists()


def test_a_killed_shard_says_that_it_did_not_end(tmp_path: Path, server: Server) -> None:
    server.hold_after = 6
    arguments = ["run", str(tmp_path / "accuracy.toml"), "--shard", "1/2", "--out", str(tmp_path / "out")]
    with Launched(*arguments) as process:
        process.wait_until(lambda: len(server.seen) >= 10)
        process.kill()
    server.hold_after = None
    assert left(tmp_path / "out") | {"plan": {}} == {
        "shards": ["1/2"], "plan": {}, "exit_code": None, "checks": [], "started": None, "seconds": None,
    }  # fmt: skip
    assert len(recorded_ids(tmp_path / "out", "arithmetic")) == 6
    assert asked(tmp_path, "1/2", "--resume") == 0
    assert left(tmp_path / "out")["exit_code"] == 0


def test_a_shard_names_a_reference_of_which_only_the_mean_is_known(project: Project) -> None:
    scores = next(project.store.rglob("*.scores.csv"))
    file = scores.with_name("sums.toml")
    scores.unlink()
    file.write_text(re.sub(r'scores_sha256 = ".*"', "", file.read_text()))
    project.answer(right_but(10))
    assert run(project, "1/2") == 0
    (rules,) = left(project.folder / "shard-1")["plan"]["checks"].values()
    assert rules["reference"] == {"mean": 95.0, "n": N}

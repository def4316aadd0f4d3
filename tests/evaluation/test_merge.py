"""`accgate merge`: shards joined into the run they are parts of, or refused with what keeps them from being one."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.records.file import paths_of, read_gzip_lines, read_records
from tests.evaluation.merges import TIMES, lines, merge, reasons, records_path, result, shard, shards, worse_project
from tests.support.gates import (
    RIGHT,
    WRONG,
    N,
    Project,
    questions,
    right_but,
    said,
    without_seconds,
    write_lines,
    write_task,
)
from tests.support.pull_requests import PullRequest
from tests.support.servers import Fault, Server, sums


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return worse_project(tmp_path)


@pytest.mark.parametrize("count", [1, 7])
def test_merged_shards_decide_as_one_run_does(project: Project, count: int) -> None:
    whole = project.run()
    assert merge(project, shards(project, count)) == whole == 1
    merged, one = result(project), project.result
    times = {"started": 0, "seconds": 0}
    assert merged | times == one | times | {"shards": count}
    assert merged["seconds"] > 0
    assert merged["started"] is not None


def test_early_stopping_gives_the_verdict_of_a_run_that_stops(tmp_path: Path) -> None:
    project = Project(tmp_path, theta=8.0)
    project.write(early_stopping=True)
    assert project.record(right_but(0)) == 0
    for scores, code in ((right_but(0), 0), (right_but(12, start=4), 1)):
        assert project.run(scores) == code
        assert project.check["n"] < N
        assert merge(project, shards(project, 3)) == code
        assert result(project)["checks"] == project.result["checks"]


def test_clusters_and_repeats_are_those_of_one_run(tmp_path: Path) -> None:
    project = Project(tmp_path, repeats=2)
    write_task(tmp_path, columns__cluster="page")
    rows = [{"id": i, "repeat": r, "score": RIGHT} for i in project.ids() for r in (0, 1)]
    write_lines(project.scores, rows)
    assert project.record() == 0
    draw = random.Random(0)
    write_lines(project.scores, [row | {"score": draw.choice((RIGHT, RIGHT, WRONG))} for row in rows])
    assert merge(project, shards(project, 4)) == project.run() == 1
    assert result(project)["checks"] == project.result["checks"]
    assert result(project)["checks"][0]["clusters"] == N // 4


def test_several_models_and_tasks_are_merged_at_once(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("sums", "more"))
    write_task(tmp_path, "more", questions(101, start=1000))
    assert project.record(right_but(0), right_but(0)) == 0
    project.answer(right_but(20), right_but(0))
    shutil.copy(project.scores, tmp_path / "other.jsonl")
    project.models["other"] = {"engine": "recorded", "model": "other.jsonl", "baseline": "m"}
    project.write()
    assert merge(project, shards(project, 2)) == project.run() == 1
    assert result(project)["checks"] == project.result["checks"]
    assert len(result(project)["checks"]) == 4
    assert result(project)["engines"] == project.result["engines"]


def test_neither_split_nor_order_nor_repetition_changes_the_result(project: Project) -> None:
    folders = [shard(project, "1/2"), shard(project, "2/4"), shard(project, "4/4")]
    assert merge(project, folders) == project.run() == 1
    expected, union = result(project), records_path(project.folder / "merged").read_bytes()
    assert expected["checks"] == project.result["checks"]
    draw = random.Random(0)
    for number in range(2):
        copy = shutil.copytree(folders[number], project.folder / f"copy-{number}")
        given = [*folders, folders[0], copy]
        draw.shuffle(given)
        out = project.folder / f"merged-{number}"
        assert merge(project, given, out=out) == 1
        assert result(project, out) == expected
        assert records_path(out).read_bytes() == union


def test_merging_in_steps_is_merging_at_once_and_a_merged_folder_goes_on_as_a_run(project: Project) -> None:
    parts = shards(project, 3)
    first, merged = project.folder / "first-two", project.folder / "merged"
    assert merge(project, parts[:2], out=first) == 3
    assert merge(project, [first, parts[2]]) == 1
    merge(project, parts, out=project.out)
    assert result(project)["checks"] == project.result["checks"]
    assert records_path(merged).read_bytes() == records_path(project.out).read_bytes()
    assert merge(project, [merged], out=first) == 1  # over what was merged before
    assert merge(project, parts[:1]) == 3
    assert main(["run", str(project.config), "--out", str(merged), "--quiet", "--resume"]) == 1
    assert len(lines(merged)) == N
    assert not (merged / "shard.json").exists()


def test_the_report_shows_the_flips_of_all_shards_and_json_alone_is_printed(project: Project, capsys) -> None:
    parts, merged = shards(project, 2), project.folder / "merged"
    capsys.readouterr()
    assert merge(project, parts, "--html", "--json") == 1
    assert json.loads(capsys.readouterr().out) == result(project)
    assert "What is " in (merged / "report.md").read_text()
    assert (merged / "report.html").is_file()
    prompts = read_gzip_lines(paths_of(merged, "m", "sums").prompts, "prompt")
    assert [row["id"] for row in prompts] == [row["id"] for row in lines(merged)] == project.ids()


# What is missing.


def test_a_missing_shard_is_an_error_that_names_it(project: Project, capsys) -> None:
    parts = shards(project, 4)
    capsys.readouterr()
    assert merge(project, [parts[0], parts[3]]) == 3
    step = "go on with accgate run --shard i/N --resume, other options as before, and merge again"
    assert step in " ".join(capsys.readouterr().out.split())
    ids = project.ids()
    given = f"50 of shard 2/4, which was not given ({', '.join(ids[1::4][:5])} and 45 more)"
    assert reasons(project).startswith(f"100 of 200 samples lack records: {given}; 50 of shard 3/4, which was not")
    assert result(project)["checks"][0]["n"] == 100


def test_one_check_that_lacks_samples_leaves_the_others_decided(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("sums", "more"))
    assert project.record(right_but(0), right_but(0)) == 0
    parts, merged = shards(project, 2), project.folder / "merged"
    assert merge(project, parts) == 0  # whose records must not stand for those that are missing
    for part in parts:
        records_path(part, "sums").unlink()
    assert merge(project, parts) == 3
    assert [(c["task"], c["verdict"]) for c in result(project)["checks"]] == [("sums", "error"), ("more", "pass")]
    assert not records_path(merged, "sums").exists()
    assert len(read_records(records_path(merged, "more"))) == N


@pytest.mark.parametrize("is_torn", [False, True])
def test_what_is_missing_is_of_the_shard_that_was_to_have_it(project: Project, is_torn: bool) -> None:
    parts = [shard(project, "1/2"), shard(project, "2/4")]
    path = records_path(parts[0])
    missing = lines(parts[0])[-1 if is_torn else 0]["id"]
    path.write_bytes(path.read_bytes()[:-5] if is_torn else path.read_bytes().split(b"\n", 1)[1])
    assert merge(project, parts) == 3
    assert reasons(project).startswith(
        f"51 of 200 samples lack records: 1 of shard 1/2, which ended without them ({missing}); "
        "50 of shard 4/4, which was not given"
    )


@pytest.mark.parametrize(("count", "code"), [(2, 0), (3, 3)])
def test_failed_samples_are_bracketed_as_in_one_run_and_too_many_are_an_error(
    project: Project, count: int, code: int
) -> None:
    scores = [{"id": id_, "score": RIGHT} for id_ in project.ids()]
    write_lines(project.scores, [*({"id": row["id"], "error": "lost"} for row in scores[:count]), *scores[count:]])
    assert merge(project, shards(project, 3)) == project.run() == code
    assert code or result(project)["checks"] == project.result["checks"]
    assert result(project)["checks"][0]["candidate"]["errors"] == count
    assert code == 0 or "3 of 200 samples failed, more than max_failed allows; the first: lost" in reasons(project)


# Duplicates.


def test_a_sample_with_two_scores_is_refused_and_named(project: Project, capsys) -> None:
    parts = shards(project, 2)
    project.answer(right_but(20, start=31))
    again = shard(project, "1/2", name="again")
    project.answer(right_but(20, start=30))
    assert merge(project, [*parts, again]) == 2
    doubtful = sorted({project.ids()[30], project.ids()[50]})
    assert f"different scores in different shards for 2 samples: {', '.join(doubtful)}; give one" in said(capsys)
    assert not (project.folder / "merged" / "accgate.json").exists()


def test_of_equal_scores_the_same_record_is_kept_whatever_the_folders_are_called(project: Project) -> None:
    parts, unions = shards(project, 2), []
    other = shutil.copytree(parts[0], project.folder / "other")
    path = records_path(other)
    path.write_text(re.sub(r'"seconds": [0-9.]+', '"seconds": 7.5', path.read_text()))
    for first, second in (("a", "z"), ("y", "b")):
        given = [shutil.copytree(parts[0], project.folder / first), shutil.copytree(other, project.folder / second)]
        assert merge(project, [*given, parts[1]]) == 1
        unions.append(records_path(project.folder / "merged").read_bytes())
    assert unions[0] == unions[1]


def test_a_score_goes_before_a_failure_of_the_same_sample(project: Project) -> None:
    ids = project.ids()
    parts = shards(project, 2)
    scores = [{"id": i, "score": r["score"]} for i, r in zip(ids[2::2], lines(parts[0])[1:], strict=True)]
    write_lines(project.scores, [{"id": ids[0], "error": "lost"}, *scores, *({"id": i, "score": 0} for i in ids[1::2])])
    again = shard(project, "1/2", name="again")
    assert lines(again)[0]["score"] is None
    for given in ([*parts, again], [again, *parts]):
        assert merge(project, given) == 1
        assert result(project)["checks"][0]["candidate"]["errors"] == 0


# Pull requests.


@pytest.fixture
def pull_request(tmp_path: Path) -> PullRequest:
    return PullRequest(tmp_path)


def test_the_bases_rules_judge_the_shards_of_a_pull_request(pull_request: PullRequest) -> None:
    head, base = pull_request.head, ("--base", str(pull_request.base.config))
    head.answer(right_but(7))
    head.write(alpha=0.0001)
    write_task(head.folder, "more", questions(start=1000))
    head.tasks["more"] = {"file": "more.toml", "target": 50}
    head.write()
    head.answer(right_but(7), right_but(0))
    assert pull_request.run() == 1
    assert merge(head, shards(head, 3, *base), *base) == 1
    merged = result(head)
    assert {k: merged[k] for k in merged if k not in TIMES} == {k: v for k, v in head.result.items() if k not in TIMES}
    assert (merged["rules"], len(merged["beside"])) == ("base", 1)
    assert [(c["verdict"], c["is_new"]) for c in merged["checks"]] == [("regression", False), ("pass", True)]


def test_shards_that_were_not_run_by_the_bases_rules_are_refused(pull_request: PullRequest, capsys) -> None:
    head = pull_request.head
    head.answer(right_but(7))
    head.write(alpha=0.0001)
    parts = shards(head, 2)
    assert merge(head, parts, "--base", str(pull_request.base.config)) == 2
    assert "alpha is 0.05 in this merge, 0.0001 in" in said(capsys)


def test_a_base_without_rules_makes_a_bootstrap(pull_request: PullRequest) -> None:
    head, base = pull_request.head, ("--base", str(pull_request.base.config))
    pull_request.base.config.unlink()
    head.answer(right_but(0))
    assert merge(head, shards(head, 2, *base), *base) == 0
    assert result(head)["rules"] == "bootstrap"


# A real server.


def test_shards_of_a_server_one_of_them_broken_and_resumed_give_the_verdict_of_one_run(
    tmp_path: Path, server: Server
) -> None:
    project = Project(tmp_path)
    options = {"base_url": server.url, "concurrency": 4, "max_retries": 0}
    project.models["m"] = {"engine": "openai", "model": "toy", "options": options}
    project.tasks = {"arithmetic": {"options": {"high": 20}, "num_samples": 60}}
    project.write()
    assert project.record() == 0
    server.answer = sums(wrong=0.5)
    assert project.run() == 1
    server.seen.clear()
    parts = [shard(project, "1/3")]
    options |= {"base_url": f"{server.url}/", "concurrency": 3, "timeout": 60}
    project.write()  # on each machine as it is there: no answer depends on it
    parts.append(shard(project, "3/3"))
    server.fault_of = lambda _: Fault(status=401) if len(server.seen) > 50 else None
    parts.append(shard(project, "2/3"))
    assert merge(project, parts) == 3
    assert "of shard 2/3, which says: HTTP 401" in reasons(project)
    server.fault_of = None
    shard(project, "2/3", "--resume")
    assert merge(project, parts) == 1
    assert without_seconds(result(project)["checks"]) == without_seconds(project.result["checks"])
    assert result(project)["prompt_tokens"] == project.result["prompt_tokens"] > 0
    with gzip.open(paths_of(tmp_path / "merged", "m", "arithmetic").before) as file:
        replied = [row for row in map(json.loads, file) if row["reply"] is not None]
    assert len(replied) == 60  # the reference has a reply to each

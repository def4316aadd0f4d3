"""Runs of main that join their references: by which rule, all or none, and never step by step down a decline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.history.pool import inequality
from accgate.records.ids import Ids
from accgate.records.scores import Scores
from accgate.references.store import ReferenceFile, read_reference
from benchmarks.living import Cell, outcome_of
from tests.support.gates import Project, contents, right_but, said

N = 200


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path, n=N)
    project.write(reference_runs=3)
    return project.recorded(right_but(20, N))


def pool(project: Project, *args: str) -> int:
    return main(["history", "pool", str(project.out / "accgate.json"), "--config", str(project.config), *args])


def reference(project: Project, task: str = "sums") -> ReferenceFile:
    found = read_reference(project.store / "m" / f"{task}.toml")
    assert found is not None
    return found.about


def edit_records(project: Project, **keys: object) -> None:
    """Set keys in the run's first record."""
    path = project.out / "m" / "sums.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | keys), *rest]) + "\n")


def test_a_run_that_is_equal_joins_its_reference_once(project, capsys) -> None:
    assert project.run(right_but(21, N, start=1)) == 0
    before = contents(project.store)
    assert pool(project, "--commit", "c1", "--dry-run") == 0
    assert contents(project.store) == before
    assert pool(project, "--commit", "c1") == 0
    about = reference(project)
    assert (about.runs, about.repeats, about.commit, about.mean) == (2, 2, "c1", 89.75)
    assert about.date == project.result["started"][:10]
    after = contents(project.store)
    assert pool(project, "--commit", "c2") == 0  # the same run again
    assert contents(project.store) == after
    out = capsys.readouterr().out
    assert "m / sums: would be pooled, 2 runs" in out
    assert "m / sums: pooled, 2 runs: equal to the first run" in out
    assert "not pooled: the references already have this run" in out
    assert project.run(right_but(20, N, start=1)) == 0  # is compared with both runs
    assert project.check["reference"]["runs"] == 2
    capsys.readouterr()
    assert pool(project, "--commit", "c1", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    why = "its reference already has a run of this commit"
    assert row == {"model": "m", "task": "sums", "is_pooled": False, "why": why, "runs": 2}


def full(project: Project) -> None:
    project.write(reference_runs=1)
    project.run(right_but(20, N, start=1))


def other_sampling(project: Project) -> None:
    project.models["m"]["sampling"] = {"top_p": 0.9}
    project.write()
    project.run(right_but(20, N, start=1))


def cached(project: Project) -> None:
    project.run(right_but(20, N, start=1))
    edit_records(project, cached=True)
    data = project.result
    data["cached"] = 1
    (project.out / "accgate.json").write_text(json.dumps(data))


def below_the_anchor(project: Project) -> None:
    project.record(right_but(25, N, start=2), args=["--reason", "worth it"])
    assert project.run(right_but(26, N, start=2)) == 0


def another_s(project: Project) -> None:
    project.models["n"] = {"engine": "recorded", "model": "m.jsonl", "baseline": "m"}
    del project.models["m"]
    project.write()
    assert project.run(right_but(20, N, start=1)) == 0


def targeted(project: Project) -> None:
    project.tasks["sums"]["target"] = 50.0
    project.write()
    project.run(right_but(20, N, start=1))


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda project: project.run(right_but(16, N)), "the reference's first run by +2.00 points (p = 0.12"),
        (lambda project: project.run(right_but(40, N)), "the run did not pass"),
        (full, "its reference has 1 run of at most 1"),
        (other_sampling, "sampling.top_p"),
        (cached, "1 sample came from a cache"),
        (below_the_anchor, "the anchor by -3.00 points"),
        (another_s, "the reference of another model, m"),
        (targeted, "no recorded scores"),
    ],
)
def test_a_check_that_does_not_join_says_why(project, capsys, happens: Callable[[Project], None], why: str) -> None:
    happens(project)
    before = contents(project.store)
    capsys.readouterr()
    assert pool(project) == 0
    assert re.search(f"not pooled: .*{re.escape(why)}", capsys.readouterr().out)
    assert contents(project.store) == before


def test_a_run_that_is_not_main_s_own_is_refused(project, monkeypatch, capsys) -> None:
    assert project.run(right_but(20, N, start=1)) == 0
    before, decided = contents(project.store), project.result

    def assert_refused(fault: str) -> None:
        capsys.readouterr()
        assert pool(project) == 2
        assert fault in said(capsys)
        assert contents(project.store) == before

    event = project.folder / "event.json"
    event.write_text('{"repository": {"default_branch": "main"}}')
    actions = {"GITHUB_ACTIONS": "true", "GITHUB_SHA": "a" * 40, "GITHUB_REPOSITORY": "o/r",
               "GITHUB_EVENT_PATH": str(event), "GITHUB_REF": "refs/heads/feature"}  # fmt: skip
    for name, fault in (("issue_comment", "the event issue_comment"), ("push", "refs/heads/feature is not")):
        with monkeypatch.context() as patch:
            for key, value in {**actions, "GITHUB_EVENT_NAME": name}.items():
                patch.setenv(key, value)
            assert_refused(fault)
    (project.out / "accgate.json").write_text(json.dumps(decided | {"rules": "base"}))
    assert_refused("other rules than its own")
    (project.out / "accgate.json").write_text(json.dumps(decided))
    project.tasks["more"] = {"file": "sums.toml"}
    project.write()
    assert_refused("m / more")
    del project.tasks["more"]
    project.write()
    edit_records(project, score=0.0)
    assert_refused("accgate.json")


def test_an_early_stop_is_no_whole_run(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=400, theta=10.0)
    project.write(reference_runs=2, early_stopping=True)
    project.recorded(right_but(20, 400))
    assert project.run(right_but(20, 400, start=1)) == 0
    verdict, lines = project.check, (project.out / "m" / "sums.jsonl").read_text().count("\n")
    assert lines < 400
    assert pool(project) == 2
    assert "accgate run --whole" in said(capsys)
    assert project.run(args=["--whole"]) == 0
    assert (project.out / "m" / "sums.jsonl").read_text().count("\n") == reference(project).n
    assert project.check["n"] == verdict["n"], "the verdict is that of the moment at which it was known"
    assert main(["verify", str(project.out), "--config", str(project.config)]) == 0
    assert pool(project) == 0
    assert reference(project).runs == 2


def test_all_references_are_written_or_none(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N, tasks=("sums", "terms"))
    project.write(reference_runs=2)
    project.recorded(right_but(20, N), right_but(20, N))
    assert project.run(right_but(20, N, start=1), right_but(20, N, start=1)) == 0
    before, obstacle = contents(project.store), project.store / "m" / "terms.toml.part"
    obstacle.mkdir()
    assert pool(project) == 3
    assert contents(project.store) == before
    obstacle.rmdir()
    assert pool(project) == 0
    assert [reference(project, task).runs for task in project.tasks] == [2, 2]


def test_small_declines_are_not_followed_one_by_one(project) -> None:
    project.write(reference_runs=8)
    for wrong in (22, 26):  # each step alone is equal to the run before
        project.run(right_but(wrong, N))
        assert pool(project) == 0
    assert (reference(project).runs, reference(project).mean) == (2, 89.5)


def test_the_first_run_and_the_anchor_are_the_measure() -> None:
    ids = Ids(map(str, range(100)))

    def side(*wrong: int) -> Scores:
        return Scores(ids, np.array([[0.0 if row < count else 100.0 for count in wrong] for row in range(100)]))

    assert inequality(side(0, 3, 6), 3, side(3)) is None
    assert "first run by -6.00" in (inequality(side(0, 3, 6), 3, side(6)) or "")
    assert "the anchor by +6.00" in (inequality(side(0), 1, side(0), side(6)) or "")
    elsewhere = Scores(Ids(f"x{row}" for row in range(100)), side(0).values)
    assert "shares no sample" in (inequality(side(0), 1, side(0), elsewhere) or "")


class TestMerges:
    """What `python -m benchmarks.living` prints, in small."""

    def test_alpha_holds_and_the_mean_stays_without_a_decline(self) -> None:
        done = outcome_of(Cell("noise"), "pooled", 3, n=200, most=4)
        assert done.failed <= 0.06
        assert abs(done.moved) < 1.0

    def test_a_decline_is_not_pooled_for_long_and_a_jump_is_seen(self) -> None:
        pooled, kept = (outcome_of(Cell("noise", decline=0.6), way, 3, n=300) for way in ("pooled", "kept"))
        assert pooled.pooled < 8
        assert pooled.first < kept.first + 4
        assert outcome_of(Cell("builds", jump=10.0), "pooled", 2, n=200, flips=0.002).first <= 26

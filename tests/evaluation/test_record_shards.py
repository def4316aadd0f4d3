"""`accgate record --shard i/N` and the merge that writes the reference: the one that a whole run would have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.support.gates import Project, contents, refused, right_but, said, write_lines


def answer(project: Project) -> None:
    """The same scores in each of two runs."""
    rows = zip(project.ids(), right_but(17), strict=True)
    write_lines(project.scores, [{"id": i, "repeat": r, "score": s} for i, s in rows for r in range(2)])


def record(project: Project, shard: str, *args: str, out: Path | None = None) -> int:
    folder = out or project.folder / f"part-{shard[0]}"
    return main(["record", str(project.config), "--shard", shard, "--out", str(folder), "--quiet", *args])


def merge(project: Project, *args: str, parts: str = "12") -> int:
    folders = [str(project.folder / f"part-{part}") for part in parts]
    return main(["merge", *folders, "--config", str(project.config), "--out", str(project.folder / "merged"), *args])


def reference(project: Project) -> tuple[list[str], bytes, bool]:
    """What the reference's files say; how fast it was, and a run's digest with its seconds, are of one run alone."""
    (path,) = project.store.rglob("sums.toml")
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("samples_per_second", "    "))]
    return lines, path.with_name("sums.scores.csv").read_bytes(), [*path.parent.glob("sums.replies*")] != []


@pytest.mark.parametrize("args", [[], ["--runs", "2"], ["--check"]])
def test_the_merged_reference_is_that_of_a_whole_run(tmp_path: Path, args: list[str], capsys) -> None:
    whole, parted = (Project(tmp_path / name) for name in ("whole", "parted") if not (tmp_path / name).mkdir())
    for project in (whole, parted):
        answer(project)
    assert whole.record(args=args) == 0
    assert [record(parted, shard, *args) for shard in ("2/2", "1/2")] == [0, 0]
    assert "shard 1/2 is evaluated; write the reference with `accgate merge` of all 2 shards" in capsys.readouterr().out
    assert not parted.store.exists()
    assert merge(parted) == 0
    assert reference(parted) == reference(whole)
    assert ("two runs differ in 0% of the scores" in capsys.readouterr().out) == ("--check" in args)
    assert whole.run() == parted.run() == 0
    capsys.readouterr()
    assert "--reason" in refused(capsys, merge(parted, "--json"))
    assert merge(parted, "--json", "--reason", "again", "--no-replies") == 0
    assert [Path(path).name for path in json.loads(capsys.readouterr().out)["references"]] == ["sums.toml"]
    assert not reference(parted)[2]


def test_parts_that_are_missing_or_of_another_plan_write_no_reference(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path)
    answer(project)
    assert record(project, "1/2") == 0
    assert merge(project, parts="1") == 3
    assert "100 of 200 samples lack records: 100 of shard 2/2, which was not given" in said(capsys)
    assert record(project, "2/2", "--runs", "2") == 0
    assert "accgate record: recording.runs is 1 in this merge," in refused(capsys, merge(project))
    assert not project.store.exists()
    assert record(project, "2/2") == 0
    assert merge(project) == 0
    code = main(["run", str(project.config), "--shard", "2/2", "--out", str(tmp_path / "part-2"), "--quiet"])
    assert (code, merge(project, "--reason", "new")) == (0, 2)
    assert "accgate record: recording is {" in said(capsys)
    assert "accgate record: recording is" in refused(capsys, merge(project, parts="21"))
    path = tmp_path / "part-1" / "shard.json"
    path.write_text(path.read_text().replace('"runs": 1', '"runs": 0'))
    assert "part-1: its shard.json is damaged; run that shard again" in refused(capsys, merge(project))


@pytest.mark.parametrize("args", [[], ["--reason", "again"]])
def test_a_second_merge_writes_the_references_that_the_first_could_not(tmp_path: Path, args: list[str]) -> None:
    project = Project(tmp_path, tasks=("sums", "more"), n=40)
    if args:
        project.recorded(right_but(8, 40), right_but(8, 40))
    project.answer(right_but(4, 40), right_but(4, 40)[:-1])  # the last sample of the second task has no score
    assert [record(project, shard) for shard in ("1/2", "2/2")] == [0, 3]
    assert merge(project, *args) == 3
    first = contents(project.store)
    project.answer(right_but(4, 40), right_but(4, 40))
    assert record(project, "2/2", "--resume") == 0
    assert merge(project, *args) == 0
    now = contents(project.store)
    assert all(now[path] == content for path, content in first.items() if path.name.startswith("sums."))
    assert "mean = 90.0" in now[Path("m/more.toml")].decode()
    assert merge(project) == 2  # all have it: another one needs a reason


def test_options_of_the_wrong_half_are_refused(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path)
    assert project.record(right_but(17)) == 0
    for args in (["--add"], ["--reason", "new"], ["--no-replies"]):
        assert "`accgate merge` writes a new reference" in refused(capsys, record(project, "1/2", *args))
    assert [record(project, shard) for shard in ("1/2", "2/2")] == [0, 0]
    assert "shards of `accgate record` are merged without a verdict" in refused(capsys, merge(project, "--html"))
    main(["run", str(project.config), "--shard", "1/2", "--out", str(tmp_path / "part-1"), "--quiet"])
    assert "are for shards of `accgate record`" in refused(capsys, merge(project, "--no-replies"))

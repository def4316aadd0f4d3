"""Shards that are not parts of one run: refused by `accgate merge`, with what differs and where."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate import gate, load_config
from accgate.records.file import paths_of, read_records, to_line
from tests.evaluation.merges import merge, records_path, shard, shards, worse_project
from tests.evaluation.serving import command, configure, served_by, sums_of
from tests.evaluation.serving import merge as merge_served
from tests.support.cases import each, refusal
from tests.support.gates import N, Project, questions, refused, right_but, said, write_task
from tests.support.servers import Server


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return worse_project(tmp_path)


# What is mixed.


def edit_settings(folder: Path, **changes: Any) -> None:
    """Change what stands beside a shard's records."""
    path = paths_of(folder, "m", "sums").settings
    settings = json.loads(path.read_text())
    settings["engine"] |= changes.pop("engine", {})
    path.write_text(json.dumps(settings | changes))


def record_anew(project: Project) -> None:
    shutil.copy(project.scores, project.folder / "kept.jsonl")
    assert project.record(right_but(10, start=5), args=["--reason", "better data"]) == 0
    shutil.copy(project.folder / "kept.jsonl", project.scores)


MIXED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("gate", {"alpha": 0.01}), ("gate", {"max_failed": 0.5}), ("gate", {"on_inconclusive": "warn"}),
    ("gate", {"correction": "none"}), ("gate", {"drift_alpha": 0.2}), ("gate", {"seed": 1}), ("sums", {"theta": 30.0}),
    ("sums", {"beta": 0.3}), ("sums", {"num_samples": 150}), ("sums", {"test": "bootstrap"}),
    ("m", {"sampling": {"max_tokens": 9}}), ("m", {"variant": {"quant": "fp8"}, "baseline": "m"}),
    ("m", {"model": "./m.jsonl"}), ("reference", {}),
)  # fmt: skip


def test_shards_of_mixed_configurations_are_refused_with_what_differs_where(
    project: Project, tmp_path_factory: pytest.TempPathFactory, capsys, messages: SnapshotAssertion
) -> None:
    half, faults = shard(project, "1/2", name="one"), {}
    for table, keys in MIXED:
        other = Project(shutil.copytree(project.folder, tmp_path_factory.mktemp("mixed") / "other"))
        if table == "reference":
            record_anew(other)
        {"gate": other.gate, **other.tasks, **other.models}.get(table, {}).update(keys)
        other.write()
        parts = [half, shard(other, "2/2", name="two")]
        capsys.readouterr()
        for given in (parts, parts[::-1]):
            assert merge(project, given) == 2
            told = said(capsys).replace(f"{other.folder}/", "").replace(f"{project.folder}/", "")
            assert faults.setdefault(f"{table}: {keys}", told) == told
    assert faults == messages
    assert not (project.folder / "merged").exists()


OTHER_ROWS = [*questions(N - 1), {"q": "What is 7 + 7?", "a": 14, "page": "p"}]


@pytest.mark.parametrize(
    ("keys", "parts"),
    [({"stop": ["END"]}, ["task reply"]), ({"rows": OTHER_ROWS}, ["task dataset", "plan.sha256"])],
)
def test_another_task_is_refused(tmp_path: Path, keys: dict[str, Any], parts: list[str], capsys) -> None:
    project = Project(tmp_path, target=50.0)
    project.answer(right_but(0))
    one = shard(project, "1/2")
    write_task(tmp_path, **keys)
    project.answer(right_but(0))
    assert merge(project, [one, shard(project, "2/2")]) == 2
    words = said(capsys)
    assert [part for part in parts if f"m / sums: {part} is" not in words] == []


def test_a_mixed_fleet_is_refused(project: Project, capsys) -> None:
    parts, same = shards(project, 2), {"torch": "2.8", "driver": "550"}
    for part in parts:
        edit_settings(part, environment=same)
    assert merge(project, parts) == 1
    for two, told in (
        ({"environment": {**same, "torch": "2.9"}}, 'environment.torch is "2.8" in .*shard-1.*, "2.9" in .*shard-2'),
        ({"environment": {"torch": "2.8"}}, 'environment.driver is "550" in .*shard-1.*, not set in .*shard-2'),
        ({"environment": same, "engine": {"hardware": "H100"}}, 'engine.hardware is "[^"]*" in .*-1.*, "H100" in .*-2'),
    ):
        edit_settings(parts[1], **two)
        for given in (parts, parts[::-1]):
            assert merge(project, given) == 2
            assert re.search(f"m: {told}", said(capsys))


def test_one_model_on_two_kinds_of_hardware_in_two_tasks_is_refused(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, tasks=("sums", "more"))
    assert project.record(right_but(0), right_but(0)) == 0
    parts = shards(project, 1)
    edit_settings(parts[0], engine={"hardware": "H100"})
    assert 'm: engine.hardware is "H100" in' in refused(capsys, merge(project, parts))


def test_another_version_of_accgate_is_refused(project: Project, capsys) -> None:
    parts = shards(project, 2)
    path = parts[1] / "shard.json"
    path.write_text(re.sub(r'"accgate": "[^"]*"', '"accgate": "0.0.9"', path.read_text()))
    assert merge(project, parts) == 2
    assert re.search(r'accgate: version is "[^"]+" in this merge, \S+, "0\.0\.9" in', said(capsys))


def test_shards_of_other_checks_are_refused(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, tasks=("sums", "more"))
    assert project.record(right_but(0), right_but(0)) == 0
    one, two = shard(project, "1/2"), shard(project, "2/2", "--tasks", "sums")
    assert f"m / more: is not a check of {two};" in refused(capsys, merge(project, [one, two]))
    only = shard(project, "1/2", "--tasks", "sums", name="only")
    assert merge(project, [only, two], "--tasks", "sums") == 0
    assert merge(project, [only, two], "--tasks", "smus") == 2


def test_all_that_differs_is_said_at_once_and_no_old_verdict_stays(project: Project, capsys) -> None:
    parts = shards(project, 2)
    assert merge(project, parts) == 1
    project.tasks["sums"]["theta"] = 9.0
    project.write(alpha=0.001)
    capsys.readouterr()
    assert merge(project, parts) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert f"alpha is 0.001 in this merge, 0.05 in {parts[0]}, {parts[1]}; evaluate every shard alike" in first
    assert "theta is" in second
    assert not (project.folder / "merged" / "accgate.json").exists()


def test_records_of_no_sample_are_refused(project: Project, capsys) -> None:
    parts = shards(project, 2)
    stray = read_records(records_path(parts[0]))[0]
    with records_path(parts[1]).open("ab") as file:
        file.write(to_line(stray).replace(stray.id.encode(), b"ffffffffffffffff"))
        file.write(to_line(stray).replace(b'"repeat":0', b'"repeat":1'))
    assert merge(project, parts) == 2
    words = said(capsys)
    assert f"{records_path(parts[1])}: holds 2 ids that this plan lacks: {stray.id}, ffffffffffffffff" in words


def test_records_of_one_shard_in_the_folder_of_another_are_refused(project: Project, capsys) -> None:
    parts = shards(project, 2)
    shutil.rmtree(parts[1] / "m")
    shutil.copytree(parts[0] / "m", parts[1] / "m")
    assert "is of shard 1/2 in the folder of shard 2/2; run that shard again" in refused(capsys, merge(project, parts))


# What is no shard.


def test_what_is_no_shard_or_a_damaged_one_is_refused(project: Project, capsys) -> None:
    parts = shards(project, 2)
    assert "none: is not a folder;" in refused(capsys, merge(project, [*parts, project.folder / "none"]))
    project.run()
    assert f"{project.out}: has no shard.json" in refused(capsys, merge(project, [*parts, project.out]))
    for text in ("{", "[]", '{"shards": ["5/4"], "plan": {}}', '{"shards": "1/2", "plan": {}}', "\xff"):
        (parts[0] / "shard.json").write_text(text, encoding="latin-1")
        assert f"{parts[0] / 'shard.json'}: is damaged; run that shard again" in refused(capsys, merge(project, parts))


def test_records_without_their_settings_are_refused(project: Project, capsys) -> None:
    parts = shards(project, 2)
    path = paths_of(parts[0], "m", "sums").settings
    for text, why in (("{", "sums.settings"), ("[]", "is damaged"), ('{"engine": 3}', "engine"), (None, "is missing")):
        path.unlink() if text is None else path.write_text(text)
        assert why in refused(capsys, merge(project, parts))


def test_the_union_is_never_written_over_a_shard(project: Project, capsys) -> None:
    parts = shards(project, 2)
    assert merge(project, parts, out=project.folder / "x" / ".." / parts[0].name) == 2
    assert "is one of the shards" in said(capsys)
    assert merge(project, parts) == 1


def test_from_python_too_no_shard_is_lost_to_the_union(project: Project) -> None:
    parts = shards(project, 2)
    assert "is one of the shards" in refusal(gate.merge, load_config(project.config), parts, parts[1])
    assert (parts[1] / "shard.json").exists()


def test_records_of_an_unfinished_run_are_not_overwritten(project: Project, capsys) -> None:
    parts = shards(project, 2)
    project.run()
    path = records_path(project.out)
    kept = b"".join(path.read_bytes().splitlines(keepends=True)[:7])
    path.write_bytes(kept)
    assert "holds 7 records of an unfinished run" in refused(capsys, merge(project, parts, out=project.out))
    assert path.read_bytes() == kept


def write(folder: Path, url: str, fingerprints: list[str]) -> None:
    model = served_by(url, fingerprints=fingerprints)
    configure(folder, {"models.m": model, "tasks.arithmetic": sums_of(40, target=50.0)})


def served_shard(folder: Path, i: int, *arguments: str) -> Path:
    out = folder / f"shard-{i}"
    assert command(folder, "run", "--shard", f"{i}/2", "--out", str(out), *arguments) == 0
    return out


def listing(root: str | None) -> dict[str, Any]:
    return {"data": [{"id": "toy", "owned_by": "vllm", "root": root}] if root else []}


def test_servers_that_list_another_model_under_one_name_are_refused(tmp_path: Path, server: Server, capsys) -> None:
    write(tmp_path, server.url, [])
    parts = []
    for i, root in enumerate(("org/model-bf16", "org/model-int4"), 1):
        server.models = listing(root)
        parts.append(served_shard(tmp_path, i))
    capsys.readouterr()
    for given in (parts, parts[::-1]):
        assert merge_served(tmp_path, given) == 2
        words = said(capsys)
        assert re.search(r"m: listed\.toy is .*org/model-bf16.* in \S*shard-1\S*, .*org/model-int4", words)
    assert not (tmp_path / "merged").exists()
    edit_served(parts[1], {"model": "toy"})  # a server that says nothing is no other
    assert merge_served(tmp_path, parts) == 0


def edit_served(folder: Path, served: dict[str, Any]) -> None:
    path = paths_of(folder, "m", "arithmetic").settings
    path.write_text(json.dumps(json.loads(path.read_text()) | {"served": served}))


FINGERPRINTS: list[tuple[Any, Any, list[str], Any]] = [
    (["a", "b"], "c", [], None),
    (["a", "b"], "c", ["a", "b"], None),
    ("a", "b", [], None),
    (["a", "b"], "a", [], None),
    (["a", "b"], ["a", "b"], [], ["a", "b"]),
    (["a", "b"], "a", ["a", "b"], ["a", "b"]),
    ("a", "b", ["*"], ["a", "b"]),
    ("a", "a", [], "a"),
]


@pytest.fixture
def served_halves(tmp_path: Path, server: Server) -> list[Path]:
    write(tmp_path, server.url, [])
    return [served_shard(tmp_path, 1), served_shard(tmp_path, 2)]


@each(("one", "two", "allowed", "merged"), FINGERPRINTS)
def test_fingerprints_of_shards_mix_only_where_all_have_them_or_an_option_names_them(
    served_halves: list[Path], server: Server, one: Any, two: Any, allowed: list[str], merged: Any, capsys
) -> None:
    folder = served_halves[0].parent
    write(folder, server.url, allowed)
    for part, marks in zip(served_halves, (one, two), strict=True):
        edit_served(part, {"system_fingerprint": marks})
    for given in (served_halves, served_halves[::-1]):
        assert merge_served(folder, given) == (2 if merged is None else 0)
        if merged is None:
            assert "evaluate every shard alike, or name those of one model in options.fingerprints" in said(capsys)
        else:
            settings = json.loads(paths_of(folder / "merged", "m", "arithmetic").settings.read_text())
            assert settings["served"]["system_fingerprint"] == merged

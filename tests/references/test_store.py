"""The reference store: what is written, found again, refused, and said when samples have changed."""

import csv
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.inputs.toml import read_toml
from accgate.records.file import Record
from accgate.references.store import (
    ReferenceFile,
    baseline_of,
    find_reference,
    missing_reference,
    scores_of,
)
from accgate.references.writer import add_runs, write_reference
from tests.references.projects import N, answers_of_runs, damage, reference_of
from tests.support.cases import each, refusal
from tests.support.gates import (
    RIGHT,
    Project,
    contents,
    questions,
    recorded_project,
    refused,
    right_but,
    said,
    write_lines,
    write_task,
)
from tests.support.loading import load_task


def record_of(id_: str, score: float | None, **keys: Any) -> Record:
    return Record(id_, 0, score, "t", "a", "reply", "stop", 1, 1, 0.0, None, **keys)


def stored(store: Path, model: str = "m", variant: Mapping[str, Any] | None = None, task: str = "t") -> Path:
    about = ReferenceFile(model=model, task=task, mean=50.0, n=2, variant=dict(variant or {}))
    return write_reference(store, about, [record_of("a", 100.0), record_of("b", 0.0)], reason=None, replies=False)


def read(path: Path) -> dict[str, Any]:
    return dict(read_toml(path, fix="").data)


def test_a_reference_is_text_that_says_where_it_comes_from(project: Project) -> None:
    about = read(project.store / "m/sums.toml")
    content = (project.store / "m/sums.scores.csv").read_bytes()
    plain = {"mean": 75.0, "n": N, "engine": "recorded", "engine_version": "m.jsonl", "model": "m", "task": "sums"}
    assert {key: about[key] for key in plain} == plain
    assert about["sigma"] == pytest.approx(100 * (0.25 * 0.75 * N / (N - 1)) ** 0.5)
    assert about["date"] == datetime.now(timezone.utc).date().isoformat()
    assert about["scores_sha256"] == hashlib.sha256(content).hexdigest()
    assert set(about["fingerprint"]) == {"dataset", "prompt", "extract", "metric", "reply"}
    assert not {"reason", "replaced", "variant"} & about.keys()
    header, *rows = csv.reader(content.decode().splitlines())
    assert header == ["id", "repeat", "score"]
    wrong = set(project.ids()[:10])
    assert rows == [[id_, "0", "0" if id_ in wrong else "100"] for id_ in sorted(project.ids())]  # git shows changes


def test_clusters_groups_and_labels_are_kept_for_every_run(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N)
    write_task(tmp_path, rows=questions(N), columns__cluster="page", columns__group="q", columns__label="a")
    assert project.record(right_but(10, N)) == 0
    assert project.record(right_but(12, N), args=["--add"]) == 0
    with (project.store / "m/sums.scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    samples = {sample.id: sample for sample in load_task("sums", file=tmp_path / "sums.toml").samples}
    assert len(rows) == 2 * N
    for row in rows:
        sample = samples[row["id"]]
        assert (row["cluster"], row["group"], row["label"]) == (sample.cluster, sample.group, sample.label)
    assert project.run() == 0


def test_repeats_and_fractional_points_are_kept_exactly(tmp_path: Path) -> None:
    project = Project(tmp_path, n=2, repeats=2)
    write_lines(project.scores, answers_of_runs(project, [[1 / 3, 99.9], [50.0, 0.1]]))
    assert project.record() == 0
    reference = reference_of(project)
    assert reference.scores is not None
    assert reference.about.repeats == 2
    scores = dict(zip(reference.scores.ids, reference.scores.values.tolist(), strict=True))
    assert [scores[i] for i in project.ids()] == [[1 / 3, 50.0], [99.9, 0.1]]


def test_a_reference_is_not_replaced_without_a_reason_and_nothing_is_evaluated(project: Project, capsys) -> None:
    before = (project.store / "m/sums.toml").read_bytes()
    project.scores.write_text("not even read")
    for args in ([], ["--reason", "  "]):
        assert "say with --reason TEXT why it is replaced" in refused(capsys, project.record(args=args))
    assert (project.store / "m/sums.toml").read_bytes() == before
    assert not list(project.folder.glob("record-out-*/*"))


def test_the_reason_and_what_was_replaced_are_kept(project: Project) -> None:
    old = read(project.store / "m/sums.toml")
    assert project.record(right_but(20, N), args=["--reason", "a new prompt"]) == 0
    new = read(project.store / "m/sums.toml")
    assert (new["mean"], new["reason"]) == (50.0, "a new prompt")
    assert new["replaced"] == {key: old[key] for key in ("mean", "n", "date")}
    assert project.run() == 0


@pytest.mark.parametrize("args", [[], ["--add"]])
def test_a_run_with_failed_samples_makes_no_reference_and_is_added_to_none(
    tmp_path: Path, args: list[str], capsys
) -> None:
    project = recorded_project(tmp_path, N) if args else Project(tmp_path, n=N)
    before = contents(project.store)
    *ids, last = project.ids()
    write_lines(project.scores, [*({"id": i, "score": RIGHT} for i in ids), {"id": last, "error": "HTTP 500"}])
    project.write(max_failed=0.5)
    assert project.record(args=args) == 3
    assert contents(project.store) == before
    assert re.search(r"1 of 40 samples failed.*no reference was written", said(capsys))


def test_a_reference_needs_a_score_of_every_sample(project: Project, tmp_path: Path) -> None:
    about, records = ReferenceFile(model="m", task="t", mean=0.0, n=2), [record_of("a", 1.0), record_of("b", None)]
    fault = refusal(write_reference, tmp_path, about, records, reason=None, replies=False)
    assert "no score for 1 of 2 samples: b;" in fault
    failed = [record_of(i, None) for i in project.ids()]
    reference = reference_of(project)
    assert "for 40 of 40 samples" in refusal(add_runs, reference, reference.about, failed, replies=False)


DAMAGE = {
    "an edited score": ("scores.csv", ",0\n", ",100\n"),
    "broken TOML": ("toml", "mean = ", "mean == "),
    "an empty TOML": ("toml", "(?s).+", ""),
    "an unknown key": ("toml", "mean = ", "meen = "),
    "a wrong mean": ("toml", "mean = 75.0", "mean = 60.0"),
    "a wrong n": ("toml", "n = 40", "n = 41"),
    "no digest": ("toml", "scores_sha256.*\n", ""),
    "no mean": ("toml", "mean = .*\n", ""),
}


def test_a_damaged_reference_is_refused(project: Project, capsys, messages: SnapshotAssertion) -> None:
    def refusal() -> str:
        assert project.run() == 2
        assert not project.out.exists()
        return said(capsys)

    said(capsys)
    faults = {}
    for name, (ending, pattern, new) in DAMAGE.items():
        path = project.store / f"m/sums.{ending}"
        content = path.read_bytes()
        damage(path, pattern, new)
        faults[name] = refusal()
        path.write_bytes(content)
    (project.store / "m/sums.scores.csv").unlink()
    assert faults | {"a missing csv": refusal()} == messages


def test_without_its_csv_a_mean_alone_is_a_reference(project: Project, capsys) -> None:
    (project.store / "m/sums.scores.csv").unlink()
    damage(project.store / "m/sums.toml", "scores_sha256.*\n", "")
    project.tasks["sums"]["sigma"] = 50.0
    project.write()
    assert project.run() == 0
    assert "has a mean but no scores to add to; record it again" in refused(capsys, project.record(args=["--add"]))
    assert project.check["test"] == "two-sample"
    reference = project.check["reference"]
    assert (reference["mean"], reference["n"], reference["readings"], reference["name"]) == (75.0, N, None, "m")


@each("order", ["m@quant=bf16,gpu=H200", " m @gpu=H200, quant=bf16", "m@H200,bf16"])
def test_a_baseline_is_found_in_any_order_and_by_its_values_alone(tmp_path: Path, order: str) -> None:
    path = stored(tmp_path, variant={"quant": "bf16", "gpu": "H200"})
    stored(tmp_path, variant={"quant": "fp8", "gpu": "H200"})
    assert path.parent.name == "m@gpu=H200,quant=bf16"
    found = find_reference(tmp_path, baseline_of("m", {}, order), "t")
    assert found is not None
    assert found.path == path


def test_a_bare_baseline_counts_only_variants_with_this_task_and_must_fit_one(tmp_path: Path) -> None:
    stored(tmp_path, variant={"quant": "bf16"})
    stored(tmp_path, variant={"kv": "bf16"}, task="other")
    assert find_reference(tmp_path, "m@bf16", "t") is not None
    assert find_reference(tmp_path, "m@fp8", "t") is None
    stored(tmp_path, variant={"kv": "bf16"})
    assert "fits m@kv=bf16 and m@quant=bf16;" in refusal(find_reference, tmp_path, "m@bf16", "t")


@each("model", ["org/model", "..", "m*", "100%"])
def test_any_name_of_a_model_is_a_folder_in_the_store(tmp_path: Path, model: str) -> None:
    path = stored(tmp_path, model, {"quant": "bf16"}, task="a/b")
    assert path.parent.parent == tmp_path
    for baseline in (f"{model}@quant=bf16", f"{model}@bf16"):
        found = find_reference(tmp_path, baseline, "a/b")
        assert found is not None
        assert found.about.model == model


def test_a_missing_reference_names_what_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"for task t in {tmp_path}: record" in missing_reference(tmp_path, "m@quant=bf16", "t")
    monkeypatch.chdir(tmp_path.parent)
    assert f"for task t in {tmp_path.name}: record" in missing_reference(tmp_path, "m@quant=bf16", "t")
    stored(tmp_path, variant={"quant": "bf16"})
    own = missing_reference(tmp_path, "m@quant=b16", "t", own="m@quant=bf16", recordable=False)
    assert "did you mean" not in own
    assert "no model of this file is recorded under that name: add one with that variant" in own
    message = missing_reference(tmp_path, "m@quant=b16", "t")
    assert "did you mean 'm@quant=bf16'?" in message
    assert "accgate record" in message


def test_a_run_that_lacks_samples_gives_no_scores(project: Project) -> None:
    task = load_task("sums", file=project.folder / "sums.toml")
    two = [record_of(sample.id, 1.0) for sample in task.samples[:2]]
    assert re.search("lacks 38 of 40 samples: .* and 33 more", refusal(scores_of, two, task))


def test_models_judged_against_another_are_recorded_only_when_named(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=4)
    project.models["m"]["variant"] = {"quant": "bf16"}
    project.models["fast"] = {"engine": "recorded", "model": "m.jsonl", "baseline": "m@bf16"}
    project.write()
    assert project.record([RIGHT] * 4) == 0
    assert [path.name for path in project.store.iterdir()] == ["m@quant=bf16"]
    assert project.run() == 4  # 4 samples could not fail the gate
    assert project.record(args=["--models", "fast"]) == 0
    assert {path.name for path in project.store.iterdir()} == {"fast", "m@quant=bf16"}
    assert "did you mean 'fast'?" in refused(capsys, main(["record", str(project.config), "--models", "fats"]))

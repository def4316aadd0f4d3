"""Runs as other tools take them: the figures are the result's, and what claims more than the run shows is refused."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.interop.every_eval_ever import Source, export_every_eval_ever
from accgate.interop.hub import export_hub, read_benchmark
from accgate.interop.run_folder import RunFolder, read_run
from accgate.records.scores import read_scores
from tests.support.cases import each, refusal
from tests.support.gates import N, Project, right_but, said, write_lines

HUB = {"sums": "org/sums:own@" + 40 * "a"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run of 200 samples, of which 10 got worse and 2 better."""
    project = Project(tmp_path_factory.mktemp("run"), theta=8.0, num_samples=N)
    project.models["m"]["variant"] = {"quant": "fp8"}
    project.write()
    assert project.record(right_but(20)) == 0
    assert project.run(right_but(28, start=2)) == 1
    return project.out


def everything(run: RunFolder, out: Path, **changes: Any) -> list[Path]:
    options: dict[str, Any] = {"organisation": "us", "relationship": "other", "metric": "accuracy", "datasets": {}}
    return export_every_eval_ever(run, out, Source(**options | {"model_ids": {"m": "org/m"}} | changes))


def hub(run: RunFolder, out: Path, **changes: Any) -> list[Path]:
    return export_hub(run, out, **{"benchmarks": HUB, "fractions": False, "source": None} | changes)


def changed(folder: Path, out: Path, **figures: Any) -> Path:
    """The same run with other figures in its only check."""
    result = json.loads((folder / "accgate.json").read_bytes())
    result["checks"][0] |= figures
    out.mkdir()
    (out / "accgate.json").write_text(json.dumps(result))
    (out / "m").symlink_to(folder / "m")
    return out


def test_the_figures_of_a_check_are_those_of_its_result_with_the_standard_error_of_its_scores(folder: Path) -> None:
    (check,) = read_run(folder).checks
    written = json.loads((folder / "accgate.json").read_bytes())["checks"][0]
    figures = check.figures
    for name in ("difference", "gamma", "theta", "p_value", "n", "alpha"):
        assert figures[name] == written[name], name
    assert (figures["mean"], figures["reference_mean"]) == (86.0, 90.0)
    assert [figures["interval_low"], figures["interval_high"]] == written["interval"]["two_sided"]
    assert figures["standard_error"] == pytest.approx(100 * math.sqrt(0.86 * 0.14 / (N - 1)))
    assert set(check.digests) == {"dataset", "prompt", "extract", "metric", "reply"}
    assert check.table("variant") == {"quant": "fp8"}


def test_records_of_another_run_or_none_at_all_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="another run"):
        read_run(changed(folder, tmp_path / "other", candidate={"mean": 99.0, "n": N, "errors": 0}))
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "accgate.json").write_bytes((folder / "accgate.json").read_bytes())
    assert "records are not beside" in refusal(read_run, bare)
    assert "has no task 'sum'; its tasks: sums" in refusal(read_run, folder, tasks=["sum"])
    assert "is a comparison of two files" in refusal(read_run, changed(folder, tmp_path / "two", model=None, task=None))
    assert "there is no result" in refusal(read_run, tmp_path)


def test_a_score_for_the_hub_is_what_its_own_code_reads(folder: Path, tmp_path: Path) -> None:
    entries = pytest.importorskip("huggingface_hub").parse_eval_result_entries
    (path,) = hub(read_run(folder), tmp_path, source="https://example.org/run?a='b'")
    assert path.relative_to(tmp_path).as_posix() == "m/.eval_results/sums.yaml"
    (entry,) = entries(yaml.safe_load(path.read_bytes()))
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("org/sums", "own", 40 * "a")
    assert (entry.value, entry.source_url) == (86.0, "https://example.org/run?a='b'")
    assert entry.notes.startswith("200 samples, standard error 2.46 points, quant: fp8, accgate ")
    (path,) = hub(read_run(folder), tmp_path, fractions=True)
    assert entries(yaml.safe_load(path.read_bytes()))[0].value == 0.86


def test_a_score_that_claims_more_than_the_run_shows_does_not_go_to_the_hub(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    (check,) = run.checks
    early = replace(run, checks=(replace(check, verdict=replace(check.verdict, n_max=1000, stop="futility")),))
    without = replace(run, checks=(replace(check, samples="nothing there"),))
    no_mean = replace(check.verdict, candidate=replace(check.verdict.candidate, mean=None))
    undefined = replace(run, checks=(replace(check, verdict=no_mean),))
    assert "has no mean" in refusal(everything, undefined, tmp_path)
    for one, benchmarks, message in (
        (early, HUB, "stopped early, after 200 of 1,000 samples"),
        (without, HUB, "no scores to export: nothing there"),
        (run, {"sum": "org/sums"}, "has no task 'sum'"),
        (run, {}, "name each with --dataset"),
    ):
        assert re.search(message, refusal(hub, one, tmp_path, benchmarks=benchmarks))
    assert not list(tmp_path.iterdir())


@each("text", ["org/sums@main", "org/../x", "org/sums:"])
def test_what_is_no_benchmark_of_the_hub_is_refused(text: str) -> None:
    assert "is not a Hub dataset" in refusal(read_benchmark, text)


def test_samples_without_a_score_are_no_scores_of_a_benchmark(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    project = Project(tmp_path / "p", num_samples=N)
    project.write(max_failed=0.5)
    assert project.record(right_but(20)) == 0
    rows = [json.loads(line) for line in project.scores.read_text().splitlines()]
    write_lines(project.scores, [{"id": rows[0]["id"], "score": None, "error": "the server hung up"}, *rows[1:]])
    project.run()
    failing = read_run(project.out)
    for export in (everything, hub):
        assert "no score for 1 of 200 samples" in refusal(export, failing, tmp_path / "out")
    assert failing.checks[0].mean_error is None
    assert not (tmp_path / "out").exists()


def test_what_is_exported_for_every_eval_ever_is_read_again_by_its_sample_ids(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    everything(run, tmp_path)
    (samples,) = tmp_path.rglob("*_samples.jsonl")
    scores = read_scores(samples, "run")
    assert (scores.ids, scores.mean) == (tuple(record.id for record in run.checks[0].whole_samples().records), 0.86)


def test_what_every_eval_ever_cannot_hold_is_refused(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    for ids in ({}, {"m": "m"}, {"m": "../m"}, {"m": "org/.."}):
        assert "give --model-id m=ORG/NAME" in refusal(everything, run, tmp_path, model_ids=ids)
    (check,) = run.checks
    with pytest.raises(BadInput, match="no prompt beside the records for 200 of 200 samples"):
        everything(replace(run, checks=(replace(check, prompts={}),)), tmp_path)
    assert not isinstance(check.samples, str)
    records = tuple(replace(record, score=101.0) for record in check.samples.records)
    high = replace(check, samples=replace(check.samples, records=records))
    assert "101.00 points, but accuracy goes from 0 to 1" in refusal(everything, replace(run, checks=(high,)), tmp_path)
    assert everything(replace(run, checks=(high,)), tmp_path, metric="perplexity")


def test_the_same_run_gives_the_same_files(folder: Path, tmp_path: Path) -> None:
    (first,), (second,) = (everything(read_run(folder), tmp_path / name) for name in ("a", "b"))
    assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())


@pytest.mark.parametrize(("name", "called"), [("mlflow", "MLflow"), ("wandb", "wandb")])
def test_a_tracker_that_is_not_installed_says_how_to(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    name: str, called: str,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, name, None)
    assert main(["export", name, str(folder), "--out", str(tmp_path)]) == 2
    assert re.search(rf"needs {called} \(.*; pip install 'accgate\[{name}\]'", said(capsys))


def test_a_dataset_of_the_hub_without_its_task_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "hf", str(folder), "--dataset", "sums"]) == 2
    assert "write --dataset TASK=ORG/NAME:TASK_ID" in said(capsys)

"""Run records in lm-eval's form: what comes back by import is what went out."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.interop.lm_eval import import_lm_eval, lm_eval_files
from accgate.interop.lm_eval_export import export_lm_eval
from accgate.interop.task_log import Choice
from accgate.records.file import Record, RecordWriter, paths_of, read_records
from accgate.records.replacement import write_gzip_lines
from accgate.tasks.sample import sample_id
from tests.support.cases import refusal

NOW = datetime(2026, 11, 21, 15, 43, 1, 488686)  # noqa: DTZ001 as lm-eval names its files


def run_of(folder: Path, scores: dict[tuple[str, int, int], float | None], task: str = "adding") -> Path:
    """Records of a run: (prompt, occurrence, repeat) to score."""
    paths = paths_of(folder, "org/model", task)
    records, prompts = [], {}
    for (prompt, occurrence, repeat), score in scores.items():
        id_ = sample_id(task, prompt, "4", occurrence)
        prompts[id_] = prompt
        records.append(Record(id_, repeat, score, "4", "4", f" {repeat}", "stop", 5, 1, 0.1, None))
    write_gzip_lines(paths.prompts, ({"id": id_, "prompt": prompt} for id_, prompt in prompts.items()))
    with RecordWriter(paths.records, records[::-1]):
        pass
    return paths.records


def exported(path: Path, out: Path, metric: str = "acc", **options: Any) -> tuple[Path, Path]:
    """The files of samples and of results."""
    return export_lm_eval(path, out, metric=metric, now=NOW, **options)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_is_exported_is_imported_again_with_the_same_ids_scores_and_texts(tmp_path: Path) -> None:
    path = run_of(tmp_path, {("2 + 2", 1, 0): 0.0, ("2 + 2", 0, 0): 100.0, ("3 + 1", 0, 0): 25.0})
    exported(path, tmp_path / "out")
    (log,) = lm_eval_files([tmp_path / "out"])
    found = import_lm_eval(log, Choice())
    kept = ("id", "repeat", "score", "target", "answer", "reply")
    told = [{name: getattr(record, name) for name in kept} for record in read_records(path)]
    assert sorted(told, key=str) == sorted(({n: getattr(r, n) for n in kept} for r in found.records), key=str)
    assert (found.model, found.task, found.higher_is_better) == ("org/model", "adding", True)
    assert found.reported == pytest.approx(125 / 3)


def test_a_fraction_of_lm_eval_gets_points_divided_by_100_and_any_other_metric_the_points(tmp_path: Path) -> None:
    path = run_of(tmp_path, {("a", 0, 0): 100.0, ("b", 0, 0): 50.0})
    for metric, values in (("exact_match", [1.0, 0.5]), ("judged", [100.0, 50.0])):
        samples, results = exported(path, tmp_path / metric, metric, higher_is_better=False)
        assert sorted((row[metric] for row in rows_of(samples)), reverse=True) == values
        told = json.loads(results.read_bytes())
        assert told["results"]["adding"][f"{metric},none"] == sum(values) / 2
        assert told["higher_is_better"]["adding"] == {metric: False}


def test_repeats_are_averaged_all_replies_kept_and_files_named_as_lm_eval_names_them(tmp_path: Path) -> None:
    samples, results = exported(run_of(tmp_path, {("a", 0, i): 100.0 * (i == 0) for i in range(4)}), tmp_path / "out")
    (row,) = rows_of(samples)
    assert (row["acc"], row["resps"], row["doc_id"]) == (0.25, [[" 0", " 1", " 2", " 3"]], 0)
    assert samples.name == "samples_adding_2026-11-21T15-43-01.488686.jsonl"
    assert results.name == "results_2026-11-21T15-43-01.488686.json"


def test_a_sample_without_a_score_a_prompt_or_all_its_repeats_is_an_error(tmp_path: Path) -> None:
    path = run_of(tmp_path / "a", {("a", 0, 0): None, ("b", 0, 0): 1.0})
    assert "no score for 1 of 2 samples" in refusal(exported, path, tmp_path / "out")
    path = run_of(tmp_path / "b", {("a", 0, 0): 1.0, ("b", 0, 0): 1.0, ("b", 0, 1): 1.0})
    assert "fewer than 2 repeats of 1 of 2 samples" in refusal(exported, path, tmp_path / "out")
    path = run_of(tmp_path / "c", {("a", 0, 0): 120.0})
    with pytest.raises(BadInput, match=r"120 points, but lm-eval's acc is a fraction; name another --metric"):
        exported(path, tmp_path / "out")
    with RecordWriter(path, [replace(read_records(path)[0], id="other")]):
        pass
    assert "no prompt beside the records for 1 of 1 samples" in refusal(exported, path, tmp_path / "out")
    path.with_name("adding.prompts.jsonl.gz").unlink()
    assert "holds no prompts" in refusal(exported, path, tmp_path / "out")
    assert not (tmp_path / "out").exists()

"""NeMo Evaluator's bundles, as its engine/artifacts.py writes them, and what is not in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.interop.nemo import import_nemo, nemo_files
from accgate.interop.task_log import Choice
from tests.support.cases import refusal
from tests.support.gates import write_lines

Row = dict[str, Any]


def rows(wrong: int, repeats: int = 2, n: int = 20) -> list[Row]:
    return [
        {
            "problem_idx": i, "repeat": repeat, "reward": float(i >= wrong), "scorer_rewards": {},
            "model_response": f"It is {i}.", "extracted_answer": str(i), "expected_answer": str(i),
            "scoring_details": {"method": "exact"}, "metadata": {}, "tokens": 9, "latency_ms": 12.5,
        }
        for repeat in range(repeats) for i in range(n)
    ]  # fmt: skip


def bundle(folder: Path, results: list[Row], **changes: Any) -> Path:
    """A folder as `write_all` leaves it."""
    folder.mkdir(parents=True)
    rewards = [row["reward"] for row in results]
    content = {
        "run_id": "eval-20261122T120000Z-gsm8k", "config_hash": "sha256:0", "sdk_version": "0.4.0",
        "timestamp": "2026-11-22T12:00:00+00:00", "config": {"model": "org/m", "temperature": 0.0, "repeats": 2},
        "benchmark": {
            "name": "gsm8k",
            "samples": len({row["problem_idx"] for row in results}), "repeats": max(r["repeat"] for r in results) + 1,
            "scores": {"summary": {"mean": sum(rewards) / len(rewards), "n": len(rewards)}},
        },
        "n_results": len(results),
    }  # fmt: skip
    (folder / f"{content['run_id']}.json").write_text(json.dumps(content | changes))
    return write_lines(folder / "results.jsonl", results)


def test_a_bundle_has_its_scores_its_repeats_and_the_mean_that_it_reports(tmp_path: Path) -> None:
    log = import_nemo(bundle(tmp_path / "a", rows(5)), Choice(scale=100.0))
    assert (log.model, log.task, log.metric, log.tool) == ("org/m", "gsm8k", "reward", "NeMo Evaluator 0.4.0")
    assert (log.samples, len(log.records), log.mean, log.reported) == (20, 40, 75.0, 75.0)
    assert {record.repeat for record in log.records} == {0, 1}
    first = log.records[0]
    assert (first.reply, first.answer, first.target, first.seconds) == ("It is 0.", "0", "0", 0.0125)


def test_two_bundles_are_paired_by_problem_and_a_changed_target_is_another_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [row | ({"expected_answer": "9"} if row["problem_idx"] == 3 else {}) for row in rows(14)]
    for name, results in (("before", rows(5)), ("now", rows(14)), ("other", changed)):
        bundle(tmp_path / name, results)
        command = ["import", "nemo", str(tmp_path / name), "--scale", "100", "--model", "m"]
        assert main([*command, "--out", str(tmp_path / "out" / name)]) == 0
    files = {name: str(tmp_path / "out" / name / "m" / "gsm8k.jsonl") for name in ("before", "now", "other")}
    capsys.readouterr()
    assert main(["compare", files["before"], files["now"], "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["difference"], verdict["n"], verdict["lost"]) == (-45.0, 20, 9)
    assert main(["compare", files["before"], files["other"]]) == 2


def test_a_problem_that_was_not_measured_is_no_wrong_answer(tmp_path: Path) -> None:
    results = rows(5)
    results[0]["scoring_details"] = {"error_category": "infra_error", "error": "no route to host"}
    log = import_nemo(bundle(tmp_path / "a", results), Choice(scale=100.0))
    assert (log.records[0].score, log.records[0].error) == (None, "infra_error: no route to host")
    assert log.reported is None
    assert "1 problem not measured" in log.note


FAULTY: tuple[tuple[Callable[[list[Row]], Any], Row], ...] = (
    (lambda all_: [all_.pop(39), all_.pop(19)], {"n_results": 40}), (lambda all_: all_.append(dict(all_[0])), {}),
    (lambda all_: all_.pop(), {}), (lambda all_: [all_.pop(20), all_.pop(0)], {}),
    (lambda all_: all_[0].update(reward=None), {}), (lambda all_: all_[0].update(problem_idx="0"), {}),
    (lambda all_: all_[0].pop("expected_answer"), {}), (lambda all_: all_.clear(), {}),
    (lambda _: None, {"config": {}}), (lambda _: None, {"benchmark": None}),
)  # fmt: skip


def test_what_is_missing_doubled_or_unreadable_is_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    path = bundle(tmp_path / "a", rows(5))
    (file,) = path.parent.glob("eval-*.json")
    content = json.loads(file.read_text())

    def faulty(change: Callable[[list[Row]], Any], changes: Row) -> None:
        results = rows(5)
        change(results)
        file.write_text(json.dumps(content | {"n_results": len(results)} | changes))
        import_nemo(write_lines(path, results), Choice(scale=100.0))

    assert [refusal(faulty, *each) for each in FAULTY] == messages


def test_a_mean_that_is_not_the_samples_a_scale_that_nobody_says_and_a_second_bundle_are_errors(tmp_path: Path) -> None:
    path = bundle(tmp_path / "a", rows(5))
    assert "whether reward is a fraction or in points" in refusal(import_nemo, path, Choice())
    assert "has only the metric reward" in refusal(import_nemo, path, Choice(scale=100.0, metric="acc"))
    write_lines(path, rows(6))
    assert "the samples' mean of reward is" in refusal(import_nemo, path, Choice(scale=100.0))
    (path.parent / "eval-2.json").write_text("{}")
    assert "has 2 eval-" in refusal(import_nemo, path, Choice(scale=100.0))


def test_means_alone_are_not_enough(tmp_path: Path) -> None:
    assert "and no byob_predictions.jsonl; keep" in refusal(nemo_files, [tmp_path])
    (tmp_path / "results.yml").write_text("results: {}\n")
    assert "results.yml there holds only means" in refusal(nemo_files, [tmp_path])
    (tmp_path / "samples_gsm8k_2026-11-22T12-00-00.000000.jsonl").write_text("{}\n")
    assert "use `accgate import lm-eval" in refusal(nemo_files, [tmp_path])

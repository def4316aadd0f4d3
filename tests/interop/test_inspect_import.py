"""Inspect's logs become run records with the means that Inspect reports, or an error."""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.errors import CannotEvaluate
from accgate.interop.inspect_file import message_text, prompt_text
from accgate.interop.inspect_logs import import_inspect, inspect_files
from accgate.interop.task_log import Choice, TaskLog
from accgate.tasks.sample import sample_id
from tests.interop.inspect_logs import archive, log_of, sample, write_eval, write_json
from tests.interop.lm_eval_logs import put
from tests.support.cases import each, refusal

LETTERS = [sample(1, "C"), sample(2, "I"), sample(3, "P"), sample(4, "N")]


def imported(path: Path, **choice: Any) -> TaskLog:
    return import_inspect(path, Choice(**choice))


def of(folder: Path, samples: list[dict[str, Any]], means: dict[str, float], **own: Any) -> Path:
    return write_json(folder / "log.json", log_of(samples, means, **own))


def letters(folder: Path, method: int | None = None) -> Path:
    """A log of four samples, as JSON or as an archive of this compression."""
    log = log_of(LETTERS, {"match": 0.375})
    return write_json(folder / "log.json", log) if method is None else write_eval(folder / "log.eval", log, method)


@each("method", [0, 8, 93])
def test_an_archive_gives_what_the_json_log_gives(tmp_path: Path, method: int) -> None:
    assert imported(letters(tmp_path, method)).records == imported(letters(tmp_path)).records


def test_letters_count_as_inspect_counts_them_and_a_record_has_what_the_log_has(tmp_path: Path) -> None:
    found = imported(letters(tmp_path))
    assert [record.score for record in found.records] == [100.0, 0.0, 50.0, 0.0]
    assert (found.model, found.task, found.tool) == ("openai/gpt", "asking", "Inspect 0.3.285")
    record = found.records[0]
    assert (record.reply, record.answer, record.target, record.finish_reason) == ("yes, sure", "yes", "yes", "stop")
    assert (record.prompt_tokens, record.completion_tokens, record.seconds) == (7, 3, 1.5)
    assert record.id == sample_id("asking", "Question 1?", "yes", 0)


def test_epochs_are_repeats_and_the_mean_is_over_samples(tmp_path: Path) -> None:
    values = {(1, 1): "C", (1, 2): "I", (2, 1): "C", (2, 2): "C"}
    samples = [sample(id_, value, epoch=epoch) for (id_, epoch), value in values.items()]
    found = imported(of(tmp_path, samples[::-1], {"match": 0.75}, epochs=2))
    assert {(record.repeat, record.score) for record in found.records if record.id == found.records[0].id} in (
        {(0, 100.0), (1, 0.0)}, {(0, 100.0), (1, 100.0)},
    )  # fmt: skip
    assert (found.samples, len(found.records), found.mean) == (2, 4, 75.0)


@each(("values", "mean"), [([True, False], 0.5), (["yes", "NO"], 0.5), (["1", 0.5], 0.75)])
def test_numbers_words_and_truth_values_count_as_inspect_counts_them(
    tmp_path: Path, values: list[Any], mean: float
) -> None:
    samples = [sample(id_, value) for id_, value in enumerate(values)]
    assert imported(of(tmp_path, samples, {"match": mean})).mean == pytest.approx(100 * mean)


def test_points_of_an_unknown_scorer_are_asked_for_and_never_guessed(tmp_path: Path) -> None:
    path = of(tmp_path, [sample(1, 0.5, scorer="mine"), sample(2, 1.0, scorer="mine")], {"mine": 0.75})
    assert "whether mine is a fraction or in points" in refusal(imported, path)
    assert imported(path, scale=100.0).reported == 75.0
    assert imported(path, scale=1.0).reported == 0.75


TWO_SCORERS = [
    sample(id_, value) | {"scores": {"match": {"value": value}, "includes": {"value": "C"}}}
    for id_, value in ((1, "C"), (2, "I"))
]


def test_of_several_scorers_one_is_named_or_the_log_names_its_headline(tmp_path: Path) -> None:
    means = {"match": 0.5, "includes": 1.0}
    path = of(tmp_path, TWO_SCORERS, means)
    assert "several scores; choose one: --metric match, --metric includes" in refusal(imported, path)
    assert (imported(path, metric="includes").mean, imported(path, metric="match").mean) == (100.0, 50.0)
    assert "holds no scorer f1; choose one: --metric match" in refusal(imported, path, metric="f1")
    log = log_of(TWO_SCORERS, means)
    log["results"]["headline"] = {"scorer": "includes", "score": "includes", "metric": "accuracy"}
    assert imported(write_json(tmp_path / "log.json", log)).metric == "includes"


def test_a_score_of_several_values_is_chosen_by_its_key(tmp_path: Path) -> None:
    samples = [sample(id_, {"right": value, "long": 3}, scorer="both") for id_, value in ((1, 1.0), (2, 0.0))]
    log = log_of(samples, {})
    metric = {"accuracy": {"name": "inspect_ai/accuracy", "value": 0.5}}
    log["results"]["scores"] = [{"name": "right", "scorer": "both", "metrics": metric}]
    path = write_json(tmp_path / "log.json", log)
    assert "several scores; choose one: --metric both/right, --metric both/long" in refusal(imported, path)
    assert imported(path, metric="both/right", scale=100.0).reported == 50.0
    assert "not checked" in imported(path, metric="both/long", scale=1.0).note


def test_a_sample_without_a_score_has_none_in_the_records_and_is_left_out_as_inspect_leaves_it(tmp_path: Path) -> None:
    failed = sample(3, None, error={"message": "the server went away"}) | {"scores": None}
    left = sample(4, math.nan)
    left["scores"]["match"]["reason"] = "grader_failed"
    found = imported(of(tmp_path, [sample(1, "C"), sample(2, "I"), failed, left], {"match": 0.5}))
    assert [(record.score, record.error) for record in found.records] == [
        (100.0, None), (0.0, None), (None, "the server went away"), (None, "grader_failed"),
    ]  # fmt: skip
    assert found.mean == 50.0


def test_another_mean_than_reported_is_an_error(tmp_path: Path) -> None:
    assert "is 0.375, but log.json reports 0.4" in refusal(imported, of(tmp_path, LETTERS, {"match": 0.4}))


def reduced(*ways: tuple[str, float, dict[int, Any]]) -> dict[str, Any]:
    """A log of two samples with three epochs each, reduced in these ways: name, mean, value of each sample."""
    samples = [sample(id_, "CIC"[e - 1] if id_ == 1 else "IIC"[e - 1], epoch=e) for id_ in (1, 2) for e in (1, 2, 3)]
    log = log_of(samples, {}, epochs=3)
    for name, mean, values in ways:
        (score,) = log_of(samples, {"match": mean})["results"]["scores"]
        log["results"]["scores"].append(score | {"reducer": name})
        own = [{"sample_id": id_, "value": value} for id_, value in values.items()]
        log.setdefault("reductions", []).append({"scorer": "match", "reducer": name, "samples": own})
    return log


MEAN = ("mean", 0.5, {1: 2 / 3, 2: 1 / 3})
MODE = ("mode", 0.5, {1: "C", 2: "I"})
MOST = ("max", 1.0, {1: 1.0, 2: "C"})


@each(("way", "points"), [(MODE, [100.0, 0.0]), (MOST, [100.0, 100.0])])
def test_epochs_that_inspect_reduces_in_another_way_than_their_mean_give_the_score_that_it_made(
    tmp_path: Path, way: Any, points: list[float]
) -> None:
    found = imported(write_eval(tmp_path / "log.eval", reduced(way)))
    assert [(record.score, record.repeat) for record in found.records] == [(one, 0) for one in points]
    assert (found.reported, found.metric) == (100 * way[1], f"match ({way[0]} of epochs)")


def test_of_several_ways_to_reduce_epochs_one_is_chosen_and_the_mean_needs_no_choice(tmp_path: Path) -> None:
    two = write_json(tmp_path / "two.json", reduced(MODE, MOST))
    assert "in several ways; choose one: --reducer mode, --reducer max" in refusal(imported, two)
    assert imported(two, reducer="max").mean == 100.0
    assert "does not reduce its epochs by mean; choose one" in refusal(imported, two, reducer="mean")
    three = write_json(tmp_path / "three.json", reduced(MODE, MEAN))
    assert len(imported(three).records) == 6
    assert imported(three, reducer="mode").mean == 50.0
    assert imported(three).fingerprint != imported(three, reducer="mode").fingerprint


def test_a_reduction_that_is_not_whole_is_an_error(tmp_path: Path) -> None:
    none = reduced(MODE)
    del none["reductions"]
    for log in (reduced(("mode", 1.0, {1: "C"})), reduced(("mode", 1.0, {1: "C", 3: "C"})), none):
        assert "does not hold that score" in refusal(imported, write_json(tmp_path / "log.json", log))


NOT_WHOLE: tuple[tuple[str, Any], ...] = (
    ("eval dataset sample_ids", [1, 2, 3, 4, 5]), ("eval dataset sample_ids", [1, 2, 4]), ("eval config epochs", 2),
    ("eval config epochs", 10**18), ("eval config", ["epochs"]), ("status", "cancelled"), ("invalidated", True),
    ("samples", []), ("samples", [*LETTERS, LETTERS[0]]), ("samples", [sample(id_, math.nan) for id_ in (1, 2, 3, 4)]),
    ("samples 1 scores match value", "maybe"), ("samples 0 epoch", None), ("results", None),
)  # fmt: skip


def test_a_log_that_is_not_whole_is_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    def faulty(keys: str, value: Any) -> None:
        log = copy.deepcopy(log_of(LETTERS, {"match": 0.375}))
        put(log, [int(key) if key.isdigit() else key for key in keys.split()], value)
        imported(write_json(tmp_path / "log.json", log))

    assert [refusal(faulty, *case) for case in NOT_WHOLE] == messages


@each("cut", [40, -1, -30])
def test_a_log_that_is_cut_off_is_an_error(tmp_path: Path, cut: int) -> None:
    for path in (letters(tmp_path), letters(tmp_path, 93)):
        path.write_bytes(path.read_bytes()[:cut])
        assert "cut off" in refusal(imported, path)


@each("method", [0, 8, 93])
def test_a_changed_byte_in_an_archive_is_an_error(tmp_path: Path, method: int) -> None:
    path = letters(tmp_path, method)
    raw = bytearray(path.read_bytes())
    raw[len("samples/1_epoch_1.json") + 30 + 60] ^= 0xFF
    path.write_bytes(raw)
    assert "samples/1_epoch_1.json is damaged" in refusal(imported, path)


def test_an_archive_of_an_evaluation_that_was_killed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(archive([("_journal/start.json", b"{}")], 93))
    assert "no header.json: the evaluation did not finish" in refusal(imported, path)


def test_a_compression_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    path = letters(tmp_path, 0)
    path.write_bytes(path.read_bytes().replace(b"\x3f\0\0\0\0\0\0\0", b"\x3f\0\0\0\x63\0\0\0"))
    assert "compression method 99 is unknown" in refusal(imported, path)


def test_a_missing_package_is_said_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = letters(tmp_path, 93)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(CannotEvaluate, match=r"pip install 'accgate\[interop\]'"):
        imported(path)


def test_a_folder_is_searched_and_one_without_logs_is_an_error(tmp_path: Path) -> None:
    assert "holds no logs of Inspect" in refusal(inspect_files, [tmp_path])
    log = letters(tmp_path)
    (tmp_path / "logs.json").touch()  # a list that Inspect writes beside logs
    assert inspect_files([tmp_path, log]) == [log]
    assert "cannot be read" in refusal(imported, tmp_path / "none.eval")


def test_a_prompt_is_the_same_in_every_run_and_a_long_text_is_put_back() -> None:
    asked = {"role": "user", "content": "attachment://abc", "id": "random"}
    kept = {"input": [asked], "attachments": {"abc": "a long text"}}
    assert prompt_text(kept) == "user: a long text"
    assert prompt_text({"input": "short", "choices": ["a", "b"]}) == "short\na\nb"
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "so"}, {"type": "image", "image": "x"}]
    assert message_text({}, {"content": parts}) == 'so\n{"image": "x", "type": "image"}'
    assert message_text({}, {}) is None

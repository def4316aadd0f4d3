"""lm-eval's per-sample logs become run records with the means that lm-eval reports, or an error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.interop.lm_eval import import_lm_eval, lm_eval_files
from accgate.interop.task_log import Choice, TaskLog
from accgate.tasks.sample import sample_id
from tests.interop.lm_eval_logs import DATE, Row, generated, put, scored, write_log
from tests.support.cases import refusal
from tests.support.gates import write_lines

MATCHES = [generated(doc, {"exact_match": value}) for doc, value in enumerate([1.0, 0.0, 1.0, 1.0])]


MEAN = "exact_match,none"


def imported(path: Path, **choice: Any) -> TaskLog:
    return import_lm_eval(path, Choice(**choice))


def test_a_log_has_the_mean_that_lm_eval_reports_in_points_and_a_record_what_the_row_has(tmp_path: Path) -> None:
    found = imported(write_log(tmp_path, MATCHES))
    assert (found.mean, found.reported, found.samples, found.note) == (75.0, 75.0, 4, "")
    assert [record.score for record in found.records] == [100.0, 0.0, 100.0, 100.0]
    assert (found.model, found.task, found.tool, found.metric) == ("org/model", "adding", "lm-eval 0.4.13", MEAN)
    assert found.higher_is_better is True
    record = found.records[2]
    assert (record.reply, record.answer, record.target, record.repeat) == (" 4", "4", "4", 0)
    assert record.id == sample_id("adding", "2 + 2 =", "4", 0)


def test_identical_documents_are_different_samples(tmp_path: Path) -> None:
    rows = [generated(0, {"acc": 1.0}), generated(0, {"acc": 0.0}) | {"doc_id": 1}]
    first, second = imported(write_log(tmp_path, rows)).records
    assert [first.id, second.id] == [sample_id("adding", "2 + 0 =", "2", count) for count in (0, 1)]


def test_of_scored_options_the_likeliest_is_the_answer_and_all_tell_the_prompt(tmp_path: Path) -> None:
    likelihoods = {0: (-3.0, -2.5, -9.0), 1: (-2.5, -2.5, -9.0), 2: (0.0, 0.0, 0.0)}
    found = imported(write_log(tmp_path, [scored(doc, {"acc": 1.0}, each) for doc, each in likelihoods.items()]))
    assert (found.records[0].answer, found.records[0].reply) == ("option 1", None)
    assert [(each.answer, each.reading) for each in found.records[1:]] == [(None, "unread")] * 2
    assert found.prompts[found.records[0].id] == "Q0\n option 0\n option 1\n option 2"


def test_a_chat_is_read_from_the_list_that_lm_eval_keeps_it_in(tmp_path: Path) -> None:
    chat = json.dumps([{"role": "user", "content": "hello"}])
    row = MATCHES[0] | {"arguments": {"gen_args_0": {"arg_0": [chat], "arg_1": {}}}}
    found = imported(write_log(tmp_path, [row]))
    assert list(found.prompts.values()) == [chat]


SEVERAL = [
    generated(doc, {"acc": 1.0, "acc_norm": 0.0}, chosen) for chosen in ("strict", "flexible") for doc in range(3)
]


def test_of_several_scores_metric_and_filter_choose_one_and_an_error_lists_them(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    path = write_log(tmp_path, SEVERAL)
    choices = ({"metric": "acc"}, {"filter": "strict"}, {"metric": "f1"}, {"filter": "loose"})
    assert [refusal(imported, path, **choice) for choice in choices] == messages
    found = imported(path, metric="acc_norm", filter="flexible")
    assert (found.metric, found.mean, found.samples) == ("acc_norm,flexible", 0.0, 3)


def test_a_metric_that_lm_eval_does_not_average_is_refused_and_offered_to_nobody(tmp_path: Path) -> None:
    rows = [generated(doc, {"word_perplexity": [-20.0, 7], "acc": 1.0}) for doc in range(2)]
    path = write_log(tmp_path, rows)
    assert imported(path).metric == "acc,none"
    assert "word_perplexity is not a mean over samples" in refusal(imported, path, metric="word_perplexity")


def test_an_aggregation_other_than_the_mean_is_refused(tmp_path: Path) -> None:
    rows = [generated(doc, {"perplexity": -2.0 * doc}) for doc in range(2)]
    path = write_log(tmp_path, rows, results=False)
    assert "perplexity is not a mean" in refusal(imported, path, metric="perplexity")
    keys = ("configs", "adding", "metric_list", 0, "aggregation")
    path = write_log(tmp_path, MATCHES, change=lambda results: put(results, keys, "median"))
    assert "exact_match is not a mean" in refusal(imported, path, metric="exact_match")


def test_points_of_an_unknown_metric_are_asked_for_and_never_guessed(tmp_path: Path) -> None:
    rows = [generated(doc, {"my_score": value}) for doc, value in enumerate([0.25, 0.75])]
    path = write_log(tmp_path, rows)
    assert re.search(r"whether my_score is a fraction or in points.*--scale 100", refusal(imported, path))
    assert imported(path, scale=100.0).mean == 50.0
    assert imported(path, scale=1.0).reported == 0.5


def test_a_known_fraction_with_other_values_is_asked_for(tmp_path: Path) -> None:
    path = write_log(tmp_path, [generated(0, {"acc": 75.0}), generated(1, {"acc": 1.0})])
    assert "acc should be a fraction" in refusal(imported, path)


OTHER_RESULTS: tuple[tuple[str, Any], ...] = (
    (f"results adding {MEAN}", 0.7501), ("results adding", {}), (f"results adding {MEAN}", "0.75"),
    ("n-samples adding effective", 5), ("task_hashes adding", "0" * 64), ("results", {"subtracting": {}}),
    ("configs adding metric_list", 3), ("results", 3),
)  # fmt: skip


def test_results_that_the_samples_do_not_give_are_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    def faulty(keys: str, value: Any) -> None:
        imported(write_log(tmp_path, MATCHES, change=lambda results: put(results, keys.split(), value)))

    assert [refusal(faulty, keys, value) for keys, value in OTHER_RESULTS] == messages


def edited(path: Path, edit: Any) -> Path:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(edit(lines)), encoding="utf-8")
    return path


def replaced(old: str, new: str) -> Any:
    return lambda lines: [line.replace(old, new) for line in lines]


EDITS: tuple[Any, ...] = (
    lambda lines: [*lines[:-1], lines[-1][:40]], lambda lines: [*lines, lines[1]], lambda lines: lines[:-1],
    lambda lines: [lines[1], lines[0], *lines[2:]], replaced('"exact_match": 1.0', '"exact_match": NaN'),
    replaced('"exact_match": 0.0', '"exact_match": null'), replaced('"doc_id": 2', '"doc_id": "2"'), lambda _: [],
)  # fmt: skip


def test_a_torn_lost_doubled_or_changed_line_is_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert [refusal(imported, edited(write_log(tmp_path, MATCHES), edit)) for edit in EDITS] == messages


def test_without_results_a_gap_is_an_error_and_the_rest_is_said_to_be_unchecked(tmp_path: Path) -> None:
    path = write_log(tmp_path, MATCHES, results=False)
    found = imported(path, model="m")
    assert (found.reported, found.model) == (None, "m")
    assert "not checked" in found.note
    assert "lacks 1 sample, doc_id 1 first" in refusal(imported, edited(path, lambda lines: [lines[0], *lines[2:]]))


def test_documents_that_lm_eval_was_asked_for_by_number_need_its_results(tmp_path: Path) -> None:
    rows = [row | {"doc_id": 7 * row["doc_id"]} for row in MATCHES]
    assert imported(write_log(tmp_path, rows)).samples == 4


def test_results_that_are_cut_off_or_doubled_are_an_error(tmp_path: Path) -> None:
    path = write_log(tmp_path, MATCHES)
    results = tmp_path / f"results_{DATE}.json"
    (tmp_path / f"other_{DATE}.json").write_bytes(results.read_bytes())
    assert "may be its results; keep one" in refusal(imported, path)
    (tmp_path / f"other_{DATE}.json").unlink()
    results.write_bytes(results.read_bytes()[:-20])
    assert "cannot be read" in refusal(imported, path)


def test_a_folder_without_logs_is_an_error(tmp_path: Path) -> None:
    assert "holds no samples_*.jsonl; run lm_eval with --log_samples" in refusal(lm_eval_files, [tmp_path])


def unnamed(rows: list[Row]) -> list[Row]:
    """Rows as lm-eval 0.4.0 to 0.4.5 wrote them, with those of one filter behind those of another."""
    return [{key: value for key, value in row.items() if key not in ("filter", "metrics")} for row in rows]


FILTERS = [
    generated(doc, {"exact_match": value}, chosen)
    for chosen, values in (("strict-match", [1.0, 0.0, 0.0]), ("flexible-extract", [1.0, 1.0, 0.0]))
    for doc, value in enumerate(values)
]


@pytest.mark.parametrize(("chosen", "mean"), [("strict-match", 100 / 3), ("flexible-extract", 200 / 3)])
@pytest.mark.parametrize("as_list", [False, True], ids=["lines", "list"])
def test_filters_that_rows_do_not_name_are_those_of_the_results(
    chosen: str, mean: float, as_list: bool, tmp_path: Path
) -> None:
    path, rows = write_log(tmp_path / "m", FILTERS), unnamed(FILTERS)
    write_lines(path, rows)
    if as_list:  # until 0.4.2
        content = json.loads((path.parent / f"results_{DATE}.json").read_text())
        for name in ("n-samples", "task_hashes", "higher_is_better", "model_name", "lm_eval_version"):
            del content[name]
        (tmp_path / "old").mkdir()
        (tmp_path / "old" / "results.json").write_text(json.dumps(content), encoding="utf-8")
        path = tmp_path / "old" / "pretrained__org__model_adding.jsonl"
        path.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    (file,) = lm_eval_files([path.parent])
    log = imported(file, filter=chosen)
    assert (log.task, log.metric) == ("adding", f"exact_match,{chosen}")
    assert (log.mean, log.reported) == (pytest.approx(mean), pytest.approx(mean))
    assert "--metric exact_match --filter strict-match" in refusal(imported, file)


def test_filters_without_names_are_numbered_where_no_results_say_them(tmp_path: Path) -> None:
    path = write_log(tmp_path, unnamed(FILTERS), results=False)
    assert imported(path, filter="2").mean == pytest.approx(200 / 3)
    assert "choose one: --metric exact_match --filter 1, --metric exact_match --filter 2" in refusal(imported, path)


@pytest.mark.parametrize(
    "rows",
    [FILTERS[:3] * 2, FILTERS[:5], [*FILTERS[:3], *({**row, "resps": [["other"]]} for row in FILTERS[3:])]],
    ids=["appended", "one is missing", "other replies"],
)
def test_samples_that_come_twice_are_no_filters(rows: list[Row], tmp_path: Path) -> None:
    assert "doc_id 0 is already on line 1" in refusal(imported, write_log(tmp_path, unnamed(rows), results=False))


def test_results_with_other_filters_are_of_another_run(tmp_path: Path) -> None:
    path = write_log(tmp_path, FILTERS)
    write_lines(path, unnamed(FILTERS[:3]))
    assert re.search(r"has 1 line for each sample, .* but results_.* has 2 \(strict-match, ", refusal(imported, path))

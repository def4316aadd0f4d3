"""`accgate import` and `accgate export` as people type them."""

from __future__ import annotations

import json
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.records.file import read_records
from accgate.references.store import Reference, find_reference
from tests.interop.inspect_logs import log_of, sample, write_eval
from tests.interop.lm_eval_logs import generated, write_log
from tests.support.cases import each


def kept(store: Path, name: str, task: str) -> Reference:
    """The reference that is there."""
    reference = find_reference(store, name, task)
    assert reference is not None
    return reference


def log(folder: Path, right: int, count: int = 40) -> Path:
    return write_log(folder, [generated(doc, {"exact_match": float(doc < right)}) for doc in range(count)])


def test_old_logs_are_compared_at_once_not_overwritten_and_exported(tmp_path: Path, capsys, ends) -> None:
    for name, right in (("old", 38), ("new", 12)):
        log(tmp_path / name, right)
        for _ in range(2):  # importing again changes nothing
            assert main(["import", "lm-eval", str(tmp_path / name), "--out", str(tmp_path / "run" / name)]) == 0
    out = capsys.readouterr().out
    assert "org/model / adding: 40 samples, mean 95 (as reported), exact_match,none" in out
    assert "accgate compare REFERENCE CANDIDATE" in out
    old, new = (str(tmp_path / "run" / name / "org%2Fmodel" / "adding.jsonl") for name in ("old", "new"))
    assert main(["compare", old, new]) == 1
    assert main(["compare", old, old]) == 0
    assert main(["import", "lm-eval", str(tmp_path / "old"), "--out", str(tmp_path / "run" / "new")]) == 2
    assert "holds other records; name another --out" in capsys.readouterr().err
    assert "samples_adding_" in ends(0, "export", "lm-eval", old, "--out", tmp_path / "e", "--metric", "exact_match")
    assert main(["import", "lm-eval", str(tmp_path / "e"), "--out", str(tmp_path / "run" / "old")]) == 0


def test_an_import_becomes_a_reference_with_its_variant_and_is_replaced_only_with_a_reason(
    tmp_path: Path, ends
) -> None:
    command = ["import", "lm-eval", str(log(tmp_path, 30)), "--references", str(tmp_path / "store"), "--model", "m"]
    command += ["--variant", "quant=fp8", "--variant", "gpu=H200"]
    assert main(command) == 0
    found = kept(tmp_path / "store", "m@gpu=H200,quant=fp8", "adding")
    assert (found.about.mean, found.about.n) == (75.0, 40)
    assert (found.about.engine, found.about.engine_version) == ("imported from lm-eval", "0.4.13")
    assert found.scores is not None
    assert sum(record.reply is not None for record in found.kept_records()) == 40
    assert not Path("accgate-import").exists()
    assert "why it is replaced" in ends(2, *command, "--no-replies")
    assert main([*command, "--no-replies", "--reason", "a longer log"]) == 0


def test_folders_that_cannot_be_written_are_one_message_however_many_logs_there_are(tmp_path: Path, capsys) -> None:
    for name in ("a", "b"):
        write_log(tmp_path / name, [generated(doc, {"exact_match": 1.0}) for doc in range(9)], task=name)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "suite.yaml").write_text("org/model:\n  - accuracy: 60.0\n")
    logs = ["lm-eval", str(tmp_path / "a"), str(tmp_path / "b")]
    for command, option in ((logs, "--out"), (logs, "--references"), (["trtllm", str(tmp_path)], "--references")):
        assert main(["import", *command, option, str(tmp_path / "link")]) == 2
        fault = f"{tmp_path / 'link'}: is a symbolic link that leads nowhere; name a folder with {option}"
        assert capsys.readouterr().err == f"accgate: {fault}\n"


def test_samples_without_a_score_are_told(tmp_path: Path, ends) -> None:
    samples = [sample(1, "C"), sample(2, "I"), sample(3, "C") | {"scores": None}]
    path = write_eval(tmp_path / "log.eval", log_of(samples, {"match": 0.5}))
    assert "no score for 1 sample" in ends(0, "import", "inspect", path, "--out", tmp_path / "run")
    assert "no score for 1 sample" in ends(2, "import", "inspect", path, "--references", tmp_path / "store")


@each("variant", ["fp8", "=fp8", "quant="])
def test_a_variant_without_key_or_value_is_refused(tmp_path: Path, variant: str, ends) -> None:
    command = ("import", "lm-eval", log(tmp_path, 30), "--references", tmp_path / "s")
    assert "write --variant KEY=VALUE" in ends(2, *command, "--variant", variant)


def test_the_suite_s_files_are_imported_with_the_tables_that_judge_as_it_does(tmp_path: Path, capsys, ends) -> None:
    (tmp_path / "mmlu.yaml").write_text("a:\n  - accuracy: 68.2\nb:\n  - quant_algo: FP8\n    accuracy: 67.9\n")
    (tmp_path / "acceptance_length.yaml").write_text("x:\n  ref_al: 2.0\n")
    command = ["import", "trtllm", str(tmp_path), "--references", str(tmp_path / "store")]
    assert main([*command, "--model", "b"]) == 0
    told = capsys.readouterr()
    assert "[tasks.mmlu]" in told.out
    assert "acceptance_length.yaml: holds ref_al of tests, no accuracies of models, so nothing to import" in told.err
    assert find_reference(tmp_path / "store", "a", "mmlu") is None
    found = kept(tmp_path / "store", "b@FP8", "mmlu")
    assert found.about.mean == 67.9
    assert "no file has a model 'c'" in ends(2, *command, "--model", "c")
    assert main([*command, "--model", "a", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["sigma"], row["alpha"], row["beta"], row["n"], row["variant"]) == (50.0, 0.05, 0.2, 4096, {})


def test_a_folder_of_the_suite_imports_what_it_can_and_is_not_called_whole(tmp_path: Path, ends) -> None:
    (tmp_path / "mmlu.yaml").write_text("a:\n  - accuracy: 68.2\n")
    (tmp_path / "new_dataset.yaml").write_text("a:\n  - accuracy: 70\n    num_samples: 50\n")
    (tmp_path / "gsm8k.yaml").write_text("a: [")
    told = ends(2, "import", "trtllm", tmp_path, "--references", tmp_path / "store")
    for words in ("gsm8k.yaml: is not YAML", "not known for new_dataset", "left out 2 of 3 files"):
        assert words in told
    assert kept(tmp_path / "store", "a", "mmlu").about.n == 4096
    (tmp_path / "alone.yaml").write_text("x:\n  ref_al: 2.0\n")
    assert main(["import", "trtllm", str(tmp_path / "alone.yaml"), "--references", str(tmp_path / "store")]) == 2


def test_a_folder_of_many_tasks_imports_what_it_can_and_is_not_called_whole(
    tmp_path: Path, capsys, ends, messages: SnapshotAssertion
) -> None:
    logs, store = tmp_path / "logs", tmp_path / "store"
    log(logs / "a", 30)
    both = [generated(doc, {"exact_match": 1.0}, chosen) for doc in range(3) for chosen in ("strict", "flexible")]
    write_log(logs / "b", both, "gsm8k")
    write_log(logs / "c", [generated(doc, {"acc": 1.0}) for doc in range(3)], "torn").write_text("{")
    write_log(logs / "d", [generated(0, {"f1": [0, 1]})], "pooled")
    write_log(logs / "e", [generated(0, {"acc": 1.0})], "twice")
    write_log(logs / "f", [generated(0, {"acc": 0.0})], "twice")
    command = ["import", "lm-eval", str(logs), "--references", str(store), "--model", "m"]
    assert main(command) == 2
    told = capsys.readouterr()
    assert told.out.count("samples, mean") == 1
    assert told.err == messages
    assert find_reference(store, "m", "adding") is not None
    assert [find_reference(store, "m", task) for task in ("gsm8k", "torn", "pooled", "twice")] == [None] * 4
    assert main([*command, "--json"]) == 2
    assert len([row for row in json.loads(capsys.readouterr().out) if "error" in row]) == 6  # nor is one replaced
    run = tmp_path / "run"
    assert "none of 2 logs can be imported" in ends(2, "import", "lm-eval", logs / "b", logs / "c", "--out", run)
    assert not run.exists()


def test_a_mean_replaces_a_reference_with_scores_whole(tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = ["import", "lm-eval", str(write_log(tmp_path, [generated(0, {"acc": 1.0})], "mmlu"))]
    assert main([*command, "--references", str(store), "--model", "m"]) == 0
    (tmp_path / "mmlu.yaml").write_text("m:\n  - accuracy: 68.2\n")
    command = ["import", "trtllm", str(tmp_path / "mmlu.yaml"), "--references", str(store)]
    assert main(command) == 2
    assert main([*command, "--reason", "the suite's figure"]) == 0
    found = kept(store, "m", "mmlu")
    assert (found.about.mean, found.scores, found.replies_path.exists()) == (68.2, None, False)


def test_a_single_log_s_task_gets_the_name_it_has_in_accuracy_toml(tmp_path: Path, ends) -> None:
    command = ["import", "lm-eval", str(tmp_path / "a")]
    named = [*command, "--task", "sums", "--model", "m", "--out", str(tmp_path / "run")]
    log(tmp_path / "a", 30)
    assert main(named) == 0
    ids = {record.id for record in read_records(tmp_path / "run" / "m" / "sums.jsonl")}
    assert main([*command, "--out", str(tmp_path / "own")]) == 0
    assert ids == {record.id for record in read_records(tmp_path / "own" / "org%2Fmodel" / "adding.jsonl")}
    write_log(tmp_path / "a", [generated(0, {"acc": 1.0})], "other", date="2026-11-22T00-00-00")
    assert "--task sums: names one log, but 2 were found" in ends(2, *named)


def test_samples_of_any_tool_are_compared_where_the_layout_is_named(tmp_path: Path, ends) -> None:
    for name, right in (("old", 38), ("new", 12)):
        rows = [{"task": f"t{i}", "run": r, "m": {"acc": i < right, "f1": 0.5}} for i in range(40) for r in "ab"]
        (tmp_path / name).mkdir()
        (tmp_path / name / "sums.json").write_text(json.dumps({"model": "x", "all": rows, "other": rows[:1]}))
    old, new = (str(tmp_path / name / "sums.json") for name in ("old", "new"))
    layout = ["--rows", "$.all", "--id", "task", "--score", "acc", "--repeat", "run"]
    assert main(["compare", old, new, *layout]) == 1
    assert main(["compare", old, old, *layout]) == 0
    assert main(["sigma", old, old, *layout]) == 0
    assert "name them with --rows JSONPATH: there are $.all, $.other" in ends(2, "compare", old, new)


def test_samples_of_any_tool_become_records_and_references(tmp_path: Path, ends) -> None:
    store, table = tmp_path / "store", tmp_path / "grades.csv"
    table.write_text("name;passed\na;true\nb;false\n")
    command = ["import", "samples", str(table), "--model", "m", "--references", str(store)]
    assert main([*command, "--out", str(tmp_path / "run")]) == 0
    records = read_records(tmp_path / "run" / "m" / "grades.jsonl")
    assert {record.id: record.score for record in records} == {"a": 100.0, "b": 0.0}
    reference = kept(store, "m", "grades")
    assert (reference.about.mean, reference.about.n) == (50.0, 2)
    table.write_text("name;passed;f1\na;true;0.5\nb;false;0.1\n")
    assert "passed, f1 may be the score; choose one with --score" in ends(2, *command, "--reason", "more columns")
    table.write_text("name;passed\na;true\na;false\n")
    assert main([*command, "--reason", "twice"]) == 2

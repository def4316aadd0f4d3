"""A task ready to be asked: ids, order, fingerprint, few-shot examples, and users' own files."""

import csv
import hashlib
import math
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.definition import library_file, library_names
from accgate.tasks.lm_eval.harness import harness_task
from accgate.tasks.lm_eval.requests import LmEvalRequest
from accgate.tasks.lm_eval.task import LmEvalSample, LmEvalTask
from accgate.tasks.task import Task
from tests.support.cases import each, refusal
from tests.support.gates import toml, write_lines
from tests.support.loading import load_task

ROWS = [{"q": "1 + 1 =", "a": 2, "page": "x"}, {"q": "2 + 2 =", "a": 4, "page": "y"},
        {"q": "1 + 1 =", "a": 2, "page": "x"}, {"q": "3 + 3 =", "a": 6, "page": "x"}]  # fmt: skip
PLAIN = {"prompt": "{{ q }}", "target": "{{ a }}", "metric": "numeric_match", "dataset.file": "rows.jsonl"}


def own(folder: Path, rows: list[dict[str, Any]] | None = None, /, **keys: Any) -> Path:
    """A user's own task file over rows.jsonl; keyword `a__b` sets the key a.b, None removes it."""
    write_lines(folder / "rows.jsonl", ROWS if rows is None else rows)
    merged = {**PLAIN, **{key.replace("__", "."): value for key, value in keys.items()}}
    path = folder / "task.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in merged.items() if value is not None))
    return path


def fault(**arguments: Any) -> str:
    return refusal(load_task, "own", **arguments)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def shots(task: Task) -> str:
    """The prompt of "1 + 1 =", which stands after its few-shot examples."""
    return next(sample.prompt for sample in task.samples if sample.prompt.endswith("1 + 1 ="))


@settings(deadline=None)
@given(
    rows=st.lists(st.fixed_dictionaries({"q": st.sampled_from("abcdefgh"), "a": st.integers(0, 2)}), min_size=1),
    seed=st.integers(0, 99),
    clustered=st.booleans(),
    data=st.data(),
)
def test_the_order_is_by_hash_keeps_clusters_whole_and_does_not_depend_on_the_rows_order(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    seed: int,
    clustered: bool,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    rows = [{**row, "page": row["q"] < "c"} for row in rows]
    columns = {"columns.cluster": "page"} if clustered else {}
    task = load_task("own", file=own(folder, rows, system="Add. é", **columns), seed=seed)
    counts = Counter((row["q"], str(row["a"]), str(row["page"])) for row in rows)
    keyed = []
    for (q, a, page), count in counts.items():
        for occurrence in range(count):
            id_ = sha(f"own\0Add. é\n\n{q}\0{a}\0{occurrence}")[:16]
            keyed.append((sha(f"{seed}:{page}") if clustered else "", sha(f"{seed}:{id_}"), id_))
    assert [sample.id for sample in task.samples] == [id_ for *_, id_ in sorted(keyed)]
    clusters = [sample.cluster for sample in task.samples]
    assert sum(a != b for a, b in pairwise(clusters)) == len(set(clusters)) - 1
    again = load_task("own", file=own(folder, data.draw(st.permutations(rows)), system="Add. é", **columns), seed=seed)
    n = data.draw(st.integers(0, len(rows)))
    assert again.first(n).samples == task.first(n).samples == task.samples[:n]


BASE = {
    "system": "Add.", "stop": ["\n"], "extract.regex": r"\d+", "few_shot.examples": [{"q": "0 + 0 =", "a": 0}],
    "prompt": "{% for e in examples %}{{ e.q }} {{ e.a }}\n{% endfor %}{{ q }}",
}  # fmt: skip


@each(
    ("change", "parts"),
    [
        ({"prompt": "Q: {{ q }}"}, {"prompt"}),
        ({"system": "Sum."}, {"prompt"}),
        ({"mode": "completion"}, {"prompt"}),
        ({"few_shot.examples": [{"q": "0 + 0 =", "a": 1}]}, {"prompt"}),
        ({"few_shot.count": 0}, {"prompt"}),
        ({"few_shot.count": 1}, set()),
        ({"few_shot.count": 1, "few_shot.seed": 3}, {"prompt"}),
        ({"target": "{{ a }}.0"}, {"extract"}),
        ({"extract.regex": r"-?\d+"}, {"extract"}),
        ({"extract.which": "first"}, {"extract"}),
        ({"extract.regex": None, "extract.json_path": "$"}, {"extract", "metric"}),  # not digits alone any more
        ({"extract.regex": None, "extract.form": "number"}, {"extract"}),
        ({"extract.regex": None, "extract.form": "number", "extract.language": "de"}, {"extract"}),
        ({"extract.regex": None, "extract.form": "python"}, {"extract", "metric"}),
        ({"metric": "exact_match"}, {"metric"}),
        ({"stop": []}, {"reply"}),
        ({"max_tokens": 9}, {"reply"}),
        ({"description": "x", "source": "y", "sigma": 3, "num_samples": 2, "chance": 5}, set()),
    ],
)
def test_the_part_of_the_fingerprint_changes_that_was_changed(tmp_path: Path, change: dict[str, Any], parts) -> None:
    before = load_task("own", file=own(tmp_path, **BASE)).fingerprint
    after = load_task("own", file=own(tmp_path, **{**BASE, **change})).fingerprint
    assert {part for part in before if before[part] != after[part]} == parts
    assert set(before) == set(after) == {"dataset", "prompt", "extract", "metric", "reply"}
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in before.values())


@pytest.mark.parametrize(
    ("keys", "version", "parts"),
    [
        ({"metric": "math"}, "EQUALITY", {"metric"}),
        ({"metric": "numeric_match"}, "READING", {"metric"}),
        ({"metric": "classification"}, "FORMS", {"metric"}),
        ({"metric": "exact_match", "extract.form": "python"}, "PROGRAMS", {"extract"}),
        ({"confidence": {"by": "reply"}}, "CONFIDENCE", {"extract"}),
        ({"confidence": {"by": "reply", "regex": r"sure: (\d+)"}}, "CONFIDENCE", set()),
        ({"confidence": {"by": "tokens"}}, "CONFIDENCE", set()),
    ],
)
def test_another_way_of_reading_or_comparing_answers_changes_the_fingerprint(
    keys: dict[str, Any], version: str, parts: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("math_verify")
    before = load_task("own", file=own(tmp_path, **keys)).fingerprint
    monkeypatch.setattr(f"accgate.tasks.task.{version}", 99)
    after = load_task("own", file=own(tmp_path, **keys)).fingerprint
    assert {key for key in before if before[key] != after[key]} == parts


def test_as_published_is_how_answers_were_compared_before_there_was_the_option(tmp_path: Path) -> None:
    before = "f4de46934a9c860c"  # of TriviaQA in accgate 0.1.0
    for options, is_same in (({"as_published": True}, True), ({}, False), ({"as_published": False}, False)):
        content = {**PLAIN, "metric": "triviaqa", "metric_options": {"measure": "exact", **options}}
        assert (load_task("own", file=own(tmp_path, **content)).fingerprint["metric"] == before) == is_same


def test_changed_rows_and_changed_files_of_examples_change_the_fingerprint_and_the_ids(tmp_path: Path) -> None:
    filed = {**BASE, "few_shot.examples": None, "few_shot.file": "shots.jsonl"}
    shots = [{"q": f"{number} + {number} =", "a": 2 * number} for number in (7, 8, 9)]  # a row's own is left out
    write_lines(tmp_path / "shots.jsonl", shots[:2])
    task = load_task("own", file=own(tmp_path, **filed))
    write_lines(tmp_path / "shots.jsonl", shots[1:])
    other_shots = load_task("own", file=own(tmp_path, **filed))
    other_rows = load_task("own", file=own(tmp_path, [*ROWS[:3], {**ROWS[3], "page": "z"}], **filed))
    assert {k for k, v in task.fingerprint.items() if v != other_shots.fingerprint[k]} == {"prompt"}
    assert {k for k, v in other_rows.fingerprint.items() if v != other_shots.fingerprint[k]} == {"dataset"}
    assert {s.id for s in task.samples}.isdisjoint(s.id for s in other_shots.samples)


def test_the_mode_can_be_set_from_outside_and_counts_as_a_changed_prompt(tmp_path: Path) -> None:
    chat, raw = (load_task("own", file=own(tmp_path), mode=mode) for mode in (None, "completion"))
    assert (chat.content.mode, raw.content.mode) == ("chat", "completion")
    assert chat.samples == raw.samples
    assert {part for part in chat.fingerprint if chat.fingerprint[part] != raw.fingerprint[part]} == {"prompt"}


def test_jsonl_csv_and_parquet_of_the_same_rows_are_the_same_samples(tmp_path: Path) -> None:
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0])
        writer.writeheader()
        writer.writerows(ROWS)
    columns = {"columns.cluster": "page", "columns.group": "page", "columns.label": "a"}
    jsonl = load_task("own", file=own(tmp_path, **columns))
    assert jsonl.samples[0].group == jsonl.samples[0].cluster
    assert {s.label for s in jsonl.samples} == {"2", "4", "6"}
    assert load_task("own", file=own(tmp_path, dataset__file="rows.csv", **columns)).samples == jsonl.samples
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    assert load_task("own", file=own(tmp_path, dataset__file="rows.parquet", **columns)).samples == jsonl.samples


@each(
    ("extract", "reply", "answer", "points"),
    [
        ({}, " 2\n", "2", 100.0),
        ({"extract.regex": r"\d+", "extract.which": "first"}, "1 + 1 is 2", "1", 0.0),
        ({"extract.regex": r"is (\d+)"}, "no idea", None, 0.0),
        ({"extract.json_path": "$.sum"}, 'It is {"sum": 2.0}.', "2.0", 100.0),
    ],
)
def test_answers_are_extracted_and_scored_as_the_file_says(tmp_path: Path, extract, reply: str, answer, points) -> None:
    task = load_task("own", file=own(tmp_path, **extract))
    assert task.answer(reply, task.samples[0]) == answer
    assert task.metric(answer or "", "2") == points


def test_examples_come_from_the_task_file_another_file_or_the_generator(tmp_path: Path) -> None:
    (tmp_path / "shots.csv").write_text("q,a\n5 + 5 =,10\n6 + 6 =,12\n")
    prompt = {"prompt": BASE["prompt"]}
    inline = [{"q": "5 + 5 =", "a": 10}, {"q": "6 + 6 =", "a": 12}]
    shown = "5 + 5 = 10\n6 + 6 = 12\n1 + 1 ="
    assert shots(load_task("own", file=own(tmp_path, few_shot__examples=inline, **prompt))) == shown
    assert shots(load_task("own", file=own(tmp_path, few_shot__file="shots.csv", **prompt))) == shown
    one = own(tmp_path, few_shot__file="shots.csv", few_shot__count=1, **prompt)
    assert shots(load_task("own", file=one)) == "5 + 5 = 10\n1 + 1 ="
    assert shots(load_task("own", file=own(tmp_path, **prompt))) == "1 + 1 ="
    generated = load_task("arithmetic", count=8, options={"high": 4})
    asked = r"Question: What is (\d+) \+ (\d+)\?\nAnswer:"
    solved = {tuple(re.findall(asked + r" (\d+)", sample.prompt)) for sample in generated.samples}
    assert [len(examples) for examples in solved] == [4]
    examples = solved.pop()
    assert all(int(a) + int(b) == int(answer) for a, b, answer in examples)
    questions = {re.findall(asked, sample.prompt)[-1] for sample in generated.samples}
    assert questions.isdisjoint((a, b) for a, b, _ in examples)


def test_hub_rows_and_examples_come_from_their_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {"test": ROWS, "train": [{"q": "5 + 5 =", "a": 10}]}
    asked = []

    def load_dataset(*names: str | None, split: str, **options: Any) -> list[dict[str, Any]]:
        asked.append((*names, options))
        return splits[split]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    hub: dict[str, Any] = {"dataset.file": None, "dataset.hub": "x/y", "dataset.name": "main"}
    hub |= {"dataset.revision": "0a", "few_shot.split": "train"}
    task = load_task("own", file=own(tmp_path, prompt=BASE["prompt"], dataset__options={"data_dir": "d"}, **hub))
    assert asked == [("x/y", "main", {"revision": "0a", "data_dir": "d"})] * 2
    assert len(task.samples) == 4
    assert shots(task) == "5 + 5 = 10\n1 + 1 ="


GENERATED = [name for name in library_names() if "\ngenerator = " in library_file(name).read_text(encoding="utf-8")]


@each("name", [name for name in GENERATED if not name.endswith("k")])  # 64k and 128k tokens a prompt
def test_generated_tasks_load_as_many_samples_as_asked_and_seeds_give_others(name: str) -> None:
    tasks = [load_task(name, seed=seed, count=12) for seed in (0, 0, 1)]
    assert [len({sample.id for sample in task.samples}) for task in tasks] == [12, 12, 12]
    assert tasks[0] == tasks[1]
    assert {s.id for s in tasks[0].samples}.isdisjoint(s.id for s in tasks[2].samples)
    assert len(load_task("other", library=name, options={"count": 5, "seed": 3}, count=12).samples) == 5


@each(
    ("keys", "message"),
    [
        ({"prompt": "{{ pages }}"},
         "task.toml: row 1 of the dataset: 'pages' is undefined; did you mean 'page'? The row has q,"),
        ({"target": "{{ 2 / (a - 4) }}"}, "task.toml: row 2 of the dataset: ZeroDivisionError: division by zero"),
        ({"columns.group": "lang"}, "task.toml: row 1 of the dataset: has no column 'lang'; the row has q, a, page"),
        ({"few_shot.count": 2}, "task.toml:5: few_shot.count: has no source; give examples, file or split"),
        ({"few_shot.file": "rows.jsonl", "few_shot.count": 5},
         "task.toml:6: few_shot.count: is 5, but its source has 4 rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_names_file_and_row_or_line(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    assert fault(file=own(tmp_path, **keys)).startswith(f"{tmp_path}/{message}")


@each("cell", [None, "", math.nan])
def test_a_row_without_a_cluster_where_others_have_one_is_refused(tmp_path: Path, cell: object) -> None:
    """Such rows would all be one cluster."""
    message = refusal(
        load_task, "own", file=own(tmp_path, [*ROWS, {"q": "x", "a": 1, "page": cell}], columns__cluster="page")
    )
    assert message.startswith(f"{tmp_path}/task.toml: row 5 of the dataset: has no cluster: column 'page' is empty")


@each(("column", "half"), [("q", "\ud800"), ("a", "\udfff"), ("page", "\ud83d")])
def test_half_a_character_in_a_row_is_refused_with_its_row(tmp_path: Path, column: str, half: str) -> None:
    message = fault(file=own(tmp_path, [*ROWS, ROWS[0] | {column: half}], columns__cluster="page"))
    assert message.startswith(f"{tmp_path}/task.toml: row 5 of the dataset: 'utf-8' codec can't encode")


def test_options_that_a_task_cannot_take_and_an_unknown_task_are_refused(tmp_path: Path) -> None:
    assert fault(file=own(tmp_path), options={"high": 3}).startswith("options: the task takes no options")
    faults = refusal(load_task, "arithmetic", options={"hihg": 3, "low": True}).splitlines()
    assert faults[0].startswith("options.hihg: is not an option of arithmetic; did you mean 'high'?")
    assert faults[1].startswith("options.low: is True")
    assert refusal(load_task, "arithmetic", options={"high": 3}).startswith("options: numbers from 1 to 3 give 9")
    assert "nope.toml: cannot be read" in refusal(load_task, "nope")


@each(("scale", "highest"), [(100.0, 100.0), (1.0, None)])
def test_only_fractions_of_lm_eval_have_bounds(scale: float, highest: float | None) -> None:
    sample = LmEvalSample("s", "t", "2 + 2 =", "4", (LmEvalRequest("", 9, "2 + 2 ="),))
    task = LmEvalTask("t", (sample,), "acc", "none", scale, True, "generate_until", {}, {})
    assert harness_task("t", task, 0, "strip").metric.highest == highest


OLD_IDS = ["ee06ae0a84922cc4", "99180efe92e9cf30"]  # of accgate 0.1.0, before it read `1/2` and had conversations
OLD_FINGERPRINT = {
    "dataset": "eae7a066cfb28e16", "prompt": "5d5937d5390a299d", "extract": "a573b2d9d499ebd2",
    "metric": "9fe9bd4ff122aed0", "reply": "ab76e35d95765918",
}  # fmt: skip


def test_a_task_that_is_asked_and_read_as_before_keeps_its_ids_and_fingerprint(tmp_path: Path) -> None:
    task = load_task("arithmetic", count=2)
    assert [sample.id for sample in task.samples] == OLD_IDS
    assert dict(task.fingerprint) == OLD_FINGERPRINT
    for regex, is_same in ((r"\d+", True), (r"is (-?\d+)", True), ("[0-9]+", True), ("[0-9,]+", False), (".*", False)):
        metric = load_task("own", file=own(tmp_path, extract__regex=regex)).fingerprint["metric"]
        assert (metric == OLD_FINGERPRINT["metric"]) == is_same

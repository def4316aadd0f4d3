"""Tasks of the library that are joined: each sample asked, read and scored as its own task does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.records.file import read_records
from accgate.tasks import Definition, library_file, read_definition
from accgate.tasks.definition import library_names
from accgate.tasks.rows import Source
from accgate.tasks.sample import sample_id
from accgate.tasks.task import build_task, stored_task
from tests.support.cases import refusal
from tests.support.gates import write_lines
from tests.support.loading import load_task
from tests.support.servers import Server
from tests.tasks.test_library_rows import CASES

ENGLISH = ("trec", "hotpotqa", "lcc", "passage_count", "gov_report", "samsum")
LENGTHS = {"trec": 64, "hotpotqa": 32, "lcc": 64, "passage_count": 32, "gov_report": 512, "samsum": 128}


def rows_of(*parts: str, times: int = 1) -> list[dict[str, Any]]:
    """A row of each part in LongBench's own form, or several with another context."""
    return [
        {**CASES[f"longbench_v1_{part}"].rows[0], "dataset": part, "context": f"The long context {n}."}
        for part in parts
        for n in range(times)
    ]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    return write_lines(folder / "rows.jsonl", rows)


def changed(**dataset: Any) -> Definition:
    definition = read_definition(library_file("longbench_v1"))
    content = definition.content
    return replace(definition, content=replace(content, dataset=replace(content.dataset, **dataset)))


def test_longbench_joins_all_its_tasks() -> None:
    names = [name for name in library_names() if name.startswith("longbench_v1_")]
    parts = read_definition(library_file("longbench_v1")).content.dataset.parts
    assert parts == {name.removeprefix("longbench_v1_"): name for name in names}
    longest = max(read_definition(library_file(name)).content.max_tokens for name in names)
    assert read_definition(library_file("longbench_v1")).content.max_tokens == longest


def test_each_sample_is_read_and_scored_as_its_own_task_does(tmp_path: Path) -> None:
    task = load_task("longbench_v1", dataset=written(tmp_path, rows_of(*ENGLISH)))
    assert {sample.group for sample in task.samples} == set(ENGLISH)
    for sample in task.samples:
        case, own = CASES[f"longbench_v1_{sample.group}"], task.part_of(sample)
        alone = load_task(f"longbench_v1_{sample.group}", dataset=written(tmp_path, rows_of(sample.group or "")))
        assert own.metric.name == alone.metric.name
        assert (own.content.extract, own.content.mode) == (alone.content.extract, alone.content.mode)
        assert (sample.prompt, sample.target) == (alone.samples[0].prompt, alone.samples[0].target)
        assert sample.id == sample_id(f"longbench_v1/{sample.group}", sample.prompt, sample.target, 0)
        for reply, points in ((case.right, 100.0), (case.wrong, 0.0)):
            answer = own.answer(reply, sample)
            assert answer is not None
            assert own.score(answer, sample.target) == pytest.approx(points), sample.group


def test_the_same_question_in_two_parts_is_two_samples(tmp_path: Path) -> None:
    task = load_task("longbench_v1", dataset=written(tmp_path, rows_of("hotpotqa", "2wikimqa", "musique")))
    assert len({sample.id for sample in task.samples}) == len({sample.prompt for sample in task.samples}) + 2 == 3


def test_the_fingerprint_changes_with_any_part_and_is_known_without_rows(tmp_path: Path) -> None:
    path = written(tmp_path, rows_of("trec", "lcc"))
    task = load_task("longbench_v1", dataset=path)
    parts = read_definition(library_file("longbench_v1")).content.dataset.parts
    less = build_task("longbench_v1", changed(parts={**parts, "lcc": "longbench_v1_samsum"}),
                      Source({}, 0, dataset=path))  # fmt: skip
    differing = {key for key in task.fingerprint if task.fingerprint[key] != less.fingerprint[key]}
    assert differing == {"prompt", "extract", "metric", "reply"}
    stored = stored_task("longbench_v1", changed(), task.samples, task.fingerprint, seed=0)
    assert all(stored.fingerprint[part] == task.fingerprint[part] for part in ("metric", "extract"))
    assert stored.samples == task.samples


def test_some_parts_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, rows_of("trec"))
    assert load_task("longbench_v1", dataset=path, subset="trec").parts.keys() == {"trec"}
    assert "is 'trek'; did you mean" in refusal(load_task, "longbench_v1", dataset=path, subset=["trek"])
    assert "'trec', which is not a part" in refusal(load_task, "longbench_v1", dataset=path, subset="lcc")


def test_what_cannot_be_joined_is_said(tmp_path: Path, messages: SnapshotAssertion) -> None:
    path = written(tmp_path, rows_of("trec"))

    def build(options: Any = None, **dataset: Any) -> None:
        build_task("t", changed(**dataset), Source(options or {}, 0, dataset=path))

    names = ("slimpajama", "arc_easy", "bfcl_simple", "humaneval", "sst2_typos", "longbench_v1", "longbench_v1_trek")
    told = [refusal(build, parts={"trec": name}) for name in names]
    told += [refusal(build, {"n": 1}), refusal(load_task, "longbench_v1", dataset=path, mode="chat")]
    text = library_file("longbench_v1").read_text(encoding="utf-8")
    file = tmp_path / "own.toml"
    for old, new in (
        ('metric = "parts"', 'metric = "exact_match"'),
        ('metric = "parts"', 'metric = "parts"\nprompt = "{{ q }}"'),
        ("[columns]\n", "[columns]\n#"),
        ("[dataset.parts]", '[dataset]\nhub = "x/y"\n[dataset.parts]'),
        (text, 'metric = "parts"\nprompt = "{{ q }}"\ntarget = "a"\n[dataset]\nhub = "x/y"\n'),
    ):
        file.write_text(text.replace(old, new, 1))
        told.append(refusal(read_definition, file))
    assert [fault.replace(str(library_file("").parent), "LIBRARY") for fault in told] == messages


def test_a_run_asks_each_part_in_its_own_way_and_says_which_group_fell(tmp_path: Path, capsys) -> None:
    rows = rows_of(*ENGLISH, times=20)
    fallen: list[str] = []

    def text_of(prompt: str) -> str:
        part = next(row["dataset"] for row in rows if _asks(row, prompt))
        case = CASES[f"longbench_v1_{part}"]
        return case.wrong if part in fallen else case.right

    with Server() as server:
        server.choice_of = lambda prompt: {"finish_reason": "stop", "message": {"content": text_of(prompt)},
                                           "text": text_of(prompt)}  # fmt: skip
        (tmp_path / "accuracy.toml").write_text(
            '[gate]\nearly_stopping = false\n[models.m]\nengine = "openai"\nmodel = "toy"\n'
            f'options = {{ base_url = "{server.url}" }}\n'
            f'[tasks.longbench_v1]\ndataset = "{written(tmp_path, rows)}"\n'
        )
        config, out = str(tmp_path / "accuracy.toml"), tmp_path / "out"
        assert main(["record", config, "--out", str(tmp_path / "first"), "--quiet"]) == 0
        for seen in server.seen:
            part = next(row["dataset"] for row in rows if _asks(row, seen.prompt))
            completes = part in ("trec", "lcc", "samsum")
            assert (part, seen.path.endswith("/chat/completions")) == (part, not completes)
            assert (part, seen.body["max_tokens"]) == (part, LENGTHS[part])
        fallen.append("gov_report")
        assert main(["run", config, "--out", str(out), "--quiet"]) == 1
    (check,) = json.loads((out / "accgate.json").read_text())["checks"]
    first = check["groups"]["rows"][0]
    assert (check["groups"]["count"], first["name"], first["n"], first["stands_out"]) == (6, "gov_report", 20, True)
    assert {record.group for record in read_records(out / "m" / "longbench_v1.jsonl")} == set(ENGLISH)
    capsys.readouterr()
    assert main(["verify", str(out), "--config", config]) == 1


def _asks(row: dict[str, Any], prompt: str) -> bool:
    """Whether a prompt is of this row's part."""
    marks = {
        "trec": "determine the type of the question", "hotpotqa": "based on the given passages",
        "lcc": "Next line of code", "passage_count": "unique paragraphs", "gov_report": "government agency",
        "samsum": "Summarize the dialogue",
    }  # fmt: skip
    return marks[row["dataset"]] in prompt

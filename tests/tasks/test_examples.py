"""Solved examples of rows: those of others, whatever file they come from, in lm-evaluation-harness's draws."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.tasks.samples import Samples
from tests.support.cases import refusal
from tests.support.gates import write_lines, write_task
from tests.support.loading import load_task

PROMPT = "{% for e in examples %}{{ e.q }} {{ e.a }}\n{% endfor %}{{ q }}"
Rows = Sequence[Mapping[str, Any]]
ROWS = [{"q": f"question {number:02}?", "a": f"answer {number:02}"} for number in range(40)]


def samples_of(folder: Path, rows: Rows, shots: Rows, **few: int) -> Samples:
    few_shot = {"file": write_lines(folder / "shots.jsonl", shots).name, **few}
    return load_task("own", file=write_task(folder, "own", rows, prompt=PROMPT, few_shot=few_shot)).samples


def shown_by(samples: Samples) -> dict[str, list[str]]:
    """The answers that each question's prompt shows, by the question's own."""
    shown = {}
    for sample in samples:
        *examples, _ = sample.prompt.split("\n")
        shown[sample.target] = [line.partition("? ")[2] for line in examples]
    return shown


@pytest.mark.parametrize(
    ("few", "number"), [({"count": 5, "seed": 1234}, 5), ({"count": 5}, 5), ({}, 39)], ids=["drawn", "first", "all"]
)
def test_one_file_is_both_and_no_prompt_shows_its_own_answer(few: dict[str, int], number: int, tmp_path: Path) -> None:
    other_columns = [{"place": place, **row} for place, row in enumerate(ROWS)]
    for shots in (ROWS, other_columns):
        shown = shown_by(samples_of(tmp_path, ROWS, shots, **few))
        assert not [answer for answer, answers in shown.items() if answer in answers]
        assert {len(answers) for answers in shown.values()} == {number}


def test_the_draws_of_other_rows_stay_and_a_rows_own_is_replaced_by_one_more(tmp_path: Path) -> None:
    samplers = pytest.importorskip("lm_eval.api.samplers")
    shown, draw, alike = shown_by(samples_of(tmp_path, ROWS, ROWS, count=5, seed=1234)), Random(1234), 0
    for row in ROWS:
        theirs = samplers.ContextSampler(ROWS)
        theirs.rnd.setstate(draw.getstate())
        before = draw.sample(ROWS, 5)
        wanted = theirs.sample(5, eval_doc=row) if row in before else before
        alike += row not in before
        assert shown[row["a"]] == [each["a"] for each in wanted]
    assert 25 < alike < 40


def test_copies_of_a_row_are_left_out_too(tmp_path: Path) -> None:
    shown = shown_by(samples_of(tmp_path, ROWS[:3], [ROWS[0], ROWS[0], *ROWS], count=3))
    assert shown["answer 00"] == ["answer 01", "answer 02", "answer 03"]
    assert shown["answer 01"] == ["answer 00", "answer 00", "answer 00"]


def test_too_few_others_are_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    told = [refusal(samples_of, tmp_path, ROWS, ROWS[:5], count=5, **few) for few in ({}, {"seed": 1})]
    assert [*told, refusal(samples_of, tmp_path, ROWS, ROWS[:1])] == messages


def test_the_error_names_the_file_of_accuracy_toml(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [{"question": f"q{n}", "answer": f"#### {n}"} for n in range(5)])
    said = refusal(load_task, "gsm8k", library="gsm8k", dataset=path, few_shot=path)
    assert said.startswith("few_shot_dataset: the task's few_shot.count is 5")

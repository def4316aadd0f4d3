"""Judges are shown the model's reply and nothing else in its place; code is run with the reply in its place alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.config.tables import Sampling
from accgate.engines.base import Reply
from accgate.evaluation.presence import crowding
from accgate.evaluation.scoring import ByJudge, ByRunning
from accgate.sandbox.process import Limits
from accgate.sandbox.runner import CannotConfine, Sandbox, confinement
from accgate.tasks.sample import sample_id
from accgate.tasks.task import Task
from tests.evaluation.test_sample import Oracle, asked, task_of
from tests.support.cases import refusal

ROW = {"q": "1 + 1", "answer": "the column", "reply": "a column", "prompt": "p", "target": "t", "a": "2"}


def judged(folder: Path, rubric: str, rows: list[dict[str, Any]] | None = None, **judge: Any) -> Task:
    settings = {"prompt": "{{ q }} =", "target": "{{ a }}", "metric": "judge", "judge": {"rubric": rubric, **judge}}
    return task_of(folder, rows or [ROW], **settings)


def marked(task: Task, reply: str, mark: str | Reply = "3") -> tuple[Any, str]:
    """The record of a reply, and what the judge was asked."""
    judge = Oracle({"": mark})
    record = asked(task, Oracle({"": reply}), ByJudge(judge, Sampling()))
    return record, judge.asked[0].prompt if judge.asked else ""


def test_reply_is_the_models_reply_and_prompt_and_target_are_the_tasks_whatever_the_columns_are(tmp_path: Path) -> None:
    rubric = "{{ prompt }}|{{ target }}|{{ reply }}|{{ answer }}|{{ row.reply }}|{{ row.prompt }}|{{ row.target }}"
    record, prompt = marked(judged(tmp_path, rubric), "rubbish")
    assert prompt == "1 + 1 =|2|rubbish|the column|a column|p|t"
    assert (record.score, record.answer) == (50.0, "rubbish")


SHOWN = {
    "{{ reply | upper }}": "A {{ B }} C",
    "{{ reply | tojson }}": '"a {{ b }} C"',
    "{% if reply %}{{ reply }}{% else %}nothing{% endif %}": "a {{ b }} C",
    "{% macro quote(text) %}> {{ text }}{% endmacro %}{{ quote(reply) }}": "> a {{ b }} C",
    "{{ reply[:1000] }}": "a {{ b }} C",
}


def test_a_rubric_shows_the_reply_as_it_is(tmp_path: Path) -> None:
    for rubric, prompt in SHOWN.items():
        assert marked(judged(tmp_path, rubric), "a {{ b }} C")[1] == prompt


NOT_SHOWN = (
    "Mark {{ q }} from 1 to 5", "{{ answer }}", "<<answer>>", "{{ row.reply }}", "{% set reply = answer %}{{ reply }}",
    "{% if q == '1 + 1' %}{{ reply }}{% endif %}", "{{ reply[:9] }}", "{{ reply.name }}",
)  # fmt: skip


def test_a_rubric_that_does_not_show_the_reply_is_refused(tmp_path: Path, messages: SnapshotAssertion) -> None:
    rows = [ROW, {**ROW, "q": "2 + 2"}]
    assert {rubric: refusal(judged, tmp_path, rubric, rows) for rubric in NOT_SHOWN} == messages


def test_a_reply_that_a_rubric_cannot_show_has_no_score(tmp_path: Path) -> None:
    task = judged(tmp_path, "{{ reply }}{% if reply == 'bad' %}{{ 1 // 0 }}{% endif %}")
    (good, _), (bad, _) = marked(task, "good"), marked(task, "bad")
    assert (good.score is None, bad.score) == (False, None)
    assert "cannot show this reply" in str(bad.error)


def test_nothing_in_a_reply_or_in_a_row_is_taken_for_a_template_or_a_place(tmp_path: Path) -> None:
    for text in ("<<answer>>", "{{ target }}", "{% raw %}", "\\1 \\g<0> %s {0}"):
        task = judged(tmp_path, "Q: {{ prompt }}\nA: {{ reply }}", [{**ROW, "q": text}])
        assert marked(task, f"I say {text} x")[1] == f"Q: {text} =\nA: I say {text} x"


# The judge's reply, and the points: the last number that is no denominator, after its thoughts.
MARKS: Mapping[str | Reply, float | None] = {
    "4": 75.0, "Mark: 4.5": 87.5, "4/5": 75.0, "4 / 5": 75.0, "I give 3 out of 5.": 50.0, "2 of 5": 25.0,
    'It says "Rating: [[5]]", which is wrong. [[1]]': 0.0, "5 at first sight, but 2": 25.0, "1, 2 or 5? 2": 25.0,
    "<think>5? No, 1.</think>4": 75.0, "5? No, 1.</think>\n\n4": 75.0, "<think>5? No": None, "<think>5</think>": None,
    "": None, "none": None, "6": None, "-1": None, "0": None, "2024": None, "5 (2,000 words)": 100.0,
    Reply("On a scale of 1 to 5", finish_reason="length"): None, Reply(None): None,
}  # fmt: skip


def test_the_mark_is_the_last_number_of_what_follows_the_judges_thoughts(tmp_path: Path) -> None:
    task = judged(tmp_path, "{{ reply }}")
    for mark, points in MARKS.items():
        record, _ = marked(task, "text", mark)
        assert (record.score, record.error is None) == (points, points is not None), mark
    cut, _ = marked(judged(tmp_path, "{{ reply }}", max_tokens=9), "text", Reply("4", finish_reason="length"))
    assert cut.error == "the judge's reply was cut off at 9 tokens; raise judge.max_tokens"
    full, _ = marked(judged(tmp_path, "{{ reply }}"), "text", Reply("4", finish_reason="model_length"))
    assert "before max_tokens, at its server's own limit; shorten the rubric" in str(full.error)
    for word in ("content_filter", "refusal"):
        stopped, _ = marked(judged(tmp_path, "{{ reply }}"), "text", Reply("4", finish_reason=word))
        assert stopped.error == f"the judge refused, or a filter stopped it: finish_reason '{word}'"
    brackets = judged(tmp_path, "{{ reply }}", regex=r"\[\[(\d)\]\]")
    assert [marked(brackets, "text", mark)[0].score for mark in ("[[4]] of 5", "4")] == [75.0, None]


LETTERS: Mapping[str | Reply, float | None] = {
    "A": 100.0, "B": 0.0, "C": 50.0, "**A**": 100.0, "A: CORRECT": 100.0, "<think>B? No.</think>A": 100.0,
    "CORRECT": None, "D": None, "": None, "1": None, "a": None, "It is A": None,
}  # fmt: skip


def test_a_letter_stands_for_a_mark(tmp_path: Path) -> None:
    marks: dict[str, Any] = {"lowest": 0, "highest": 1, "regex": r"\A\W*([A-D])\b", "marks": {"A": 1, "B": 0, "C": 0.5}}
    task = judged(tmp_path, "{{ reply }}", **marks)
    for letter, points in LETTERS.items():
        record, _ = marked(task, "text", letter)
        assert (record.score, record.error is None) == (points, points is not None), letter
    for letters, fault in (({"A": 2, "B": 0}, "judge.marks.A: is 2;"), ({"A": 1, "B": 1}, "are all the same")):
        assert fault in refusal(judged, tmp_path, "{{ reply }}", **{**marks, "marks": letters})


def test_an_empty_reply_gets_the_lowest_mark_and_no_judge_is_asked(tmp_path: Path) -> None:
    for reply in ("", " \n"):
        record, prompt = marked(judged(tmp_path, "{{ prompt }} {{ reply }}"), reply, "5")
        assert (record.score, prompt) == (0.0, "")


PROGRAM = {"prompt": "{{ q }}", "metric": "code_tests"}


def test_only_the_place_in_the_template_takes_the_code(tmp_path: Path) -> None:
    row = {"q": "Replace <<answer>>.", "test": "assert f() == '<<answer>>'"}
    task = task_of(tmp_path, [row], **PROGRAM, target="# {{ q }}\n<<answer>>\n{{ test }}")
    (sample,) = task.samples
    assert sample.program == ("# Replace <<answer>>.\n", "\nassert f() == '<<answer>>'")
    assert sample.target == "# Replace <<answer>>.\n<<answer>>\nassert f() == '<<answer>>'"
    assert sample.id == sample_id("own", "Replace <<answer>>.", sample.target, 0), "ids of earlier versions hold"
    twice = task_of(tmp_path, [row], **PROGRAM, target="<<answer>>\n{{ '<<answer>>' }}").samples[0]
    assert twice.program == ("", "\n", "")
    hidden = "{% if false %}<<answer>>{% endif %}{{ test }}"
    assert "target has no <<answer>>" in refusal(task_of, tmp_path, [row], **PROGRAM, target=hidden)


def running(task: Task, replies: list[str], before: str = "") -> list[float | None]:
    try:
        confinement()
    except CannotConfine as error:
        pytest.skip(str(error))

    async def run() -> list[float | None]:
        async with Sandbox(Limits(seconds=10.0), 1) as sandbox:
            scoring = ByRunning(sandbox, before)
            return [await scoring.points(task, task.samples[0], reply) for reply in replies]

    return asyncio.run(run())


def test_code_is_run_with_the_tests_that_stand_in_the_dataset(tmp_path: Path) -> None:
    row = {"q": "Replace <<answer>>.", "test": "assert f() == '<<answer>>'"}
    task = task_of(tmp_path, [row], **PROGRAM, target="<<answer>>\n{{ test }}")
    always = "class A:\n    __eq__ = lambda self, other: True\nf = A"
    leaving = "import os\nf = lambda: os._exit(0)"
    replies = ["f = lambda: '<<ans' + 'wer>>'", "f = lambda: '<<answer>>'", "f = lambda: ''", always, leaving, ""]
    assert running(task, replies) == [100.0, 100.0, 0.0, 0.0, 0.0, 0.0]


PRINTED = {"prompt": "{{ q }}", "target": "{{ tests | tojson }}", "metric": "code_output"}
SUM = [{"input": "1 2\n", "output": "3\n"}, {"input": "4 5", "output": "9"}]


def test_a_whole_program_is_right_where_it_prints_what_each_test_expects(tmp_path: Path) -> None:
    task = task_of(tmp_path, [{"q": "Add.", "tests": SUM}], **PRINTED)
    right, one = "print(sum(map(int, input().split())))", "print(3)"
    assert running(task, [right, one, ""]) == [100.0, 0.0, 0.0]
    assert running(task, ["print(add(*map(int, input().split())))"], "def add(a, b): return a + b") == [100.0]
    (sample,) = task.samples
    assert sample.target.startswith("2 tests, sha256:")
    other = task_of(tmp_path, [{"q": "Add.", "tests": [*SUM[:1], {"input": "4 5", "output": "8"}]}], **PRINTED)
    assert other.samples[0].id != sample.id, "other tests are another sample"
    assert json.dumps(SUM[0]["output"]) not in repr(sample.target)


def test_tests_that_could_not_fail_are_refused_when_the_task_is_read(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    rows, plain = [{"q": "Add.", "tests": SUM}], {"prompt": "{{ q }}", "targets": "[]", "metric": "code_output"}
    bad = ([], [{"input": "1", "output": ""}], "text")
    assert [
        *(refusal(task_of, tmp_path, [{"q": "Add.", "tests": tests}], **PRINTED) for tests in bad),
        refusal(task_of, tmp_path, rows, **plain),
        refusal(task_of, tmp_path, rows, **PRINTED, metric_options={"before": "for"}),
    ] == messages


def test_a_model_and_a_judge_that_overfill_a_gpu_are_refused() -> None:
    def said(model: float | None, judge: float | None) -> str | None:
        model_engine, judge_engine = (
            SimpleNamespace(**({} if s is None else {"memory_share": s})) for s in (model, judge)
        )
        check: Any = SimpleNamespace(model="m", judge=SimpleNamespace(name="j", engine=lambda: judge_engine))
        return crowding(model_engine, check)  # type: ignore[arg-type]

    assert "m takes 92% of the GPU's memory and its judge j 30%" in str(said(0.92, 0.3))
    assert said(0.6, 0.4) is said(0.92, None) is said(None, 0.92) is None
    alone: Any = SimpleNamespace(model="m", judge=None)
    assert crowding(SimpleNamespace(memory_share=0.92), alone) is None  # type: ignore[arg-type]

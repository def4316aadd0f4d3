"""One sample asked in every way a task can ask, by engines whose answers are known."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from accgate.config.tables import Sampling
from accgate.engines import Reply, Request, RequestFailed
from accgate.engines.base import LogProbs
from accgate.errors import CannotEvaluate
from accgate.evaluation.assignment import Assignment
from accgate.evaluation.rereading import rescore
from accgate.evaluation.sample import Asker
from accgate.evaluation.scoring import ByFunction, ByJudge
from accgate.records.file import Record
from accgate.tasks.choices import chosen_label
from accgate.tasks.lm_eval.requests import LmEvalRequest, responses_of
from accgate.tasks.task import Task
from tests.evaluation.serving import Toy
from tests.support.cases import each, refusal
from tests.support.gates import toml, write_lines
from tests.support.loading import load_task

QUIZ = {
    "prompt": "{{ question }}\n{% if by == 'letter' %}"
    "{% for o in options %}{{ o.label }}. {{ o.text }}\n{% endfor %}{% endif %}",
    "target": "{{ 'ABCD'[answer] }}",
    "metric": "exact_match",
    "mode": "completion",
    "choices": {"options": "{{ choices | tojson }}"},
}
ROWS = [{"question": "2 + 2", "choices": ["three", "four", "twenty-two or so"], "answer": 1}]

PLAIN = {"prompt": "{{ q }}", "target": "{{ a }}"}
TEXT = {"prompt": "", "target": "{{ text }}", "metric": "perplexity", "mode": "completion"}


@dataclass
class Oracle(Toy):
    """Answers by prompt, and log-probabilities by continuation.

    They are of each token, or in all: then of words that are ever less likely.
    """

    replies: Mapping[str, str | Reply] = field(default_factory=dict)
    likely: Mapping[str, float | tuple[float, ...]] = field(default_factory=dict)
    concurrency: int = 4
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        found = next((reply for part, reply in self.replies.items() if part in request.prompt), None)
        if found is None:
            raise RequestFailed("nobody knows")
        return found if isinstance(found, Reply) else Reply(found, "stop")

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        self.asked.append(request)
        return [self.likelihood(text) for text in continuations]

    def likelihood(self, continuation: str) -> LogProbs:
        tokens, total = tuple(continuation.split()), self.likely[continuation]
        if isinstance(total, tuple):
            return LogProbs(("x",) * len(total), total)
        shares = [2.0 * place / len(tokens) / (len(tokens) + 1) for place in range(1, len(tokens) + 1)]
        return LogProbs(tokens, tuple(total * share for share in shares))


def task_of(folder: Path, rows: Sequence[dict[str, Any]] = ROWS, **content: Any) -> Task:
    write_lines(folder / "rows.jsonl", rows)
    table = {"dataset": {"file": "rows.jsonl"}, **content}
    path = folder / "own.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in table.items()), encoding="utf-8")
    return load_task("own", file=path)


def quiz_of(folder: Path, **choices: Any) -> Task:
    """The quiz, answered by the likelihood of its options."""
    quiz: dict[str, Any] = QUIZ
    return task_of(folder, **quiz | {"choices": quiz["choices"] | {"by": "likelihood"} | choices})


def asked(task: Task, engine: Oracle, scoring: Any = None, repeat: int = 0) -> Record:
    assignment = Assignment("m", task, 1, Sampling(), {}, 0.0)
    return asyncio.run(Asker(engine, assignment, scoring or ByFunction(), lambda: 0.0).record(task.samples[0], repeat))


@each(("normalise", "answer"), [("none", "A"), ("tokens", "C"), ("bytes", "C"), ("characters", "C")])
def test_the_likeliest_option_is_the_answer_and_its_share_the_confidence(
    tmp_path: Path, normalise: str, answer: str
) -> None:
    engine = Oracle(likely={" three": -2.0, " four": -3.0, " twenty-two or so": -2.5})
    record = asked(quiz_of(tmp_path, normalise=normalise), engine)
    assert (record.answer, record.score) == (answer, 0.0)
    sizes = {"none": (1, 1, 1), "tokens": (1, 1, 3), "bytes": (5, 4, 16), "characters": (5, 4, 16)}[normalise]
    shares = [math.exp(total / size) for total, size in zip((-2.0, -3.0, -2.5), sizes, strict=True)]
    assert record.confidence == pytest.approx(max(shares) / sum(shares))
    assert record.reply == {"A": "A: three", "C": "C: twenty-two or so"}[answer]
    assert record.completion_tokens == 0  # the model wrote none of them
    assert all(request.prompt == "2 + 2\n" for request in engine.asked)


@each(
    ("values", "normalise", "reply"),
    [
        (((0.0,), (0.0, 0.0), (0.0,)), "none", "equally likely options: A, B, C"),
        (((-1.0,), (-1.0, -1.0), (-1.0, -1.0, -1.0)), "none", "equally likely options: A, B, C"),  # not the shortest
        (((-1.5,), (-1.0, -0.5), (-3.0,)), "none", "equally likely options: A, B"),
        (((-0.3,), (-0.4, -0.2), (-0.1, -0.3, -0.5)), "tokens", "equally likely options: A, B, C"),  # 0.9 / 3
        (((-2.0,), (-1.0, -0.5), (-2.0,)), "none", "B: four"),  # others tie, the best does not
        (((-1.0,), (0.0, 0.0), (-3.0,)), "none", "B: four"),
    ],
)
def test_options_that_tie_are_no_answer(
    tmp_path: Path, values: tuple[tuple[float, ...], ...], normalise: str, reply: str
) -> None:
    engine = Oracle(likely=dict(zip((" three", " four", " twenty-two or so"), values, strict=True)))
    task = quiz_of(tmp_path, normalise=normalise)
    record = asked(task, engine)
    ties = reply.startswith("equally")
    assert (record.reply, record.reading, record.answer) == (reply, *(("unread", None) if ties else ("read", "B")))
    assert record.score == (0.0 if ties else 100.0)
    assert chosen_label(reply) == record.answer
    assert rescore(task, task.samples[0], record) == record


@each(
    ("values", "error"),
    [
        ((0.0,), "every token has the log-probability 0: nothing was measured"),
        ((-1.5, -1.5), "every token has the log-probability -1.5: nothing was measured"),
        ((), "the text has no token"),
        ((-1.0, math.nan), "the engine gave nan as the log-probability of a token"),
        ((-1.0, 0.7), "the engine gave 0.7 as the log-probability of a token"),
        ((-1.5,), None),
        ((0.0, -0.5), None),
    ],
)
def test_a_text_whose_tokens_are_equally_likely_was_not_measured(
    tmp_path: Path, values: tuple[float, ...], error: str | None
) -> None:
    record = asked(task_of(tmp_path, [{"text": "one"}], **TEXT), Oracle(likely={"one": values}))
    assert (record.error, record.score is None) == (error, error is not None)


@each(
    ("kind", "values", "measured"),
    [
        ("score", [(-1.0,), (-1.0,)], True),  # a tie of single tokens, which lm-eval scores
        ("score", [(-1.0,), (-1.0, -1.0)], False),
        ("score", [(0.0,), (0.0,)], False),
        ("score", [(0.0, -0.5)], True),
        ("rolling", [(-2.0, -2.0)], False),
        ("rolling", [(-2.0, -2.5)], True),
    ],
)
def test_texts_of_lm_eval_that_were_not_measured_fail_their_sample(
    kind: Any, values: list[tuple[float, ...]], measured: bool
) -> None:
    requests = [LmEvalRequest("", 0, "Q", kind=kind, continuation=str(place)) for place in range(len(values))]
    engine = Oracle(likely={str(place): own for place, own in enumerate(values)})
    if measured:
        responses, replies = asyncio.run(responses_of(engine, requests, "id"))
        assert (len(responses), replies) == (len(values), ())
        return
    with pytest.raises(RequestFailed, match="nothing was measured"):
        asyncio.run(responses_of(engine, requests, "id"))


def test_labels_can_follow_the_prompt_in_place_of_texts(tmp_path: Path) -> None:
    task = quiz_of(tmp_path, continuation="label", delimiter="")
    record = asked(task, Oracle(likely={"A": -3.0, "B": -1.0, "C": -2.0}))
    assert (record.answer, record.score) == ("B", 100.0)


def test_perplexity_is_of_the_target_after_the_prompt(tmp_path: Path) -> None:
    rows = [{"text": "one two three"}]
    engine = Oracle(likely={"one two three": -6.0})
    assert asked(task_of(tmp_path, rows, **TEXT), engine).score == pytest.approx(math.exp(2.0))
    by_byte = task_of(tmp_path, rows, **TEXT, metric_options={"per": "byte"})
    assert asked(by_byte, engine).score == pytest.approx(math.exp(6.0 / 13.0))
    assert not by_byte.metric.higher_is_better


CLASSES = json.dumps({"label": "animal", "classes": ["animal", "food"]})
FOLLOWED = json.dumps({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]})
PUBLISHED = {"as_published": True}
READINGS: list[tuple[str, dict[str, Any], str, dict[str, str]]] = [
    ("numeric_match", {}, "18", {"18": "read", "17": "read", "eighteen apples": "unread", "no idea": "unread"}),
    ("number_share", {}, "3", {"3": "read", "paragraph 12": "read", "no idea": "unread"}),
    ("exponential_similarity", {}, "70%", {"60": "read", "most": "unread"}),
    ("concordance_index", {}, "1, 2", {"2, 1": "read", "none of them": "unread"}),
    ("class_named", {}, CLASSES, {"Type: food": "read", "animal": "read", "no idea": "unread"}),
    ("code_line_similarity", {}, "x = 1", {"y = 2": "read", "# x = 1": "unread"}),
    ("json_match", {}, "[1]", {"[2]": "read", "null": "read", "no idea": "unread"}),
    ("json_fields", {}, '{"a": 1}', {"{}": "read", "[1]": "unread", "no idea": "unread"}),
    ("json_valid", {}, "", {"no idea": "read"}),  # that it is no JSON is the answer
    ("normalized_match", {}, "A", {"a.": "read", "B": "read", "the": "unread", ".": "unread"}),
    ("normalized_match", {}, "", {"": "read", "no": "read", "the": "unread"}),
    ("token_f1", {"tokenizer": "words"}, "cat", {"dog": "read", "!": "unread"}),
    ("rouge_l", {}, "cat", {"dog": "read", "\u732b": "unread"}),
    ("squad_v2", {}, "", {"unanswerable": "read", "": "read", "Paris": "read", "the": "unread"}),
    ("squad_v2", PUBLISHED, "A", {"": "empty", "the": "unread", "A": "read", "B": "read"}),
    ("triviaqa", PUBLISHED, "A", {"": "empty", "the": "unread", "A.": "read", "B": "read"}),
    ("drop", {}, '[["The"], ["A"]]', {"a.": "read", "an": "unread"}),
    ("drop", PUBLISHED, '[["The"], ["A"]]', {"": "empty", ".": "unread", "8": "read"}),
    ("classification", {}, "C#", {"C": "read", "no idea": "read", "": "empty"}),
    ("contains", {}, "71432", {"no idea": "read", "": "empty"}),
    ("exact_match", {}, "", {"": "read", "no": "read"}),
    ("instruction_following", {}, FOLLOWED, {"Well, no": "read", "Yes": "read", "": "empty"}),
]  # fmt: skip


@each(("metric", "options", "target", "replies"), READINGS)
def test_a_metric_that_looks_for_an_answer_says_where_there_is_none(
    tmp_path: Path, metric: str, options: dict[str, Any], target: str, replies: dict[str, str]
) -> None:
    named = {**PLAIN, "metric": metric, "metric_options": options}
    task = task_of(tmp_path, [{"q": "What?", "a": target}], **named)
    records = {reply: asked(task, Oracle({"What?": reply})) for reply in replies}
    assert {reply: record.reading for reply, record in records.items()} == replies
    for record in records.values():
        assert rescore(task, task.samples[0], record) == record


ATTACKED = {
    **PLAIN, "metric": "exact_match", "attack": [{"kind": "column", "field": "q", "column": "hard"}],
}  # fmt: skip
SUMS = [{"q": "1 + 1", "hard": "one plus one", "a": "2"}]


@pytest.mark.parametrize(
    ("replies", "ask_for", "score", "after", "calls"),
    [
        ({"1 + 1": "2", "one plus one": "3"}, "right", 100.0, 0.0, 2),
        ({"1 + 1": "2", "one plus one": "2"}, "right", 100.0, 100.0, 2),
        ({"1 + 1": "3", "one plus one": "2"}, "right", 0.0, None, 1),
        ({"1 + 1": "3", "one plus one": "2"}, "all", 0.0, 100.0, 2),
    ],
)
def test_what_was_right_before_is_asked_again_after_the_attack(
    tmp_path: Path, replies: dict[str, str], ask_for: str, score: float, after: float | None, calls: int
) -> None:
    attack = {**ATTACKED["attack"][0], "ask": ask_for}  # type: ignore[dict-item]
    engine = Oracle(replies)
    record = asked(task_of(tmp_path, SUMS, **{**ATTACKED, "attack": [attack]}), engine)
    assert (record.score, record.attacked, len(engine.asked)) == (score, after, calls)


def test_several_attacks_give_a_score_each(tmp_path: Path) -> None:
    attacks = [*ATTACKED["attack"], {"kind": "distractor", "text": "Birds sing."}]
    replies = {"Birds sing.": "2", "1 + 1": "2", "one plus one": "3"}
    record = asked(task_of(tmp_path, SUMS, **{**ATTACKED, "attack": attacks}), Oracle(replies))
    assert record.attacked == (0.0, 100.0)


@each(
    ("said", "share"),
    [("Confidence: 0.8", 0.8), ("confidence 65%", 0.65), ("Confidence: 90", 0.9), ("I know.", None),
     ("Confidence: 250%", None)],
)  # fmt: skip
def test_a_reply_says_how_sure_the_model_is_or_its_sample_fails(tmp_path: Path, said: str, share: float | None) -> None:
    task = task_of(tmp_path, SUMS, **PLAIN, metric="contains", confidence={"by": "reply"})
    record = asked(task, Oracle({"1 + 1": f"It is 2. {said}"}))
    if share is None:
        assert record.score is None
        assert "gives no confidence" in str(record.error)
    else:
        assert (record.score, record.confidence) == (100.0, pytest.approx(share))


def test_the_tokens_of_a_reply_give_the_geometric_mean_of_their_probabilities(tmp_path: Path) -> None:
    settings = {**PLAIN, "metric": "exact_match", "confidence": {"by": "tokens"}}
    task = task_of(tmp_path, SUMS, **settings)
    engine = Oracle({"1 + 1": Reply("2", logprobs=(math.log(0.5), math.log(0.125)))})
    assert asked(task, engine).confidence == pytest.approx(0.25)
    assert engine.asked[0].logprobs
    assert asked(task, Oracle({"1 + 1": Reply("2", logprobs=(1e-7,))})).confidence == 1.0
    for broken in (math.nan, 0.5, math.inf):
        lost = asked(task, Oracle({"1 + 1": Reply("2", logprobs=(-0.5, broken))}))
        assert (lost.score, lost.confidence) == (None, None)
        assert "as the log-probability of a token" in str(lost.error)
    with pytest.raises(CannotEvaluate, match="gives no log-probabilities"):
        asked(task, Oracle({"1 + 1": "2"}))


def test_a_judge_marks_the_answer_by_the_rubric(tmp_path: Path) -> None:
    rubric = "Question: {{ prompt }}\nExpected: {{ target }}\nAnswer: {{ reply }}\nMark 1 to 5."
    settings = {**PLAIN, "metric": "judge", "judge": {"rubric": rubric}}
    task = task_of(tmp_path, SUMS, **settings)
    for mark, points in (("4", 75.0), ("1", 0.0), ("5", 100.0)):
        judge = Oracle({"Expected: 2\nAnswer: two": f"2 is two. Mark: {mark}"})
        record = asked(task, Oracle({"1 + 1": "two"}), ByJudge(judge, Sampling()))
        assert (record.score, record.answer) == (points, "two")
    lost = asked(task, Oracle({"1 + 1": "two"}), ByJudge(Oracle({"Answer": "Mark: 7"}), Sampling()))
    assert lost.score is None
    assert "no mark from 1 to 5" in str(lost.error)


def test_a_function_that_fails_or_leaves_its_range_fails_the_sample(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def length(answer, target, *, most=10.0):\n    return 100.0 * len(answer) / (most - len(target))\n"
    )
    settings = {**PLAIN, "metric": "mine.py:length"}
    task = task_of(tmp_path, SUMS, **settings, metric_options={"most": 11.0})
    assert asked(task, Oracle({"1 + 1": "12345"})).score == 50.0
    beyond = asked(task, Oracle({"1 + 1": "x" * 20}))
    assert (beyond.score, "outside its range" in str(beyond.error)) == (None, True)
    broken = asked(task_of(tmp_path, SUMS, **settings, metric_options={"most": 1.0}), Oracle({"1 + 1": "1"}))
    assert (broken.score, "ZeroDivisionError" in str(broken.error)) == (None, True)


def test_images_come_before_the_prompt_and_count_in_the_id(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 20
    (tmp_path / "one.png").write_bytes(png)
    settings = {**PLAIN, "metric": "exact_match", "images": ["image"]}
    task = task_of(tmp_path, [{**SUMS[0], "image": "one.png"}], **settings)
    engine = Oracle({"1 + 1": "2"})
    assert asked(task, engine).score == 100.0
    assert engine.asked[0].parts[0]["image_url"]["url"].startswith("data:image/png;base64,")
    (tmp_path / "one.png").write_bytes(png + b"1")
    assert task_of(tmp_path, [{**SUMS[0], "image": "one.png"}], **settings).samples[0].id != task.samples[0].id
    (tmp_path / "one.png").write_bytes(b"text")
    assert "holds no image" in refusal(task_of, tmp_path, [{**SUMS[0], "image": "one.png"}], **settings)


def test_records_are_scored_again_only_where_the_reply_is_all_it_takes(tmp_path: Path) -> None:
    task = quiz_of(tmp_path)
    record = asked(task, Oracle(likely={" three": -2.0, " four": -1.0, " twenty-two or so": -2.5}))
    assert rescore(task, task.samples[0], record) == record
    attacked = task_of(tmp_path, SUMS, **ATTACKED)
    done = asked(attacked, Oracle({"1 + 1": "2", "one plus one": "3"}))
    assert "more than the recorded replies" in refusal(rescore, attacked, attacked.samples[0], done)
    content = replace(attacked.content, attack=())
    plain = replace(attacked, definition=replace(attacked.definition, content=content))
    assert rescore(plain, attacked.samples[0], done).score == 100.0


def test_recorded_calls_and_reasoning_are_scored_again_as_they_were_read(tmp_path: Path) -> None:
    weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    tools = {"prompt": "{{ q }}", "target": '[{"weather": {}}]', "metric": "tool_calls", "tools": [weather]}
    calling = task_of(tmp_path, SUMS, **tools)
    called = asked(calling, Oracle({"": Reply("", "tool_calls", tool_calls=(("weather", "{}"),))}))
    assert (called.score, rescore(calling, calling.samples[0], called)) == (100.0, called)
    thought = Reply("<think>1 or 2</think>2", "stop")
    task = task_of(tmp_path, SUMS, **PLAIN, metric="exact_match")
    record = asked(task, Oracle({"": thought}))
    assert (record.score, rescore(task, task.samples[0], record)) == (100.0, record)
    keeping = replace(task, definition=task.definition.with_reasoning("keep"))
    assert "need the whole reasoning" in refusal(rescore, keeping, task.samples[0], record)


def test_a_reply_without_answer_and_confidence_is_wrong_and_sure(tmp_path: Path) -> None:
    """Else a model that says nothing would be well calibrated, or leave the statistic undecided."""
    settings = {**PLAIN, "metric": "exact_match", "extract": {"regex": r"(\d+)"}}
    task = task_of(tmp_path, SUMS, **settings, confidence={"by": "reply"})
    for silent in ("", "I cannot say."):
        record = asked(task, Oracle({"": Reply(silent, "stop")}))
        assert (record.score, record.confidence, record.error) == (0.0, 1.0, None)

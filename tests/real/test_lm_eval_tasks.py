"""Tasks of lm-eval that accgate runs itself: requests, ids and scores are those of lm-eval's own run and log."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.engines.base import LogProbs, Reply, Request, RequestFailed
from accgate.errors import BadInput, CannotEvaluate
from accgate.result import EngineInfo
from accgate.tasks.lm_eval.loading import LmEvalOptions
from accgate.tasks.lm_eval.mapping import numbered_ids, request_text
from accgate.tasks.lm_eval.requests import LmEvalRequest, responses_of
from accgate.tasks.lm_eval.task import LmEvalSample, LmEvalTask, lm_eval_task

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]  # what lm-eval warns of is its own

ROWS = """dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl, train: FOLDER/rows.jsonl}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
"""
MEAN = "{metric: NAME, aggregation: mean, higher_is_better: true}"
TASKS = {
    "words": """task: words
output_type: generate_until
fewshot_split: train
num_fewshot: 2
generation_kwargs: {until: ["\\n"], max_gen_toks: 9, temperature: 0.5, top_p: 0.9, do_sample: true, min_p: 0.1}
filter_list:
  - {name: number, filter: [{function: regex, regex_pattern: "(\\\\d)"}, {function: take_first}]}
  - {name: whole, filter: [{function: take_first}]}
metric_list: [EXACT]
""",
    "votes": """task: votes
output_type: generate_until
repeats: 3
generation_kwargs: {until: "END"}
filter_list:
  - {name: vote, filter: [{function: majority_vote}, {function: take_first}]}
metric_list: [EXACT]
""",
    "options": """task: options
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA: "
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list: [ACC, ACC_NORM, {metric: acc_mutual_info, aggregation: mean, higher_is_better: true}]
""",
    "blanks": """task: blanks
output_type: multiple_choice
doc_to_text: label
doc_to_choice: "{{choices}}"
doc_to_target: "{{question}}"
metric_list: [ACC]
""",
    "last": """task: last
output_type: loglikelihood
metric_list: [ACC, {metric: perplexity, aggregation: perplexity, higher_is_better: false}]
""",
    "text": """task: text
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{question}} and {{answer}}"
metric_list:
  - {metric: bits_per_byte, aggregation: bits_per_byte, higher_is_better: false}
  - {metric: word_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
""",
    "zero": """task: zero
output_type: generate_until
fewshot_split: train
num_fewshot: 0
metric_list: [EXACT]
""",
    "prefixed": """task: prefixed
output_type: generate_until
gen_prefix: "The answer is"
generation_kwargs: {until: ["\\n"]}
metric_list: [EXACT]
""",
    "code": "task: code\noutput_type: generate_until\nunsafe_code: true\nmetric_list: [EXACT]\n",
    "seen": 'task: seen\noutput_type: generate_until\ndoc_to_image: "{{question}}"\nmetric_list: [EXACT]\n',
    "endless": "task: endless\noutput_type: generate_until\ngeneration_kwargs: {max_gen_toks: 0}\n"
    "metric_list: [EXACT]\n",
    "broken": 'task: broken\noutput_type: generate_until\ndoc_to_text: "{{nothing}}"\nmetric_list: [EXACT]\n',
}
GROUP = "group: both\ntask: [options, last]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and tasks of each kind."""
    pytest.importorskip("lm_eval")
    folder = tmp_path_factory.mktemp("tasks")
    rows = [
        {
            "question": f"{a} + {b} =",
            "answer": str(a + b),
            "choices": [str(a + b), f"about {a}", "none"],
            "label": b % 3,
        }
        for a in range(1, 5)
        for b in range(1, 6)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    for name, text in TASKS.items():
        for metric in ("exact_match", "acc_norm", "acc"):
            text = text.replace(metric.upper(), MEAN.replace("NAME", metric))  # noqa: PLW2901
        text = text.replace("EXACT", MEAN.replace("NAME", "exact_match"))  # noqa: PLW2901
        own = [line for line in ROWS.splitlines() if line.partition(":")[0] + ":" not in text]
        (folder / f"{name}.yaml").write_text(text + "\n".join(own).replace("FOLDER", str(folder)) + "\n")
    (folder / "group.yaml").write_text(GROUP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("datasets.config.HF_DATASETS_CACHE", str(folder / "hf"))
        yield folder


def share(*texts: str) -> float:
    return int(hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8], 16) / 2**32


def likelihood(context: str, continuation: str) -> tuple[float, bool]:
    """What a model of hashes finds of a continuation, wherever the space between the two stands."""
    whole = context + continuation
    return -9.0 * share(context.rstrip(), whole), share(whole) > 0.4


def reply(prompt: str, turn: int = 0) -> str:
    number = int(10 * share(prompt, str(turn % 2)))
    return f"{number} or so" if share(prompt) > 0.8 else str(number)


def answers(requests: Sequence[LmEvalRequest]) -> list[Any]:
    """The answers of the model of hashes to a sample's requests; a repeated one is answered otherwise each time."""
    found: list[Any] = []
    for turn, request in enumerate(requests):
        if request.kind == "generate":
            found.append(reply(request.prompt, turn))
        else:
            pair = likelihood(request.prompt, request.continuation)
            found.append(pair[0] if request.kind == "rolling" else pair)
    return found


@pytest.fixture(scope="module")
def logged(folder: Path) -> Mapping[str, list[dict[str, Any]]]:
    """What lm-eval's own evaluation logs of the model of hashes, by task."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Hashes(LM):  # type: ignore[misc,unused-ignore]
        def loglikelihood(self, requests: Any) -> list[Any]:
            return [likelihood(*one.args) for one in requests]

        def loglikelihood_rolling(self, requests: Any) -> list[Any]:
            return [likelihood("", one.args[0])[0] for one in requests]

        def generate_until(self, requests: Any) -> list[Any]:
            turns: dict[int, int] = {}
            found = []
            for one in requests:
                turns[id(one)] = turns.get(id(one), -1) + 1
                found.append(reply(one.args[0], turns[id(one)]))
            return found

    manager = TaskManager(include_path=str(folder), include_defaults=False)
    names = ["words", "votes", "options", "blanks", "last", "text"]
    return dict(lm_eval.simple_evaluate(Hashes(), tasks=names, task_manager=manager, bootstrap_iters=0)["samples"])


def loaded(folder: Path, name: str, **options: Any) -> LmEvalTask:
    return lm_eval_task(name, options=LmEvalOptions(include_path=".", **options), folder=folder)


@pytest.mark.parametrize(
    ("name", "metric", "chosen"),
    [
        ("words", "exact_match", "number"),
        ("words", "exact_match", "whole"),
        ("votes", "exact_match", "vote"),
        ("options", "acc", "none"),
        ("options", "acc_norm", "none"),
        ("options", "acc_mutual_info", "none"),
        ("blanks", "acc", "none"),
        ("last", "acc", "none"),
    ],
)
def test_every_sample_has_lm_eval_s_own_score_and_the_id_of_its_log(
    folder: Path, logged: Mapping[str, list[dict[str, Any]]], name: str, metric: str, chosen: str
) -> None:
    task = loaded(folder, name, metric=metric, filter=chosen)
    theirs = [row for row in logged[name] if row["filter"] == chosen]
    own = [(task.points(sample, answers(sample.requests)), sample.target) for sample in task.samples]
    assert own == [(100.0 * row[metric], str(row["target"])) for row in theirs]
    assert len({points for points, _ in own}) == 2
    texts = [(request_text(row["arguments"]), str(row["target"])) for row in theirs]
    assert [sample.id for sample in task.samples] == numbered_ids(name, texts)
    assert len({sample.id for sample in task.samples}) == 21


@pytest.mark.parametrize(
    ("name", "metric"), [("text", "bits_per_byte"), ("text", "word_perplexity"), ("last", "perplexity")]
)
def test_perplexities_are_decided_in_bits_document_by_document_and_lower_is_better(
    folder: Path, logged: Mapping[str, list[dict[str, Any]]], name: str, metric: str
) -> None:
    task = loaded(folder, name, metric=metric)
    values = [row[metric] for row in logged[name]]
    pairs = [value if isinstance(value, tuple) else (value, 1) for value in values]
    own = [task.points(sample, answers(sample.requests)) for sample in task.samples]
    assert own == pytest.approx([-total / math.log(2) / count for total, count in pairs])
    assert task.higher_is_better is False


def test_requests_carry_the_task_s_generation_options(folder: Path) -> None:
    (request,) = loaded(folder, "words", filter="whole").samples[3].requests
    assert (request.stop, request.max_tokens, request.temperature, request.top_p) == (("\n",), 9, 0.5, 0.9)
    assert request.extra == {"min_p": 0.1}
    assert request.mode == "completion"
    votes = loaded(folder, "votes").samples[0].requests
    assert [(one.stop, one.max_tokens) for one in votes] == [(("END",), 256)] * 3


def test_a_space_before_the_continuation_is_scored_with_it_as_lm_eval_does(folder: Path) -> None:
    task = loaded(folder, "options", metric="acc")
    assert [(one.prompt[-2:], one.continuation) for one in task.samples[0].requests[:2]] == [
        ("A:", "  2"),
        ("A:", "  about 1"),
    ]
    assert task.needs_likelihoods


def test_examples_are_those_that_lm_eval_draws_and_another_number_or_seed_gives_others(folder: Path) -> None:
    base = loaded(folder, "words", filter="whole").samples[5].prompt
    assert base.count("=") == 3
    assert loaded(folder, "words", filter="whole", num_fewshot=0).samples[5].prompt.count("=") == 1
    assert loaded(folder, "words", filter="whole", fewshot_seed=7).samples[5].prompt != base


def test_a_task_s_own_zero_examples_stay_zero_as_in_lm_eval(folder: Path) -> None:
    assert loaded(folder, "zero", num_fewshot=2).samples[5].prompt == "2 + 1 ="


def test_the_answer_is_what_the_filter_leaves_or_the_likeliest_option(
    folder: Path, logged: Mapping[str, list[dict[str, Any]]]
) -> None:
    for name, chosen in (("words", "number"), ("votes", "vote")):
        task = loaded(folder, name, metric="exact_match", filter=chosen)
        theirs = [row["filtered_resps"][0] for row in logged[name] if row["filter"] == chosen]
        own = [task.answer(sample, answers(sample.requests)) for sample in task.samples]
        assert own == [each[0] if isinstance(each, list) else each for each in theirs]
    task = loaded(folder, "options", metric="acc")
    for sample in task.samples:
        found = answers(sample.requests)
        answer, points = task.answer(sample, found), task.points(sample, found)
        choices = [request.continuation.strip() for request in sample.requests[:3]]
        assert (points == 100.0) is (choices.index(str(answer)) == int(sample.target))
    blanks = loaded(folder, "blanks")
    sample = blanks.samples[0]
    assert blanks.answer(sample, [(-3.0, True), (-9.0, True), (-2.0, False)]) == "2"
    last = loaded(folder, "last", metric="acc")
    assert last.answer(last.samples[0], [(-1.0, True)]) is None


def test_a_chat_has_a_system_message_and_one_of_the_user(folder: Path) -> None:
    task = loaded(folder, "words", filter="whole", chat=True, system="Be short.")
    (request,) = task.samples[0].requests
    assert (request.system, request.mode, request.prompt.count("=")) == ("Be short.", "chat", 3)
    assert json.loads(task.samples[0].prompt)[0] == {"role": "system", "content": "Be short."}


def test_a_group_s_tasks_are_asked_together_and_each_keeps_its_ids(folder: Path) -> None:
    group, one = loaded(folder, "both", metric="acc"), loaded(folder, "last", metric="acc")
    assert {sample.task for sample in group.samples} == {"options", "last"}
    assert {sample.id for sample in one.samples} < {sample.id for sample in group.samples}
    last = group.samples[-1]
    assert group.points(last, answers(last.requests)) == one.points(one.samples[-1], answers(last.requests))


def test_the_random_state_of_the_caller_comes_back(folder: Path) -> None:
    random.seed(3)
    expected = random.Random(3).random()
    loaded(folder, "last", metric="acc")
    assert random.random() == expected


@pytest.mark.parametrize(
    ("name", "options", "fault"),
    [
        ("words", {}, 'which score decides.*filter = "number".*filter = "whole"'),
        ("options", {}, 'metric = "acc", filter = "none"; metric = "acc_norm"'),
        ("options", {"filter": "loose"}, "which score decides"),
        ("both", {"metric": "acc_norm", "filter": "x"}, "which score decides"),
        ("code", {}, "runs the model's code"),
        ("seen", {}, "images or sounds"),
        ("endless", {}, "max_gen_toks is 0"),
        ("options", {"metric": "acc", "chat": True}, "which a chat cannot"),
        ("prefixed", {"chat": True}, "begins the answer itself"),
        ("words", {"include_path": "nowhere"}, "there is no such folder"),
    ],
)
def test_what_cannot_be_run_is_said(folder: Path, name: str, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadInput, match=fault):
        lm_eval_task(name, options=LmEvalOptions(**{"include_path": "."} | options), folder=folder)


def test_a_task_that_lm_eval_cannot_build_ends_the_evaluation(folder: Path) -> None:
    with pytest.raises(CannotEvaluate, match="lm-eval cannot load its task broken"):
        loaded(folder, "broken")


def test_a_missing_package_is_said_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(CannotEvaluate, match=r"pip install 'accgate\[lm-eval\]'"):
        lm_eval_task("arc_easy")


def test_a_metric_that_is_not_given_and_first_choices_that_are_not_told_are_errors(folder: Path) -> None:
    task = loaded(folder, "last", metric="made_up", scale=100.0)
    with pytest.raises(BadInput, match="gives no made_up,none; set metric and filter: perplexity,none, acc,none"):
        task.points(task.samples[0], [(-1.0, True)])
    last = loaded(folder, "last", metric="acc")
    with pytest.raises(CannotEvaluate, match="needs to know the model's first choices"):
        last.points(last.samples[0], [(-1.0, None)])
    with pytest.raises(CannotEvaluate, match=r"cannot score sample .*could not convert"):
        last.points(last.samples[0], [("text", True)])
    with pytest.raises(ValueError, match="2 responses to the 1 requests"):
        last.score(last.samples[0], [(-1.0, True)] * 2)


class Hashed:
    """An engine on the model of hashes."""

    concurrency = 4

    async def complete(self, request: Request) -> Reply:
        if request.prompt.startswith("fail"):
            raise RequestFailed("no")
        return Reply(None if request.prompt == "silent" else reply(request.prompt))

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        pairs = [(text, likelihood(request.prompt, text)) for text in continuations]
        return [LogProbs((text,), (total,), greedy) for text, (total, greedy) in pairs]


def test_an_engine_answers_every_request_in_its_order(folder: Path) -> None:
    for name, metric in (("options", "acc"), ("text", "bits_per_byte")):
        sample: LmEvalSample = loaded(folder, name, metric=metric).samples[0]
        found, replies = asyncio.run(responses_of(Hashed(), sample.requests, sample.id))  # type: ignore[arg-type]
        assert list(found) == answers(sample.requests)
        assert replies == ()
    found, replies = asyncio.run(responses_of(Hashed(), [LmEvalRequest("", 0, "2 + 2 =")], "a"))  # type: ignore[arg-type]
    assert (found, [one.text for one in replies]) == ((reply("2 + 2 ="),), [reply("2 + 2 =")])


@pytest.mark.parametrize("prompt", ["fail", "silent"])
def test_a_request_without_an_answer_fails_its_sample(prompt: str) -> None:
    with pytest.raises(RequestFailed):
        asyncio.run(responses_of(Hashed(), [LmEvalRequest("", 0, prompt)], "a"))  # type: ignore[arg-type]


def test_an_engine_that_cannot_score_is_said_with_what_can() -> None:
    engine: Any = SimpleNamespace(describe=lambda: EngineInfo("plain", "1", "cpu"))
    with pytest.raises(CannotEvaluate, match=r"the engine plain gives no log-likelihoods.*use vllm"):
        asyncio.run(responses_of(engine, [LmEvalRequest("", 0, "a", kind="score", continuation="b")], "a"))

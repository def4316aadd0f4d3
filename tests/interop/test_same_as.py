"""What the library says of itself, checked against lm-eval: the same rows give the same prompts and scores there."""

from __future__ import annotations

import importlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.engines import LogProbs
from accgate.tasks.choices import continuation, likeliest_option
from accgate.tasks.definition import library_file, library_names, read_definition
from accgate.tasks.sample import Sample
from accgate.tasks.task import Task
from tests.support.gates import write_lines
from tests.support.loading import load_task
from tests.tasks.dataset_rows import ARC, HELLASWAG, IFEVAL, MMLU, MMLU_PRO, MMLU_PRO_DEV, TRUTHFUL
from tests.tasks.test_library_rows import CASES

VERSION = "0.4.13"
Rows = Sequence[Mapping[str, Any]]
LONGBENCH = [name for name in library_names() if name.startswith("longbench_v1_")]
OTHER_SPACE = {f"longbench_v1_{name}" for name in (
    "samsum", "triviaqa", "lcc", "repobench-p", "passage_count", "passage_retrieval_en",
)}  # fmt: skip
# Their code loads a metric from the hub; tests/tasks/test_library_oracles.py compares prompts and, of mmmu, scores.
ELSEWHERE = {"humaneval", "humaneval_instruct", "mbpp", "mmmu"}


@dataclass(frozen=True)
class Twin:
    """A task file of lm-eval with rows for both, and replies that both score; of options the likelihoods are drawn."""

    file: str
    rows: Rows
    replies: Sequence[str] = ()
    metric: str | None = None
    filter: str | None = None
    split: str = "test"
    examples: Mapping[str, Rows] = field(default_factory=dict)
    choose: Any = None
    library: str = ""
    shots: int | None = None  # as --num_fewshot


def arc(numbered: bool) -> Rows:
    texts = (["tôle", "iron", "wool"], ["日本日本", "abcdef", "x", "wxyz"], ["a", "ab", "abc"])
    return [
        ARC
        | {"question": f"Which is {i}?", "answerKey": "12"[i % 2] if numbered else "AB"[i % 2]}
        | {"choices": {"text": own, "label": list("1234" if numbered else "ABCD")[: len(own)]}}
        for i, own in enumerate(texts)
    ]


SUMS: Rows = [{"question": f"{i} and {i}?", "answer": f"It is <<{i}+{i}>>.\n#### {2 * i}"} for i in range(6)]
SOLVED: Rows = [{"question": f"{i} and 9?", "answer": f"It is {i + 9}.\n#### {i + 9}"} for i in range(9)]
NUMBERS = [" It is 4.\n#### 4", " The answer is 6.", " 2 and 2 is 5", " none", " 8\n"]
QUIZ: Rows = [MMLU | {"question": f" What is {i}? ", "answer": i % 4, "subject": "abstract_algebra"} for i in range(3)]
DEV: Rows = [MMLU | {"question": f"Dev {i}?", "answer": i % 4, "subject": "abstract_algebra"} for i in range(5)]
PRO = MMLU_PRO | {"category": "biology"}
PRO_DEV = [row for row in MMLU_PRO_DEV if row["category"] == "biology"]
TWINS = {
    "arc_easy": Twin("arc/arc_easy.yaml", arc(True), metric="acc_norm"),
    "arc_challenge": Twin("arc/arc_challenge.yaml", arc(False), metric="acc_norm"),
    "hellaswag": Twin(
        "hellaswag/hellaswag.yaml",
        [HELLASWAG | {"ctx_a": f"Scene {i}", "label": str(i), "endings": ["été " * 3, "is b", "日" * 5, "[x] d"]}
         for i in range(4)],
        metric="acc_norm", split="validation", examples={"train": [HELLASWAG]},
    ),
    "truthfulqa_mc1": Twin(
        "truthfulqa/truthfulqa_mc1.yaml",
        [TRUTHFUL | {"question": f"Is {'x' * i} green?"} for i in range(4)], metric="acc", split="validation",
    ),
    "gsm8k": Twin("gsm8k/gsm8k.yaml", SUMS, NUMBERS, filter="flexible-extract", examples={"train": SOLVED}),
    "gsm8k_cot": Twin("gsm8k/gsm8k-cot.yaml", SUMS, NUMBERS, filter="flexible-extract"),
    "mmlu": Twin(
        "mmlu/generative/mmlu_abstract_algebra.yaml", QUIZ, [" B", "B", "B.", " C\n", "A", "none"],
        metric="exact_match", examples={"dev": DEV}, shots=5,
    ),
    "mmlu by likelihood": Twin(
        "mmlu/default/mmlu_abstract_algebra.yaml", QUIZ, metric="acc", examples={"dev": DEV},
        choose="likelihood", library="mmlu", shots=5,
    ),
    "mmlu_pro": Twin(
        "mmlu_pro/mmlu_pro_biology.yaml",
        [PRO | {"question": f"What is {i}?", "options": ["w", " x ", "y", *"z" * i]} for i in range(8)],
        [" It is x, so the answer is (C).", "the answer is B", "the answer is C.", "no idea", ""],
        metric="exact_match", filter="custom-extract", examples={"validation": PRO_DEV},
    ),
    "ifeval": Twin(
        "ifeval/ifeval.yaml", [IFEVAL], ["one two three", "one, two three", "one", "", " \n"],
        metric="prompt_level_strict_acc", split="train",
    ),
    **{
        name: Twin(
            f"longbench/{name.removeprefix('longbench_v1_')}.yaml",
            [{**row, "question": row["input"]} for row in CASES[name].rows],
            [CASES[name].right, CASES[name].wrong, "", "Paragraph 7 of 12", "A red fox ran. No cat."], metric="score",
        )
        for name in LONGBENCH
    },
}  # fmt: skip

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lm-eval's own task files, each with our rows in place of the hub's."""
    lm_eval = pytest.importorskip("lm_eval")
    if metadata.version("lm_eval") != VERSION:
        pytest.skip(f"the library compares itself with lm_eval {VERSION}")
    folder, tasks = tmp_path_factory.mktemp("same_as"), Path(lm_eval.__file__).parent / "tasks"
    for name, twin in TWINS.items():
        splits = {"train": twin.rows, "validation": twin.rows, twin.split: twin.rows, **twin.examples}
        files = {split: str(write_lines(folder / f"{name}.{split}.jsonl", rows)) for split, rows in splits.items()}
        own = {"include": str(tasks / twin.file), "task": their_name(name), "dataset_path": "json"}
        text = json.dumps(own | {"dataset_name": None, "dataset_kwargs": {"data_files": files}})
        (folder / f"{name}.yaml").write_text(text)
    return folder


def their_name(name: str) -> str:
    """What lm-eval's task is called here: not as its own, which would be looked for among all of them."""
    return f"their_{name.replace(' ', '_')}"


def _ours(name: str, twin: Twin, folder: Path) -> Task:
    examples = [write_lines(folder / f"{name}.examples.jsonl", rows) for rows in twin.examples.values()]
    few_shot = examples[0] if examples and name != "hellaswag" else None
    rows = write_lines(folder / f"{name}.rows.jsonl", twin.rows)
    return load_task(twin.library or name, dataset=rows, few_shot=few_shot, choose=twin.choose)


@pytest.mark.parametrize("name", list(TWINS))
def test_the_same_rows_give_the_same_prompts_and_scores_as_lm_eval(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from accgate.tasks.lm_eval.loading import LmEvalOptions
    from accgate.tasks.lm_eval.task import lm_eval_task

    monkeypatch.setenv("LOCAL_RANK", "1")  # rank 0 would download nltk's data for IFEval
    if name.startswith("longbench"):
        try:
            importlib.import_module("lm_eval.tasks.longbench.metrics")
        except ImportError as error:
            pytest.skip(f"the harness's longbench needs {error.name}")
    twin = TWINS[name]
    ours = _ours(name, twin, folder)
    options = LmEvalOptions(
        metric=twin.metric, filter=twin.filter, include_path=str(folder), scale=100.0, num_fewshot=twin.shots
    )
    theirs = lm_eval_task(their_name(name), options=options)
    pairs = {_bare(name, sample.requests[0].prompt): sample for sample in theirs.samples}
    assert {_bare(name, sample.prompt) for sample in ours.samples} == set(pairs)
    draw = random.Random(name)
    for sample in ours.samples:
        their = pairs[_bare(name, sample.prompt)]
        if ours.by_likelihood:
            for _ in range(40):
                assert _likeliest(ours, sample, their, theirs, draw), (name, sample.prompt)
        for reply in twin.replies:
            answer = ours.answer(reply, sample)
            points = ours.metric.worst if answer is None else ours.score(answer, sample.target)
            assert points == pytest.approx(theirs.points(their, (_ended(reply, their),))), (name, reply)
        if twin.replies:
            assert set(their.requests[0].stop) <= {*ours.content.stop, "\n"} or not ours.content.stop


def _bare(name: str, prompt: str) -> str:
    """A prompt without the white space in which the library keeps to what LongBench publishes."""
    return re.sub(r"\s+", "", prompt) if name in OTHER_SPACE else prompt.strip("\n")


def _ended(reply: str, their: Any) -> str:
    """The reply as far as lm-eval asks for it; LongBench itself takes the first line that is not empty."""
    for stop in their.requests[0].stop:
        reply = reply.lstrip("\n").partition(stop)[0]
    return reply


def _likeliest(ours: Task, sample: Sample, their: Any, theirs: Any, draw: random.Random) -> bool:
    """Whether both find the same option likeliest, or both the same to be right, at drawn log-likelihoods."""
    assert ours.content.choices is not None
    texts = {continuation(ours.content.choices, option): draw.uniform(-9.0, -1.0) for option in sample.options}
    assert set(texts) == {request.continuation for request in their.requests}
    scores = [LogProbs((text,), (value,)) for text, value in texts.items()]
    label = likeliest_option(ours.content.choices, sample.options, scores).label
    assert label is not None
    responses = tuple((texts[request.continuation], False) for request in their.requests)
    return ours.score(label, sample.target) == theirs.points(their, responses)


def test_every_task_says_what_it_is_the_same_as_and_every_such_word_about_lm_eval_is_checked() -> None:
    said = {name: read_definition(library_file(name)).content.same_as for name in library_names()}
    assert [name for name, text in said.items() if not text] == []
    of_lm_eval = {name for name, text in said.items() if text.startswith("lm-eval ")}
    assert [name for name in of_lm_eval if not said[name].startswith(f"lm-eval {VERSION} `")] == []
    assert of_lm_eval == {twin.library or name for name, twin in TWINS.items()} | ELSEWHERE
    for name in of_lm_eval:
        assert ("white space" in said[name]) == (name in OTHER_SPACE), name

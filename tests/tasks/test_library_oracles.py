"""The library's prompts against lm-evaluation-harness's task files, its scores against the benchmarks' own code."""

import importlib
import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from accgate.tasks.choices import options_of
from accgate.tasks.definition import library_file, library_names, read_definition
from accgate.tasks.prompts import Scope, render
from tests.metrics.readings import harness_tasks
from tests.support.cases import each
from tests.tasks.dataset_rows import MBPP_PROMPT, MMLU, MMLU_DEV, MMMU_ROW
from tests.tasks.test_library_rows import CASES

LONGBENCH = [name for name in library_names() if name.startswith("longbench_v1_")]


@pytest.fixture(scope="module")
def harness() -> Path:
    return harness_tasks()


def task_file(path: Path) -> dict[str, Any]:
    """A task file as it lies there; functions that it names are left out."""
    yaml = pytest.importorskip("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc,name-defined]
        pass

    Loader.add_constructor("!function", lambda _loader, _node: None)
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader)
    return loaded


def ours(name: str, row: dict[str, Any], examples: Any = (), by: str = "likelihood") -> str:
    content = read_definition(library_file(name)).content
    options = () if content.choices is None else options_of(content.choices, Scope(row))
    names = {"by": by, "options": [{"label": option.label, "text": option.text} for option in options]}
    return render(content.prompt, Scope(row, examples, names))


@each(
    ("name", "file"),
    [
        ("arc_challenge", "arc/arc_easy.yaml"),
        ("arc_easy", "arc/arc_easy.yaml"),
        ("truthfulqa_mc1", "truthfulqa/truthfulqa_mc1.yaml"),
        ("humaneval", "humaneval/humaneval.yaml"),
        ("humaneval_instruct", "humaneval/humaneval_instruct.yaml"),
    ],
)
def test_prompts_are_those_of_the_harness(harness: Path, name: str, file: str) -> None:
    (row,) = CASES[name].rows
    assert ours(name, row) == render(task_file(harness / file)["doc_to_text"], Scope(row))


def test_solved_examples_of_mmlu_stand_as_in_the_harness(harness: Path) -> None:
    asked = task_file(harness / "mmlu/default/_default_template_yaml")["doc_to_text"]
    description = task_file(harness / "mmlu/default/mmlu_abstract_algebra.yaml")["description"]
    solved = [row for row in MMLU_DEV if row["subject"] == "abstract_algebra"]
    shots = [f"{render(asked, Scope(row))} {'ABCD'[row['answer']]}\n\n" for row in solved]
    assert ours("mmlu", MMLU, MMLU_DEV) == description + "".join(shots) + render(asked, Scope(MMLU))


def test_solved_examples_of_gsm8k_cot_stand_as_in_the_harness(harness: Path) -> None:
    file = task_file(harness / "gsm8k/gsm8k-cot.yaml")
    (row,) = CASES["gsm8k_cot"].rows
    shots = [f"Q: {shot['question']}\nA: {shot['target']}\n\n" for shot in file["fewshot_config"]["samples"]]
    content = read_definition(library_file("gsm8k_cot")).content
    assert ours("gsm8k_cot", row, content.few_shot.examples) == "".join(shots) + render(file["doc_to_text"], Scope(row))
    assert len(shots) == 8


def test_solved_examples_of_mbpp_stand_as_in_the_harness(harness: Path) -> None:
    asked = task_file(harness / "mbpp/mbpp.yaml")["doc_to_text"]
    (row,) = CASES["mbpp"].rows
    shots = [f"{render(asked, Scope(shot))}\n{shot['code']}\n[DONE]\n\n" for shot in MBPP_PROMPT[1:4]]
    assert ours("mbpp", row, MBPP_PROMPT) == "".join(shots) + render(asked, Scope(row)) + "\n"


@each("name", LONGBENCH)
def test_longbench_asks_and_ends_replies_as_the_harness_but_for_white_space(harness: Path, name: str) -> None:
    file = task_file(harness / "longbench" / f"{name.removeprefix('longbench_v1_')}.yaml")
    (row,) = CASES[name].rows
    theirs = render(file["doc_to_text"], Scope({**row, "question": row["input"]}))
    assert ours(name, row).split() == theirs.split()
    assert read_definition(library_file(name)).content.max_tokens == file["generation_kwargs"]["max_gen_toks"]


def their_code(name: str) -> Any:
    pytest.importorskip("lm_eval")
    try:
        return importlib.import_module(f"lm_eval.tasks.{name}")
    except ImportError as error:
        pytest.skip(f"the harness's {name} needs {error.name}")


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_hellaswag_is_cleaned_as_the_harness_cleans_it() -> None:
    clean = their_code("hellaswag.utils").preprocess
    (row,) = CASES["hellaswag"].rows
    content = read_definition(library_file("hellaswag")).content
    assert content.choices is not None
    rng = random.Random(0)
    for _ in range(200):
        texts = ["".join(rng.choices(["a", " ", "[step]", " [title]", "[x y]", "].", "B "], k=8)) for _ in range(6)]
        new = {**row, "activity_label": texts[0], "ctx_a": texts[1], "endings": texts[2:]}
        query = clean(f"{new['activity_label']}: {new['ctx_a']} {new['ctx_b'].capitalize()}")
        assert ours("hellaswag", new) == query, new
        assert [option.text for option in options_of(content.choices, Scope(new))] == [
            clean(text) for text in texts[2:]
        ]


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_mmmu_scores_as_its_own_code() -> None:
    theirs = their_code("mmmu.utils")
    from accgate.metrics import mmmu

    theirs.random.choice = lambda _: None  # we draw no letter where none is found
    options = ["cat", "the dog", "12", "A big one"]
    rng = random.Random(1)
    words = ["(A)", "(B)", " A ", "B", "C.", "so", "the answer is", "the dog", "12", "1,200", "=", ". The", "\n", "x",
             "3e2", "is", "-4.56", ":", "cat"]  # fmt: skip
    for _ in range(500):
        reply = " ".join(rng.choices(words, k=rng.randint(1, 8)))
        asked = {**MMMU_ROW, "options": repr(options), "answer": rng.choice("ABCD")}
        target = {key: asked[key] for key in ("question_type", "options", "answer")}
        wanted = theirs.process_results(asked, [reply])["acc"]
        assert mmmu.mmmu(reply, json.dumps(target), as_published=True) == 100 * wanted, (reply, asked["answer"])
        open_ = {"question_type": "open", "options": "[]", "answer": rng.choice(["12", "cat", "x", "1200", "-4.56"])}
        assert mmmu.mmmu(reply, json.dumps(open_)) == 100 * theirs.process_results(open_, [reply])["acc"], reply


def awkward_texts(seed: int, alphabet: list[str], count: int) -> Iterator[str]:
    rng = random.Random(seed)
    yield from ("", " ", ".", "...", "a", "A\n\n b", "é e\u0301")
    for _ in range(count):
        yield "".join(rng.choices(alphabet, k=rng.randint(0, 30)))


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_longbench_scores_as_its_own_code() -> None:
    theirs = their_code("longbench.metrics")
    from accgate import metrics
    from accgate.metrics import longbench

    english = ["the ", "cat ", "a ", "sat", ". ", ", ", "\n", " 12 ", "3 ", "Cat", "#x", "`", "//", "= ", "return "]
    chinese = ["狐狸", "红色", "的", "。", "\uff0c", "跑", "《", " ", "了", "12", "Cat"]
    pairs = {
        "squad_f1": (theirs.qa_f1_score, english, {}),
        "longbench_f1_zh": (theirs.qa_f1_zh_score, chinese, {}),
        "longbench_rouge_l": (theirs.rouge_score, english, {"language": "en"}),
        "number_share": (theirs.count_score, english, {}),
        "code_line_similarity": (theirs.code_sim_score, english, {}),
    }
    assert longbench.code_line_similarity("#\n \nx", "x") == 100 * theirs.code_sim_score("#\n \nx", "x") == 100.0
    for name, (score, alphabet, options) in pairs.items():
        texts = list(awkward_texts(3, alphabet, 300))
        for left, right in pairwise(texts):
            assert metrics.get(name, **options)(left, right) == pytest.approx(100 * score(left, right)), (left, right)
    texts = list(awkward_texts(4, chinese, 100))
    rouge = metrics.get("longbench_rouge_l", language="zh")
    for left, right in pairwise(texts):
        assert rouge(left, right) == pytest.approx(100 * theirs.rouge_zh_score(left, right)), (left, right)
    classes = ["animal", "animal food", "food", "cat", "Cat"]
    for text in awkward_texts(5, [*classes, " "], 300):
        for label in classes:
            wanted = 100 * theirs.classification_score(text, label, all_classes=classes)
            target = json.dumps({"label": label, "classes": classes})
            assert longbench.class_named(text, target) == pytest.approx(wanted), (text, label)
            assert theirs.retrieval_score("Paragraph 3", "Paragraph 3") == 1.0

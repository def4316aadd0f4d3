"""Each task of the library over rows of its dataset's published schema: prompt, extraction and score."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accgate.engines import LogProbs
from accgate.errors import BadInput, CannotEvaluate
from accgate.metrics.kinds import perplexity
from accgate.records.scores import scores_of_rows
from accgate.references.store import Reference, ReferenceFile, mismatch
from accgate.sandbox.assertions import split_program, without_literals
from accgate.tasks.choices import continuation, likeliest_option, options_of
from accgate.tasks.definition import library_file, library_names, read_definition
from accgate.tasks.prompts import Scope, render
from accgate.tasks.sample import Sample
from accgate.tasks.schema import DefinitionFile
from accgate.tasks.task import Task
from docs.library_table import PAGE, with_table
from tests.support.cases import each
from tests.support.gates import write_lines
from tests.support.loading import load_task
from tests.tasks.dataset_rows import Row
from tests.tasks.test_library_rows import CASES, GENERATED

CODE = ("humaneval", "humaneval_instruct", "mbpp")
MULTIPLE_CHOICE = tuple(name for name in CASES if "[choices]" in library_file(name).read_text(encoding="utf-8"))
RUN = ("humaneval_plus", "mbpp_plus", "livecodebench")  # tests/sandbox/test_library_programs.py runs them
OTHER = ("slimpajama", "simpleqa", "wmt16_en_de_ter")
PLAIN = tuple(name for name in CASES if name not in (*CODE, *RUN, *MULTIPLE_CHOICE, *OTHER))


LOADED: dict[tuple[str, str], Task] = {}


def content_of(name: str) -> DefinitionFile:
    return read_definition(library_file(name)).content


def written(path: Path, rows: list[Row]) -> Path:
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    else:
        write_lines(path, rows)
    return path


def loaded(name: str, folder: Path, **arguments: Any) -> Task:
    """The task over its case's rows as local files, as `dataset` in accuracy.toml names them."""
    key = (name, repr(arguments))
    if key in LOADED:
        return LOADED[key]
    case = CASES[name]
    ending = "parquet" if content_of(name).images else "jsonl"
    few_shot = written(folder / "examples.jsonl", list(case.examples)) if case.examples else None
    rows = written(folder / f"rows.{ending}", list(case.rows))
    try:
        return LOADED.setdefault(key, load_task(name, dataset=rows, few_shot=few_shot, **arguments))
    except CannotEvaluate as error:
        if "needs" in str(error):
            pytest.skip(str(error))
        raise


def points(task: Task, reply: str, sample: Sample | None = None) -> float | None:
    """The score of a reply to a sample, by default the first; the worst where no answer is found in it."""
    sample = sample or task.samples[0]
    answer = task.answer(reply, sample)
    return task.metric.worst if answer is None else task.score(answer, sample.target)


def exit_code(program: str) -> int:
    return subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=False).returncode


@each("name", list(CASES))
def test_the_prompt_shows_the_row_as_the_benchmark_asks_it(name: str, tmp_path: Path) -> None:
    task, case = loaded(name, tmp_path), CASES[name]
    assert len(task.samples) == 1
    prompt, place = task.samples[0].prompt, 0
    for part in case.shown:
        assert part in prompt[place:], (part, prompt[place:])
        place = prompt.index(part, place) + len(part)
    if case.target is not None:
        assert task.samples[0].target.startswith(case.target)
    assert "{{" not in prompt.replace("{{ text }}", "")


@each("name", PLAIN)
def test_a_right_reply_scores_best_and_a_wrong_one_worst(name: str, tmp_path: Path) -> None:
    task, case = loaded(name, tmp_path), CASES[name]
    assert points(task, case.right) == pytest.approx(task.metric.best)
    assert points(task, case.wrong) == task.metric.worst
    assert points(task, "") == task.metric.worst


@each("name", MULTIPLE_CHOICE)
def test_a_multiple_choice_is_scored_by_the_letter_in_the_reply(name: str, tmp_path: Path) -> None:
    if content_of(name).aggregate is not None:
        with pytest.raises(BadInput, match="which needs a table"):
            loaded(name, tmp_path, choose="letter")
        return
    task, case = loaded(name, tmp_path, choose="letter"), CASES[name]
    sample = task.samples[0]
    assert all(option.text in sample.prompt and option.label in sample.prompt for option in sample.options)
    assert (points(task, case.right), points(task, case.wrong), points(task, "")) == (100.0, 0.0, 0.0)


@each("name", MULTIPLE_CHOICE)
def test_a_multiple_choice_is_scored_by_the_likeliest_option(name: str, tmp_path: Path) -> None:
    task = loaded(name, tmp_path, choose="likelihood")
    sample, choices = task.samples[0], task.content.choices
    assert choices is not None
    asked = [continuation(choices, option) for option in sample.options]
    assert all(text.startswith(" ") and len(text) > 1 for text in asked)
    assert content_of(name).mode == "chat" or sample.prompt.endswith(":") or name == "hellaswag"
    for place, option in enumerate(sample.options):
        scores = [LogProbs(("",), (-1.0 if here == place else -99.0,)) for here in range(len(asked))]
        label = likeliest_option(choices, sample.options, scores).label
        assert task.score(label or "", sample.target) == (100.0 if option.label == sample.target else 0.0)


def test_a_reference_of_a_task_that_was_written_anew_says_how_it_is_asked_as_before(tmp_path: Path) -> None:
    (question,) = CASES["gsm8k"].rows
    rows = written(tmp_path / "rows.jsonl", [question])
    pool = written(tmp_path / "pool.jsonl", list(CASES["gsm8k"].examples))
    before, now = load_task("gsm8k", library="gsm8k_cot", dataset=rows), load_task("gsm8k", dataset=rows, few_shot=pool)
    about = ReferenceFile(model="m", task="gsm8k", mean=0.0, n=1, sigma=None, fingerprint=dict(before.fingerprint))
    scores = scores_of_rows([before.samples[0].id], [0.0], (), "it")
    reference = Reference(tmp_path / "gsm8k.toml", about, scores)
    assert mismatch(reference, before) is None
    assert 'write library = "gsm8k_cot" into its table, which asks as before' in str(mismatch(reference, now))
    with pytest.raises(BadInput, match='or write library = "gsm8k_cot": it has its own examples'):
        load_task("gsm8k", dataset=rows)


@pytest.mark.parametrize("name", CODE)
def test_a_program_of_the_right_reply_ends_well_and_one_of_the_wrong_reply_does_not(name: str, tmp_path: Path) -> None:
    task, case = loaded(name, tmp_path), CASES[name]
    assert task.metric.kind == "code"
    codes = []
    for reply in (case.right, case.wrong):
        code = task.answer(reply, task.samples[0]) or ""
        codes.append(exit_code(task.samples[0].target.replace("<<answer>>", code)))
        tests = without_literals(split_program(task.samples[0].program, code)[1])
        assert tests is not None
        assert tests.assertions, "decided outside the program's process"
    assert codes == [0, 1]
    assert not task.answer("", task.samples[0])


def test_slimpajama_scores_long_texts_alone_and_lower_is_better(tmp_path: Path) -> None:
    task = loaded("slimpajama", tmp_path)
    sample = task.samples[0]
    assert (sample.user, len(sample.target)) == ("", 65_536)
    assert (task.metric.kind, task.metric.higher_is_better) == ("likelihood", False)
    likely, unlikely = (perplexity(total, tokens=10, text=sample.target) for total in (-1.0, -50.0))
    assert likely is not None
    assert unlikely is not None
    assert task.metric.best == 1.0 < likely < unlikely


@each("name", list(GENERATED))
def test_a_generated_task_scores_its_own_target_best(name: str) -> None:
    content = content_of(name)
    options = {} if content.dataset.options else {"length": 200} if name == "passkey_retrieval" else {}
    task = load_task(name, count=2, options=options)
    target = task.samples[0].target
    assert task.answer(target, task.samples[0]) is not None
    assert points(task, target) == task.metric.best == 100.0
    assert points(task, GENERATED[name]) == task.metric.worst


@pytest.mark.parametrize(("name", "length"), [("passkey_retrieval_64k", 65_536), ("passkey_retrieval_128k", 131_072)])
def test_a_long_text_hides_its_pass_key_once_said_twice(name: str, length: int) -> None:
    (sample,) = load_task(name, count=1).samples
    assert sample.prompt.count(sample.target) == 2
    assert length - 100 < len(sample.prompt.replace(".", " .").split()) < length + 100


def test_mmmu_sends_the_images_it_has_and_scores_open_answers(tmp_path: Path) -> None:
    row = {**CASES["mmmu"].rows[0], "question_type": "open", "options": "[]", "answer": "['24', 'a day']"}
    task = load_task("mmmu", dataset=written(tmp_path / "rows.parquet", [row]))
    assert [image[:22] for image in task.samples[0].images] == ["data:image/png;base64,"]
    assert task.samples[0].prompt.startswith("How many sides has <image 1>?\n\nAnswer the question using a single word")
    assert [points(task, reply) for reply in ("So it is 24.", "a day", "42")] == [100.0, 100.0, 0.0]


@each("name", [name for name in CASES if name not in GENERATED])
def test_a_definition_of_a_dataset_says_which_commit_or_to_pin_it(name: str) -> None:
    dataset, text = content_of(name).dataset, library_file(name).read_text(encoding="utf-8")
    pinned = dataset.revision or str(dataset.options)
    unpinned = ("json_mode_eval", "wmt16_en_de", "wmt16_en_de_ter")
    assert len(dataset.revision or "") == 40 or "/" in pinned or name in unpinned, name
    assert "pin it" in text or "/main/" not in str(dataset.options)


def test_the_page_has_the_table_that_the_definitions_give() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "run: python -m docs.library_table"
    assert all(f"\n| [`{name}`](../accgate/tasks/library/{name}.toml) | " in page for name in library_names())
    assert f"## All {len(library_names())} tasks" in page
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"({len(library_names())} tasks)" in readme
    with pytest.raises(ValueError, match="each once"):
        with_table(page.replace("<!-- end of the library -->", ""))


OF_SHARES = {
    "gpqa_diamond": 198, "humaneval": 164, "json_mode_eval": 100, "longbench_v2": 215, "mmlu": 4096, "mmmu": 900,
}  # fmt: skip


@each(
    ("name", "num_samples", "sigma", "alpha"),
    [
        ("cnn_dailymail", 512, 11.06, 0.002),
        ("slimpajama", 86, 4.48, 0.01),
        ("zero_scrolls_squality", 80, 6.97, 0.002),
        *((name, 1319, 50.0, 0.05) for name in ("gsm8k", "gsm8k_cot")),
        *((name, 20, 0.0, None) for name in ("passkey_retrieval_64k", "passkey_retrieval_128k")),
        *((name, n, 50.0, 0.05) for name, n in OF_SHARES.items()),
    ],
)
def test_defaults_are_those_of_tensorrt_llm(name: str, num_samples: int, sigma: float, alpha: float | None) -> None:
    content = content_of(name)
    assert (content.num_samples, content.sigma, content.alpha) == (num_samples, sigma, alpha)
    assert content.beta == (None if alpha is None else 0.2)


def test_longbench_has_21_tasks_of_4750_samples_and_zero_scrolls_10() -> None:
    contents = [content_of(name) for name in library_names() if name.startswith("longbench_v1_")]
    assert (len(contents), sum(content.num_samples or 0 for content in contents)) == (21, 4750)
    assert sum(name.startswith("zero_scrolls_") for name in library_names()) == 10


@each("length", range(1, 9))
def test_the_right_option_stands_where_the_target_says_for_any_question(length: int) -> None:
    choices = {"choices": ["x", "true", "y", "x"], "labels": [0, 1, 0, 0]}
    truthful: Row = {"question": "q" * length, "mc1_targets": choices}
    wrong = {f"Incorrect Answer {i}": "no" for i in (1, 2, 3)}
    gpqa = {"Question": "q" * length, "Correct Answer": "true", **wrong}
    for name, row in (("truthfulqa_mc1", truthful), ("gpqa_diamond", gpqa)):
        content = content_of(name)
        assert content.choices is not None
        assert content.target is not None
        texts = {option.label: option.text for option in options_of(content.choices, Scope(row))}
        assert sorted(texts) == ["A", "B", "C", "D"]
        assert texts[render(content.target, Scope(row))] == "true"
        assert render(content.target, Scope(row)) == "ABCD"[length % 4]

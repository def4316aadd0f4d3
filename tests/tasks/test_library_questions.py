"""The library's questions: asked, read and scored as the tools do that their files name."""

import json
import random
import re
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.task import Task
from tests.metrics.readings import their_drop
from tests.support.cases import each
from tests.support.loading import load_task
from tests.tasks.dataset_rows import AIME, DROP, GPQA, MATH, MGSM, MMLU_PRO, MMLU_PRO_DEV, SQUAD, TRANSLATION
from tests.tasks.test_library import points, written


def task_of(name: str, folder: Path, row: dict[str, object]) -> Task:
    few_shot = written(folder / "examples.jsonl", MMLU_PRO_DEV) if name == "mmlu_pro" else None
    return load_task(name, dataset=written(folder / "rows.jsonl", [row]), few_shot=few_shot)


def authors_letter(text: str) -> str | None:
    """MMLU-Pro's evaluate_from_api.py: three patterns, the first that is there."""
    for pattern in (r"answer is \(?([A-J])\)?", r".*[aA]nswer:\s*([A-J])", r"(?s)\b([A-J])\b(?!.*\b[A-J]\b)"):
        if match := re.search(pattern, text):
            return match[1]
    return None


ALIKE = [
    "The answer is (C).", "the answer is C", "So the answer is (D).", "Answer: C", "Hence\nanswer: D.", "**Answer: C**",
    "It is argon, so the answer is (C)", "none", "C", "(C)", "It must be C.",
]  # fmt: skip
OTHERWISE = {  # the reply: what the authors' patterns read, and what is read here
    "The answer is (A)? No: the answer is (C).": ("A", "C"),
    "The answer is \\boxed{C}.": ("C", "C"),
    "The answer is **C**.": ("C", "C"),
    "A student would say argon.": ("A", None),
    "I do not know.": ("I", None),
}


def test_mmlu_pro_reads_the_letters_that_its_authors_read_but_for_these(tmp_path: Path) -> None:
    task = task_of("mmlu_pro", tmp_path, MMLU_PRO)
    sample = task.samples[0]
    for reply in ALIKE:
        assert task.answer(reply, sample) == authors_letter(reply), reply
    for reply, letters in OTHERWISE.items():
        assert (authors_letter(reply), task.answer(reply, sample)) == letters, reply


def test_gpqa_is_asked_as_simple_evals_asks_and_reads_what_it_reads(tmp_path: Path) -> None:
    task = task_of("gpqa_diamond", tmp_path, GPQA)
    sample = task.samples[0]
    template = (  # QUERY_TEMPLATE_MULTICHOICE of openai/simple-evals, common.py
        "Answer the following multiple choice question. The last line of your response should be of the following "
        "format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. Think step by step before answering."
        "\n\n{Question}\n\nA) {A}\nB) {B}\nC) {C}\nD) {D}"
    )
    options = {option.label: option.text for option in sample.options}
    assert sample.prompt.rstrip("\n") == template.format(Question=GPQA["Question"], **options)
    for reply in ("Answer: C", "So.\n\nAnswer: C", "answer : C", "Answer: $C$", "Answer: B", "Answer:C because"):
        match = re.search(r"(?i)Answer[ \t]*:[ \t]*\$?([A-D])\$?", reply)
        assert match is not None
        assert task.answer(reply, sample) == match[1].upper(), reply


BOXES = {  # replies by the right answer that they give
    "\\frac{1}{2}": ["\\boxed{\\frac12}", "$\\boxed{0.5}$", "\\boxed{1/3}, no: \\boxed{\\dfrac{2}{4}}"],
    "033": ["\\boxed{033}.", "\\boxed{m+n=33}", "\\boxed{\\textbf{33}}"],
    "neither": ["\\boxed{330}"],
    "none": ["It is 33, or 1/2.", "\\boxed{33", "\\boxed{}", ""],
}


@each(("name", "row"), [("math_500", MATH), ("aime_2024", AIME), ("aime_2025", AIME)])
def test_a_mathematical_answer_is_what_the_last_box_holds(name: str, row: dict[str, object], tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    task = task_of(name, tmp_path, row)
    for answer, replies in BOXES.items():
        for reply in replies:
            assert points(task, reply) == 100.0 * (answer == row["answer"]), reply
            # A reply without a box counts as unread.
            assert (task.answer(reply, task.samples[0]) is None) == (answer == "none"), reply


def test_a_question_of_squad_without_an_answer_is_right_only_without_one(tmp_path: Path) -> None:
    task = task_of("squad_v2", tmp_path, SQUAD | {"answers": {"text": [], "answer_start": []}})
    assert json.loads(task.samples[0].target) == [""]
    assert [points(task, reply) for reply in ("Unanswerable.", "Denmark", "not known")] == [100.0, 0.0, 0.0]
    answered = task_of("squad_v2", tmp_path, SQUAD)
    assert points(answered, "in Denmark") == pytest.approx(200 / 3)


def test_the_right_answers_of_drop_are_those_of_lm_evals_copy_of_its_script(tmp_path: Path) -> None:
    theirs, draw = their_drop(), random.Random(0)
    dates = [{"day": "", "month": "", "year": ""}, {"day": "4", "month": "May", "year": "1789"}]
    for _ in range(50):
        answers = [
            {"number": draw.choice(["", "", "0", "12"]), "date": draw.choice(dates)}
            | {"spans": draw.choice([[], ["Rome"], ["Rome", "Paris"]])}
            for _ in range(draw.randint(1, 4))
        ]
        validated = {key: [answer[key] for answer in answers[1:]] for key in ("number", "date", "spans")}
        row = DROP | {"answer": answers[0], "validated_answers": validated}
        target = json.loads(task_of("drop", tmp_path, row).samples[0].target)
        assert target == [list(answer) for answer in theirs.get_answers(row)]
        listed = task_of("drop", tmp_path, row | {"validated_answers": answers[1:]})
        assert json.loads(listed.samples[0].target) == target


def test_the_answer_of_drop_is_its_last_line(tmp_path: Path) -> None:
    task = task_of("drop", tmp_path, DROP)
    replies = {
        "Answer: Rome\nNo.\nAnswer: Rome; Paris": 100.0, "answer: 2.": 100.0, "ANSWER : May 4, 1789": 100.0,
        "Answer: Rome": 50.0, "Rome; Paris": 0.0, "Answer: ": 0.0, "**Answer**: Rome; Paris": 100.0,
        "**Answer:** $\\boxed{2}$": 100.0,
    }  # fmt: skip
    for reply, share in replies.items():
        assert points(task, reply) == share, reply


def test_a_translation_is_scored_by_its_sentence_and_edits_are_better_where_fewer(tmp_path: Path) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    row, reply = TRANSLATION[0], "Das ist ein Haus am kleinen See."
    chrf, ter = (task_of(name, tmp_path, row) for name in ("wmt16_en_de", "wmt16_en_de_ter"))
    target = chrf.samples[0].target
    assert points(chrf, reply) == sacrebleu.sentence_chrf(reply, [target]).score
    assert points(ter, reply) == sacrebleu.TER().sentence_score(reply, [target]).score
    assert (ter.metric.higher_is_better, points(ter, target), points(ter, "")) == (False, 0.0, 100.0)


PREFIXES = {  # LANG_TO_ANSWER_PREFIX of openai/simple-evals, mgsm_eval.py
    "bn": "উত্তর", "de": "Antwort", "en": "Answer", "es": "Respuesta", "fr": "Réponse", "ja": "答え", "ru": "Ответ",
    "sw": "Jibu", "te": "సమాధానం", "th": "คำตอบ", "zh": "答案",
}  # fmt: skip


def their_points(reply: str, prefix: str, target: str) -> float:
    """parse_answer and score_mgsm of the same file."""
    if prefix not in reply:
        return 0.0
    numbers = re.findall(r"\d+\.?\d*", reply.rsplit(prefix, maxsplit=1)[-1].strip().replace(",", ""))
    said = numbers[-1].rstrip(".") if numbers else ""
    return 100.0 * (target == (said.rstrip("0").rstrip(".") if "." in said else said))


def test_mgsm_asks_in_each_language_and_scores_as_simple_evals(tmp_path: Path) -> None:
    assert read_definition(library_file("mgsm")).content.dataset.subsets == tuple(PREFIXES)
    for language, prefix in PREFIXES.items():
        task = task_of("mgsm", tmp_path, MGSM | {"subset": language})
        (sample,) = task.samples
        instruction, _, question = sample.prompt.partition("\n\n")
        assert prefix in instruction
        assert (question, sample.group) == (MGSM["question"], language)
        for said in ("18", "18.", "18.0", "**18**", "$18", "17", "180", "1018", "20 - 2 = 18"):
            reply = f"17 + 1 = 18, 3.\n{prefix}: {said}"
            assert points(task, reply) == their_points(reply, prefix, "18"), (language, said)
        assert (points(task, "So it is 18."), their_points("So it is 18.", prefix, "18")) == (100.0, 0.0)
    with pytest.raises(BadInput, match="has no attribute 'xx'"):
        task_of("mgsm", tmp_path, MGSM | {"subset": "xx"})


def test_mgsm_reads_numbers_as_the_language_of_the_question_does(tmp_path: Path) -> None:
    said = {"de": "1.200 Euro", "fr": "1\u202f200,00", "ru": "1200,0", "en": "1,200", "ja": "千二百", "zh": "1.2千"}
    for language, reply in said.items():
        task = task_of("mgsm", tmp_path, MGSM | {"subset": language, "answer_number": 1200})
        assert (language, points(task, f"2: {reply}")) == (language, 100.0)
    assert points(task_of("mgsm", tmp_path, MGSM | {"subset": "en", "answer_number": 1200}), "1.200") == 0.0


def test_a_single_language_of_mgsm_is_asked_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {key: value for key, value in MGSM.items() if key != "subset"}
    monkeypatch.setattr("accgate.tasks.rows.hub_rows", lambda _hub, name, *_: [row | {"question": name}])
    (sample,) = load_task("mgsm", subset="fr").samples
    assert (sample.prompt[:8], sample.prompt[-2:], sample.group) == ("Résolvez", "fr", "fr")
    assert len(load_task("mgsm").samples) == 11


def test_simpleqas_letters_are_those_of_simple_evals_where_a_grader_obeys(tmp_path: Path) -> None:
    judge = read_definition(library_file("simpleqa")).content.judge
    assert judge is not None
    task = task_of("simpleqa", tmp_path, {"problem": "Who?", "answer": "Ada", "metadata": ""})
    rubric = task.samples[0].rubric
    assert rubric is not None
    assert "```\nQuestion: Who?\nGold target: Ada\nPredicted answer: Bob, <b>\n```\n\nGrade" in rubric.about("Bob, <b>")
    for reply, letter in (("A", "A"), ("B", "B"), (" A\n", "A"), ("**B**", "B"), ("(C)", "C"), ("A: CORRECT", "A")):
        assert re.findall(r"(A|B|C)", reply)[0] == letter  # what their code reads
        assert [judge.marks[mark] for mark in re.findall(judge.regex, reply)] == [float(letter == "A")], reply
    for reply in ("CORRECT", "INCORRECT", "It is A", "", "1", "A predicted answer like this is wrong: B"):
        assert re.search(judge.regex, reply) is None, "the sample fails instead of being wrong"

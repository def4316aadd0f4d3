# ruff: noqa: RUF001 Chinese punctuation is what LongBench asks with
"""A row of each library task's dataset, in its published schema, with a right and a wrong reply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from accgate.tasks.definition import library_names
from accgate.tasks.tools import reply_json
from tests.tasks.dataset_rows import (
    ARC,
    GPQA,
    HELLASWAG,
    HUMANEVAL,
    HUMANEVAL_PLUS,
    IFBENCH,
    IFEVAL,
    JSON_MODE,
    LONGBENCH_V2,
    MBPP,
    MBPP_PLUS,
    MBPP_PROMPT,
    MMLU,
    MMLU_DEV,
    MMMU_ROW,
    TRUTHFUL,
    Row,
    bfcl,
    contest,
    longbench,
    said,
    zero_scrolls,
)
from tests.tasks.question_rows import QUESTIONS


@dataclass(frozen=True)
class Case:
    """Rows as the dataset's card has them; `right` and `wrong` answer the first of those that `where` keeps.

    `shown` are parts of its prompt, in their order. A multiple choice has letters as replies.
    """

    rows: Sequence[Row]
    right: str
    wrong: str
    shown: Sequence[str] = ()
    examples: Sequence[Row] = ()
    target: str | None = None


def phrase(input_: str, shown: Sequence[str] = ()) -> Case:
    """LongBench's question with a phrase as its answer, or another one."""
    return Case(
        longbench(input_, ["the red fox", "a fox"]), "The fox.", "seven", shown or ("The long context.", input_)
    )


def summary(shown: Sequence[str], output: str = "A fox ran. It was red.") -> Case:
    """LongBench's summary."""
    return Case(longbench("Who?", [output]), output, "nothing like that here", ("The long context.", *shown))


NUMBERED = {"text": ["wood", "iron", "wool"], "label": ["1", "2", "3"]}
AREA, SMALL = {"base": [10], "height": [5]}, {"base": [1], "height": [2]}
BOTH = said({"base": 1, "height": 2}, {"base": 10, "height": 5})
NO_CALL = reply_json("I cannot.", [])
GSM8K = {"question": "2 and 3 apples?", "answer": "2 + 3 = <<2+3=5>>5\n#### 1,005"}
CHINESE = "狐狸跑了。它是红色的。"
CASES: dict[str, Case] = {
    "mmlu": Case(
        [MMLU],
        " B",
        " C",
        ("algebra.\n\nabstract_algebra 0?\nA. w\nB. x", "Answer: A\n\nWhat is 2 + 2?\nA. 3\nB. 4\nC. 5\nD. 6\nAnswer:"),
        MMLU_DEV,
        "B",
    ),
    "gpqa_diamond": Case(
        [GPQA], "So\nAnswer: C", "Answer: A", ("noble gas?\n\nA) iron\nB) zinc\nC) argon\nD) lead\n",), target="C"
    ),
    "humaneval": Case([HUMANEVAL], "    return floor(n / 2)\n", "    return n\n", (HUMANEVAL["prompt"],)),
    "humaneval_instruct": Case(
        [HUMANEVAL],
        "Sure:\n```python\ndef half(n):\n    return floor(n / 2)\n```\nThat works.",
        "```python\ndef half(n):\n    return n\n```",
        (HUMANEVAL["prompt"],),
    ),
    "mbpp": Case(
        [MBPP],
        "def double(n):\n    return n + n\n",
        "def double(n):\n    return n\n",
        ("Task 2. Your code", "f2() != 1\n[BEGIN]\ndef f2", "Task 4.", "[DONE]\n\nYou", "(-1) == -2\n[BEGIN]\n"),
        MBPP_PROMPT,
    ),
    "cnn_dailymail": Case(
        [{"article": "It was n't. ", "highlights": "He left ."}], "He left.", "Nobody", ("It wasn't.  TL;DR:",)
    ),
    "json_mode_eval": Case(
        [JSON_MODE], '```json\n{ "name": "Ada" }\n```', '{"name": "Bob"}', ("schema:", "Ada writes programs.")
    ),
    "longbench_v2": Case(
        [{**LONGBENCH_V2, "length": "short", "question": "Which?"}, LONGBENCH_V2],
        "The correct answer is (C).",
        "The correct answer is (A)",
        ("<text>\nA long text.\n</text>", "Who wrote it?\nChoices:\n(A) Ada\n(B) Bob\n(C) Cyd\n(D) Dan\n\nFormat"),
        target="C",
    ),
    "slimpajama": Case([{"text": text, "meta": {}} for text in ("short", "long " * 20_000)], "", "", target="long "),
    "mmmu": Case(
        [MMMU_ROW], "(B)", "It is C", ("has <image 1>?\n\n(A) 3\n(B) 4's\n(C) 5\n(D) 6\n\nAnswer with the option's",)
    ),
    "hellaswag": Case(
        [HELLASWAG], "D", "A", ("Roof shingle removal: A man is sitting on a roof. Then He starts",), target="D"
    ),
    "bfcl_simple": Case(
        [bfcl({**AREA, "unit": ["units", ""]})],
        said({"base": 10, "height": 5}),
        said({"base": 10, "height": 6}),
        ('<tools {"tool_choice": null, "tools": [', "geometry_area", "<user>\nFind the area."),
        target='[{"geometry.area"',
    ),
    "bfcl_multiple": Case(
        [bfcl(AREA, others=2)],
        said({"height": 5, "base": 10}),
        said({"base": 10, "height": 5, "unit": "cm"}),
        ("geometry_area", "geometry_other0", "geometry_other1"),
    ),
    "bfcl_parallel": Case([bfcl(AREA, SMALL)], BOTH, said(*[{"base": 10, "height": 5}] * 2), ("geometry_area",)),
    **{
        name: Case([bfcl(AREA, SMALL, others=1)], BOTH, said({"base": 10, "height": 5}), ("area", "geometry_other0"))
        for name in ("bfcl_parallel_multiple", "bfcl_live_parallel", "bfcl_live_parallel_multiple")
    },
    **{
        name: Case([bfcl(AREA)], said({"base": 10, "height": 5}), said({"base": 5, "height": 10}), ("geometry_area",))
        for name in ("bfcl_live_simple", "bfcl_live_multiple")
    },
    "bfcl_irrelevance": Case([bfcl()], NO_CALL, said({"base": 1}), ("geometry_area",), target="[]"),
    "bfcl_live_irrelevance": Case([bfcl() | {"function": []}, bfcl()], NO_CALL, said({"base": 1}), ("geometry_area",)),
    "arc_challenge": Case([ARC], "B", "A", ("Question: Which is a metal?\n", "Answer:"), target="B"),
    "arc_easy": Case(
        [{**ARC, "answerKey": "2", "choices": NUMBERED}], "2", "3", ("Which is a metal?\n", "Answer:"), target="2"
    ),
    "truthfulqa_mc1": Case([TRUTHFUL], "C", "A", ("held in Barcelona, Spain.\n\nQ: Is the sky green?\n",), target="C"),
    "bbh": Case(
        [{"input": "not ( True ) is", "target": "False"}],
        "At first the answer is True.\nSo the answer is False.",
        "So the answer is True.",
        ("Q: not not True is\nA: So the answer is True.\n\nQ: not ( True ) is\nA: Let's think step by step",),
        [{"input": "not not True is", "target": "True"}],
    ),
    "ifbench": Case([IFBENCH], "none", "no ne", ("Write a word.",)),
    "ifeval": Case([IFEVAL], "one two three", "one, two three", ("Write three words.",)),
    "gsm8k": Case(
        [GSM8K],
        " 2 + 3 is 5.\n#### 1005",
        " It is 5.\n#### 5",
        ("?\nAnswer: It is ", "\n\nQuestion: ", "Question: 2 and 3 apples?\nAnswer:"),
        [{"question": f"{i} and 1?", "answer": f"It is {i + 1}.\n#### {i + 1}"} for i in range(5)],
    ),
    "gsm8k_cot": Case(
        [GSM8K], "5. The answer is 1005.", "The answer is 5.", ("Q: There are 15", "is 8.\n\nQ: 2 and 3 apples?\nA:")
    ),
    "longbench_v1_narrativeqa": phrase("Who ran?", ("Story: The long context.", "Question: Who ran?\n\nAnswer:")),
    "longbench_v1_qasper": phrase(
        "Who ran?", ("Article: The long context.\n\n Answer the", "Question: Who ran?\n\nAnswer:")
    ),
    "longbench_v1_multifieldqa_en": phrase("Who ran?"),
    "longbench_v1_multifieldqa_zh": Case(
        longbench("谁跑了？", ["红色的狐狸"]), "红色的狐狸。", "猫", ("问题：谁跑了？\n回答：",)
    ),
    "longbench_v1_hotpotqa": phrase("Who ran?"),
    "longbench_v1_2wikimqa": phrase("Who ran?"),
    "longbench_v1_musique": phrase("Who ran?"),
    "longbench_v1_dureader": Case(
        longbench("谁跑了？", [CHINESE]), CHINESE, "猫", ("文章：The long", "问题：谁跑了？\n回答：")
    ),
    "longbench_v1_gov_report": summary(["Summary:"]),
    "longbench_v1_qmsum": summary(["Query: Who?\nAnswer:"]),
    "longbench_v1_multi_news": summary(["Summary:"]),
    "longbench_v1_vcsum": Case(
        longbench("", [CHINESE]), CHINESE, "猫", ("会议记录：\nThe long context.\n\n会议总结：",)
    ),
    "longbench_v1_trec": Case(
        longbench("Who?\nType:", ["Animal"], ["Animal", "Food"]), " Animal\nQuestion: Food?", "Food", ("Who?\nType:",)
    ),
    "longbench_v1_triviaqa": Case(
        longbench("Question: Who?\nAnswer:", ["Fox", "A fox"]), "\n\nthe fox\n\nPassage: cat", "cat", ("Who?\nAnswer:",)
    ),
    "longbench_v1_samsum": Case(
        longbench("Dialogue: hi\nSummary:", ["Ada greets."]), " Ada greets.\nDialogue: x", "no", ("Summary:",)
    ),
    "longbench_v1_lsht": Case(longbench("新闻：足球\n类别：", ["体育"], ["体育", "经济"]), "体育", "经济", ("类别：",)),
    "longbench_v1_passage_count": Case(longbench("", ["12"]), " 12", "11", ("The long context.", "final answer is: ")),
    "longbench_v1_passage_retrieval_en": Case(
        longbench("Abstract.", ["Paragraph 7"]), " Paragraph 7", "Paragraph 17", ("Abstract.", "The answer is: ")
    ),
    "longbench_v1_passage_retrieval_zh": Case(
        longbench("摘要", ["段落7"]), "段落7", "段落8", ("摘要\n\n请", "答案是：")
    ),
    "longbench_v1_lcc": Case(
        longbench("", ["    return a + b"]), "    return a + b\nx", "\n\n# nothing", ("context.Next line of code:\n",)
    ),
    "longbench_v1_repobench-p": Case(
        longbench("import os\n", ["    return a"]), "    return a", "//", ("context.import os\nNext line of code:\n",)
    ),
    "zero_scrolls_quality": Case(zero_scrolls("(C)"), "(C) the fox", "(A)", ("A document",)),
    "zero_scrolls_space_digest": Case(zero_scrolls("70%"), "70", "none", ("A document",)),
    "zero_scrolls_book_sum_sort": Case(zero_scrolls("3, 1, 2"), "Summary 3, 1, 2", "2, 1, 3", ("A document",)),
    **{
        f"zero_scrolls_{name}": Case(zero_scrolls("A red fox."), "A red fox", "seven", ("A document",))
        for name in ("gov_report", "summ_screen_fd", "qmsum", "squality", "qasper", "narrative_qa", "musique")
    },
    **{name: Case(**case) for name, case in QUESTIONS.items()},
}
CASES |= {
    "mmlu_calibration": CASES["mmlu"],
    "triviaqa_confidence": Case(
        QUESTIONS["triviaqa"]["rows"],
        "**Guess:** david, seville.\n**Probability:** 85%",
        "Guess: Paris\nProbability: 0.3",
        ("0.0 to 1.0", "Guess: <most", "Probability: <the", "The question is: Who was the man"),
    ),
    "sst2_typos": Case(
        [{"sentence": "a film . ", "label": 1}], " Positive.", "negative", ("a film .\nSentiment:",), target="positive"
    ),
    "qnli_word_order": Case(
        [{"question": "Who sat ?", "sentence": "The cat sat down .", "label": 0, "idx": 0}],
        "Yes",
        "No, it does not.",
        ("Question: Who sat ?\nSentence: The cat sat down .\nAnswer:",),
        target="yes",
    ),
    "humaneval_plus": Case(
        [HUMANEVAL_PLUS],
        "```python\nfrom math import floor\n\ndef half(n):\n    return floor(n / 2)\n```",
        "```python\ndef half(n):\n    return int(n / 2)\n```",  # right by HumanEval's own test
        ("self-contained Python script", "```\nfrom math import floor", 'rounded down."""\n```'),
    ),
    "mbpp_plus": Case(
        [MBPP_PLUS],
        "```python\ndef half(n):\n    return n * 0.5000000000001\n```",  # within its tolerance
        "```python\ndef half(n):\n    return round(n / 2, 1)\n```",  # right by the two that MBPP has
        ('```\n"""\nWrite a function to halve a number.\nassert half(2) == 1\n"""\n```',),
    ),
    "livecodebench": Case(
        [contest([("1 2\n", "3\n")], [("4 5\n", "9\n"), ("0 0\n", "0\n")])],
        "So:\n```python\na, b = map(int, input().split())\nprint(a + b)\n```",
        "```python\na, b = map(int, input().split())\nprint(3)\n```",
        ("You are an expert", "### Question:\nAdd two numbers.\n\n### Format: Read the inputs", "### Answer: (use"),
        target="3 tests, sha256:",
    ),
}
GENERATED = {  # rows come from a seed, with the target as the right reply
    "arithmetic": "-1",
    "json_extraction": '{"name": 1}',
    "passkey_retrieval": "none",
    "passkey_retrieval_64k": "none",
    "passkey_retrieval_128k": "none",
    **{f"ruler_{name}": "1 2 3" for name in ("niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery")},
    **{f"ruler_{name}": "1 2 3" for name in ("vt", "cwe", "fwe")},
}


def test_every_definition_of_the_library_has_rows_and_replies_here() -> None:
    of_parts = {"longbench_v1"}  # its parts are tasks of the library, with their rows here
    assert set(CASES) | set(GENERATED) | of_parts == set(library_names())


def test_the_rows_are_what_json_can_hold_but_for_images() -> None:
    for name, case in CASES.items():
        if name != "mmmu":
            assert json.loads(json.dumps(case.rows)) == list(case.rows), name

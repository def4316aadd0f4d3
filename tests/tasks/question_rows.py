"""Rows, right and wrong replies of the library's questions, as test_library_rows.py has them; keys of its `Case`."""

from __future__ import annotations

from typing import Any

MMLU_PRO: dict[str, Any] = {
    "question_id": 70, "question": "Which is a noble gas?", "options": ["iron", "zinc ", "N/A", "argon", "lead"],
    "answer": "C", "answer_index": 2, "cot_content": "", "category": "chemistry", "src": "ori_mmlu-chemistry",
}  # fmt: skip
MMLU_PRO_DEV = [
    MMLU_PRO
    | {"question": f"{category} {i}?", "category": category, "options": ["w", " x"], "answer": "B", "answer_index": 1}
    | {"cot_content": f"A: Let's think step by step. It is {i}. The answer is (B)."}
    for category in ("biology", "chemistry")
    for i in range(5)
]
SQUAD = {
    "id": "56", "title": "Normans_of_old", "context": "The Normans came from Denmark.",
    "question": " Where did they come from?",
    "answers": {"text": ["Denmark", "from Denmark"], "answer_start": [22, 17]},
}  # fmt: skip
DATE = {"day": "", "month": "", "year": ""}
DROP = {
    "section_id": "nfl_1", "query_id": "f37e", "passage": "Rome scored 12, Paris 7.", "question": "Who scored?",
    "answer": {"number": "", "date": DATE, "spans": ["Rome", "Paris"], "worker_id": "", "hit_id": ""},
    "validated_answers": {
        "number": ["", "2", ""], "date": [DATE, DATE, {"day": "4", "month": "May", "year": "1789"}],
        "spans": [["Rome", "Paris"], [], []], "worker_id": ["", "", ""], "hit_id": ["", "", ""],
    },
}  # fmt: skip
MATH = {
    "problem": "What is $1/3 + 1/6$?", "solution": "It is $\\boxed{\\frac{1}{2}}$.", "answer": "\\frac{1}{2}",
    "subject": "Algebra", "level": 1, "unique_id": "test/algebra/1.json",
}  # fmt: skip
AIME = {"id": "61", "problem": "Find $m+n$.", "answer": "033"}
MGSM = {
    "question": "Anna hat 17 Enten und kauft eine. Wie viele hat sie?", "answer": None, "answer_number": 18,
    "equation_solution": None, "subset": "de",
}  # fmt: skip
SENTENCE = "Das ist ein kleines Haus am See."
TRANSLATION = [{"translation": {"de": SENTENCE, "en": "That is a small house by the lake."}}]
ASKED = (
    "Translate the English text into German. Reply with the translation alone.\n\nThat is a small house by the lake."
)

QUESTIONS: dict[str, dict[str, Any]] = {
    "mmlu_pro": {
        "rows": [MMLU_PRO],
        "right": "Argon is one, so the answer is (C).",
        "wrong": "The answer is (B).",
        "examples": MMLU_PRO_DEV,
        "target": "C",
        "shown": (
            "about chemistry. Think step by step",
            "chemistry 0?\nOptions:\nA. w\nB. x\nAnswer: Let's think step by step. It is 0. The answer is (B).\n\n",
            "gas?\nOptions:\nA. iron\nB. zinc\nC. argon\nD. lead\nAnswer: Let's think step by step.",
        ),
    },
    "math_500": {
        "rows": [MATH],
        "right": "Thus \\boxed{1}, no: the final answer is: $\\boxed{\\tfrac{3}{6}}$. I hope it is correct",
        "wrong": "The final answer is $\\boxed{\\frac{1}{3}}$, not $\\frac{1}{2}$.",
        "shown": ("the final answer is: $\\boxed{ANSWER}$. I hope", "before answering.\n\nWhat is $1/3 + 1/6$?"),
    },
    "aime_2024": {
        "rows": [AIME | {"solution": "", "url": "", "year": "2024"}],
        "right": "$m+n = \\boxed{33}$.",
        "wrong": "\\boxed{330}, and 33 is not it",
        "shown": ("$\\boxed{ANSWER}$", "Find $m+n$."),
    },
    "aime_2025": {
        "rows": [AIME], "right": "$\\boxed{033}$", "wrong": "It is 33.", "shown": ("$\\boxed{ANSWER}$", "Find $m+n$."),
    },
    "squad_v2": {
        "rows": [SQUAD],
        "right": "From Denmark.",
        "wrong": "unanswerable",
        "shown": ("unanswerable\n\nTitle: Normans of old\nPassage: The Normans", "Where did they come from?\n"),
        "target": '["Denmark", "from Denmark"]',
    },
    "triviaqa": {
        "rows": [
            {
                "question": "Who was the man behind The Chipmunks? ", "question_id": "tc_2", "question_source": "",
                "answer": {
                    "value": "David Seville", "aliases": ["David Seville"], "type": "WikipediaEntity",
                    "normalized_aliases": ["david seville", "ross bagdasarian"], "normalized_value": "david seville",
                },
            }
        ],
        "right": "Ross Bagdasarian!",
        "wrong": "It was David Seville",
        "shown": ("Question: Who was the man behind The Chipmunks?\nAnswer:",),
    },
    "drop": {
        "rows": [DROP],
        "right": "Both did.\n**Answer:** Paris; Rome",
        "wrong": "Answer: 3",
        "shown": ("Passage: Rome scored 12, Paris 7.\n\nQuestion: Who scored?",),
        "target": '[["Rome", "Paris"], ["2"], ["4 May 1789"]]',
    },
    "mgsm": {
        "rows": [MGSM],
        "right": "17 + 1 = 18\nAntwort: 18",
        "wrong": "Antwort: 17",
        "shown": ('nach "Antwort:" hinzu.\n\nAnna hat 17 Enten',),
        "target": "18",
    },
    "simpleqa": {
        "rows": [{"metadata": "{'topic': 'Art'}", "problem": "Who wrote it?", "answer": "Ada"}],
        "right": "Ada", "wrong": "Bob", "shown": ("Who wrote it?",), "target": "Ada",
    },
    "wmt16_en_de": {"rows": TRANSLATION, "right": SENTENCE, "wrong": "xyz", "shown": (ASKED,)},
    "wmt16_en_de_ter": {"rows": TRANSLATION, "right": SENTENCE, "wrong": "", "shown": (ASKED,)},
}  # fmt: skip

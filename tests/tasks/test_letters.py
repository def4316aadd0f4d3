# ruff: noqa: RUF001 letters and words of other scripts
"""The letter of a multiple choice in the replies that models write, and what other tools read there."""

import re

import pytest

from accgate.tasks.definition import read_definition
from accgate.tasks.extract import by_letter, by_regex
from accgate.tasks.library import library_file

FOUR = [("A", "copper wire"), ("B", "iron"), ("C", "a tin can"), ("D", "wool")]
TEN = [(letter, f"text {letter.lower()}x") for letter in "ABCDEFGHIJ"]
NUMBERED = [("1", "wood"), ("2", "iron"), ("3", "wool")]

OF_FOUR = [
    ("A", "A"),
    ("B.", "B"),
    ("(C)", "C"),
    (" D\n", "D"),
    ("**B**", "B"),
    ("**(A)**", "A"),
    ("$B$", "B"),
    ("`C`", "C"),
    ("\\boxed{A}", "A"),
    ("\\boxed{(A)}", "A"),
    ("$\\boxed{\\text{B}}$", "B"),
    ("So it must be $\\boxed{\\mathrm{(C)}}$.", "C"),
    ("\\(\\boxed{D}\\)", "D"),
    ("Answer: A", "A"),
    ("Answer: A.", "A"),
    ("answer: (b)", "B"),
    ("ANSWER: b", "B"),
    ("Answer: **A**", "A"),
    ("**Answer:** A", "A"),
    ("**Answer: B**", "B"),
    ("Answer:\nC", "C"),
    ("Answer: $A$", "A"),
    ("The answer is A", "A"),
    ("The answer is (A).", "A"),
    ("The correct answer is (A)", "A"),
    ("The correct answer is A because copper conducts.", "A"),
    ("(A) because copper conducts", "A"),
    ("A because copper conducts", "A"),
    ("The answer is option C.", "C"),
    ("The answer is: C) a tin can", "C"),
    ("The final answer is **D**", "D"),
    ("Therefore, the best answer is B, iron.", "B"),
    ("B) iron", "B"),
    ("B. iron", "B"),
    ("B: iron", "B"),
    ("(B) iron", "B"),
    ("A. copper wire", "A"),
    ("A) copper wire", "A"),
    ("A - copper wire", "A"),
    ("Option C", "C"),
    ("Option (C) is correct.", "C"),
    ("I would choose C, since A is wrong.", "C"),
    ("I think it is D", "D"),
    ("I think the answer is A", "A"),
    ("Let me think. A student said iron. Then B.\nAnswer: B", "B"),
    ("A student said that iron is a metal.", None),
    ("I think so.", None),
    ("A tin can rusts.", None),
    ("a", "A"),
    ("(a)", "A"),
    ("b", "B"),
    ("Options A and B are wrong. The answer is C.", "C"),
    ("A is wrong. B is wrong. C is right.", "C"),
    ("A) is wrong because x.\nB) is right.\nC) no\nD) no\nAnswer: B", "B"),
    ("The answer is a number that I do not know.", None),
    ("It is either B or C.", None),
    ("None of them.", None),
    ("", None),
    ("Answer: A student", None),
    ("The answer is not A. The answer is B.", "B"),
    ("答案是B。", "B"),
    ("答案：C", "C"),
    ("正确答案是 (D)", "D"),
    ("Antwort: B", "B"),
    ("La respuesta es C.", "C"),
    ("答え:Ａ", "A"),
    ("정답: B", "B"),
    ("Ответ: C", "C"),
    ("iron", "B"),
    ("The answer is iron.", "B"),
    ("It's A.", "A"),
    ("B\n\nQuestion: next?\nAnswer: D", "B"),
    ("Option", None),
    ("[[B]]", "B"),
    ("<answer>C</answer>", "C"),
    ('The answer is "D".', "D"),
    ("Step 1. A is copper. Step 2. C is tin.\n\nC", "C"),
    ("Final Answer: The final answer is (B). I hope it is correct.", "B"),
    ("The correct option is B.", "B"),
    ("the correct choice is (c)", "C"),
    ("Answer - B", "B"),
    ("My answer would be D.", "D"),
    ("Answer = C", "C"),
    ("Answer is B", "B"),
    ("I'd go with B.", "B"),
    ("B is the correct answer.", "B"),
    ("A is correct.", "A"),
    ("C, because the others are wrong", "C"),
    ("E", None),
    ("Answer: E", None),
    ("Vitamin C is not a metal; copper is.", None),
    ("The right answer is (D) wool, not (A).", "D"),
    ("Answer: B or C", None),
    ("The answer is A or B", None),
    ("Answer: A, B", None),
    ("The answer is A and B.", None),
    ("The answer is not A.", None),
    ("The answer is not (A) but (B).", "B"),
    ("The correct answer is neither A nor B.", None),
    ("The correct answer cannot be A, so B.", "B"),
    ("It's not A.", None),
    ("Not (D).", None),
    ("Definitely not D.", None),
    ("I can rule out D.", None),
    ("None of A, B, C or D is correct.", None),
    ("A is incorrect, B is incorrect, D is incorrect. So C.", "C"),
    ("D is incorrect, because it conducts nothing.", "D"),
    ("The answer is B. If the answer was A, it would rust.", "B"),
    ("Both B and C are correct.", None),
    ("A, B and C are correct.", None),
    ("Answer: B & C", None),
    ("Answer: B/C", None),
    ("The answer is (A)(B)", None),
    ("It has vitamin D.", None),
    ("Hepatitis B", None),
    ("The correct answer is indeed D.", "D"),
    ("Most likely D.", "D"),
    ("\\boxed{a tin can}", "C"),
    ("\\boxed{A tin can}", "C"),
    ("\\boxed{\\text{a tin can}}", "C"),
    ("\\boxed{c}", "C"),
    ("\\boxed{\\text{Option C}}", "C"),
    ("\\boxed{C. a tin can}", "C"),
    ("\\boxed{A, B}", None),
    ("Option A: no.\nOption B: yes.\nThus **Option B**.", "B"),
    ('{"answer": "C"}', "C"),
    ('```json\n{"answer_choice": "C"}\n```', "C"),
    ("<final_answer>C</final_answer>", "C"),
    ("It is <|begin_of_box|>C<|end_of_box|>", "C"),
    ("C\u200b", "C"),
    ("The answer is <u>D</u>.", "D"),
    ("정답은 D입니다.", "D"),
]
OF_TEN = [
    ("The answer is (J)", "J"),
    ("J", "J"),
    ("I", "I"),
    ("(I)", "I"),
    ("Answer: I", "I"),
    ("The answer is I.", "I"),
    ("I think it is G", "G"),
    ("I think the answer is (H).", "H"),
    ("I believe that a student", None),
    ("I. text", "I"),
    ("I because of x", "I"),
    ("The answer is I because x", "I"),
    ("I would say F.", "F"),
    ("answer is (E", "E"),
    ("The answer is A, I think.", "A"),
    ("The answer is B, I guess", "B"),
    ("\\boxed{J}", "J"),
    ("Answer: K", None),
    ("I'm not sure, but J.", "J"),
    ("I am sure. J", "J"),
    ("As I said, it's I.", "I"),
    ("the answer is (I)", "I"),
    ("I: text ix", "I"),
    ("text gx", "G"),
    ("Answer: j", "J"),
    ("i", "I"),
]
OF_NUMBERED = [
    ("2", "2"),
    ("The answer is 2.", "2"),
    ("(3)", "3"),
    ("2. iron", "2"),
    ("Answer: 2", "2"),
    ("There are 3 of them, so 2", "2"),
    ("12", None),
    ("Answer: 20", None),
    ("iron", "2"),
]
THEIRS = {  # as the tools' own files have them
    "simple-evals": (r"(?i)Answer[ \t]*:[ \t]*\$?([A-D])\$?", 0),
    "lm-eval mmlu_pro": (r"answer is \(?([ABCDEFGHIJ])\)?", 0),
    "lm-eval flexible-extract": (r"\(([A-Z])\)", -1),
}
DIFFERENT = {  # where they read another letter: the reason why accgate's stands
    "Answer: A student": "A is a word",
    "B\n\nQuestion: next?\nAnswer: D": "the first line answers; a base model went on to a question of its own",
    "The right answer is (D) wool, not (A).": "(A) is what it is not",
    "Answer: B or C": "two letters are no answer",
    "The answer is A or B": "two letters are no answer",
    "Answer: A, B": "two letters are no answer",
    "The answer is A and B.": "two letters are no answer",
    "Answer: B & C": "two letters are no answer",
    "Answer: B/C": "two letters are no answer",
    "The answer is (A)(B)": "two letters are no answer",
    "Not (D).": "(D) is what it is not",
}


@pytest.mark.parametrize(("options", "table"), [(FOUR, OF_FOUR), (TEN, OF_TEN), (NUMBERED, OF_NUMBERED)])
def test_the_letter_is_read_where_a_reader_reads_it(
    options: list[tuple[str, str]], table: list[tuple[str, str | None]]
) -> None:
    read = [(reply, by_letter(reply, options)) for reply, _ in table]
    assert [pair for pair, wanted in zip(read, table, strict=True) if pair != wanted] == []


def test_another_letter_than_other_tools_read_is_read_for_a_reason() -> None:
    others = set()
    for reply, _ in OF_FOUR:
        for pattern, place in THEIRS.values():
            theirs = re.findall(pattern, reply)
            if theirs and theirs[place].upper() != by_letter(reply, FOUR):
                others.add(reply)
    assert others == set(DIFFERENT)


@pytest.mark.slow
def test_an_endless_reply_is_read_at_once() -> None:
    pieces = ["\n", "(", "answer is ", " ", "A, ", "\\boxed{", "=-", "_ ", "B or ", "answer", "- ", "*", "(A)", "not "]
    for piece in pieces:
        assert by_letter("answer" + piece * 20_000 + "x", FOUR) in (None, "A", "B"), piece


BBH = [
    ("False.", "False"),
    (" (C)\n", "C"),
    ("B", "B"),
    ("-12", "-12"),
    ("A: perhaps", None),
    ("True.\n\nFalse is not a valid answer.", None),
    ("So the answer is (A).", "A"),
    ("So the answer is (A) because of x", "A"),
    ("So the answer is A.", "A"),
    ("So the answer is A because of x.", "A"),
    ("So the answer is **(B)**.", "B"),
    ("The answer is $\\boxed{A}$.", "A"),
    ("so \\boxed{(A)}", "A"),
    ("\\boxed{\\text{(C)}}", "C"),
    ("The correct answer is (D) 05/01/2021.", "D"),
    ("Answer: (A)", "A"),
    ("**Answer:** A", "A"),
    ("**Answer**: (R)", "R"),
    ("Final answer: (A)\n\nI hope this helps.", "A"),
    ("The answer is option (B).", "B"),
    ("The answer is B, since the date is later.", "B"),
    ("So the answer is True.", "True"),
    ("So the answer is **False**.", "False"),
    ("So the answer is \\boxed{True}", "True"),
    ("So the answer is $\\boxed{\\text{No}}$.", "No"),
    ("So the answer is No, because she turned left.", "No"),
    ("So the answer is yes.", "yes"),
    ("So the answer is valid.", "valid"),
    ('So the answer is "invalid".', "invalid"),
    ("So the answer is 24.", "24"),
    ("So the answer is -9.", "-9"),
    ("So the answer is: **12**", "12"),
    ("So the answer is ] ) } >.", "] ) } >"),
    ("So the answer is > ) }", "> ) }"),
    ("So the answer is apple banana cherry.", "apple banana cherry"),
    ("So the answer is A apple banana", "A apple banana"),
    ("So the answer is no nap true", "no nap true"),
    ("So the answer is 3 + 4.", "3 + 4"),
    ("At first the answer is (A).\nNo, so the answer is (B).", "B"),
    ("To answer this, count.", None),
    ("I do not know.", None),
    ("So the answer is (A) or (B).", "(A) or (B)"),
    ("So the answer is (A), (B).", "(A), (B)"),
    ("So the answer is not (A).", "not (A)"),
    ("So the answer is “Yes”.", "Yes"),
    ("So the answer is 'valid'", "valid"),
    ("So the answer is <Yes>.", "Yes"),
    ("So the answer is \\(5\\).", "5"),
    ("So the answer is \\(\\boxed{5}\\).", "5"),
    ("So the answer is 5 apples.", "5"),
    ("So the answer is = 5", "5"),
    ("So the answer is (a).", "a"),
]


def test_bbh_reads_options_words_numbers_and_lines() -> None:
    extract = read_definition(library_file("bbh")).content.extract
    assert extract.regex is not None
    read = [(reply, by_regex(reply, extract.regex, extract.which)) for reply, _ in BBH]
    assert [pair for pair, wanted in zip(read, BBH, strict=True) if pair != wanted] == []

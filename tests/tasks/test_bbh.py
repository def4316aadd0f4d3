"""What bbh's own regular expression reads in the replies that models write."""

from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.extract import by_regex

BBH = [
    ("False.", "False"),
    (" (C)\n", "C"),
    ("A: perhaps", None),
    ("True.\n\nFalse is not a valid answer.", None),
    ("So the answer is (A).", "A"),
    ("So the answer is A because of x.", "A"),
    ("So the answer is **(B)**.", "B"),
    ("The answer is $\\boxed{A}$.", "A"),
    ("\\boxed{\\text{(C)}}", "C"),
    ("The correct answer is (D) 05/01/2021.", "D"),
    ("**Answer:** A", "A"),
    ("Final answer: (A)\n\nI hope this helps.", "A"),
    ("The answer is option (B).", "B"),
    ("The answer is B, since the date is later.", "B"),
    ("So the answer is **False**.", "False"),
    ("So the answer is $\\boxed{\\text{No}}$.", "No"),
    ("So the answer is No, because she turned left.", "No"),
    ('So the answer is "invalid".', "invalid"),
    ("So the answer is -9.", "-9"),
    ("So the answer is: **12**", "12"),
    ("So the answer is ] ) } >.", "] ) } >"),
    ("So the answer is A apple banana", "A apple banana"),
    ("So the answer is no nap true", "no nap true"),
    ("So the answer is 3 + 4.", "3 + 4"),
    ("At first the answer is (A).\nNo, so the answer is (B).", "B"),
    ("To answer this, count.", None),
    ("So the answer is (A) or (B).", "(A) or (B)"),
    ("So the answer is not (A).", "not (A)"),
    ("So the answer is “Yes”.", "Yes"),
    ("So the answer is <Yes>.", "Yes"),
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

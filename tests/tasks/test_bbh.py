"""What bbh's own regular expression reads in the replies that models write."""

from accgate.tasks.definition import library_file, read_definition
from accgate.tasks.extract import by_regex

READ = {  # by what is read
    "A": ["So the answer is (A).", "So the answer is A because of x.", "The answer is $\\boxed{A}$.", "**Answer:** A",
          "Final answer: (A)\n\nI hope this helps."],
    "True": ["So the answer is True."], "valid": ["So the answer is 'valid'"], "yes": ["So the answer is yes."],
    "-12": ["-12"],
    "B": ["B", "So the answer is **(B)**.", "The answer is option (B).", "The answer is B, since the date is later.",
          "At first the answer is (A).\nNo, so the answer is (B)."],
    "C": [" (C)\n", "\\boxed{\\text{(C)}}"], "D": ["The correct answer is (D) 05/01/2021."], "a": ["Answer: (a)."],
    "False": ["False.", "So the answer is **False**."], "invalid": ['So the answer is "invalid".'],
    "No": ["So the answer is $\\boxed{\\text{No}}$.", "So the answer is No, because she turned left."],
    "Yes": ["So the answer is “Yes”.", "So the answer is <Yes>."], "-9": ["So the answer is -9."],
    "5": ["So the answer is \\(\\boxed{5}\\).", "So the answer is 5 apples.", "So the answer is = 5"],
    "12": ["So the answer is: **12**"], "] ) } >": ["So the answer is ] ) } >."], "3 + 4": ["So the answer is 3 + 4."],
    "A apple banana": ["So the answer is A apple banana"], "no nap true": ["So the answer is no nap true"],
    "(A) or (B)": ["So the answer is (A) or (B)."], "not (A)": ["So the answer is not (A)."],
    None: ["A: perhaps", "True.\n\nFalse is not a valid answer.", "To answer this, count."],
}  # fmt: skip


def test_bbh_reads_options_words_numbers_and_lines() -> None:
    extract = read_definition(library_file("bbh")).content.extract
    assert extract.regex is not None
    for wanted, replies in READ.items():
        read = {reply: by_regex(reply, extract.regex, extract.which) for reply in replies}
        assert read == dict.fromkeys(replies, wanted)

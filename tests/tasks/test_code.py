"""The Python code in a reply, in every shape that models write."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.code import parsable, python_in
from accgate.tasks.extract import by_form
from tests.support.cases import each
from tests.tasks.test_extract import REPLIES

# By shape, as issue trackers of code benchmarks name them: each reply gives the function.
SHAPES: dict[str, str] = REPLIES["python"]
PROGRAM = "<<answer>>\n\nassert add(1, 2) == 3"


@pytest.mark.parametrize("which", ["first", "last"])
def test_the_function_is_read_from_every_shape(which: str) -> None:
    failed = {}
    for name, reply in SHAPES.items():
        code = by_form(reply, "python", which, PROGRAM)  # type: ignore[arg-type]
        try:
            exec(PROGRAM.replace("<<answer>>", code or ""), {"__name__": "program"})
        except Exception as error:
            failed[name] = (code, repr(error))
    assert failed == {}


def test_a_reply_without_code_has_no_answer() -> None:
    for reply in ("", "  \n", "I cannot do that.", "Done", "42", "```js\nfunction f() {}\n```", "```python\n\n```",
                  "The import of this is great; from here on, class is over.",
                  "Yes, it is", "Answer: add"):  # fmt: skip
        assert by_form(reply, "python", "last", PROGRAM) is None, reply


def test_wrong_code_stays_wrong() -> None:
    for reply in ("def add(a, b) return a + b", "```python\ndef add(a, b) return a + b\n```", "```python\ndef add(a,"):
        code = python_in(reply, PROGRAM)
        assert code is not None
        with pytest.raises(SyntaxError):
            compile(code, "reply", "exec")


def test_of_two_definitions_which_says_the_one() -> None:
    reply = "```python\ndef add(a, b):\n    return 1\n```\nBetter:\n```python\ndef add(a, b):\n    return 2\n```"
    codes = [python_in(reply, PROGRAM, which) for which in ("first", "last")]  # type: ignore[arg-type]
    assert [code and code.strip()[-1] for code in codes] == ["1", "2"]


def test_a_program_that_reads_its_input_is_taken_whole() -> None:
    program = "n = int(input())\nprint(n + 1)"
    assert python_in(program) == program
    assert python_in(f"So:\n```\n{program}\n```") == program + "\n"


@each("which", ["first", "last"])
@each(
    "reply",
    [
        "```python\nPROGRAM\n```\nExample output:\n```\n1\n```",
        "Input:\n```\nx = 1\n```\n```python\nPROGRAM\n```",
        "PROGRAM\n```\nIt prints x = 1.",
    ],
)
def test_an_example_is_no_program_beside_the_labelled_one(reply: str, which: Any) -> None:
    program = "print(int(input()))"
    assert (python_in(reply.replace("PROGRAM", program), "3 tests", which) or "").strip() == program


def test_the_rest_of_a_function_keeps_its_indentation_before_a_fence_that_the_prompt_opened() -> None:
    body = "    def inner(x):\n        return x\n    return inner(a) + b\n"
    assert python_in(f"{body}```\nThat is it.", PROGRAM) == body
    assert python_in(f"```python\n{body}```", PROGRAM) == body


def test_invisible_characters_of_a_text_stay_where_the_code_is_python() -> None:
    code = "T = 'a\xa0b\u200b'\n"
    assert python_in(f"```python\n{code}```") == code


def test_a_docstrings_session_is_no_program() -> None:
    code = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b'
    assert python_in(f"```python\n{code}\n\nassert add(", PROGRAM) == code + "\n"


@settings(deadline=None)
@given(st.text() | st.text("`~\n -#>1.@():def classimport'\"\\"))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    code = python_in(reply, PROGRAM)
    assert code is None or code.strip()
    parsable(reply)


@pytest.mark.slow
def test_replies_made_to_be_slow_or_deep_are_given_up_on() -> None:
    lines = ("```\n", "@a\n", "def f(\n", "import a\nx y\n", "'''\n", "(\n", "[BEGIN]\n", ">>> a b\n")
    for piece in (*lines, "x = 1\n```\n", "- ```python\nx y\n", ">", "- ", "1. ", "`", "~~~", "a.", "-"):
        python_in(piece * 20_000, PROGRAM)
    for reply in ("def f():\n    return " + "-" * 90_000 + "1", "x = a" + ".a" * 300_000, "\0", "'\ud800'"):
        python_in(f"```python\n{reply}\n```", PROGRAM)

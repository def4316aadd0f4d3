"""The Python code in a reply, in every shape that models write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.code import parsable, python_in
from accgate.tasks.extract import by_form

ADD = "def add(a, b):\n    return a + b"
PLUS = ADD.replace("add", "plus")
BY_MODULE = ADD.replace("a + b", "o.add(a, b)")
INDENTED = "   def add(a, b):\n       return a + b"
PROGRAM = "<<answer>>\n\nassert add(1, 2) == 3"

# Each reply gives the function; the shapes that issue trackers of code benchmarks name, and some more.
SHAPES = {
    "python": f"Here:\n```python\n{ADD}\n```\nDone.",
    "python3": f"```python3\n{ADD}\n```",
    "Python": f"```Python\n{ADD}\n```",
    "py": f"```py\n{ADD}\n```",
    "no language": f"```\n{ADD}\n```",
    "carriage returns": f"Here:\n```python\n{ADD}\n```\nDone.".replace("\n", "\r\n"),
    "no fence": ADD,
    "prose before and after": f"Here is the function:\n\n{ADD}\n\nIt adds two numbers.",
    "prose around, no empty line": f"Here it is:\n{ADD}\nThat is it.",
    "in the line": "Use `def add(a, b): return a + b` for that.",
    "tildes": f"~~~python\n{ADD}\n~~~",
    "four backticks": f"````python\n{ADD}\n````",
    "in a list": f"1. Write it:\n\n   ```python\n{INDENTED}\n   ```\n2. Run it.",
    "in a list, code at the margin": f"1. Write it:\n   ```python\n{ADD}\n   ```\nDone.",
    "on a bullet": "- ```python\n  def add(a, b):\n      return a + b\n  ```",
    "in a quote": "> ```python\n> def add(a, b):\n>     return a + b\n> ```",
    "indented by eight": "        ```python\n        def add(a, b):\n            return a + b\n        ```",
    "not closed": f"```python\n{ADD}\n",
    "cut in what follows": f"```python\n{ADD}\n\nprint(add(1, 2",
    "bash first": f"```bash\npip install numpy\n```\nand then\n```python\n{ADD}\n```\nDone.",
    "its output after": f"```python\n{ADD}\nprint(add(1, 2))\n```\nOutput:\n```\n3\n```",
    "usage first": f"```python\nadd(1, 2)\n```\nwith\n```python\n{ADD}\n```",
    "usage after": f"```python\n{ADD}\n```\nUse it:\n```python\nprint(add(1, 2), input())\n```",
    "helper apart": f"```python\n{PLUS}\n```\nThen\n```python\n{ADD.replace('a + b', 'plus(a, b)')}\n```",
    "imports apart": f"```python\nimport operator as o\n```\nThen\n```python\n{BY_MODULE}\n```",
    "a title": f'```python title="add.py"\n{ADD}\n```',
    "braces": f"```{{.python}}\n{ADD}\n```",
    "in a tag": f"<answer>\n```python\n{ADD}\n```\n</answer>",
    "in Markdown": f"````markdown\n# Add\n```python\n{ADD}\n```\n````",
    "indented code": "So:\n\n    def add(a, b):\n        return a + b\n\nDone.",
    "a decorator": "Here:\n\n@staticmethod\ndef unused():\n    pass\n\ndef add(a, b):\n    return a + b\n\nDone.",
    "a lambda": "```python\nadd = lambda a, b: a + b\n```",
}  # fmt: skip


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
                  "The import of this is great; from here on, class is over."):  # fmt: skip
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


def test_the_rest_of_a_function_is_code_with_its_indentation() -> None:
    assert python_in("    return a + b\n", PROGRAM) == "    return a + b\n"


def test_a_program_that_reads_its_input_is_taken_whole() -> None:
    program = "n = int(input())\nprint(n + 1)"
    assert python_in(program) == program
    assert python_in(f"So:\n```\n{program}\n```") == program + "\n"


@settings(deadline=None)
@given(st.text() | st.text("`~\n -#>1.@():def classimport'\"\\"))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    code = python_in(reply, PROGRAM)
    assert code is None or code.strip()
    parsable(reply)


@pytest.mark.slow
def test_replies_made_to_be_slow_or_deep_are_given_up_on() -> None:
    for piece in (
        ">",
        "- ",
        "1. ",
        "```\n",
        "`",
        "@a\n",
        "def f(\n",
        "import a\nx y\n",
        "'''\n",
        "(\n",
        "~~~",
        "a.",
        "-",
    ):
        python_in(piece * 60_000, PROGRAM)
    for reply in ("def f():\n    return " + "-" * 90_000 + "1", "x = a" + ".a" * 300_000, "\0", "'\ud800'"):
        python_in(f"```python\n{reply}\n```", PROGRAM)

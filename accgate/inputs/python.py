"""Python source: its tree, also where several threads ask for one at once."""

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parse_python(source: str | bytes) -> ast.Module | None:
    """The tree of a piece of code; None for what the parser refuses otherwise than by a SyntaxError.

    CPython 3.11 counts the depth of a tree once for all threads, and raises a SystemError where two build one at the
    same time (github.com/python/cpython/issues/106905).

    >>> parse_python("x = 1").body[0].value.value, parse_python("-" * 100_000 + "1")
    (1, None)

    Raises
    ------
    SyntaxError
        When it is no Python.
    """
    try:
        with _ONE_AT_A_TIME:
            return ast.parse(source)
    except SyntaxError:
        raise
    except (ValueError, RecursionError, MemoryError):
        return None

"""The tree of Python source."""

import gc
import threading
import time
from collections.abc import Iterator

import pytest

from accgate.sandbox.assertions import parse_python

LINES = 50
SOURCE = "\n".join(f"assert f({number}) == [{number}, {{'a': {number}}}]" for number in range(LINES))


@pytest.fixture
def busy_collector() -> Iterator[None]:
    """Lets other threads run in the midst of all that makes many objects."""

    def pause(phase: str, info: dict[str, int]) -> None:
        time.sleep(1e-5)

    before = gc.get_threshold()
    gc.callbacks.append(pause)
    gc.set_threshold(70, 1000, 1000)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(pause)


@pytest.mark.usefixtures("busy_collector")
def test_threads_parse_at_the_same_time() -> None:  # ast.parse itself fails so in Python 3.11, nearly always
    lengths: list[int] = []

    def work() -> None:
        for _ in range(12):
            tree = parse_python(SOURCE)
            assert tree is not None
            lengths.append(len(tree.body))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == [LINES] * 48


@pytest.mark.parametrize("source", ["f(", "(" * 1000 + ")" * 1000])
def test_what_is_no_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(SyntaxError):
        parse_python(source)


def test_what_the_parser_cannot_hold_has_no_tree() -> None:
    assert parse_python("-" * 100_000 + "1") is None

"""Whole gates that stop early on a server whose replies come in another order: one result, however it is read again."""

import random
import time
from collections.abc import Callable

import pytest

from accgate.cli.main import main
from tests.support.gates import Project, said, write_task
from tests.support.servers import Server

N, DOCUMENT = 400, 4
CLUSTERS = {"columns__cluster": "doc"}


def answer(worse: float) -> Callable[[str], str]:
    """The right sum nine times of ten, or that much more seldom; now and then no answer at all."""

    def of(prompt: str) -> str:
        a, b = map(int, prompt.split(" + "))
        draw = random.Random(prompt)
        luck, is_read = draw.random(), draw.random() > 0.1
        return str(a + b + (luck < 0.1 + worse)) if is_read else "no idea"

    return of


def late(draw: random.Random) -> Callable[[int], bool]:
    """Replies that come up to 30 ms late, each by a time of its own."""
    due: dict[int, float] = {}

    def may_answer(number: int) -> bool:
        return time.monotonic() >= due.setdefault(number, time.monotonic() + draw.uniform(0.0, 0.03))

    return may_answer


@pytest.mark.parametrize(("columns", "worse"), [({}, 0.0), ({}, 0.03), (CLUSTERS, 0.03)])
def test_a_run_that_stopped_early_is_verified_and_resumed_to_the_same_result(tmp_path, columns, worse, capsys) -> None:
    """Replies are in any order, a few of them come after the decision, and some hold no answer."""
    rows = [{"id": str(i), "question": f"{i} + {7 * i}", "answer": 8 * i, "doc": i // DOCUMENT} for i in range(N)]
    project = Project(tmp_path, n=4, theta=6.0, max_more_tokens="50%", max_unread=0.2)
    keys = {"prompt": "{{ question }}", "target": "{{ answer }}", "max_tokens": 8, "extract__form": "number"}
    write_task(tmp_path, rows=rows, **keys, **columns)
    verify = ["verify", str(project.out), "--config", str(project.config)]
    with Server(answer(0.0)) as server:
        options = {"base_url": server.url, "concurrency": 32}
        project.models["m"] = {"engine": "openai", "model": "toy", "options": options}
        project.write(early_stopping=True)
        assert project.record() == 0, said(capsys)
        server.answer = answer(worse)
        server.may_answer = late(random.Random(0))
        code = project.run()
        assert code in (0, 1), said(capsys)
        first = project.check
        assert main(verify) == code, said(capsys)
        assert project.run(args=["--resume"]) == code, said(capsys)
        again = project.check
        assert (again["verdict"], again["n"], again["p_value"]) == (first["verdict"], first["n"], first["p_value"])
        assert main(verify) == code, said(capsys)

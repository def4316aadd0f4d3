"""Whole gates that stop early on a server whose replies come in another order: one result, however it is read again."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.cli.main import main
from tests.gates import said, write_lines
from tests.servers import Server

N, DOCUMENT = 400, 4
CONFIG = """\
[models.m]
engine = "openai"
model = "toy"
options = {{ base_url = "{url}", concurrency = 32 }}

[tasks.sums]
file = "sums.toml"
theta = 6.0
max_more_tokens = "50%"
max_unread = 0.2
"""
TASK = """\
prompt = "{{{{ question }}}}"
target = "{{{{ answer }}}}"
metric = "numeric_match"
max_tokens = 8

[dataset]
file = "sums.jsonl"

[extract]
form = "number"
{columns}
"""


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


def commanded(folder: Path, *command: str) -> int:
    return main([*command, "--config", str(folder / "accuracy.toml")])


@pytest.mark.parametrize("columns", ["", '[columns]\ncluster = "doc"'])
@pytest.mark.parametrize("worse", [0.0, 0.03, 0.3])
def test_a_run_that_stopped_early_is_verified_and_resumed_to_the_same_result(
    tmp_path: Path, columns: str, worse: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Replies are in any order, a few of them come after the decision, and some hold no answer."""
    rows = [{"id": str(i), "question": f"{i} + {7 * i}", "answer": 8 * i, "doc": i // DOCUMENT} for i in range(N)]
    write_lines(tmp_path / "sums.jsonl", rows)
    (tmp_path / "sums.toml").write_text(TASK.format(columns=columns))
    out = tmp_path / "out"
    config = tmp_path / "accuracy.toml"
    run = ["run", str(config), "--out", str(out), "--quiet"]
    with Server(answer(0.0)) as server:
        config.write_text(CONFIG.format(url=server.url))
        assert main(["record", str(config), "--out", str(tmp_path / "recorded"), "--quiet"]) == 0, said(capsys)
        server.answer = answer(worse)
        for seed in range(2):
            server.seen.clear()
            server.may_answer = late(random.Random(seed))
            code = main(run)
            assert code in (0, 1), said(capsys)
            first = json.loads((out / "accgate.json").read_text())["checks"][0]
            assert commanded(tmp_path, "verify", str(out)) == code, said(capsys)
            assert main([*run, "--resume"]) == code, said(capsys)
            again = json.loads((out / "accgate.json").read_text())["checks"][0]
            assert (again["verdict"], again["n"], again["p_value"]) == (first["verdict"], first["n"], first["p_value"])
            assert commanded(tmp_path, "verify", str(out)) == code, said(capsys)

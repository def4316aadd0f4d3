"""How fast an engine answers: learned from the first replies on a clock of its own, and from a real server."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.evaluation.assignment import Observer
from accgate.evaluation.speed import Saturation, work_in
from accgate.planning.cost import Speed
from accgate.records.file import Record
from tests.evaluation.serving import configure, served_by, sums_of
from tests.evaluation.test_ahead import PROCESSOR, Decoder, evaluated, foresees
from tests.evaluation.test_ahead import sums as sums_task
from tests.support.cases import each
from tests.support.servers import Fault, Server, sums

SUM = Record("a", 0, 100.0, "4", "4", "4", "stop", 45, 5, 0.1, None)


class Watching(Observer):
    """An observer that notes the speed as soon as it is known, and after how many replies."""

    def __init__(self) -> None:
        self.replies, self.known = 0, (0, Speed(0.0, None))
        self.speed: Callable[[], Speed | None] = lambda: None

    def measures(self, speed: Callable[[], Speed | None]) -> None:
        self.speed = speed

    def finished(self, record: Record) -> None:
        assert record.completion_tokens
        self.replies += 1
        speed = self.speed()
        if not self.known[0] and speed is not None:
            self.known = self.replies, speed


@pytest.mark.parametrize(
    ("concurrency", "step", "tokens", "stops"),
    [(4, PROCESSOR, 12.0, False), (16, {}, 20.0, True), (64, PROCESSOR, 12.0, False), (64, PROCESSOR, 12.0, True)],
)
def test_the_first_replies_tell_how_long_a_run_takes(
    tmp_path: Path, concurrency: int, step: dict[str, float], tokens: float, stops: bool
) -> None:
    """Short replies come first, and those awaited have given tokens too: neither may distort it."""
    task, watching = sums_task(count=300), Watching()
    engine = Decoder(frozenset(), concurrency, **{**step, "tokens": tokens})
    rule = foresees(200, 200) if stops else None
    done, seconds = evaluated(engine, task, tmp_path, rule, observer=watching)
    lengths = [max(1, round(tokens * math.exp(random.Random(id_).gauss(-0.18, 0.6)))) for id_ in task.samples.ids]
    replies, speed = watching.known
    assert 8 <= replies <= 34
    assert speed.tokens is not None
    assert len(done.records) * sum(lengths) / len(lengths) / speed.tokens == pytest.approx(seconds, rel=0.2)


@each(
    ("changes", "work"),
    [
        ({}, 5), ({"completion_tokens": None}, 0), ({"cached": True}, None), ({"error": "no number"}, 5),
        ({"error": "timed out", "reply": None, "completion_tokens": None}, None),
    ],
)  # fmt: skip
def test_what_the_engine_did_not_do_tells_no_speed(changes: dict[str, object], work: int | None) -> None:
    assert work_in(replace(SUM, **changes)) == work  # type: ignore[arg-type]


@each(
    ("total", "tokens", "seconds", "speed"),
    [
        (3, [5, 5, 5], 1.0, Speed(1.0, 5.0)),
        (3, [5, 0, 5], 1.0, Speed(1.0, None)),  # one that nobody counted
        (3, [5, None, 5], 1.0, None),
        (3, [5, 5, 5], 0.0, None),  # a clock that stands still
        (200, [5] * 7, 1.0, None),
        (200, [5] * 8, 1.0, Speed(1.0, 5.0)),
        (200, [None] * 50, 1.0, None),  # all of the cache
    ],
)
def test_a_speed_takes_enough_replies(
    total: int, tokens: list[int | None], seconds: float, speed: Speed | None
) -> None:
    now = 0.0
    saturation = Saturation(1, lambda: now, total)
    for count in tokens:
        began = saturation.begin()
        now += seconds
        saturation.end(began, count)
    assert saturation.speed() == speed


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    """A config of a server's model whose reference says nothing of time or tokens, as an import's."""
    folder, server = tmp_path_factory.mktemp("probe"), Server(sums())
    with server:
        tables = {"models.m": served_by(server.url, concurrency=4), "tasks.arithmetic": sums_of(100, high=30)}
        config = configure(folder, tables)
        assert main(["record", str(config), "--out", str(folder / "out"), "--quiet"]) == 0
        (path,) = (folder / "references").rglob("arithmetic.toml")
        costs = ("samples_per_second", "completion_tokens", "prompt_tokens")
        path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith(costs)))
        yield config, server


def planned(config: Path, capsys, *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["plan", str(config), "--json", "--runs", str(config.parent / "none"), *options]) == 0
    cost: dict[str, Any] = json.loads(capsys.readouterr().out)[0]["cost"]
    return cost


def test_a_probe_asks_a_real_server_a_few_samples_at_the_runs_concurrency(
    recorded: tuple[Path, Server], capsys
) -> None:
    config, server = recorded
    assert planned(config, capsys)["most"]["seconds"] is None
    server.delay, asked = 0.05, len(server.seen)
    cost = planned(config, capsys, "--probe")
    assert 100 * 0.05 / 4 * 0.9 < cost["most"]["seconds"] < 60.0  # a busy machine adds to each reply
    assert 8 <= len(server.seen) - asked <= 12
    assert "replies/s on server" in cost["notes"][-1]


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [(Fault(400, {"error": "no"}), 0, "the probe got no reply"), (None, 3, "http://127.0.0.1:9/v1")],
)
def test_a_probe_without_replies_tells_no_time(
    recorded: tuple[Path, Server], capsys, fault: Fault | None, code: int, text: str
) -> None:
    config, server = recorded
    if fault is None:
        config = config.with_name("away.toml")
        config.write_text((config.parent / "accuracy.toml").read_text().replace(server.url, "http://127.0.0.1:9/v1"))
    server.fault_of, asked = lambda _: fault, len(server.seen)
    try:
        assert main(["plan", str(config), "--probe"]) == code
    finally:
        server.fault_of = None
    output = capsys.readouterr()
    assert text in " ".join((output.out + output.err).split())
    assert len(server.seen) - asked <= 12


SERVES = {"serve": ["sleep", "1", "--port", "{port}"]}


@pytest.mark.parametrize(
    "model", [{"engine": "openai", "model": "toy", "options": SERVES}, {"engine": "recorded", "model": "m.jsonl"}]
)
def test_what_plan_would_have_to_start_is_not_probed(tmp_path: Path, capsys, model: dict[str, Any]) -> None:
    config = configure(tmp_path, {"models.m": model, "tasks.arithmetic": {"num_samples": 20}})
    (tmp_path / "m.jsonl").write_text("")
    assert "a probe takes a server that runs already" in planned(config, capsys, "--probe")["notes"][-1]

"""Whole gates on a server that fails now and then: the records and the verdict are those of an unbroken run."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import read_records
from tests.support.gates import without_seconds
from tests.support.servers import Fault, Server, sums

pytestmark = pytest.mark.usefixtures("short_waits")
SAMPLES, IN_FLIGHT = 200, 16
CONFIG = """\
[gate]
references = "{references}"
early_stopping = false
max_failed = 0

[models.m]
engine = "openai"
model = "toy"
options = {{ base_url = {urls}, concurrency = {in_flight}, timeout = {timeout}, max_retries = 8 }}

[tasks.arithmetic]
options = {{ high = 50 }}
num_samples = {samples}
"""


def gate(folder: Path, references: Path, *servers: Server, command: str = "run", timeout: float = 30.0) -> Any:
    """The records, without their times, and the checks of one run."""
    folder.mkdir(exist_ok=True)
    urls = [server.url for server in servers]
    (folder / "accuracy.toml").write_text(
        CONFIG.format(references=references, urls=urls, in_flight=IN_FLIGHT, samples=SAMPLES, timeout=timeout)
    )
    code = main([command, str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet"])
    if command == "record":
        assert code == 0
        return None
    assert code in (0, 1)
    records = read_records(folder / "out" / "m" / "arithmetic.jsonl")
    checks = json.loads((folder / "out" / "accgate.json").read_text())["checks"]
    return {record.key: replace(record, seconds=None) for record in records}, without_seconds(checks)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    with Server(sums(wrong=0.2)) as server:
        gate(folder, folder / "references", server, command="record")
    return folder / "references"


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, references: Path) -> Any:
    with Server() as server:
        records, checks = gate(tmp_path_factory.mktemp("unbroken"), references, server)
    assert len(records) == SAMPLES
    assert 0 < checks[0]["discordance"] < 0.5
    return records, checks


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


def sometimes(*faults: Fault, share: float = 0.1) -> Callable[[Any], Fault | None]:
    """Each reply is one of these faults with this probability, whatever was asked."""
    dice = random.Random(1)
    return lambda _: dice.choice(faults) if dice.random() < share else None


CHOICES = {"choices": [{"text": " 7", "finish_reason": "stop"}]}
FAULTS = {
    "429": Fault(429, {"error": "slow down"}, {"retry-after-ms": "20"}),
    "500": Fault(500, {"error": "out of luck"}),
    "timeouts": Fault(hang=600.0),
    "cut before the reply": Fault(cut=True),
    "cut within the reply": Fault(body=CHOICES, cut=True),
    "malformed JSON": Fault(body=json.dumps(CHOICES).encode()[:-3]),
    "no choices": Fault(body={"choices": []}),
    "no text": Fault(body={"choices": [{"message": {"content": None}}]}),
}


@pytest.mark.slow
def test_every_fault_at_once_on_several_servers_changes_nothing(
    tmp_path: Path, references: Path, unbroken: Any
) -> None:
    with Server() as first, Server() as second:
        for server in (first, second):
            server.fault_of = sometimes(*FAULTS.values(), share=0.3)
        assert gate(tmp_path, references, first, second, timeout=0.5) == unbroken
    assert min(len(first.seen), len(second.seen)) > SAMPLES / 4


@contextlib.contextmanager
def restarting(server: Server, after: int, away: float) -> Iterator[list[Server]]:
    """End a server after some requests, and start another on its port later."""
    again = []

    def work() -> None:
        wait_for(server, after)
        server.__exit__()
        time.sleep(away)
        again.append(Server(port=server.port).__enter__())

    thread = threading.Thread(target=work)
    thread.start()
    yield again
    thread.join()
    again[0].__exit__()


def test_a_server_that_restarts_in_the_middle_changes_nothing(
    tmp_path: Path, references: Path, unbroken: Any, server: Server
) -> None:
    server.delay = 0.002
    with restarting(server, after=50, away=0.3) as again:
        assert gate(tmp_path, references, server) == unbroken
    assert len(again[0].seen) > SAMPLES / 2


def wait_for(server: Server, count: int) -> None:
    while len(server.seen) < count:
        time.sleep(0.001)

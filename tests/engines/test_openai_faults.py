"""A whole gate on servers that fail now and then, and restart: its result is that of an unbroken run."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import read_records
from tests.support.gates import without_seconds
from tests.support.servers import Fault, Server

SAMPLES = 200
CHOICES = {"choices": [{"text": " 7", "finish_reason": "stop"}]}
FAULTS = [
    Fault(429, {"error": "slow down"}, {"retry-after-ms": "20"}),
    Fault(500, {"error": "out of luck"}),
    Fault(hang=600.0),
    Fault(cut=True),
    Fault(body=CHOICES, cut=True),
    Fault(body=json.dumps(CHOICES).encode()[:-3]),
    Fault(body={"choices": []}),
    Fault(body={"choices": [{"message": {"content": None}}]}),
]


def gate(folder: Path, *servers: Server) -> Any:
    """The records and the checks of one run, without their times."""
    folder.mkdir()
    urls = [server.url for server in servers]
    (folder / "accuracy.toml").write_text(
        '[gate]\nearly_stopping = false\nmax_failed = 0\n[models.m]\nengine = "openai"\nmodel = "toy"\n'
        f"options = {{ base_url = {urls}, concurrency = 16, timeout = 2.0, max_retries = 8 }}\n"
        f"[tasks.arithmetic]\noptions = {{ high = 50 }}\nnum_samples = {SAMPLES}\ntarget = 50\n"
    )
    assert main(["run", str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet"]) == 0
    records = read_records(folder / "out" / "m" / "arithmetic.jsonl")
    checks = json.loads((folder / "out" / "accgate.json").read_text())["checks"]
    return {record.key: replace(record, seconds=None) for record in records}, without_seconds(checks)


@pytest.mark.slow
@pytest.mark.usefixtures("short_waits")
def test_every_fault_at_once_and_a_restart_change_nothing(tmp_path: Path) -> None:
    with Server() as calm:
        unbroken = gate(tmp_path / "unbroken", calm)
    assert len(unbroken[0]) == SAMPLES
    dice, again = random.Random(1), list[Server]()

    def now_and_then(_: Any) -> Fault | None:
        return dice.choice(FAULTS) if dice.random() < 0.3 else None

    def restart() -> None:
        while len(first.seen) < 50:
            time.sleep(0.001)
        first.__exit__()
        time.sleep(0.3)
        again.append(Server(port=first.port).__enter__())

    def away(body: Any) -> Fault | None:
        """Refuse what would leave nothing for the restarted server to answer."""
        if len(second.seen) > SAMPLES // 3 and (not again or len(again[0].seen) < 10):
            return Fault(503, {})
        return now_and_then(body)

    with Server() as first, Server() as second:
        first.fault_of, second.fault_of = now_and_then, away
        restarting = threading.Thread(target=restart)
        restarting.start()
        assert gate(tmp_path / "broken", first, second) == unbroken
        restarting.join()
        again[0].__exit__()
    assert min(len(first.seen), len(second.seen), len(again[0].seen)) >= 10

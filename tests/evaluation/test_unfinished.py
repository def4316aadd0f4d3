"""A check whose engine failed: every view counts the samples that were evaluated by then, and `verify` agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.evaluation.merges import records_path
from tests.evaluation.serving import checks_of, configure, served_by
from tests.support.gates import questions, write_task
from tests.support.servers import Fault, Server

EVALUATED = 57


@pytest.fixture
def config(tmp_path: Path, server: Server) -> Path:
    """A gate of 80 sums with a reference, and a server that takes no more than 57 of the next requests."""
    write_task(tmp_path, rows=questions(80))
    tables = {
        "gate": {"early_stopping": False, "max_failed": 0.1},
        "models.m": served_by(server.url, concurrency=1),
        "tasks.sums": {"file": "sums.toml", "theta": 10.0},
    }
    path = configure(tmp_path, tables)
    assert main(["record", str(path), "--quiet", "--out", str(tmp_path / "record")]) == 0
    last = len(server.seen) + EVALUATED
    server.fault_of = lambda _: Fault(401) if len(server.seen) > last else None
    return path


def run(config: Path, *args: str) -> dict[str, Any]:
    out = config.parent / "out"
    assert main(["run", str(config), "--quiet", "--html", "--out", str(out), *args]) == 3
    return dict(json.loads((out / "accgate.json").read_text()))


def test_n_counts_what_was_evaluated_before_the_engine_failed(config: Path, capsys) -> None:
    result = run(config)
    (check,) = result["checks"]
    assert "HTTP 401" in check["reasons"][0]
    assert (check["n"], check["candidate"]["n"], check["candidate"]["errors"]) == (EVALUATED, EVALUATED, 0)
    assert check["candidate"]["readings"]["replies"] == result["samples"] == EVALUATED
    out = config.parent / "out"
    assert f" {EVALUATED} samples," in (out / "report.md").read_text()
    assert f"{EVALUATED} samples," in capsys.readouterr().out
    assert f"{EVALUATED} of them in checks without a verdict" in (out / "report.html").read_text()
    assert main(["verify", str(out), "--config", str(config)]) == 3
    assert "The records give the same verdict" in capsys.readouterr().out


def test_failed_samples_are_evaluated_too_and_each_counts_once(config: Path, server: Server) -> None:
    config.write_text(config.read_text().replace("theta = 10.0", "theta = 10.0\nrepeats = 2"))
    failing = server.fault_of
    assert failing is not None
    server.fault_of = lambda body: failing(body) or (Fault(400) if "What is 7 " in str(body) else None)
    (check,) = run(config)["checks"]
    ids = [json.loads(line)["id"] for line in records_path(config.parent / "out").read_text().splitlines()]
    assert len(ids) == EVALUATED
    assert check["n"] == check["candidate"]["n"] == len(set(ids))


def test_an_engine_that_does_not_start_evaluated_nothing_unless_a_run_goes_on(config: Path, server: Server) -> None:
    run(config)
    server.models = Fault(404)
    server.fault_of = None
    config.write_text(config.read_text().replace(server.url, "http://127.0.0.1:9/v1"))
    (check,) = run(config, "--resume")["checks"]
    assert check["n"] == EVALUATED
    out = str(config.parent / "anew")
    assert main(["run", str(config), "--quiet", "--out", out]) == 3
    (check,) = checks_of(Path(out))
    assert (check["n"], check["candidate"]["n"]) == (0, 0)

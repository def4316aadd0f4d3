"""`accgate ab` on a server: two models asked side by side."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.gates import table, write_task
from tests.servers import Fault, Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


class Pair:
    """Two models of one server, which are wrong for these shares of the questions; the luckier ones of each alike."""

    def __init__(self, folder: Path, server: Server, *, early_stopping: bool = True) -> None:
        self.folder, self.server, self.wrong = folder, server, {"a": 0.2, "b": 0.2}
        write_task(folder)
        self.config = folder / "accuracy.toml"
        text = table("gate", {"early_stopping": early_stopping})
        for name in self.wrong:
            keys = {"engine": "openai", "model": name, "options": {"base_url": server.url, "concurrency": 4}}
            text += table(f"models.{name}", keys)
        self.config.write_text(text + table("tasks.sums", {"file": "sums.toml", "theta": 8.0}))
        server.models = {"data": [{"id": name} for name in self.wrong]}
        server.fault_of = self.reply

    def reply(self, body: Mapping[str, Any]) -> Fault:
        (number,) = set(map(int, re.findall(r"(\d+) \+", body["messages"][-1]["content"])))
        luck = int(hashlib.sha256(str(number).encode()).hexdigest()[:8], 16) / 16**8
        message = {"role": "assistant", "content": str(2 * number + (luck < self.wrong[body["model"]]))}
        return Fault(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": {}})

    def ab(self, *args: str) -> int:
        names = [] if "b" in args or "a" in args else ["a", "b"]
        out = ["--out", str(self.folder / "out")]
        return main(["ab", *names, *out, *args, "--config", str(self.config), "--quiet"])


def test_a_worse_model_fails_and_few_samples_show_it(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(tmp_path, server)
    pair.wrong["b"] = 0.5
    assert pair.ab("--json") == 1
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["verdict"]["verdict"] == "regression"
    assert task["verdict"]["n"] < 100
    assert task["verdict"]["difference"] < -8.0
    models = [seen.body["model"] for seen in server.seen]
    assert {models.count("a"), models.count("b")} <= set(range(50, 160))
    halves = models[: len(models) // 2]
    assert 0.3 < halves.count("a") / len(halves) < 0.7  # side by side, not one after the other
    assert not (tmp_path / "references").exists()
    assert pair.ab() == 1
    assert "sums: b is worse than a: " in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("wrong", "answer", "code"), [(0.2, "no difference", 0), (0.02, "better", 0), (0.5, "worse", 1)]
)
def test_two_sided_it_says_better_worse_or_no_difference(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str], wrong: float, answer: str, code: int
) -> None:
    pair = Pair(tmp_path, server)
    pair.wrong["b"] = wrong
    assert pair.ab("--two-sided", "--json") == code
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["answer"] == answer
    assert task["verdict"]["alpha"] == task["other"]["alpha"] == 0.025


def test_models_of_two_files_and_of_the_same_name(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(tmp_path, server)
    other = tmp_path / "other.toml"
    other.write_text(pair.config.read_text().replace('model = "a"', 'model = "b"'))
    pair.wrong["b"] = 0.6
    assert pair.ab("a", "a", "--against", str(other)) == 1
    assert "a (other.toml) is worse than a" in " ".join(capsys.readouterr().out.split())
    assert pair.ab("a", "a") == 2
    assert "both models are a" in capsys.readouterr().err
    assert pair.ab("a", "bb") == 2
    assert "no model 'bb'" in capsys.readouterr().err


def test_without_early_stopping_all_samples_are_asked(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(tmp_path, server, early_stopping=False)
    pair.wrong["b"] = 0.5
    assert pair.ab("--json") == 1
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["verdict"]["n"] > 100
    assert len(server.seen) == 2 * task["verdict"]["n"]


def test_a_side_without_scores_is_no_comparison(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(tmp_path, server, early_stopping=False)
    answer, lost = pair.reply, [""]

    def reply(body: Mapping[str, Any]) -> Fault:
        asked = body["messages"][-1]["content"]
        lost[0] = lost[0] or asked
        return Fault(status=400) if body["model"] == "a" and asked == lost[0] else answer(body)

    server.fault_of = reply
    assert pair.ab() == 3
    assert "samples have no score, so the models cannot be compared" in capsys.readouterr().err
    server.fault_of = lambda body: Fault(status=400) if body["model"] == "b" else answer(body)
    assert pair.ab() == 3
    assert "of 200 samples failed, more than max_failed allows" in capsys.readouterr().err


def test_a_folder_with_other_files_is_refused_before_anything_is_asked(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = Pair(tmp_path, server)
    before = sorted(path.name for path in tmp_path.iterdir())
    assert pair.ab("--out", str(tmp_path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"accgate: {tmp_path}: holds 'accuracy.toml', which is not from an earlier `accgate ab`")
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert not server.seen

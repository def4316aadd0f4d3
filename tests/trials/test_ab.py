"""`accgate ab` on a server: two models asked side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.gates import table, write_task
from tests.support.servers import Fault, Server
from tests.trials.answers import answer, luck


@pytest.fixture
def server() -> Iterator[Server]:
    """One for each test, which counts what it was asked."""
    with Server() as server:
        yield server


@pytest.fixture
def pair(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> Pair:
    return Pair(tmp_path, server, capsys)


class Pair:
    """Two models of one server, which are wrong for these shares of the questions; the luckier ones of each alike."""

    def __init__(self, folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.server, self.capsys, self.wrong = folder, server, capsys, {"a": 0.2, "b": 0.2}
        write_task(folder)
        self.config = folder / "accuracy.toml"
        self.write()
        server.models = {"data": [{"id": name} for name in self.wrong]}
        server.fault_of = self.reply

    def write(self, **gate: Any) -> None:
        text = table("gate", gate)
        for name in self.wrong:
            keys = {"engine": "openai", "model": name, "options": {"base_url": self.server.url, "concurrency": 4}}
            text += table(f"models.{name}", keys)
        self.config.write_text(text + table("tasks.sums", {"file": "sums.toml", "theta": 8.0}))

    def reply(self, body: Mapping[str, Any]) -> Fault:
        return answer(body, lambda number: luck(number) < self.wrong[body["model"]])

    def ab(self, *args: str) -> int:
        names = [] if "b" in args or "a" in args else ["a", "b"]
        out = ["--out", str(self.folder / "out")]
        return main(["ab", *names, *out, *args, "--config", str(self.config), "--quiet"])

    def task(self, *args: str, code: int = 1) -> dict[str, Any]:
        """The only task of a comparison that ends with this code."""
        assert self.ab("--json", *args) == code
        (task,) = json.loads(self.capsys.readouterr().out)["tasks"]
        return dict(task)

    def ends(self, code: int, *args: str) -> str:
        """What a comparison that ends with this code says, on one line."""
        self.capsys.readouterr()
        assert self.ab(*args) == code
        return " ".join("".join(self.capsys.readouterr()).split())


def test_a_worse_model_fails_and_few_samples_show_it(pair: Pair) -> None:
    pair.wrong["b"] = 0.5
    verdict = pair.task()["verdict"]
    assert verdict["verdict"] == "regression"
    assert verdict["n"] < 100
    assert verdict["difference"] < -8.0
    models = [seen.body["model"] for seen in pair.server.seen]
    half = models[: len(models) // 2]
    assert set(half) == {"a", "b"}  # side by side, not one after the other
    assert not (pair.folder / "references").exists()
    assert "sums: b is worse than a: " in pair.ends(1)


@pytest.mark.parametrize(
    ("wrong", "words", "code"), [(0.2, "no difference", 0), (0.02, "better", 0), (0.5, "worse", 1)]
)
def test_two_sided_it_says_better_worse_or_no_difference(pair: Pair, wrong: float, words: str, code: int) -> None:
    pair.wrong["b"] = wrong
    task = pair.task("--two-sided", code=code)
    assert task["answer"] == words
    assert [task[way][key] for way in ("verdict", "other") for key in ("alpha", "alpha_applied")] == [0.025] * 4


def test_models_of_two_files_and_of_the_same_name(pair: Pair) -> None:
    other = pair.folder / "other.toml"
    other.write_text(pair.config.read_text().replace('model = "a"', 'model = "b"'))
    pair.wrong["b"] = 0.6
    assert "a (other.toml) is worse than a" in pair.ends(1, "a", "a", "--against", str(other))
    assert "both models are a" in pair.ends(2, "a", "a")
    assert "no model 'bb'" in pair.ends(2, "a", "bb")


def test_without_early_stopping_all_samples_are_asked(pair: Pair) -> None:
    pair.write(early_stopping=False)
    pair.wrong["b"] = 0.5
    n = pair.task()["verdict"]["n"]
    assert n > 100
    assert len(pair.server.seen) == 2 * n


def test_a_side_without_scores_is_no_comparison(pair: Pair) -> None:
    pair.write(early_stopping=False)
    lost: list[str] = []

    def reply(body: Mapping[str, Any]) -> Fault:
        asked = body["messages"][-1]["content"]
        lost.append(asked)
        return Fault(status=400) if body["model"] == "a" and asked == lost[0] else pair.reply(body)

    pair.server.fault_of = reply
    assert "samples have no score" in pair.ends(3)
    pair.server.fault_of = lambda body: Fault(status=400) if body["model"] == "b" else pair.reply(body)
    assert "of 200 samples failed, more than max_failed" in pair.ends(3)


def test_a_folder_with_other_files_is_refused_before_anything_is_asked(pair: Pair) -> None:
    before = sorted(pair.folder.iterdir())
    fault = f"{pair.folder}: holds 'accuracy.toml', which is not from an earlier `accgate ab`"
    assert fault in pair.ends(2, "--out", str(pair.folder))
    assert sorted(pair.folder.iterdir()) == before
    assert not pair.server.seen

"""Two paths of one model: `equal_to` gates a model against another that is asked in the same run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.gates import Project, questions, said, table, write_task
from tests.servers import Fault, Server

N = 320


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def luck_of(number: int) -> float:
    return int(hashlib.sha256(str(number).encode()).hexdigest()[:8], 16) / 16**8


class Paths:
    """A cold and a warm path of one server; the warm one is wrong for these shares of what the cold one gets right.

    A `kernel` says what the path answers instead.
    """

    def __init__(self, folder: Path, server: Server, n: int = N, **keys: Any) -> None:
        self.folder, self.server, self.out = folder, server, folder / "out"
        write_task(folder, rows=questions(n), extract__form="number")
        self.config, self.gate = folder / "accuracy.toml", {"overall": False}
        self.models: dict[str, dict[str, Any]] = {}
        for name in ("cold", "warm"):
            options = {"base_url": server.url, "concurrency": 4}
            self.models[name] = {"engine": "openai", "model": name, "options": options}
        self.models["warm"]["equal_to"] = "cold"
        self.tasks: dict[str, dict[str, Any]] = {"sums": {"file": "sums.toml", "theta": 4.0, **keys}}
        self.wrong: dict[str, Callable[[float], bool]] = {name: lambda luck: luck < 0.2 for name in self.models}
        self.words = dict.fromkeys(self.models, "The answer is")
        server.models = {"data": [{"id": name} for name in self.models]}
        server.fault_of = self.reply
        self.write()

    def write(self) -> None:
        text = table("gate", self.gate) + "".join(table(f"models.{name}", keys) for name, keys in self.models.items())
        text += "".join(table(f"tasks.{name}", keys) for name, keys in self.tasks.items())
        self.config.write_text(text, encoding="utf-8")

    def reply(self, body: Mapping[str, Any]) -> Fault:
        (number,) = set(map(int, re.findall(r"(\d+) \+", body["messages"][-1]["content"])))
        model = body["model"]
        text = f"{self.words[model]} {2 * number + self.wrong[model](luck_of(number))}."
        message = {"role": "assistant", "content": text}
        return Fault(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": {}})

    def run(self, *args: str) -> int:
        return main(["run", str(self.config), "--out", str(self.out), "--quiet", *args])

    def verify(self) -> int:
        return main(["verify", str(self.out), "--config", str(self.config)])

    @property
    def check(self) -> dict[str, Any]:
        (check,) = json.loads((self.out / "accgate.json").read_text(encoding="utf-8"))["checks"]
        return check

    @property
    def asked(self) -> dict[str, int]:
        models = [seen.body["model"] for seen in self.server.seen if seen.body]
        return {name: models.count(name) for name in self.models}


@pytest.mark.parametrize(
    ("wrong", "code", "answer"),
    [
        (lambda luck: luck < 0.2, 0, "no difference"),
        (lambda luck: luck < 0.5, 1, "worse"),
        (lambda luck: luck < 0.01, 1, "better"),
    ],
    ids=["alike", "worse", "better"],
)
def test_a_path_must_neither_be_worse_nor_better(
    tmp_path: Path, server: Server, wrong: Callable[[float], bool], code: int, answer: str
) -> None:
    paths = Paths(tmp_path, server)
    paths.wrong["warm"] = wrong
    assert paths.run() == code
    check = paths.check
    assert (check["model"], check["equal_to"], check["answer"]) == ("warm", "cold", answer)
    assert (check["alpha"], check["alpha_applied"]) == (0.05, 0.025)
    assert check["n"] < N
    assert (check["reference"]["name"], check["reference"]["n"]) == ("cold", check["n"])
    assert {*paths.asked.values()} <= {*range(check["n"], check["n"] + 40)}  # both stopped
    assert paths.verify() == code


def test_show(tmp_path: Path, server: Server, capsys) -> None:
    paths = Paths(tmp_path, server)
    paths.wrong["warm"] = lambda luck: luck < 0.01
    paths.run()
    print(capsys.readouterr().out)
    print((paths.out / "report.md").read_text())
    main(["report", str(paths.out), "--check", "warm/sums"])
    main(["plan", str(paths.config)])
    print(json.dumps(paths.check, indent=1)[:3000])
    paths.wrong["warm"] = paths.wrong["cold"]
    paths.words["warm"] = "So the answer is"
    paths.run()
    main(["report", str(paths.out), "--check", "warm/sums"])
    assert 0

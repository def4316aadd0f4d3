"""Two paths of one model: `equal_to` gates a model against another that is asked in the same run."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.guard.changes import changed_rules
from accgate.planning.checks import plan_checks
from accgate.planning.design import TaskSource
from benchmarks import two_paths
from tests.gates import Project, questions, right_but, said, table, write_task
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

    def __init__(self, folder: Path, server: Server, n: int = N, theta: float = 4.0) -> None:
        self.folder, self.server, self.out = folder, server, folder / "out"
        write_task(folder, rows=questions(n), extract__form="number")
        self.config, self.gate = folder / "accuracy.toml", {"overall": False}
        self.models: dict[str, dict[str, Any]] = {}
        for name in ("cold", "warm"):
            options = {"base_url": server.url, "concurrency": 4}
            self.models[name] = {"engine": "openai", "model": name, "options": options}
        self.models["warm"]["equal_to"] = "cold"
        self.tasks: dict[str, dict[str, Any]] = {"sums": {"file": "sums.toml", "theta": theta}}
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


def test_replies_that_differ_are_counted_and_shown_and_fail_nothing(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = Paths(tmp_path, server)
    paths.words["warm"] = "So the answer is"
    assert paths.run("--html") == 0
    changes = paths.check["reply_changes"]
    assert changes["replies"] == changes["changed"] >= 47
    assert changes["tokens"] == 2 * changes["changed"]  # "The" became "So", and "the" is new
    assert [changes["first"][0][key] for key in ("place", "before", "now")] == [1, "The", "So"]
    shown = "replies differ from those of cold, in"
    pages = [(paths.out / name).read_text() for name in ("report.md", "report.html")]
    for text in (capsys.readouterr().out, *pages):
        assert shown in " ".join(text.split())
    assert "The answer is" in pages[1]  # the other side's reply, in the list of samples


@pytest.mark.parametrize("side", ["cold", "warm", "both"])
def test_a_side_that_answers_nothing_is_an_error(tmp_path: Path, server: Server, side: str) -> None:
    paths = Paths(tmp_path, server)
    answer = paths.reply
    silent = Fault(body={"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": ""}}], "usage": {}})
    server.fault_of = lambda body: silent if side in ("both", body["model"]) else answer(body)
    assert paths.run() == 3
    assert paths.check["verdict"] == "error"
    assert paths.asked["warm"] < N


@pytest.mark.parametrize("side", ["cold", "warm"])
def test_a_failed_sample_of_either_side_is_an_error_until_it_is_asked_again(
    tmp_path: Path, server: Server, side: str
) -> None:
    paths = Paths(tmp_path, server, n=100, theta=10.0)
    answer, lost = paths.reply, [""]

    def reply(body: Mapping[str, Any]) -> Fault:
        asked = body["messages"][-1]["content"]
        lost[0] = lost[0] or asked
        return Fault(status=400) if body["model"] == side and asked == lost[0] else answer(body)

    server.fault_of = reply
    assert paths.run() == 3
    assert "1 of 100 samples have no score" in paths.check["reasons"][0]
    server.fault_of = answer
    server.seen.clear()
    assert paths.run("--resume") == 0
    assert sum(paths.asked.values()) < 20
    server.seen.clear()
    assert paths.run("--resume") == 0
    assert not sum(paths.asked.values())  # what decided is there
    assert paths.verify() == 0


def test_records_that_do_not_decide_are_no_pass(tmp_path: Path, server: Server) -> None:
    paths = Paths(tmp_path, server)
    assert paths.run() == 0
    for name in ("warm", "cold"):
        path = paths.out / name / "sums.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:20]))
        assert paths.verify() == 2
        path.write_text("".join(lines))
    assert paths.verify() == 0


def test_both_sides_are_asked_together_and_the_other_sides_own_check_goes_on(tmp_path: Path, server: Server) -> None:
    paths = Paths(tmp_path, server)
    assert main(["record", str(paths.config), "--out", str(tmp_path / "recorded"), "--quiet"]) == 0
    assert sorted(path.name for path in (tmp_path / "references").iterdir()) == ["cold"]
    server.seen.clear()
    paths.wrong["warm"] = lambda luck: luck < 0.6
    assert paths.run() == 1
    cold, warm = json.loads((paths.out / "accgate.json").read_text())["checks"]
    assert (cold["verdict"], cold["equal_to"], warm["verdict"], warm["answer"]) == ("pass", None, "regression", "worse")
    assert (cold["alpha_applied"], warm["alpha_applied"]) == (0.025, 0.0125)
    first = [seen.body["model"] for seen in server.seen if seen.body][: 2 * warm["n"]]
    assert 0.35 < first.count("cold") / len(first) < 0.65
    assert paths.asked["cold"] <= cold["n"] + 40  # nothing was asked twice
    assert paths.verify() == 1


def test_kept_replies_of_one_side_are_not_those_of_the_other(tmp_path: Path, server: Server) -> None:
    paths = Paths(tmp_path, server)
    for _ in range(2):
        server.seen.clear()
        assert paths.run("--cache", str(tmp_path / "cache")) == 0
        assert min(paths.asked.values()) >= paths.check["n"]


def test_a_run_that_is_asked_to_stop_goes_on_with_both_sides(tmp_path: Path, server: Server) -> None:
    paths = Paths(tmp_path, server)
    answer, count = paths.reply, [0]

    def reply(body: Mapping[str, Any]) -> Fault:
        count[0] += 1
        if count[0] == 40:
            os.kill(os.getpid(), signal.SIGINT)
        return answer(body)

    server.fault_of = reply
    assert paths.run() == 130
    first = paths.asked
    server.seen.clear()
    assert paths.run("--resume") == 0
    for name, asked in paths.asked.items():
        assert 0 < asked + first[name] < paths.check["n"] + 40
    assert paths.verify() == 0


def test_two_models_may_be_held_against_one(tmp_path: Path, server: Server) -> None:
    paths = Paths(tmp_path, server)
    paths.models["hot"] = {**paths.models["warm"], "model": "warm"}
    paths.write()
    assert paths.run() == 0
    checks = json.loads((paths.out / "accgate.json").read_text())["checks"]
    assert [(check["model"], check["answer"]) for check in checks] == [(m, "no difference") for m in ("warm", "hot")]
    assert paths.asked["cold"] < 100
    assert paths.verify() == 0


def test_a_run_of_samples_that_only_it_knows_is_verified(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = Paths(tmp_path, server)
    paths.tasks["sums"]["num_samples"] = N
    paths.write()
    paths.wrong["warm"] = lambda luck: luck < 0.5
    assert paths.run() == 1
    monkeypatch.setattr(TaskSource, "is_local", False)  # as of a dataset of the hub, which `verify` does not read
    assert paths.verify() == 1
    prompts = paths.out / "warm" / "sums.prompts.jsonl.gz"
    prompts.write_bytes(gzip.compress(gzip.decompress(prompts.read_bytes()) * 2))
    assert paths.verify() == 2


def test_the_plan_says_what_is_held_against_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Recordings(tmp_path)
    for name in ("cold", "warm"):
        pair.answer(right_but(60, 600), path=pair.folder / f"{name}.jsonl")
    assert main(["plan", str(pair.config)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "warm / sums: at most 570 samples see a drop of 2.0 points with probability 0.8" in printed
    assert "held against cold both ways, each at alpha 0.025" in printed
    assert main(["plan", str(pair.config), "--json"]) == 0
    (check,) = json.loads(capsys.readouterr().out)
    assert (check["model"], check["equal_to"], check["alpha_planned"]) == ("warm", "cold", 0.025)


GREEDY, DRAWN = {"temperature": 0.0}, {"temperature": 0.7}


class Recordings(Project):
    """The same two paths as recordings, whose scores are given."""

    def __init__(self, folder: Path, n: int = 600, theta: float = 2.0) -> None:
        super().__init__(folder, n=n, theta=theta)
        self.models = {name: {"engine": "recorded", "model": f"{name}.jsonl"} for name in ("cold", "warm")}
        self.models["warm"]["equal_to"] = "cold"
        self.write(early_stopping=True)

    def gate_of(self, cold: Sequence[float], warm: Sequence[float]) -> int:
        for name, scores in (("cold", cold), ("warm", warm)):
            self.answer(scores, path=self.folder / f"{name}.jsonl")
        return self.run()


def test_a_healthy_deterministic_pair_takes_some_90_samples_at_theta_2(tmp_path: Path) -> None:
    pair = Recordings(tmp_path)
    assert pair.gate_of(right_but(60, 600), right_but(60, 600)) == 0
    assert pair.check["n"] == 94  # the limit is ln 0.2 / ln 0.98, which is 80
    assert (pair.check["n_max"], pair.check["discordance_planned"]) == (570, 0.0)


@pytest.mark.parametrize(("sampling", "planned"), [(GREEDY, 0.0), (DRAWN, None)])
def test_no_change_is_expected_where_both_are_greedy(
    tmp_path: Path, sampling: Mapping[str, float], planned: float | None
) -> None:
    pair = Recordings(tmp_path)
    pair.models["warm"]["sampling"] = sampling
    pair.write()
    (check,) = plan_checks(load_config(pair.config))
    assert (check.design.discordance, check.n) == (planned, 570 if planned == 0.0 else 600)
    assert check.alpha_planned == 0.025


def test_without_an_early_stop_all_samples_decide(tmp_path: Path) -> None:
    pair = Recordings(tmp_path)
    pair.write(early_stopping=False)
    assert pair.gate_of(right_but(60, 600), right_but(100, 600)) == 1
    assert (pair.check["answer"], pair.check["test"], pair.check["n_max"]) == ("worse", "unconditional", None)


def test_both_wrong_everywhere_is_no_pass(tmp_path: Path) -> None:
    pair = Recordings(tmp_path, n=200, theta=10.0)
    assert pair.gate_of(right_but(200), right_but(200)) != 0
    assert pair.check["verdict"] in ("inconclusive", "error")


@pytest.mark.parametrize(
    ("model", "task", "message"),
    [
        ({"equal_to": "warm"}, {}, "models.warm.equal_to: is the model itself"),
        ({"equal_to": "cool"}, {}, "models.warm.equal_to: names no model 'cool'; did you mean 'cold'?"),
        ({"baseline": "cold"}, {}, "models.warm.equal_to: is set together with baseline"),
        ({}, {"target": 0.0}, "tasks.sums.target: does not go with equal_to"),
        ({}, {"target": 50.0}, "tasks.sums.target: does not go with equal_to of warm"),
        ({}, {"reference": 50.0, "reference_num_samples": 9}, "tasks.sums.reference: does not go with equal_to"),
        ({}, {"allowed_drop": 1.0}, "tasks.sums.allowed_drop: does not go with equal_to"),
        ({}, {"certify": True}, "tasks.sums.certify: does not go with equal_to"),
        ({}, {"max_slower": "10%"}, "tasks.sums.max_slower: does not go with equal_to"),
        ({}, {"max_more_tokens": "10%"}, "tasks.sums.max_more_tokens: does not go with equal_to"),
    ],
)
def test_what_says_nothing_of_equality_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: dict[str, Any], task: dict[str, Any], message: str
) -> None:
    pair = Recordings(tmp_path)
    pair.models["warm"] |= model
    pair.tasks["sums"] |= task
    pair.write()
    assert pair.gate_of(right_but(1, 600), right_but(1, 600)) == 2
    assert message in said(capsys)


def test_a_model_with_equal_to_is_no_other_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = Recordings(tmp_path)
    pair.models["hot"] = {**pair.models["warm"], "equal_to": "warm"}
    pair.write()
    assert pair.run() == 2
    assert "models.hot.equal_to: names warm, which has equal_to itself; name a model without" in said(capsys)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--shard", "1/2"), "warm / sums: a model with equal_to is not evaluated in shards; leave --shard out"),
        (("--models", "cold"), ""),
    ],
)
def test_what_cannot_be_decided_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: Sequence[str], message: str
) -> None:
    pair = Recordings(tmp_path)
    for name in ("cold", "warm"):
        pair.answer(right_but(60, 600), path=pair.folder / f"{name}.jsonl")
    assert pair.run(args=args) == (2 if message else 4)
    assert message in said(capsys)


EQUAL = {"equal_to": "cold"}


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ({}, EQUAL, {"models.warm.equal_to", "models.cold"}),
        (EQUAL, {}, {"models.warm.equal_to"}),
        ({"equal_to": "other"}, EQUAL, {"models.warm.equal_to", "models.cold"}),
        (EQUAL, EQUAL, set()),
    ],
)
def test_the_guard_lists_every_change_of_the_other_side(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], rules: set[str]
) -> None:
    configs = []
    for name, keys in (("base", before), ("head", after)):
        folder = tmp_path / name
        folder.mkdir()
        pair = Recordings(folder)
        pair.models["other"] = {"engine": "recorded", "model": "cold.jsonl"}
        del pair.models["warm"]["equal_to"]
        pair.models["warm"] |= keys
        pair.write()
        configs.append(load_config(pair.config))
    changes = changed_rules(*configs)
    assert {change.rule for change in changes} == rules
    assert {change.effect for change in changes} <= {"loosening"}


@pytest.mark.parametrize(
    ("q", "move", "wrong", "most"),
    [(0.12, 0.0, ("worse", "better"), 0.05), (0.12, -8.0, ("no difference", "better"), 0.2)],
)
def test_two_sided_errors_hold_for_a_kernel_that_answers_a_share_otherwise(
    q: float, move: float, wrong: Sequence[str], most: float
) -> None:
    rng, runs = np.random.default_rng(7), 40
    answers = [two_paths.run(rng, q, move, 0.1, 300, theta=8.0).answer for _ in range(runs)]
    assert np.isin(answers, wrong).mean() <= most + 3 * (most * (1 - most) / runs) ** 0.5


@pytest.mark.parametrize("own", ["base", "head"])
def test_on_a_pull_request_the_base_decides_between_the_paths_of_the_head(tmp_path: Path, own: str) -> None:
    pairs = {}
    for name in ("base", "head"):
        folder = tmp_path / name
        folder.mkdir()
        pairs[name] = Recordings(folder)
        if name != own:
            pairs[name].models["warm"].pop("equal_to")
            pairs[name].write()
    head = pairs["head"]
    head.gate_of(right_but(60, 600), right_but(120, 600))
    code = head.run(args=["--base", str(pairs["base"].config)])
    verdicts = {check["model"]: (check["verdict"], check["is_new"]) for check in head.result["checks"]}
    if own == "base":  # without equal_to and a reference there is nothing to hold it against
        assert (code, verdicts["warm"][0]) == (4, "no-reference")
    else:
        assert (code, verdicts) == (1, {"warm": ("regression", True)})

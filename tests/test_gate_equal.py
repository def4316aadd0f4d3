"""Two paths of one model: `equal_to` gates a model against another that is asked in the same run."""

import gzip
import hashlib
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.guard.changes import changed_rules
from accgate.planning.checks import plan_checks
from accgate.planning.design import TaskSource
from benchmarks import two_paths
from tests.support.cases import each
from tests.support.gates import Project, questions, right_but, said, write_task
from tests.support.servers import Fault, Server

N, IN_FLIGHT = 320, 4


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def luck_of(number: int) -> float:
    return int(hashlib.sha256(str(number).encode()).hexdigest()[:8], 16) / 16**8


def fault_of(text: str) -> Fault:
    """A reply with this text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Fault(body={"choices": [choice], "usage": {}})


class Paths(Project):
    """A cold and a warm path of one server, each wrong for its own share of the questions."""

    def __init__(self, folder: Path, server: Server, n: int = N, theta: float = 4.0) -> None:
        super().__init__(folder, n=n, theta=theta)
        write_task(folder, rows=questions(n), extract__form="number")
        self.server, self.gate, self.models = server, {"overall": False}, {}
        for name in ("cold", "warm"):
            options = {"base_url": server.url, "concurrency": IN_FLIGHT}
            self.models[name] = {"engine": "openai", "model": name, "options": options}
        self.models["warm"]["equal_to"] = "cold"
        self.wrong: dict[str, Callable[[float], bool]] = {name: lambda luck: luck < 0.2 for name in self.models}
        self.words = dict.fromkeys(self.models, "The answer is")
        server.models = {"data": [{"id": name} for name in self.models]}
        server.fault_of = self.reply
        self.write()

    def reply(self, body: Mapping[str, Any]) -> Fault:
        (number,) = set(map(int, re.findall(r"(\d+) \+", body["messages"][-1]["content"])))
        model = body["model"]
        return fault_of(f"{self.words[model]} {2 * number + self.wrong[model](luck_of(number))}.")

    def verify(self) -> int:
        return main(["verify", str(self.out), "--config", str(self.config)])

    @property
    def asked(self) -> dict[str, int]:
        models = [seen.body["model"] for seen in self.server.seen if seen.body]
        return {name: models.count(name) for name in self.models}

    @property
    def asked_twice(self) -> set[str]:
        """Questions that the path `cold` was asked more than once, as those in flight when a check ends are."""
        bodies = [seen.body for seen in self.server.seen if seen.body]
        asked = Counter(body["messages"][-1]["content"] for body in bodies if body["model"] == "cold")
        return {question for question, times in asked.items() if times > 1}


@pytest.fixture
def paths(tmp_path: Path, server: Server) -> Paths:
    return Paths(tmp_path, server)


@pytest.mark.parametrize(
    ("share", "code", "answer"), [(0.2, 0, "no difference"), (0.5, 1, "worse"), (0.01, 1, "better")]
)
def test_a_path_must_neither_be_worse_nor_better(paths: Paths, share: float, code: int, answer: str) -> None:
    paths.wrong["warm"] = lambda luck: luck < share
    assert paths.run() == code
    check = paths.check
    assert (check["model"], check["equal_to"], check["answer"]) == ("warm", "cold", answer)
    assert (check["alpha"], check["alpha_applied"]) == (0.05, 0.025)
    assert check["n"] < N
    assert (check["reference"]["name"], check["reference"]["n"]) == ("cold", check["n"])
    assert check["n"] <= min(paths.asked.values()) <= max(paths.asked.values()) < N  # both stopped
    assert paths.verify() == code


def test_replies_that_differ_are_counted_and_shown_and_fail_nothing(paths: Paths, capsys) -> None:
    paths.words["warm"] = "So the answer is"
    assert paths.run(args=["--html"]) == 0
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
def test_a_side_that_answers_nothing_is_an_error(paths: Paths, side: str) -> None:
    answer, silent = paths.reply, fault_of("")
    paths.server.fault_of = lambda body: silent if side in ("both", body["model"]) else answer(body)
    assert paths.run() == 3
    assert paths.check["verdict"] == "error"
    assert paths.asked["warm"] < N


@pytest.mark.parametrize("side", ["cold", "warm"])
def test_a_failed_sample_of_either_side_is_an_error_until_it_is_asked_again(tmp_path: Path, server, side: str) -> None:
    paths = Paths(tmp_path, server, n=100, theta=10.0)
    answer, lost = paths.reply, [""]

    def reply(body: Mapping[str, Any]) -> Fault:
        asked = body["messages"][-1]["content"]
        lost[0] = lost[0] or asked
        return Fault(status=400) if body["model"] == side and asked == lost[0] else answer(body)

    server.fault_of = reply
    assert paths.run() == 3
    assert "1 of 100 samples have no score" in paths.check["reasons"][0]
    assert paths.check["candidate"]["errors"] == (side == "warm")
    server.fault_of = answer
    for most in (20, 1):  # the second time what decided is there
        server.seen.clear()
        assert paths.run(args=["--resume"]) == 0
        assert sum(paths.asked.values()) < most
    assert paths.verify() == 0


def test_records_that_do_not_decide_are_no_pass(paths: Paths) -> None:
    assert paths.run() == 0
    for name in ("warm", "cold"):
        path = paths.out / name / "sums.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:20]))
        assert paths.verify() == 2
        path.write_text("".join(lines))
    assert paths.verify() == 0


def test_both_sides_are_asked_together_and_the_other_sides_own_check_goes_on(paths: Paths) -> None:
    assert paths.record() == 0
    assert [path.name for path in paths.store.iterdir()] == ["cold"]
    paths.server.seen.clear()
    paths.wrong["warm"] = lambda luck: luck < 0.6
    assert paths.run() == 1
    cold, warm = paths.result["checks"]
    assert (cold["verdict"], cold["equal_to"], warm["verdict"], warm["answer"]) == ("pass", None, "regression", "worse")
    assert (cold["alpha_applied"], warm["alpha_applied"]) == (0.025, 0.0125)
    first = [seen.body["model"] for seen in paths.server.seen if seen.body][: 2 * warm["n"]]
    assert 0.1 < first.count("cold") / len(first) < 0.9  # one after the other, it would be 0 or 1
    assert len(paths.asked_twice) <= IN_FLIGHT
    assert paths.verify() == 1


def test_kept_replies_of_one_side_are_not_those_of_the_other(paths: Paths) -> None:
    for _ in range(2):
        paths.server.seen.clear()
        assert paths.run(args=["--cache", str(paths.folder / "cache")]) == 0
        assert min(paths.asked.values()) >= paths.check["n"]


def test_a_run_that_is_asked_to_stop_goes_on_with_both_sides(paths: Paths) -> None:
    answer, count = paths.reply, [0]

    def reply(body: Mapping[str, Any]) -> Fault:
        count[0] += 1
        if count[0] == 40:
            os.kill(os.getpid(), signal.SIGINT)
        return answer(body)

    paths.server.fault_of = reply
    assert paths.run() == 130
    first = paths.asked
    paths.server.seen.clear()
    assert paths.run(args=["--resume"]) == 0
    for name, asked in paths.asked.items():
        assert 0 < asked + first[name] < N
    assert paths.verify() == 0


def test_two_models_may_be_held_against_one(paths: Paths) -> None:
    paths.models["hot"] = {**paths.models["warm"], "model": "warm"}
    paths.write()
    assert paths.run() == 0
    checks = paths.result["checks"]
    assert [(check["model"], check["answer"]) for check in checks] == [(m, "no difference") for m in ("warm", "hot")]
    assert len(paths.asked_twice) <= IN_FLIGHT
    assert paths.asked["cold"] < N
    assert paths.verify() == 0


def test_a_run_of_samples_that_only_it_knows_is_verified(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    paths.tasks["sums"]["num_samples"] = N
    paths.write()
    paths.wrong["warm"] = lambda luck: luck < 0.5
    assert paths.run() == 1
    monkeypatch.setattr(TaskSource, "is_local", False)  # as of a dataset of the hub, which `verify` does not read
    assert paths.verify() == 1
    prompts = paths.out / "warm" / "sums.prompts.jsonl.gz"
    prompts.write_bytes(gzip.compress(gzip.decompress(prompts.read_bytes()) * 2))
    assert paths.verify() == 2


def test_the_plan_says_what_is_held_against_what(tmp_path: Path, capsys) -> None:
    pair = Recordings(tmp_path)
    pair.answer_with(right_but(60, 600), right_but(60, 600))
    assert main(["plan", str(pair.config)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "warm / sums: at most 570 samples see a drop of 2.0 points" in printed
    assert "held against cold both ways, each at alpha 0.025" in printed
    assert main(["plan", str(pair.config), "--json"]) == 0
    (check,) = json.loads(capsys.readouterr().out)
    assert (check["model"], check["equal_to"], check["alpha_planned"]) == ("warm", "cold", 0.025)


class Recordings(Project):
    """The same two paths as recordings, whose scores are given."""

    def __init__(self, folder: Path, n: int = 600, theta: float = 2.0) -> None:
        super().__init__(folder, n=n, theta=theta)
        self.models = {name: {"engine": "recorded", "model": f"{name}.jsonl"} for name in ("cold", "warm")}
        self.models["warm"]["equal_to"] = "cold"
        self.write(early_stopping=True)

    def answer_with(self, cold: Sequence[float], warm: Sequence[float]) -> None:
        for name, scores in (("cold", cold), ("warm", warm)):
            self.answer(scores, path=self.folder / f"{name}.jsonl")

    def gate_of(self, cold: Sequence[float], warm: Sequence[float]) -> int:
        self.answer_with(cold, warm)
        return self.run()


def test_a_healthy_deterministic_pair_takes_some_90_samples_at_theta_2(tmp_path: Path) -> None:
    pair = Recordings(tmp_path)
    assert pair.gate_of(right_but(60, 600), right_but(60, 600)) == 0
    assert pair.check["n"] == 94  # the limit is ln 0.2 / ln 0.98, which is 80
    assert (pair.check["n_max"], pair.check["discordance_planned"]) == (570, 0.0)


def test_both_wrong_everywhere_is_no_pass(tmp_path: Path) -> None:
    assert Recordings(tmp_path, n=100, theta=10.0).gate_of(right_but(100), right_but(100)) == 4


@each(("temperature", "planned", "n"), [(0.0, 0.0, 570), (0.7, None, 600)])
def test_no_change_is_expected_where_both_are_greedy(tmp_path: Path, temperature: float, planned, n: int) -> None:
    pair = Recordings(tmp_path)
    pair.models["warm"]["sampling"] = {"temperature": temperature}
    pair.write()
    (check,) = plan_checks(load_config(pair.config))
    assert (check.design.discordance, check.n, check.alpha_planned) == (planned, n, 0.025)


def test_of_few_clusters_all_planned_samples_decide(tmp_path: Path) -> None:
    pair = Recordings(tmp_path, n=300, theta=8.0)
    rows = [{**row, "page": str(number % 29)} for number, row in enumerate(questions(300))]
    write_task(tmp_path, rows=rows, columns__cluster="page")
    pair.gate_of(right_but(60, 300), right_but(60, 300))
    assert pair.check["n"] > 100  # with single samples 24 without a change decide


def test_without_an_early_stop_all_samples_decide(tmp_path: Path) -> None:
    pair = Recordings(tmp_path)
    pair.write(early_stopping=False)
    assert pair.gate_of(right_but(60, 600), right_but(100, 600)) == 1
    assert pair.check["p_adjusted"] == pytest.approx(2.0 * pair.check["p_value"])  # of both ways
    assert (pair.check["answer"], pair.check["test"], pair.check["n_max"]) == ("worse", "unconditional", None)


REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"equal_to": name}, {}) for name in ("warm", "cool", "hot")), ({"baseline": "cold"}, {}),
    *(({}, keys) for keys in (
        {"target": 0.0}, {"reference": 50.0, "reference_num_samples": 9}, {"certify": True}, {"max_slower": "10%"})),
]  # fmt: skip


def test_what_says_nothing_of_equality_is_refused(tmp_path: Path, capsys, messages: SnapshotAssertion) -> None:
    faults = {}
    for model, task in REFUSED:
        pair = Recordings(tmp_path)
        pair.models["hot"] = dict(pair.models["warm"])
        pair.models["warm"] |= model
        pair.tasks["sums"] |= task
        pair.write()
        assert pair.gate_of(right_but(1, 600), right_but(1, 600)) == 2
        faults[f"{model} {task}"] = said(capsys).replace(str(tmp_path), "FOLDER")
    assert faults == messages


@each(("args", "code"), [(("--shard", "1/2"), 2), (("--models", "cold"), 4)])
def test_what_cannot_be_decided_is_no_pass(tmp_path: Path, capsys, args: Sequence[str], code: int) -> None:
    pair = Recordings(tmp_path)
    pair.answer_with(right_but(60, 600), right_but(60, 600))
    assert pair.run(args=args) == code
    assert ("warm / sums: a model with equal_to is not evaluated in shards" in said(capsys)) == (code == 2)


def recordings(folder: Path) -> Recordings:
    folder.mkdir()
    return Recordings(folder)


@each(
    ("before", "after", "rules"),
    [
        (None, "cold", {"models.warm.equal_to", "models.cold"}),
        ("cold", None, {"models.warm.equal_to"}),
        ("other", "cold", {"models.warm.equal_to", "models.cold"}),
        ("cold", "cold", set()),
    ],
)
def test_the_guard_lists_every_change_of_the_other_side(tmp_path: Path, before: str | None, after, rules) -> None:
    configs = []
    for name, other in (("base", before), ("head", after)):
        pair = recordings(tmp_path / name)
        pair.models["other"] = {"engine": "recorded", "model": "cold.jsonl"}
        del pair.models["warm"]["equal_to"]
        pair.models["warm"] |= {} if other is None else {"equal_to": other}
        pair.write()
        configs.append(load_config(pair.config))
    changes = changed_rules(*configs)
    assert {change.rule for change in changes} == rules
    assert {change.effect for change in changes} <= {"loosening"}


@pytest.mark.parametrize(
    ("q", "move", "wrong", "most"),
    [(0.12, 0.0, ("worse", "better"), 0.05), (0.12, -8.0, ("no difference", "better"), 0.2)],
)
def test_two_sided_errors_hold_for_a_kernel_that_answers_a_share_otherwise(q: float, move: float, wrong, most) -> None:
    rng, runs = np.random.default_rng(7), 40
    answers = [two_paths.run(rng, q, move, 0.1, 300, theta=8.0).answer for _ in range(runs)]
    assert np.isin(answers, wrong).mean() <= most + 3 * (most * (1 - most) / runs) ** 0.5


@each("own", ["base", "head"])
def test_on_a_pull_request_the_base_decides_between_the_paths_of_the_head(tmp_path: Path, own: str) -> None:
    pairs = {name: recordings(tmp_path / name) for name in ("base", "head")}
    for name in {*pairs} - {own}:
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

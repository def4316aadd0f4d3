"""Library tasks that are decided on a statistic, gated with one line: by a server and by recorded scores."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from accgate import metrics
from accgate.cli.main import main
from accgate.records.file import read_records
from accgate.tasks import rows as task_rows
from tests.gates import said, table, write_lines
from tests.loading import load_task
from tests.servers import Server
from tests.tasks.dataset_rows import MMLU, MMLU_DEV

N = 120
NAMES = {
    "mmlu_calibration": "ece",
    "triviaqa_confidence": "accuracy_coverage_auc",
    "sst2_typos": "attack_success_rate",
    "qnli_word_order": "performance_drop_rate",
}
HUB: dict[tuple[str, str | None, str], Sequence[dict[str, Any]]] = {
    ("cais/mmlu", "all", "test"): [
        MMLU | {"question": f"What is {i}?", "subject": "anatomy", "answer": i % 4} for i in range(N)
    ],
    ("cais/mmlu", "all", "dev"): MMLU_DEV,
    ("mandarjoshi/trivia_qa", "rc.nocontext", "validation"): [
        {"question": f"Who is number {i}?", "answer": {"value": f"Ada {i}", "aliases": [f"A. {i}"]}} for i in range(N)
    ],
    ("nyu-mll/glue", "sst2", "validation"): [
        {"sentence": f"film number {i} is quite a wonderful thing to behold . ", "label": i % 2, "idx": i}
        for i in range(N)
    ],
    ("nyu-mll/glue", "qnli", "validation"): [
        {"question": f"Who won number {i} ?", "sentence": f"The winner of race {i} was my old friend Ada .",
         "label": i % 2, "idx": i}
        for i in range(N)
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's datasets, in their published form and with rows of our own."""

    def rows(name: str, config: str | None, split: str, revision: str | None, options: Any) -> list[dict[str, Any]]:
        assert re.fullmatch("[0-9a-f]{40}", revision or "")
        assert not options
        return [dict(row) for row in HUB[name, config, split]]

    monkeypatch.setattr(task_rows, "hub_rows", rows)


def luck(text: str) -> float:
    """A number from 0 to 1 that follows from a text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def one_line(folder: Path, name: str, **model: Any) -> Path:
    """accuracy.toml with a model, and the task's name alone."""
    config = folder / "accuracy.toml"
    gate = table("gate", {"early_stopping": False})
    config.write_text(gate + table("models.m", model) + f"[tasks.{name}]\n", encoding="utf-8")
    return config


def served(folder: Path, name: str, server: Server) -> Path:
    return one_line(folder, name, engine="openai", model="toy", options={"base_url": server.url})


def run(config: Path, command: str) -> tuple[int, dict[str, Any]]:
    """A command's exit code, and its only check."""
    out = config.parent / command
    code = main([command, str(config), "--out", str(out), "--quiet"])
    path = out / "accgate.json"
    return code, json.loads(path.read_text())["checks"][0] if path.exists() else {}


def trivia(sure_when_wrong: bool) -> Callable[[str], str]:
    """Right four times of five; how sure it is has to do with that, or the other way round."""

    def answer(prompt: str) -> str:
        number = re.findall(r"Who is number (\d+)\?", prompt)[0]
        if number == "7":
            return "I would rather not say."
        right = luck(number) < 0.8
        share = 0.9 if right != sure_when_wrong else 0.4
        return f"**Guess:** {f'A. {number}' if right else 'Bob'}\n**Probability:** {share}"

    return answer


def classifier(question: str, answers: tuple[str, str], lost: float) -> Callable[[str], str]:
    """Right on every sentence as it is, and wrong on this share of those that were changed."""
    rows = HUB["nyu-mll/glue", question, "validation"]
    plain = {row["sentence"].strip(): row["label"] for row in rows}

    def answer(prompt: str) -> str:
        sentence = re.findall(r"Sentence: (.*)", prompt)[0]
        number = re.findall(r"\d+", sentence)[0]
        label = int(number) % 2
        return answers[label if sentence in plain or luck(number) >= lost else 1 - label]

    return answer


SST2, QNLI = ("negative", "Positive."), ("Yes", "no")
SERVED: list[tuple[str, Callable[[str], str], Callable[[str], str]]] = [
    ("triviaqa_confidence", trivia(False), trivia(True)),
    ("sst2_typos", classifier("sst2", SST2, 0.1), classifier("sst2", SST2, 0.4)),
    ("qnli_word_order", classifier("qnli", QNLI, 0.1), classifier("qnli", QNLI, 0.4)),
]


@pytest.mark.parametrize(("name", "before", "after"), SERVED, ids=[name for name, *_ in SERVED])
def test_a_worse_statistic_fails_the_gate_though_the_mean_stays(
    name: str, before: Callable[[str], str], after: Callable[[str], str], tmp_path: Path
) -> None:
    with Server(before) as server:
        config = served(tmp_path, name, server)
        assert run(config, "record")[0] == 0
        code, check = run(config, "run")
        assert (code, check["verdict"]) == (0, "pass")
        server.answer = after
        (tmp_path / "run").rename(tmp_path / "first")
        code, check = run(config, "run")
    assert (code, check["verdict"]) == (1, "regression")
    records = {place: read_records(tmp_path / place / "m" / f"{name}.jsonl") for place in ("record", "run")}
    values = {place: metrics.aggregate(NAMES[name])(of) for place, of in records.items()}
    assert check["reference"]["mean"] == pytest.approx(values["record"])
    assert check["candidate"]["mean"] == pytest.approx(values["run"])
    means = {sum(record.score or 0 for record in of) / len(of) for of in records.values()}
    assert len(means) == 1
    assert all(record.error is None for of in records.values() for record in of)
    if name == "triviaqa_confidence":
        (silent,) = [record for record in records["run"] if record.answer is None]
        assert (silent.score, silent.confidence, silent.reading) == (0.0, 1.0, "unread")


def test_calibration_by_likelihood_is_recorded_and_decided_with_a_server(tmp_path: Path) -> None:
    with Server(lambda _: " A") as server:  # which finds all four letters about as likely, and lists no other tokens
        config = served(tmp_path, "mmlu_calibration", server)
        assert run(config, "record")[0] == 0
        code, check = run(config, "run")
    assert (code, check["verdict"]) == (0, "pass")
    assert check["reference"]["mean"] == pytest.approx(0.0, abs=1.0)  # a quarter sure, and right in a quarter
    assert check["candidate"]["mean"] == check["reference"]["mean"]


def recorded(name: str, worse: bool) -> list[dict[str, Any]]:
    """What a model scored: of the worse one the mean is the same."""
    draw = random.Random(name)
    lines = []
    for sample in load_task(name).samples:
        right = draw.random() < 0.75
        score = 100.0 if right else 0.0
        line = {"id": sample.id, "score": score}
        if name == "mmlu_calibration":
            line["confidence"] = min(1.0, (0.95 if worse else 0.75) + draw.uniform(-0.04, 0.04))
        elif name == "triviaqa_confidence":
            line["confidence"] = draw.uniform(0.1, 0.9) if worse else draw.uniform(0.5, 1.0) * (1 if right else 0.6)
        elif right or name == "qnli_word_order":
            line["attacked"] = score if draw.random() > (0.4 if worse else 0.1) else 0.0
        lines.append(line)
    return lines


@pytest.mark.parametrize("name", list(NAMES))
def test_recorded_scores_are_decided_on_the_statistic(name: str, tmp_path: Path) -> None:
    config = one_line(tmp_path, name, engine="recorded", model="m.jsonl")
    write_lines(tmp_path / "m.jsonl", recorded(name, worse=False))
    assert run(config, "record")[0] == 0
    assert run(config, "run")[0] == 0
    write_lines(tmp_path / "m.jsonl", recorded(name, worse=True))
    (tmp_path / "run").rename(tmp_path / "first")
    code, check = run(config, "run")
    assert (code, check["verdict"], check["test"]) == (1, "regression", "influence")
    assert check["higher_is_better"] == (name == "triviaqa_confidence")
    records = read_records(tmp_path / "run" / "m" / f"{name}.jsonl")
    assert check["candidate"]["mean"] == pytest.approx(metrics.aggregate(NAMES[name])(records))


def test_a_model_that_never_says_how_sure_it_is_is_an_error_and_no_pass(tmp_path: Path, capsys) -> None:
    with Server(lambda _: "Guess: Ada 1") as server:
        assert run(served(tmp_path, "triviaqa_confidence", server), "record")[0] == 3
    assert "no answer" in said(capsys)


def test_letters_alone_have_no_confidence_and_are_refused_before_anything_is_asked(tmp_path: Path, capsys) -> None:
    with Server(lambda _: " B") as server:
        config = served(tmp_path, "mmlu_calibration", server)
        config.write_text(config.read_text() + 'choose = "letter"\n')
        assert run(config, "record")[0] == 2
        assert not server.prompts
    assert "is 'ece', which needs a table [confidence]" in said(capsys)

"""Library tasks that are decided on a statistic, gated with one line: by a server and by recorded scores."""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from accgate import metrics
from accgate.records.file import read_records
from accgate.tasks import rows as task_rows
from tests.support.gates import Project, said
from tests.support.servers import Server
from tests.tasks.dataset_rows import MMLU, MMLU_DEV

N = 120
NAMES = {
    "mmlu_calibration": "ece",
    "triviaqa_confidence": "accuracy_coverage_auc",
    "sst2_typos": "attack_success_rate",
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
}


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


def project_of(folder: Path, name: str, **model: Any) -> Project:
    """A project with a model, and the task's name alone."""
    project = Project(folder, tasks=())
    project.models["m"], project.tasks[name] = model, {}
    project.write()
    return project


def served(folder: Path, name: str, server: Server) -> Project:
    return project_of(folder, name, engine="openai", model="toy", options={"base_url": server.url})


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


def classifier(lost: float) -> Callable[[str], str]:
    """Right on every sentence as it is, and wrong on this share of those that were changed."""
    answers, rows = ("negative", "Positive."), HUB["nyu-mll/glue", "sst2", "validation"]
    plain = {row["sentence"].strip(): row["label"] for row in rows}

    def answer(prompt: str) -> str:
        sentence = re.findall(r"Sentence: (.*)", prompt)[0]
        number = re.findall(r"\d+", sentence)[0]
        label = int(number) % 2
        return answers[label if sentence in plain or luck(number) >= lost else 1 - label]

    return answer


SERVED: list[tuple[str, Callable[[str], str], Callable[[str], str]]] = [
    ("triviaqa_confidence", trivia(False), trivia(True)),
    ("sst2_typos", classifier(0.1), classifier(0.4)),
]


@pytest.mark.parametrize(("name", "before", "after"), SERVED, ids=[name for name, *_ in SERVED])
def test_a_worse_statistic_fails_the_gate_though_the_mean_stays(name: str, before, after, tmp_path: Path) -> None:
    with Server(before) as server:
        project = served(tmp_path, name, server)
        assert project.record() == 0
        assert (project.run(), project.check["verdict"]) == (0, "pass")
        server.answer = after
        assert (project.run(), project.check["verdict"]) == (1, "regression")
    sides = {"reference": tmp_path / "record-out-0", "candidate": project.out}
    records = {side: read_records(folder / "m" / f"{name}.jsonl") for side, folder in sides.items()}
    for side, own in records.items():
        assert project.check[side]["mean"] == pytest.approx(metrics.aggregate(NAMES[name])(own))
        assert all(record.error is None for record in own)
    assert len({sum(record.score or 0 for record in own) / len(own) for own in records.values()}) == 1
    if name == "triviaqa_confidence":
        (silent,) = [record for record in records["candidate"] if record.answer is None]
        assert (silent.score, silent.confidence, silent.reading) == (0.0, 1.0, "unread")


def test_calibration_by_likelihood_is_recorded_and_decided_with_a_server(tmp_path: Path) -> None:
    with Server(lambda _: " A") as server:  # which finds all four letters about as likely, and lists no other tokens
        project = served(tmp_path, "mmlu_calibration", server)
        assert project.record() == 0
        assert (project.run(), project.check["verdict"]) == (0, "pass")
    reference, candidate = (project.check[side]["mean"] for side in ("reference", "candidate"))
    assert candidate == reference == pytest.approx(0.0, abs=1.0)  # a quarter sure, and right in a quarter


def test_a_model_that_never_says_how_sure_it_is_is_an_error_and_no_pass(tmp_path: Path, capsys) -> None:
    with Server(lambda _: "Guess: Ada 1") as server:
        assert served(tmp_path, "triviaqa_confidence", server).record() == 3
    assert "no answer" in said(capsys)


def test_letters_alone_have_no_confidence_and_are_refused_before_anything_is_asked(tmp_path: Path, capsys) -> None:
    with Server(lambda _: " B") as server:
        project = served(tmp_path, "mmlu_calibration", server)
        project.tasks["mmlu_calibration"]["choose"] = "letter"
        project.write()
        assert project.record() == 2
        assert not server.prompts
    assert "is 'ece', which needs a table [confidence]" in said(capsys)

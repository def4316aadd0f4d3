"""Folders in which the commands of the pages run: small projects with recorded scores, made by accgate itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from tests.docs.blocks import ROOT
from tests.interop.lm_eval_logs import generated, write_log
from tests.interop.test_nemo_import import bundle
from tests.support.gates import Project, right_but, write_lines
from tests.support.loading import load_task

TRTLLM = """\
meta-llama/Llama-3.1-8B-Instruct:
  - accuracy: 68.17
  - quant_algo: FP8
    accuracy: 67.93
  - quant_algo: FP8
    kv_cache_quant_algo: FP8
    accuracy: 67.87
"""


def gate(folder: Path) -> None:
    """A gate with a recorded model, its reference, a finished run, and shards: what most pages speak of."""
    project = Project(folder, tasks=("gsm8k",), theta=8.0)
    project.models = {
        "m": {"engine": "recorded", "model": "m.jsonl"},
        "m-fp8": {"engine": "recorded", "model": "m-fp8.jsonl", "variant": {"quant": "fp8"}, "baseline": "m"},
    }
    project.write()
    _replies(project, "m.jsonl", wrong=20)
    _replies(project, "m-fp8.jsonl", wrong=23)
    _done(main(["record", "accuracy.toml", "--quiet"]))
    _done(main(["run", "accuracy.toml", "--models", "m-fp8", "--quiet"]))
    (folder / "replies").mkdir()
    for name, wrong in (("reference", 20), ("candidate", 23), ("A", 20), ("B", 22)):
        rows = [{"id": f"q{i}", "score": score} for i, score in enumerate(right_but(wrong))]
        write_lines(folder / f"{name}.jsonl", rows)


def first(folder: Path) -> None:
    """The first minutes, behind them: a model on sums, its reference, and a run that passed."""
    project = Project(folder, tasks=("arithmetic",), theta=8.0)
    project.models = {"model": {"engine": "recorded", "model": "replies.jsonl"}}
    project.write(early_stopping=True)
    _replies(project, "replies.jsonl", wrong=20)
    _done(main(["record", "accuracy.toml", "--quiet"]))
    _done(main(["run", "accuracy.toml", "--quiet"]))


def _replies(project: Project, name: str, *, wrong: int) -> None:
    """Answers to the task's sums, of which some are wrong."""
    (task,) = project.tasks
    samples = load_task(task, file=project.folder / f"{task}.toml", seed=0).samples
    replies = ["-1" if place < wrong else str(sample.target) for place, sample in enumerate(samples)]
    write_lines(project.folder / name, [{"id": s.id, "reply": r} for s, r in zip(samples, replies, strict=True)])


def empty(folder: Path) -> None:
    """Nothing: where somebody begins."""


def logs(folder: Path) -> None:
    """Two logs of lm-eval on the same 400 questions; the second lost 30 and gained 4."""
    before = [float(doc % 5 != 0) for doc in range(400)]
    lost = {doc for doc in range(400) if doc % 5 == 1 and doc < 150}
    gained = {0, 100, 200, 300}
    after = [0.0 if doc in lost else 1.0 if doc in gained else value for doc, value in enumerate(before)]
    for name, values in (("before", before), ("after", after)):
        rows = [generated(doc, {"exact_match": value}) for doc, value in enumerate(values)]
        write_log(folder / "logs" / name, rows, "gsm8k", change=_named_model)


def _named_model(results: dict[str, Any]) -> None:
    results["model_name"] = "model"


def suite(folder: Path) -> None:
    """Reference files as TensorRT-LLM's accuracy suite has them; the figures are those of its README."""
    (folder / "suite").mkdir()
    (folder / "suite" / "mmlu.yaml").write_text(TRTLLM, encoding="utf-8")


def nemo(folder: Path) -> None:
    """Two result folders as `nel eval run` leaves them."""
    for name, wrong in (("baseline", 40), ("candidate", 43)):
        rows = [
            {"problem_idx": i, "repeat": 0, "prompt": f"{i}?", "reward": score / 100.0, "expected_answer": str(i)}
            for i, score in enumerate(right_but(wrong, 400))
        ]
        bundle(folder / "results" / name / "gsm8k", rows)


def quickstart(folder: Path) -> None:
    """The scores of the README's run: SmolLM2-135M with three settings of its key/value cache."""
    for path in (ROOT / "docs" / "data").glob("*.csv"):
        shutil.copy(path, folder)


def tutorial(folder: Path) -> None:
    """What the tutorial's `init` writes from rows of the form that it shows, of a server that is not asked."""
    rows = [{"question": f"What is the capital of C{i}?", "answer": f"Town {i}"} for i in range(80)]
    write_lines(folder / "capitals.jsonl", rows)
    server = ("--base-url", "http://127.0.0.1:8123/v1", "--name", "smollm2", "--model", "smollm2", "--no-probe")
    _done(main(["init", *server, "--data", "capitals.jsonl", "--yes"]))


SCENES: dict[str, Callable[[Path], None]] = {
    "gate": gate, "first": first, "empty": empty, "logs": logs, "suite": suite, "nemo": nemo, "quickstart": quickstart,
    "tutorial": tutorial,
}  # fmt: skip


def _done(code: int) -> None:
    assert code == 0, f"a scene could not be made: exit code {code}"

"""Gates on other people's tasks and scores: a registered metric, a task of lm-eval, adversarial sentences."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.records.file import read_records
from tests.support.gates import said, table, write_lines, write_task
from tests.support.loading import load_task
from tests.support.servers import Server, sums

ADVGLUE = Path(__file__).parents[1].parent / "shared" / "datasets" / "advglue_dev.json"


@pytest.fixture
def politeness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that registers a metric."""
    site = tmp_path / "site"
    (site / "polite-1.0.dist-info").mkdir(parents=True)
    (site / "polite-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: polite\nVersion: 1.0\n")
    points = "[accgate.metrics]\npoliteness = polite_scores:politeness\n"
    (site / "polite-1.0.dist-info" / "entry_points.txt").write_text(points)
    (site / "polite_scores.py").write_text(
        "def politeness(answer, target, *, word='please'):\n    return 100.0 * (word in answer)\n"
    )
    monkeypatch.syspath_prepend(str(site))


def test_a_package_can_register_a_metric(tmp_path: Path, politeness: None) -> None:
    path = write_task(tmp_path, metric="politeness", metric_options={"word": "kindly"})
    task = load_task("sums", file=path)
    assert (task.score("kindly go", ""), task.score("please go", "")) == (100.0, 0.0)
    write_task(tmp_path, metric="politenes")
    with pytest.raises(BadInput, match="metric: is 'politenes'; known are"):
        load_task("sums", file=path)


# Replies may be longer than a task's own default, which `verify` does not see: it does not load lm-eval.
ADDING = """
task: adding
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{rows}"}}}}
test_split: test
output_type: generate_until
doc_to_text: "What is {{{{a}}}} + {{{{b}}}}?"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n\\n"], max_gen_toks: 300}}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
filter_list:
  - name: number
    filter:
      - function: regex
        regex_pattern: "(-?[0-9]+)"
      - function: take_first
"""


def adding(folder: Path, server: Server) -> Path:
    """accuracy.toml with a task that lm-eval reads from a folder of the user's."""
    rows = [{"a": a, "b": b, "answer": str(a + b)} for a in range(8) for b in range(5)]
    write_lines(folder / "rows.jsonl", rows)
    (folder / "own").mkdir()
    (folder / "own" / "adding.yaml").write_text(ADDING.format(rows=folder / "rows.jsonl"))
    options = {"include_path": "own", "metric": "exact_match"}
    config = folder / "accuracy.toml"
    text = table("models.m", {"engine": "openai", "model": "toy", "options": {"base_url": server.url}})
    config.write_text(text + table("tasks.adding", {"lm_eval": "adding", "options": options, "theta": 30.0}))
    return config


def test_a_task_of_lm_eval_is_recorded_and_gated_like_any_other(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    with Server(sums(wrong=0.2)) as server:
        config = adding(tmp_path, server)
        assert main(["record", str(config), "--out", str(tmp_path / "out"), "--quiet"]) == 0
        assert main(["run", str(config), "--out", str(tmp_path / "healthy"), "--quiet"]) == 0
        server.answer = sums(wrong=0.9)
        assert main(["run", str(config), "--out", str(tmp_path / "harmed"), "--quiet"]) == 1
        assert main(["verify", str(tmp_path / "harmed"), "--config", str(config)]) == 1
    records = read_records(tmp_path / "out" / "m" / "adding.jsonl")
    assert all((record.score == 100.0) == (record.answer == record.target) for record in records)
    check: dict[str, Any] = json.loads((tmp_path / "harmed" / "accgate.json").read_text())["checks"][0]
    assert (check["stop"], check["n"] < check["n_max"] == len(records)) == ("regression", True)


def test_replies_to_a_task_of_lm_eval_are_read_behind_its_filter_and_without_reasoning(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    solve = sums(wrong=0.0)

    def answer(prompt: str) -> str:
        number = int(prompt.split()[2])
        return ("no idea", "", f"<think>1, 7</think>{solve(re.sub('[?]', '', prompt))}", "<think>1, 7")[number % 4]

    with Server(answer) as server:
        config = adding(tmp_path, server)
        config.write_text(config.read_text() + "max_unread = 0.8\n")
        assert main(["record", str(config), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    records = read_records(tmp_path / "out" / "m" / "adding.jsonl")
    readings = {(record.reading, record.score) for record in records}
    assert readings == {("unread", 0.0), ("empty", 0.0), ("read", 100.0)}
    assert {record.reply for record in records if record.reading == "unread"} == {"no idea", ""}


def test_what_lm_eval_brings_cannot_be_set_beside_it(tmp_path: Path, capsys) -> None:
    with Server() as server:
        config = adding(tmp_path, server)
        config.write_text(config.read_text() + 'choose = "letter"\n')
        assert main(["validate", str(config)]) == 2
    assert "tasks.adding.choose: is set together with lm_eval" in said(capsys)


def test_attacked_sentences_alone_give_the_accuracy_under_attack(tmp_path: Path) -> None:
    if not ADVGLUE.is_file():
        pytest.skip(f"no {ADVGLUE}: real datasets lie beside the checkout and are not part of it")
    prompt = "Review: {{ sentence }}\nIs it positive or negative?"
    target = "{{ 'positive' if label else 'negative' }}"
    path = write_task(tmp_path, prompt=prompt, target=target, metric="classification", dataset__path="sst2")
    task = load_task("sums", file=path, dataset=ADVGLUE)
    labels = [row["label"] for row in json.loads(ADVGLUE.read_text())["sst2"]]
    assert len(task.samples) == len(labels)
    assert sum(task.score("Positive", sample.target) for sample in task.samples) == 100.0 * sum(labels)

"""Ids and scores in files of spreadsheets and other tools: as they are, or a message that says what to name."""

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.inputs.samples import Layout
from accgate.records.scores import read_scores
from tests.support.cases import each

TWO = {"a": 1.0, "b": 0.0}
GERMAN = "kürzel;frage;score\nä;Wie groß ist „das“?;66,7\nb;Preis in €;0\n"


def outcome(path: Path, layout: Layout) -> Any:
    """Scores by id, a list of each id's where there are repeats, or the message."""
    try:
        scores = read_scores(path, "side", layout)
    except BadInput as error:
        return str(error).replace(str(path), "F").removeprefix("side ")
    values = scores.values.tolist()
    return {id_: each if len(each) > 1 else each[0] for id_, each in zip(scores.ids, values, strict=True)}


def check(folder: Path, name: str, content: Any, layout: Layout, wanted: Any) -> None:
    path = folder / name
    if not isinstance(content, (str, bytes)):
        content = "\n".join(map(json.dumps, content)) if name.endswith("jsonl") else json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = outcome(path, layout)
    assert found.startswith(wanted) if isinstance(wanted, str) else found == wanted, found


@each(("name", "text", "wanted"), [
    ("a.csv", "id;score\na;1\nb;0\n", TWO),
    ("a.csv", "\ufeffid;score\r\na;1\r\nb;0\r\n", TWO),
    ("a.csv", "id,score\ra,1\rb,0\r", TWO),
    ("a.tsv", "id\tscore;x\na\t1\nb\t0\n", "F: no column is known as the score: there are id, score;x; choose one"),
    ("a.csv", "sep=;\nid;score\na;1\nb;0\n", TWO),
    ("a.csv", "id;score;of, and why\na;1;x\nb;0;y\n", TWO),  # the rows tell
    ("a.csv", "id;x,score\na;x,1\nb;y,0\n", "F:1: ',' or ';' may separate its columns; write the right one as a line"),
    ("a.csv", "id;score\na;1\nb;0;0\n", "F:3: has 3 cells under a header of 2"),
    ("a.csv", "id,score,note\na,1,x; y\nb,0,z; w\n", TWO),
    ("a.csv", "name,accuracy,f1\na,1,0.5\nb,0,0\n", "F: accuracy, f1 may be the score; choose one with --score"),
    ("a.csv", 'id,score\na,"66,7"\nb,"0,125"\n', {"a": 66.7, "b": 0.125}),
    ("a.csv", "id;score\na;33,333\nb;0\n", "F:2: score is '33,333', whose comma may stand before decimals or after th"),
    ("a.csv", "id;score\na;66,7\nb;1.5\n", "F:2: score is '66,7', with a decimal comma, and line 3 has a decimal po"),
    ("a.csv", "id,score\na,true\nb,FALSE\n", TWO),
    ("a.csv", "Id,Group,Result\na,x,pass\nb,y,FALSCH\n", TWO),
    ("a.csv", "id,score\na,pass\nb,50\n", "F:2: score is 'pass' beside scores other than 0 and 1; write 100 or 0"),
    ("a.csv", "id,score\na,pass\nb,maybe\n", "F:3: score is 'maybe'; write a finite number"),
    ("a.csv", "id,score\na,\nb,1\n", "F: no score for 1 of 2 samples: a"),
    ("a.txt", "id\tscore\r\na\t1\r\nb\t0\r\n".encode("utf-16"), TWO),
    ("a.jsonl", '{"id": "a", "score": 1}\r\n{"id": "b", "score": 0}\r\n'.encode("utf-16"), "F:1: is not UTF-8; save"),
    ("a.csv", "id;score\ncafé;1\nnaïf;0\n".encode("latin-1"), {"café": 1.0, "naïf": 0.0}),
    ("a.csv", GERMAN.replace("kürzel", "id").encode("cp1252"), {"ä": 66.7, "b": 0.0}),
    ("a.csv", "id;score\nżółw;1\n".encode("cp1250"), "F:2: is not UTF-8; save the file as UTF-8 text"),
    ("a.csv", "id;score\nこれは日本語;1\n".encode("shift-jis"), "F:2: is not UTF-8"),
    ("a.csv", "id;score\nerdő;1\n".encode("cp1250"), "F:2: is not UTF-8"),
    ("a.csv", "id;score\né;1\n".encode() + b"\xe9;0\n", "F:3: is not UTF-8"),
    ("a.csv", b"PK\x03\x04" + bytes(30), "F: is a workbook and not text; save the sheet as CSV (in Excel: CSV UTF-8)"),
    ("a.xls", b"\xd0\xcf\x11\xe0" + bytes(30), "F: is a workbook"),
])  # fmt: skip
def test_a_table_is_read_or_what_is_wrong_is_said(tmp_path: Path, name: str, text: str | bytes, wanted: Any) -> None:
    check(tmp_path, name, text, Layout(), wanted)


def helm(id_: str, trial: int, **means: float) -> dict[str, Any]:
    # Layout: src/helm/benchmark/metrics/metric.py (PerInstanceStats) and statistic.py of stanford-crfm/helm.
    stats = [{"name": {"name": name, "split": "test"}, "count": 1, "sum": m, "mean": m} for name, m in means.items()]
    empty = {"name": {"name": "training_co2_cost", "split": "test"}, "count": 0, "sum": 0}
    return {"instance_id": id_, "train_trial_index": trial, "stats": [*stats, empty]}


def evalscope(index: int, group: int | None, **value: float) -> dict[str, Any]:
    # Layout: evalscope/api/evaluator/cache.py (ReviewResult), api/metric/scorer.py (Score) of modelscope/evalscope.
    score = {"value": value, "extracted_prediction": "A", "explanation": None, "metadata": {}, "main_score_name": None}
    of_sample = {"score": score, "sample_id": index, "group_id": group, "sample_metadata": {}}
    return {"index": index, "input": f"question {group}", "target": "A", "sample_score": of_sample}


def promptfoo(test: int, prompt: int, success: bool) -> dict[str, Any]:
    # Layout: src/types/index.ts (EvaluateResult, EvaluateSummaryV3, OutputFile) of promptfoo/promptfoo.
    grading = {"pass": success, "score": float(success), "reason": "", "componentResults": []}
    row = {"id": f"run-{test}", "promptIdx": prompt, "testIdx": test, "success": success, "score": int(success)}
    provider = {"id": "openai:m", "label": ""}
    return row | {"namedScores": {}, "gradingResult": grading, "provider": provider, "vars": {"q": "1"}, "latencyMs": 3}


def promptfoo_file(*results: dict[str, Any]) -> dict[str, Any]:
    stats = {"successes": 1, "failures": 1, "errors": 0}
    prompts = [{"id": "p", "raw": "{{q}}", "label": "q", "metrics": {"score": 1, "testPassCount": 1}}]
    summary = {"version": 3, "prompts": prompts, "results": list(results), "stats": stats}
    return {"evalId": "eval-1", "results": summary, "config": {"tests": [{"vars": {"q": "1"}}]}, "shareableUrl": None}


def alpaca(instruction: str, preference: float | None) -> dict[str, Any]:
    # Layout: results/*/*/annotations.json of tatsu-lab/alpaca_eval; metrics/winrate.py has what a preference means.
    outputs = {"output_1": "x", "generator_1": "gpt4_1106_preview", "output_2": "y", "generator_2": "mine"}
    return {"instruction": instruction, **outputs, "annotator": "w", "preference": preference, "time_per_example": 0.5}


def every_eval(sample: str, score: float, name: str = "gsm8k") -> dict[str, Any]:
    # Layout: every_eval_ever/schemas/instance_level_eval.schema.json of evaleval/every_eval_ever.
    about = {"schema_version": "0.3.0", "evaluation_id": "a/b/1", "model_id": "a/b", "evaluation_name": name}
    asked = {"sample_id": sample, "interaction_type": "single_turn", "input": {"raw": "q", "reference": ["r"]}}
    return about | asked | {"answer_attribution": [], "evaluation": {"score": score, "is_correct": score > 0.5}}


def tau(task: int, trial: int, reward: float) -> dict[str, Any]:
    # Layout: tau_bench/types.py (EnvRunResult) of sierra-research/tau-bench.
    info = {"task": {"user_id": "u", "actions": [{"name": "n", "kwargs": {}}]}, "reward_info": {"reward": reward}}
    return {"task_id": task, "reward": reward, "info": info, "traj": [{"role": "user", "content": "c"}], "trial": trial}


SWE = {  # swebench/harness/reporting.py (make_run_report) of SWE-bench/SWE-bench
    "total_instances": 6, "submitted_instances": 5, "resolved_instances": 1, "completed_ids": ["d-1", "d-2"],
    "incomplete_ids": ["d-6"], "empty_patch_ids": ["d-3"], "submitted_ids": ["d-1", "d-2", "d-3", "d-4"],
    "resolved_ids": ["d-1"], "unresolved_ids": ["d-2"], "error_ids": ["d-4"], "schema_version": 2,
}  # fmt: skip
# nemo_evaluator's results.jsonl, as interop/nemo.py reads it.
NEMO = [{"problem_idx": i, "repeat": r, "reward": i * 1.0, "expected_answer": "4"} for i in (0, 1) for r in (0, 1)]


@each(("name", "content", "layout", "wanted"), [
    ("report.json", SWE, Layout(), {"d-1": 1.0, "d-2": 0.0, "d-3": 0.0, "d-4": 0.0}),
    ("report.json", SWE | {"error_ids": ["d-1"]}, Layout(), "F: some ids are in more than one of resolved_ids, unres"),
    ("report.json", {"d-1": {"resolved": True, "patch_exists": True}, "d-2": {"resolved": False, "patch_exists": True}},
     Layout(), {"d-1": 1.0, "d-2": 0.0}),
    ("stats.json", [helm("i1", 0, exact_match=1.0), helm("i2", 0, exact_match=0.0)], Layout(),
     "F: stats.exact_match, stats.training_co2_cost may be the score; choose one with --score"),
    ("stats.json", [helm(i, t, exact_match=m, f1=0.1) for i, t, m in (("i1", 0, 1), ("i2", 0, 0), ("i1", 1, 0),
     ("i2", 1, 1))],
     Layout(score="exact_match"), {"i1": [1.0, 0.0], "i2": [0.0, 1.0]}),
    ("r.jsonl", [evalscope(i, i // 2, acc=i % 2) for i in range(4)], Layout(), {"0": [0.0, 1.0], "1": [0.0, 1.0]}),
    ("r.jsonl", [evalscope(0, 0, acc=1.0, bleu=0.3)], Layout(), "F: sample_score.score.value.acc, sample_score.score."),
    ("r.jsonl", [evalscope(0, 0, acc=1.0, bleu=0.3)], Layout(score="bleu"), {"0": 0.3}),
    ("p.json", promptfoo_file(promptfoo(0, 0, True), promptfoo(1, 0, False)), Layout(), {"0": 1.0, "1": 0.0}),
    ("p.json", promptfoo_file(promptfoo(0, 0, True), promptfoo(0, 1, False)), Layout(),
     "F:2: id '0' (repeat 0) is already on line 1; each sample must come once; name what tells repeats with --repeat"),
    ("p.json", promptfoo_file(promptfoo(0, 0, True), promptfoo(0, 1, False)),
     Layout("$.results.results[?@.promptIdx == 1]"), {"0": 0.0}),
    ("annotations.json", [alpaca("q1", 2.0), alpaca("q2", 1.0), alpaca("q3", 1.5), alpaca("q4", 0), alpaca("q5", 1.75)],
     Layout(), {"q1": 100.0, "q2": 0.0, "q3": 50.0, "q4": 50.0, "q5": 75.0}),
    ("x_samples.jsonl", [every_eval("a", 1.0), every_eval("b", 0.0)], Layout(), TWO),
    ("x_samples.jsonl", [every_eval("a", 1.0), every_eval("a", 0.0, "mmlu")],
     Layout("$[?@.evaluation_name == 'mmlu']"), {"a": 0.0}),
    ("tau.json", [tau(0, 0, 1.0), tau(1, 0, 0.0), tau(0, 1, 0.0), tau(1, 1, 0.0)], Layout(),
     {"0": [1, 0], "1": [0, 0]}),
    ("tau2.json", {"timestamp": "t", "tasks": [{"id": "1", "description": {}}], "simulations": [
        {"id": "u1", "task_id": "1", "trial": 0, "seed": 3, "reward_info": {"reward": 1.0}, "messages": []},
        {"id": "u2", "task_id": "1", "trial": 1, "seed": 4, "reward_info": {"reward": 0.0}, "messages": []}]},
     Layout(), {"1": [1.0, 0.0]}),
    ("results.jsonl", NEMO, Layout(), {"0": [0.0, 0.0], "1": [1.0, 1.0]}),
])  # fmt: skip
def test_files_of_other_tools_are_read(tmp_path: Path, name: str, content: Any, layout: Layout, wanted: Any) -> None:
    check(tmp_path, name, content, layout, wanted)


@each(("name", "content", "layout", "wanted"), [
    ("a.json", [{"id": "a", "score": 1}, {"id": "b", "score": 0}], Layout(), TWO),
    ("a.json", '{"id": "a", "score": 1}\n{"id": "b", "score": 0}\n', Layout(), TWO),
    ("a.json", {"meta": {"n": 2}, "data": {"rows": [{"id": "a", "score": 1}, {"id": "b", "score": 0}]}}, Layout(), TWO),
    ("a.json", {"a": True, "b": False}, Layout(), "F: shows no list of samples with scores; name them with --rows J"),
    ("a.json", {"a": True, "b": False}, Layout("$"), TWO),
    ("a.json", {"model": "m", "scores": {"a": 1, "b": 0}}, Layout("$.scores"), TWO),
    ("a.json", {"passed": ["a"], "failed": ["b"], "seconds": 3}, Layout(), TWO),
    ("a.json", {"x": [{"id": "a", "score": 1}], "y": [{"id": "a", "score": 0}]}, Layout(),
     "F: may have its samples in several places; name them with --rows JSONPATH: there are $.x, $.y"),
    ("a.json", {"x": [{"id": "a", "score": 1}], "y": [{"id": "a", "score": 0}]}, Layout("$.y"), {"a": 0.0}),
    ("a.json", {"n": 2, "x": [{"task": "a", "f": 1}, {"task": "b", "f": 0}]}, Layout(id="task", score="f"), TWO),
    ("a.json", [{"id": "a", "score": 1}], Layout("$.none"), "F: has nothing at $.none"),
    ("a.json", [{"id": "a", "score": 1}], Layout("$["), "$[: is not a JSONPath"),
    ("a.json", "{", Layout(), "F: cannot be read as JSON"),
    ("a.jsonl", [{"q": {"id": "a"}, "m": {"acc": 1, "f1": 0.5}}, {"q": {"id": "b"}, "m": {"acc": 0, "f1": 0}}],
     Layout(id="q.id", score="m.acc"), TWO),
    ("a.jsonl", [{"q": {"id": "a"}, "m": [0.5, 1]}, {"q": {"id": "b"}, "m": [0.5, 0]}],
     Layout(id="$.q.id", score="$.m[1]"), TWO),
    ("a.jsonl", [{"id": "a", "score": 9, "acc": 1}, {"id": "b", "score": 9, "acc": 0}], Layout(score="acc"), TWO),
    ("a.jsonl", [{"qid": "a", "score": 1, "acc": 9}, {"qid": "b", "score": 0, "acc": 9}], Layout(), TWO),
    ("a.jsonl", [{"id": "a", "run": i, "acc": i} for i in (0, 1)], Layout(repeat="run"), {"a": [0.0, 1.0]}),
    ("a.jsonl", [{"id": "a", "epoch": e, "acc": 1} for e in (1, 2)], Layout(), {"a": [1.0, 1.0]}),
    ("a.jsonl", [{"id": "a", "acc": 1}, {"id": "a", "acc": 1}], Layout(), "F:2: id 'a' (repeat 0) is already on line"),
    ("a.jsonl", [{"id": "a", "acc": 1}], Layout(id="idd"), "F: has no 'idd'; did you mean 'id'?"),
    ("a.jsonl", [{"id": "a", "acc": 1}, {"id": "b"}], Layout(), "F: no score for 1 of 2 samples: b"),
])  # fmt: skip
def test_samples_are_found_where_they_are_alone_or_named(
    tmp_path: Path, name: str, content: Any, layout: Layout, wanted: Any
) -> None:
    check(tmp_path, name, content, layout, wanted)


def test_parquet_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"id": "a", "acc": True}, {"id": "b", "acc": False}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "p.parquet")
    assert outcome(tmp_path / "p.parquet", Layout()) == TWO
    assert outcome(tmp_path / "p.parquet", Layout("$[?@.id == 'b']")) == {"b": 0.0}

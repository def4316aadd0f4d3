"""Logs in the form that lm-eval 0.4.13 writes, with its digests and results; tests/real/test_interop.py has its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

DATE = "2026-11-21T15-43-01.488686"
Row = dict[str, Any]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def generated(doc: int, values: Mapping[str, Any], chosen: str = "none", reply: str = " 4") -> Row:
    """A row of a task that generates text."""
    prompt, target = f"2 + {doc} =", str(2 + doc)
    return {
        "doc_id": doc,
        "doc": {"question": prompt},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"], "max_gen_toks": 8}}},
        "resps": [[reply]],
        "filtered_resps": [reply.strip()],
        "filter": chosen,
        "metrics": list(values),
        "doc_hash": sha(f"doc {doc}"),
        "prompt_hash": sha(prompt),
        "target_hash": sha(target),
        **values,
    }


def scored(doc: int, values: Mapping[str, Any], likelihoods: Sequence[float] = (-1.0, -2.0)) -> Row:
    """A row of a multiple choice."""
    row = generated(doc, values)
    arguments = [{"arg_0": f"Q{doc}", "arg_1": f" option {place}"} for place in range(len(likelihoods))]
    return row | {
        "target": "0",
        "arguments": {f"gen_args_{place}": pair for place, pair in enumerate(arguments)},
        "resps": [[[str(value), "False"]] for value in likelihoods],
        "filtered_resps": [[str(value), "False"] for value in likelihoods],
    }


def results_of(rows: Sequence[Row], task: str, **own: Any) -> dict[str, Any]:
    """What lm-eval reports of rows: the mean of every metric that is a number."""
    figures: dict[str, list[float]] = {}
    for row in rows:
        for metric in row["metrics"]:
            if isinstance(row[metric], (int, float)):
                figures.setdefault(f"{metric},{row['filter']}", []).append(row[metric])
    hashes = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    metrics = [{"metric": m, "aggregation": "mean"} for m in dict.fromkeys(m for row in rows for m in row["metrics"])]
    documents = len({row["doc_id"] for row in rows})
    return {
        "results": {task: {"alias": task, **{key: sum(values) / len(values) for key, values in figures.items()}}},
        "configs": {task: {"metric_list": metrics}},
        "higher_is_better": {task: {entry["metric"]: True for entry in metrics}},
        "n-samples": {task: {"original": documents, "effective": documents}},
        "task_hashes": {task: sha(hashes)},
        "model_name": "org/model",
        "lm_eval_version": "0.4.13",
    } | own


def put(content: Any, keys: Sequence[str | int], value: Any) -> None:
    """Set the value that stands under these keys, one within the other."""
    *outer, last = keys
    for key in outer:
        content = content[key]
    content[last] = value


def write_log(
    folder: Path,
    rows: Sequence[Row],
    task: str = "adding",
    *,
    results: bool = True,
    change: Callable[[dict[str, Any]], Any] | None = None,
    date: str = DATE,
) -> Path:
    """Write samples and results of one task; `change` edits the results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{date}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    if results:
        content = results_of(rows, task)
        if change is not None:
            change(content)
        (folder / f"results_{date}.json").write_text(json.dumps(content), encoding="utf-8")
    return path

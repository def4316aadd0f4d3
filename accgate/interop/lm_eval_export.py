"""Run records in lm-evaluation-harness's per-sample form.

It is `samples_*.jsonl` with its `results_*.json`.
"""

import hashlib
import json
import math
import urllib.parse
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from accgate._version import __version__
from accgate.errors import BadInput
from accgate.interop.run_folder import write_files
from accgate.interop.task_log import sample_mean
from accgate.records.file import ENDINGS, Record, read_gzip_lines, read_records
from accgate.records.replacement import json_line
from accgate.records.scores import scores_of_records
from accgate.tasks import FRACTIONS
from accgate.tasks.sample import sample_id

FILTER = "none"


def export_lm_eval(
    records: Path, out: Path, *, metric: str, now: datetime, higher_is_better: bool = True
) -> tuple[Path, Path]:
    """Write the records of a model and task as lm-eval does.

    Return the file of samples and that of results. A metric that lm-eval counts in fractions gets points / 100, any
    other the points as they are. Repeats of a sample are averaged, with all their replies in `resps`.

    Raises
    ------
    BadInput
        When a sample has no score, which that form cannot hold, there are no prompts beside the records, or scores do
        not fit the metric.
    """
    rows = _rows(read_records(records), _prompts(records), metric, records)
    task, model = records.name.removesuffix(ENDINGS[0]), urllib.parse.unquote(records.parent.name) or "model"
    stamp = now.isoformat().replace(":", "-")
    samples, results = out / f"samples_{task}_{stamp}.jsonl", out / f"results_{stamp}.json"
    mean = math.fsum(row[metric] for row in rows) / len(rows)
    hashes = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    content = {
        "results": {task: {"alias": task, "sample_len": len(rows), f"{metric},{FILTER}": mean}},
        "configs": {task: {"task": task, "metric_list": [{"metric": metric, "aggregation": "mean"}]}},
        "versions": {task: __version__},
        "n-shot": {},
        "higher_is_better": {task: {metric: higher_is_better}},
        "n-samples": {task: {"original": len(rows), "effective": len(rows)}},
        "config": {"model": "accgate", "model_args": ""},
        "task_hashes": {task: _sha(hashes)},
        "model_name": model,
    }
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_files(out, {samples: b"".join(map(json_line, rows)), results: text.encode("utf-8", "replace")})
    return samples, results


def _prompts(records: Path) -> dict[str, str]:
    path = records.with_name(records.name.removesuffix(ENDINGS[0]) + ENDINGS[1])
    prompts = {row["id"]: row["prompt"] or "" for row in read_gzip_lines(path, "prompt")}
    if not prompts:
        raise BadInput(f"{path}: holds no prompts, which lm-eval's form needs; export the folder that the run wrote")
    return prompts


def _rows(records: Sequence[Record], prompts: Mapping[str, str], metric: str, path: Path) -> list[dict[str, Any]]:
    if failed := [record.id for record in records if record.score is None]:
        raise BadInput(f"{path}: no score for {len(failed)} of {len(records)} samples; evaluate them again")
    if lacking := [record.id for record in records if record.id not in prompts]:
        raise BadInput(f"{path}: no prompt beside the records for {len(lacking)} of {len(records)} samples")
    scores_of_records(records, str(path))  # refuses different numbers of repeats
    repeats: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: record.repeat):
        repeats.setdefault(record.id, []).append(record)
    task = urllib.parse.unquote(path.name.removesuffix(ENDINGS[0]))
    ids = [id_ for id_ in prompts if id_ in repeats]
    ids.sort(key=lambda id_: _occurrence(task, id_, prompts[id_], repeats[id_][0].target))
    return [_row(number, repeats[id_], prompts[id_], metric, path) for number, id_ in enumerate(ids)]


def _occurrence(task: str, id_: str, prompt: str, target: str) -> int:
    """Number a sample among identical ones, as an import does.

    Samples with ids of other tools have the number 0.
    """
    return next((count for count in range(1, 1000) if id_ == sample_id(task, prompt, target, count)), 0)


def _row(number: int, repeats: Sequence[Record], prompt: str, metric: str, path: Path) -> dict[str, Any]:
    first = repeats[0]
    points = sample_mean((first.id, record.score) for record in repeats if record.score is not None)
    if metric in FRACTIONS and not 0.0 <= points <= 100.0:
        fault = f"sample {first.id} has {points:g} points, but lm-eval's {metric} is a fraction"
        raise BadInput(f"{path}: {fault}; name another --metric")
    doc = {"id": first.id, "prompt": prompt, "target": first.target}
    return {
        "doc_id": number,
        "doc": doc,
        "target": first.target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}},
        "resps": [[record.reply or "" for record in repeats]],
        "filtered_resps": [first.answer or ""],
        "filter": FILTER,
        "metrics": [metric],
        "doc_hash": _sha(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha(prompt),
        "target_hash": _sha(first.target),
        metric: points / 100.0 if metric in FRACTIONS else points,
    }


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

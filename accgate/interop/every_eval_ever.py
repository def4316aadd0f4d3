"""A run in the schema of Every Eval Ever (evaleval/every_eval_ever).

There is a log per model, with its samples beside it. Written to schema version 0.3.0, where its datastore wants them: a
collection, then developer, model and a UUID.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from accgate._version import __version__
from accgate.errors import BadInput
from accgate.interop.hub import NAME
from accgate.interop.run_folder import CheckRun, RunFolder, write_files
from accgate.records.file import Record
from accgate.records.replacement import json_line
from accgate.tasks import FRACTIONS
from accgate.text import number

SCHEMA = "0.3.0"
COLLECTION = "accgate"
SHARES = FRACTIONS | {"accuracy", "exact-match", "pass-at-1"}  # metrics that are counted from 0 to 1 there


@dataclass(frozen=True)
class Source:
    """Who evaluated, and what the score, the models and the datasets are called there.

    `relationship` is theirs to the model's developer: first_party, third_party, collaborative or other. A `metric` that
    is counted from 0 to 1 gets points / 100. `model_ids` has ORG/NAME of models that are not themselves called by their
    name on the Hugging Face Hub, and `datasets` that of tasks whose dataset is there.
    """

    organisation: str
    relationship: str
    metric: str
    model_ids: Mapping[str, str]
    datasets: Mapping[str, str]

    @property
    def scale(self) -> float:
        """The factor from points to the metric."""
        return 0.01 if self.metric in SHARES else 1.0


def export_every_eval_ever(run: RunFolder, out: Path, source: Source) -> list[Path]:
    """Write a log and its samples for each model of a run.

    Return the logs. The same run gives the same files. `out` is the folder in which `data/` stands.

    Raises
    ------
    BadInput
        When a sample has no score or no prompt, scores do not fit the metric, or a model has no name of this form.
    """
    logs = [_log(run, model, checks, source) for model, checks in run.models.items()]
    write_files(out, {out / log["detailed_evaluation_results"]["file_path"]: rows for _, log, rows in logs})
    return write_files(out, {out / path: (json.dumps(log, indent=2) + "\n").encode() for path, log, _ in logs})


def _log(
    run: RunFolder, model: str, checks: tuple[CheckRun, ...], source: Source
) -> tuple[Path, dict[str, Any], bytes]:
    """Return where a model's log belongs, the log, and its samples."""
    id_ = _model_id(model, checks, source.model_ids)
    digest = hashlib.sha256(f"{run.sha256} {model}".encode()).digest()
    name = str(uuid.UUID(bytes=digest[:16], version=4))
    folder = Path("data") / COLLECTION / id_
    began = str(int(datetime.fromisoformat(run.result.started).timestamp())) if run.result.started else "0"
    about = {"schema_version": SCHEMA, "evaluation_id": f"{COLLECTION}/{id_}/{began}-{name[:8]}"}
    rows = b"".join(json_line(row) for check in checks for row in _instances(check, about | {"model_id": id_}, source))
    engine = run.result.engines.get(model)
    log = about | {
        "evaluation_timestamp": began,
        "retrieved_timestamp": began,
        "source_metadata": {
            "source_name": "accgate",
            "source_type": "evaluation_run",
            "source_organization_name": source.organisation,
            "evaluator_relationship": source.relationship,
        },
        "eval_library": {"name": "accgate", "version": run.result.accgate or __version__},
        "model_info": {
            "name": model,
            "id": id_,
            "developer": id_.partition("/")[0],
            "inference_engine": None if engine is None else {"name": engine.name, "version": engine.version},
            "additional_details": {
                **{f"variant {key}": str(value) for key, value in checks[0].table("variant").items()},
                **({} if engine is None else {"hardware": engine.hardware}),
                "deployment_type": "unknown",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": [_result(check, source, began) for check in checks],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": (folder / f"{name}_samples.jsonl").as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(rows).hexdigest(),
            "total_rows": rows.count(b"\n"),
        },
    }
    return folder / f"{name}.json", log, rows


def _model_id(model: str, checks: tuple[CheckRun, ...], model_ids: Mapping[str, str]) -> str:
    served = str(checks[0].settings.get("model", ""))
    for id_ in (model_ids[model],) if model in model_ids else (served, model):
        if re.fullmatch(NAME, id_):
            return id_
    raise BadInput(f"the model {model!r} has no name of the Hugging Face Hub; give --model-id {model}=ORG/NAME")


def _result(check: CheckRun, source: Source, began: str) -> dict[str, Any]:
    task, figures, scale = str(check.verdict.task), check.figures, source.scale
    hub = source.datasets.get(task)
    spread = None
    if "standard_error" in figures:
        spread = {
            "standard_error": {
                "value": figures["standard_error"] * scale,
                "method": "cluster-robust" if check.verdict.clusters else "analytic",
            },
            "num_samples": check.verdict.n,
        }
    details = {name: f"{value:.12g}" for name, value in figures.items()}
    if check.verdict.is_early:
        details["stopped_early"] = f"{check.verdict.stop}, after {check.verdict.n} of {check.verdict.n_max} samples"
    return {
        "evaluation_result_id": task,
        "evaluation_name": task,
        "evaluation_timestamp": began,
        "source_data": {
            "dataset_name": task,
            "additional_details": {f"{part}_sha256": digest for part, digest in check.digests.items()},
            **({"source_type": "other"} if hub is None else {"source_type": "hf_dataset", "hf_repo": hub}),
        },
        "metric_config": {
            "metric_id": source.metric,
            "metric_name": source.metric,
            "metric_unit": "proportion" if scale != 1.0 else "points",
            "lower_is_better": not check.verdict.higher_is_better,
            "score_type": "continuous",
            "min_score": 0.0 if scale != 1.0 else "-Infinity",
            "max_score": 1.0 if scale != 1.0 else "Infinity",
        },
        "score_details": {
            "score": figures["mean"] * scale,
            "uncertainty": spread,
            "details": {"verdict": check.verdict.verdict, "test": str(check.verdict.test), "unit": "points", **details},
        },
        "generation_config": _generation(check),
    }


def _generation(check: CheckRun) -> dict[str, Any]:
    values = check.table("sampling")
    names = ("temperature", "top_p", "top_k", "max_tokens")
    typed = {name: values.pop(name) for name in names if values.get(name) is not None}
    rest = {name: json.dumps(value) for name, value in values.items() if value not in (None, [], {})}
    rest["engine_options"] = json.dumps(check.table("options"))
    return {"generation_args": typed, "additional_details": rest}


def _instances(check: CheckRun, about: Mapping[str, str], source: Source) -> Iterator[dict[str, Any]]:
    """Yield the row of each sample, beginning with `about`."""
    samples, task = check.whole_samples(), str(check.verdict.task)
    about = {**about, "evaluation_name": task, "evaluation_result_id": task}
    if lacking := [id_ for id_ in samples.ids if id_ not in check.prompts]:
        raise BadInput(f"{check.name}: no prompt beside the records for {len(lacking)} of {len(samples.ids)} samples")
    yield from ({**about, **_instance(record, check, source)} for record in samples.records)


def _instance(record: Record, check: CheckRun, source: Source) -> dict[str, Any]:
    assert record.score is not None  # whole_samples
    scale = source.scale
    if scale != 1.0 and not 0.0 <= record.score <= 100.0:
        fault = f"sample {record.id} has {number(record.score)} points, but {source.metric} goes from 0 to 1 there"
        raise BadInput(f"{check.name}: {fault}; name another --metric")
    question = {"raw": check.prompts[record.id], "reference": [record.target]}
    row: dict[str, Any] = {
        "sample_id": record.id,
        "sample_hash": hashlib.sha256(json.dumps(question, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": question,
        "output": {"raw": [record.reply or ""]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": record.answer or "",
                "extraction_method": f"accgate {check.digests.get('extract', '')}".strip(),
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": record.score * scale, "is_correct": record.score == 100.0},
        "performance": {"latency_ms": max(record.seconds, 0.0) * 1000.0},
        "metadata": {"repeat": str(record.repeat)},
    }
    if record.reasoning:
        row["output"]["reasoning_trace"] = [record.reasoning]
    if record.prompt_tokens is not None and record.completion_tokens is not None:
        row["token_usage"] = {
            "input_tokens": record.prompt_tokens,
            "output_tokens": record.completion_tokens,
            "total_tokens": record.prompt_tokens + record.completion_tokens,
        }
    return row

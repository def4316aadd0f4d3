"""Results of NeMo Evaluator as run records.

They are its bundles (`eval-*.json` with results.jsonl), and own benchmarks (BYOB). The bundles are those of `nel eval
run`; BYOB's folders hold byob_results.json and, where predictions are kept, byob_predictions.jsonl. A results.yml has
means alone, which no pairing can come from.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.paths import read_json
from accgate.inputs.rows import read_table
from accgate.interop.task_log import Choice, TaskLog, check_mean, files_of, finite_score, written_as
from accgate.records.file import Record
from accgate.tasks import harness_fingerprint, numbered_ids, scale_of
from accgate.text import count_of

BUNDLE, BYOB = "results.jsonl", "byob_predictions.jsonl"
MEANS = ("results.yml", "byob_results.json")
ROUNDED = 0.6e-4  # what the four digits of a mean in byob_results.json may hide
LARGEST = 50_000_000  # bytes of a summary
FIX = "import the folder that NeMo Evaluator wrote"
NOT_MEASURED = {"infra_error", "system"}  # graded 0 by NeMo Evaluator, though nothing was asked


@dataclass(frozen=True)
class Row:
    """One line, whose record gets its id and score later."""

    number: int
    problem: Any
    prompt: str
    scores: Mapping[str, float]
    record: Record

    @property
    def key(self) -> tuple[Any, int]:
        """The problem and the repeat."""
        return self.problem, self.record.repeat


def nemo_files(paths: Iterable[Path]) -> list[Path]:
    """List the files with a line per sample that are named, each once.

    They are named one by one or by a folder above them.

    Raises
    ------
    BadInput
        For a folder without any: it says so where there are means alone.
    """
    return files_of(paths, _files_in)


def _files_in(folder: Path) -> list[Path]:
    if inside := sorted(file for name in (BUNDLE, BYOB) for file in folder.rglob(name)):
        return inside
    if any(folder.rglob("samples_*.jsonl")):  # of NeMo's container of that harness
        raise BadInput(f"{folder}: holds samples in lm-eval's form; use `accgate import lm-eval {folder}`")
    means = [file for name in (*MEANS, "eval-*.json") for file in sorted(folder.rglob(name))]
    hint = f"{means[0].name} there holds only means; " if means else ""
    fix = "keep a score of each sample: `nel eval run` does, and a benchmark of your own with save_predictions"
    raise BadInput(f"{folder}: holds no {BUNDLE} and no {BYOB}; {hint}{fix}")


def import_nemo(path: Path, choice: Choice) -> TaskLog:
    """Import the task of one file of samples, with the summary beside it.

    Raises
    ------
    BadInput
        With file and line: for a line that cannot be read or comes twice, samples that are missing, a mean that is not
        the one that NeMo Evaluator reports, a metric that is ambiguous, or a scale that is not known.
    """
    with written_as(path, "NeMo Evaluator writes it", "import the folder it wrote"):
        return _byob_log(path, choice) if path.name == BYOB else _bundle_log(path, choice)


def _bundle_log(path: Path, choice: Choice) -> TaskLog:
    bundles = sorted(path.parent.glob("eval-*.json"))
    if len(bundles) != 1:
        fix = "it needs exactly one, which names the benchmark and the number of samples"
        raise BadInput(f"{path}: has {len(bundles)} eval-*.json beside it; {fix}")
    if choice.metric not in (None, "reward"):
        raise BadInput(f"{path}: has only the metric reward; leave --metric {choice.metric} out")
    bundle = read_json(bundles[0], LARGEST, FIX)
    config, benchmark = bundle["config"], bundle["benchmark"]
    rows = [_bundle_row(path, number, row) for number, row in read_table(path)]
    _check_keys(path, rows)
    counts = {
        "lines": (len(rows), bundle["n_results"]),
        "problems": (len({row.key[0] for row in rows}), benchmark["samples"]),
        "repeats": (len({row.key[1] for row in rows}), benchmark["repeats"]),
    }
    for what, (there, wanted) in counts.items():
        if there != wanted:
            raise BadInput(f"{path}: holds {there} {what}, but {bundles[0].name} says {wanted}; some are missing")
    mean = math.fsum(row.scores["reward"] for row in rows) / len(rows)
    factor = scale_of("reward", (), choice.scale, str(path))
    failed = sum(row.record.error is not None for row in rows)
    reported = check_mean(mean, benchmark["scores"]["summary"]["mean"], "reward", path, bundles[0]) * factor
    return _task_log(
        path,
        rows,
        "reward",
        factor,
        model=choice.model or config.get("model"),
        task=benchmark["name"],
        reported=None if failed else reported,
        note=f"{count_of(failed, 'problem')} not measured, which NeMo Evaluator counts as 0" if failed else "",
        tool=f"NeMo Evaluator {bundle['sdk_version']}",
        date=str(bundle["timestamp"])[:10],
        settings=config,
    )


def _bundle_row(path: Path, number: int, row: Mapping[str, Any]) -> Row:
    reward = finite_score(f"{path}:{number}", "reward", row["reward"])
    details = row.get("scoring_details") or {}
    category = details.get("error_category")
    target, problem = str(row["expected_answer"]), row["problem_idx"]
    if not isinstance(problem, int):
        raise BadInput(f"{path}:{number}: problem_idx is {problem!r}, which is not a whole number")
    error = f"{category}: {details.get('error', '')}" if category in NOT_MEASURED else None
    answer, reply = _text(row.get("extracted_answer")), _text(row.get("model_response"))
    seconds = float(row.get("latency_ms") or 0.0) / 1000.0
    record = Record("", row.get("repeat", 0), None, target, answer, reply, None, None, None, seconds, error)
    # There is no prompt; another target still makes another sample.
    return Row(number, problem, f"problem {problem}", {"reward": reward}, record)


def _byob_log(path: Path, choice: Choice) -> TaskLog:
    results = path.with_name("byob_results.json")
    if not results.is_file():
        raise BadInput(f"{path}: has no {results.name} beside it, which names the benchmark; import its whole folder")
    tasks = read_json(results, LARGEST, FIX)["tasks"]
    if len(tasks) != 1:
        raise BadInput(f"{results}: has {len(tasks)} tasks; import a folder of exactly one")
    ((task, content),) = tasks.items()
    scores = content["metrics"]["pass@1"]["scores"]
    rows = [_byob_row(path, number, row) for number, row in read_table(path)]
    _check_keys(path, rows)
    fitting = [name for name in sorted(scores) if choice.metric in (None, name)]
    if len(fitting) != 1:
        fault = "has several metrics" if fitting else f"has no metric {choice.metric!r}"
        raise BadInput(f"{path}: {fault}; choose one with --metric: {', '.join(sorted(scores))}")
    (chosen,) = fitting
    values = [row.scores[chosen] for row in rows if row.record.error is None and chosen in row.scores]
    stats = scores[chosen]["stats"]
    if len(values) != stats["count"]:
        fault = f"holds {count_of(len(values), 'score')} of {chosen}, but {results.name} counts {stats['count']}"
        raise BadInput(f"{path}: {fault}; some are missing")
    check_mean(math.fsum(values) / len(values), stats["mean"], chosen, path, results, tolerance=ROUNDED)
    failed = len(rows) - len(values)
    return _task_log(
        path,
        rows,
        chosen,
        scale_of(chosen, (), choice.scale, str(path)),
        model=choice.model,
        task=task,
        note=f"{count_of(failed, 'sample')} not scored, which the reported mean leaves out"
        if failed
        else "the reported mean is rounded; it agrees",
        tool="NeMo Evaluator BYOB",
        settings={},
    )


def _byob_row(path: Path, number: int, row: Mapping[str, Any]) -> Row:
    scores = row["scores"] if row["status"] == "scored" else {}
    where, about = f"{path}:{number}", row.get("metadata") or {}
    numbers = {key: finite_score(where, key, each) for key, each in scores.items() if isinstance(each, (int, float))}
    error = None if row["status"] == "scored" else str(row.get("error") or row["status"])
    repeat, target, reply = int(about.get("_repeat", 0)), str(row["target"]), _text(row["response"])
    record = Record("", repeat, None, target, None, reply, None, None, None, 0.0, error)
    return Row(number, row["sample_id"], str(row["prompt"]), numbers, record)


def _task_log(
    path: Path,
    rows: Sequence[Row],
    metric: str,
    scale: float,
    *,
    model: str | None,
    task: str,
    settings: Mapping[str, Any],
    **about: Any,
) -> TaskLog:
    """Return the log of a task.

    `about` is what else a `TaskLog` holds.
    """
    if not model:
        raise BadInput(f"{path}: nothing beside it names the model; name it with --model")
    ids = _ids(task, rows)
    records = []
    for row, id_ in zip(rows, ids, strict=True):
        score = row.scores.get(metric)
        error = row.record.error or (f"it has no score {metric}" if score is None else None)
        points = None if score is None or error is not None else score * scale
        records.append(replace(row.record, id=id_, score=points, error=error))
    generation = {key: settings[key] for key in ("temperature", "max_tokens", "top_p", "seed") if key in settings}
    return TaskLog(
        model=str(model),
        task=str(task),
        metric=metric,
        source=path,
        records=tuple(records),
        prompts={id_: row.prompt for id_, row in zip(ids, rows, strict=True)},
        scale=scale,
        fingerprint=harness_fingerprint(str(task), metric, "nemo", generation),
        **about,
    )


def _ids(task: str, rows: Sequence[Row]) -> list[str]:
    """Return the id of each line.

    Identical problems of one repeat count from 0, so that repeats share ids.
    """
    ids: dict[int, str] = {}
    for repeat in {row.record.repeat for row in rows}:
        own = sorted((row for row in rows if row.record.repeat == repeat), key=lambda row: row.problem)
        of_repeat = numbered_ids(task, [(row.prompt, row.record.target) for row in own])
        ids |= zip((row.number for row in own), of_repeat, strict=True)
    return [ids[row.number] for row in rows]


def _check_keys(path: Path, rows: Sequence[Row]) -> None:
    if not rows:
        raise BadInput(f"{path}: holds no samples")
    twice = [key for key, count in Counter(row.key for row in rows).items() if count > 1]
    if twice:
        raise BadInput(f"{path}: holds sample {twice[0][0]}, repeat {twice[0][1]}, twice; import the file it wrote")
    counts = Counter(row.key[1] for row in rows)
    if len(set(counts.values())) > 1:
        fault = f"its repeats have {min(counts.values())} to {max(counts.values())} samples"
        raise BadInput(f"{path}: {fault}; all must have the same number")


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)

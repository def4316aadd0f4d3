"""Per-sample logs of lm-evaluation-harness (`samples_*.jsonl`, `--log_samples`), checked against its own results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from accgate.errors import BadInput
from accgate.inputs import read_table
from accgate.interop.imported import MALFORMED, Imported, check_mean, only_unique, sample_mean
from accgate.interop.lm_eval_results import Results, results_beside
from accgate.records import Record
from accgate.tasks import harness_fingerprint, likeliest, numbered_ids, request_text, scale_of

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
OWN = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"})
HASHES = frozenset({"doc_hash", "prompt_hash", "target_hash"})


@dataclass(frozen=True)
class Choice:
    """What is imported of a log that holds several metrics or filters; None where the only one is meant."""

    metric: str | None = None
    filter: str | None = None
    scale: float | None = None


@dataclass(frozen=True)
class Line:
    """A row of the log with its line number."""

    number: int
    row: Mapping[str, Any]

    @property
    def filter(self) -> str:
        """The filter that the row's answers went through."""
        return str(self.row.get("filter") or "none")

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics in the row; older versions do not list them."""
        named = self.row.get("metrics")
        return (
            [str(name) for name in named]
            if isinstance(named, list)
            else [key for key in self.row if key not in OWN | HASHES]
        )


def import_lm_eval(paths: Sequence[Path], choice: Choice, *, model: str | None = None) -> list[Imported]:
    """The tasks of logs, named one by one or by the folder that lm-eval was given as --output_path.

    Raises
    ------
    BadInput
        With file and line: for logs that are torn, hold a sample twice or lack some, whose mean is not the one that
        lm-eval reports, and for a metric or filter that is not said plainly.
    """
    return only_unique(_import_log(path, choice, model) for path in _logs(paths))


def _logs(paths: Iterable[Path]) -> Iterator[Path]:
    seen = set()
    for path in paths:
        found = sorted(path.rglob("samples_*.jsonl")) if path.is_dir() else [path]
        if not found:
            raise BadInput(f"{path}: holds no samples_*.jsonl; run lm_eval with --log_samples and --output_path")
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _import_log(path: Path, choice: Choice, model: str | None) -> Imported:
    try:
        return _imported(path, choice, model)
    except MALFORMED as error:
        fault = f"{type(error).__name__}: {error}"
        raise BadInput(f"{path}: is not as lm-eval writes a log ({fault}); import the file it wrote") from error


def _imported(path: Path, choice: Choice, model: str | None) -> Imported:
    named = NAME.fullmatch(path.name)
    task = named["task"] if named else path.stem.removeprefix("samples_")
    results = results_beside(path, named["date"], task) if named else None
    lines = [_checked(path, Line(number, row)) for number, row in read_table(path)]
    if not lines:
        raise BadInput(f"{path}: holds no samples")
    metric, chosen = _chosen(path, lines, choice, results)
    kept = _one_a_document(path, [line for line in lines if line.filter == chosen])
    if results is not None:
        results.check_samples(path, [line.row for line in lines], len(kept))
    elif missing := sorted(set(range(len(kept))) - set(kept)):
        raise BadInput(
            f"{path}: {len(missing)} samples are missing, doc_id {missing[0]} first; where lm_eval was asked for some "
            "(--samples), put its results_*.json beside the file"
        )
    values = [_value(path, kept[doc], metric) for doc in sorted(kept)]
    scale = scale_of(metric, values, choice.scale, str(path))
    records, prompts = _records(task, [kept[doc] for doc in sorted(kept)], [value * scale for value in values])
    reported, note = None, "no results_*.json beside it: mean and number of samples were not checked"
    if results is not None:
        reports, note = results.reported(metric, chosen), ""
        mean = sample_mean((record.id, value) for record, value in zip(records, values, strict=True))
        reported = scale * check_mean(mean, reports, f"{metric},{chosen}", path, results.path)
    return Imported(
        model=model or (results and results.model) or path.parent.name or "model",
        task=task, metric=f"{metric},{chosen}", tool=results.tool if results else "lm-eval", source=path,
        records=tuple(records), prompts=prompts, scale=scale, reported=reported, note=note,
        higher_is_better=results.higher_is_better(metric) if results else None,
        fingerprint=harness_fingerprint(task, metric, chosen, _generation(lines[0].row)),
        date=named["date"][:10] if named else "",
    )  # fmt: skip


def _checked(path: Path, line: Line) -> Line:
    doc, arguments = line.row.get("doc_id"), line.row.get("arguments")
    if isinstance(doc, bool) or not isinstance(doc, int) or not isinstance(arguments, (dict, list)):
        raise BadInput(f"{path}:{line.number}: has no doc_id or no arguments; is it a samples_*.jsonl of lm-eval?")
    return line


def _chosen(path: Path, lines: Sequence[Line], choice: Choice, results: Results | None) -> tuple[str, str]:
    """Metric and filter: as asked for, or the only ones.

    A metric that lm-eval does not average over samples is offered to nobody, and refused where it is asked for.
    """
    pairs = dict.fromkeys((metric, line.filter) for line in lines for metric in line.metrics)
    means = [pair for pair in pairs if _is_mean(lines, pair[0], results)]
    fitting = [
        (metric, chosen)
        for metric, chosen in means
        if choice.metric in (None, metric) and choice.filter in (None, chosen)
    ]
    if len(fitting) == 1:
        return fitting[0]
    offered = ", ".join(f"--metric {metric} --filter {chosen}" for metric, chosen in fitting or means) or "none"
    if fitting:
        raise BadInput(f"{path}: holds several scores; choose one: {offered}")
    if choice.metric in {metric for metric, _ in pairs if metric not in {mean for mean, _ in means}}:
        raise BadInput(
            f"{path}: {choice.metric} is no mean of scores of samples: lm-eval combines all samples at once; choose "
            f"another: {offered}"
        )
    asked = " and ".join(text for text in (choice.metric, choice.filter) if text) or "a score that is a number"
    raise BadInput(f"{path}: holds no {asked}; it has: {offered}")


def _is_mean(lines: Sequence[Line], metric: str, results: Results | None) -> bool:
    how = results.aggregation(metric) if results else {"perplexity": "perplexity"}.get(metric)
    first = next((line.row[metric] for line in lines if metric in line.row), None)
    return isinstance(first, (int, float)) and how in (None, "mean", "nanmean")


def _one_a_document(path: Path, lines: Sequence[Line]) -> dict[int, Line]:
    kept: dict[int, Line] = {}
    for line in lines:
        doc = line.row["doc_id"]
        if doc in kept:
            raise BadInput(
                f"{path}:{line.number}: doc_id {doc} stands already on line {kept[doc].number}; each sample must come "
                "once (was the file appended to?)"
            )
        kept[doc] = line
    return kept


def _value(path: Path, line: Line, metric: str) -> float:
    value = line.row.get(metric)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadInput(f"{path}:{line.number}: {metric} is {brief(value)}; every sample needs a finite number")
    return float(value)


def _records(task: str, lines: Sequence[Line], scores: Sequence[float]) -> tuple[list[Record], dict[str, str]]:
    texts = [(request_text(_requests(line.row)), str(line.row.get("target", ""))) for line in lines]
    ids = numbered_ids(task, texts)
    records = [
        Record(id_, 0, score, target, _answer(line.row), _reply(line.row), None, None, None, 0.0, None)
        for id_, (_, target), line, score in zip(ids, texts, lines, scores, strict=True)
    ]
    return records, {id_: prompt for id_, (prompt, _) in zip(ids, texts, strict=True)}


def _requests(row: Mapping[str, Any]) -> list[list[Any]]:
    """The arguments of each request; the file names them gen_args_0: arg_0, arg_1."""
    arguments = row["arguments"]
    groups = arguments.values() if isinstance(arguments, dict) else arguments
    return [list(group.values()) if isinstance(group, dict) else list(group) for group in groups]


def _generation(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that text was generated with; None where options were scored."""
    return next((part for request in _requests(row) for part in request[1:] if isinstance(part, dict)), None)


def _reply(row: Mapping[str, Any]) -> str | None:
    """The model's first reply, where it wrote text."""
    reply = _first(row.get("resps"))
    return reply if _generation(row) is not None and isinstance(reply, str) else None


def _answer(row: Mapping[str, Any]) -> str | None:
    """What the filter made of the reply; of scored options, the likeliest."""
    filtered = row.get("filtered_resps")
    if not isinstance(filtered, list) or not filtered:
        return None
    if _generation(row) is not None:
        answer = _first(filtered)
        return answer if isinstance(answer, str) else None
    try:
        pairs = [(str(context), str(continuation)) for context, continuation, *_ in _requests(row)]
        return likeliest(pairs, [float(pair[0]) for pair in filtered])
    except (TypeError, ValueError, IndexError):
        return None


def _first(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value

"""Per-sample logs of lm-evaluation-harness (`samples_*.jsonl`, `--log_samples`), checked against its own results."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from accgate.errors import BadInput, reading
from accgate.inputs.paths import read_json
from accgate.inputs.rows import read_table
from accgate.interop.task_log import Choice, TaskLog, check_mean, files_of, finite_score, sample_mean, written_as
from accgate.records.file import Record
from accgate.tasks import harness_fingerprint, numbered_ids, scale_of
from accgate.tasks.lm_eval.mapping import likeliest, request_text
from accgate.text import count_of

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
OWN = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics")
NOT_FOUND = ("[invalid]", "")  # what a filter gives where it finds no answer
OLDER_RESULTS = "results.json"  # until 0.4.2, beside logs that are one JSON list
RESULTS = 200_000_000  # bytes of a results file; one of a thousand tasks has a few million
HASHES = ("doc_hash", "prompt_hash", "target_hash")


class Line(NamedTuple):
    """A row of the log with its line number."""

    number: int
    row: Mapping[str, Any]

    @property
    def filter(self) -> str:
        """The filter that the row's answers went through."""
        return str(self.row.get("filter") or "none")


def lm_eval_files(paths: Iterable[Path]) -> list[Path]:
    """List the logs that are named, one by one or by their folder.

    Such a folder is lm-eval's --output_path. Raises BadInput.
    """
    lack = "holds no samples_*.jsonl; run lm_eval with --log_samples and --output_path"
    return files_of(paths, lambda folder: sorted(folder.rglob("samples_*.jsonl")) or _older_logs(folder), lack)


def _older_logs(folder: Path) -> list[Path]:
    """List the logs of lm-eval before 0.4.3, each beside the results of its run.

    Their names are `MODEL_TASK.jsonl`.
    """
    return sorted(log for results in folder.rglob(OLDER_RESULTS) for log in results.parent.glob("*.jsonl"))


def import_lm_eval(path: Path, choice: Choice) -> TaskLog:
    """Import the task of a log.

    Raises
    ------
    BadInput
        With file and line: for a log that is cut off, holds a sample twice or lacks some, whose mean is not the one
        that lm-eval reports, and for a metric or filter that is ambiguous.
    """
    with written_as(path, "lm-eval writes a log"):
        return _task_log(path, choice)


def _task_log(path: Path, choice: Choice) -> TaskLog:
    named = NAME.fullmatch(path.name)
    results = results_beside(path, named["date"], named["task"]) if named else _older_results(path)
    task = named["task"] if named else results.task if results else path.stem.removeprefix("samples_")
    lines = [Line(number, row) for number, row in _rows(path)]
    if not lines:
        raise BadInput(f"{path}: holds no samples")
    for number, row in lines:
        if type(row.get("doc_id")) is not int or not isinstance(row.get("arguments"), (dict, list)):
            raise BadInput(f"{path}:{number}: has no doc_id or no arguments; is it a samples_*.jsonl of lm-eval?")
    lines = _with_filters(path, lines, results)
    metric, chosen = _choose(path, lines, choice, results)
    by_document = _by_document(path, [line for line in lines if line.filter == chosen])
    is_counted = results is not None and results.check_samples(path, [line.row for line in lines], len(by_document))
    if not is_counted and (missing := sorted(set(range(len(by_document))) - set(by_document))):
        fix = "where lm_eval ran only some (--samples), put its results_*.json beside the file"
        raise BadInput(f"{path}: lacks {count_of(len(missing), 'sample')}, doc_id {missing[0]} first; {fix}")
    documents = [by_document[doc] for doc in sorted(by_document)]
    values = [finite_score(f"{path}:{line.number}", metric, line.row.get(metric)) for line in documents]
    scale = scale_of(metric, values, choice.scale, str(path))
    records, prompts = _records(task, documents, [value * scale for value in values])
    reported, note = None, "no results_*.json beside it: mean and number of samples were not checked"
    if results is not None:
        reports, note = results.figure(metric, chosen), ""
        mean = sample_mean((record.id, value) for record, value in zip(records, values, strict=True))
        reported = scale * check_mean(mean, reports, f"{metric},{chosen}", path, results.path)
    return TaskLog(
        model=choice.model or str((results and results.content.get("model_name")) or path.parent.name or "model"),
        task=task,
        metric=f"{metric},{chosen}",
        tool=f"lm-eval {(results and results.content.get('lm_eval_version')) or ''}".strip(),
        source=path,
        records=tuple(records),
        prompts=prompts,
        scale=scale,
        reported=reported,
        note=note,
        higher_is_better=results.of("higher_is_better").get(metric) if results else None,
        fingerprint=harness_fingerprint(task, metric, chosen, _generation(lines[0].row)),
        date=named["date"][:10] if named else "",
    )


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a log with their lines.

    Until lm-eval 0.4.2 they have their places in one list.
    """
    with reading(path, "give a samples_*.jsonl of lm-eval"), path.open("rb") as file:
        is_list = file.read(100).lstrip().startswith(b"[")
    if not is_list:
        yield from read_table(path)
        return
    rows = read_json(path, RESULTS, "is the file cut off?")
    yield from enumerate(rows, 1)


def _with_filters(path: Path, lines: list[Line], results: Results | None) -> list[Line]:
    """Add the filters to lines, which older versions do not write.

    Each sample has one line a filter. The results name the filters in their order. Without these they are numbered from
    1. Lines that repeat a sample with other replies, or with all the same, are no filters.
    """
    if any("filter" in line.row for line in lines):
        return lines
    rows: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        rows[line.row["doc_id"]].append(line.row)
    number = len(rows[lines[0].row["doc_id"]])
    same = [[row == each[0] for row in each] for each in rows.values()]
    replies = all(row.get("resps") == each[0].get("resps") for each in rows.values() for row in each)
    if {len(each) for each in same} != {number} or not replies or (number > 1 and all(map(all, same))):
        return lines
    names = results.filters if results else [str(place + 1) for place in range(number)] if number > 1 else ["none"]
    if len(names) != number:
        lines_each = f"has {count_of(number, 'line')} for each sample, one for each filter"
        theirs = f"{results and results.path.name} has {len(names)} ({', '.join(names) or 'none'})"
        raise BadInput(f"{path}: {lines_each}, but {theirs}; is it of another run?")
    left: dict[int, Iterator[str]] = defaultdict(lambda: iter(names))
    return [Line(line.number, {**line.row, "filter": next(left[line.row["doc_id"]])}) for line in lines]


def _choose(path: Path, lines: Sequence[Line], choice: Choice, results: Results | None) -> tuple[str, str]:
    """Choose metric and filter, the given ones or the only ones.

    A metric that lm-eval does not average over samples is not offered, and refused where it is given.
    """
    pairs = dict.fromkeys((metric, line.filter) for line in lines for metric in _metrics_of(line.row))
    means = [pair for pair in pairs if _is_mean(lines, pair[0], results)]
    fitting = [pair for pair in means if choice.metric in (None, pair[0]) and choice.filter in (None, pair[1])]
    if len(fitting) == 1:
        return fitting[0]
    offered = ", ".join(f"--metric {metric} --filter {chosen}" for metric, chosen in fitting or means) or "none"
    if fitting:
        raise BadInput(f"{path}: holds several scores; choose one: {offered}")
    if choice.metric in {metric for metric, _ in pairs} - {metric for metric, _ in means}:
        fault = f"{choice.metric} is not a mean over samples: lm-eval combines all samples at once"
        raise BadInput(f"{path}: {fault}; choose another: {offered}")
    wanted = " behind the filter ".join(text for text in (choice.metric, choice.filter) if text)
    raise BadInput(f"{path}: holds no {wanted or 'score'} that is a mean over samples; it has: {offered}")


def _metrics_of(row: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics in a row.

    Older versions of lm-eval do not list them.
    """
    named = row.get("metrics")
    return list(map(str, named)) if isinstance(named, list) else [key for key in row if key not in (*OWN, *HASHES)]


def _is_mean(lines: Sequence[Line], metric: str, results: Results | None) -> bool:
    how = results.aggregation(metric) if results else {"perplexity": "perplexity"}.get(metric)
    first = next((line.row[metric] for line in lines if metric in line.row), None)
    return isinstance(first, (int, float)) and how in (None, "mean", "nanmean")


def _by_document(path: Path, lines: Sequence[Line]) -> dict[int, Line]:
    rows: dict[int, Line] = {}
    for line in lines:
        first = rows.setdefault(line.row["doc_id"], line)
        if first is not line:
            fault = f"doc_id {line.row['doc_id']} is already on line {first.number}"
            raise BadInput(f"{path}:{line.number}: {fault}; each sample must come once (was the file appended to?)")
    return rows


def _records(task: str, lines: Sequence[Line], scores: Sequence[float]) -> tuple[list[Record], dict[str, str]]:
    texts = [(request_text(_requests(line.row)), str(line.row.get("target", ""))) for line in lines]
    ids = numbered_ids(task, texts)
    named = zip(ids, texts, lines, scores, strict=True)
    records = [_record(id_, target, line.row, score) for id_, (_, target), line, score in named]
    return records, {id_: prompt for id_, (prompt, _) in zip(ids, texts, strict=True)}


def _record(id_: str, target: str, row: Mapping[str, Any], score: float) -> Record:
    answer, reply = _answer(row), _reply(row)
    reading = _reading(reply, answer)
    answer = answer if reply is not None else answer or None  # a tie is none
    return Record(id_, 0, score, target, answer, reply, None, None, None, 0.0, None, reading=reading)


def _requests(row: Mapping[str, Any]) -> list[list[Any]]:
    """Return the arguments of each request.

    The file names them gen_args_0 and within that arg_0, arg_1.
    """
    arguments = row["arguments"]
    groups = arguments.values() if isinstance(arguments, dict) else arguments
    return [list(group.values()) if isinstance(group, dict) else list(group) for group in groups]


def _generation(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the options that text was generated with, None where options were scored."""
    return next((part for request in _requests(row) for part in request[1:] if isinstance(part, dict)), None)


def _reply(row: Mapping[str, Any]) -> str | None:
    """Return the model's first reply, where it wrote text."""
    reply = _first(row.get("resps"))
    return reply if _generation(row) is not None and isinstance(reply, str) else None


def _answer(row: Mapping[str, Any]) -> str | None:
    """Return the reply after the filter, or the likeliest of scored options."""
    filtered = row.get("filtered_resps") or ()
    if _generation(row) is not None:
        answer = _first(filtered)
        return answer if isinstance(answer, str) else None
    try:
        pairs = [(str(context), str(continuation)) for context, continuation, *_ in _requests(row)]
        return likeliest(pairs, [float(pair[0]) for pair in filtered])
    except (TypeError, ValueError, IndexError):
        return None


def _reading(reply: str | None, answer: str | None) -> str | None:
    """Return how lm-eval read a reply.

    Its filters say "[invalid]" where they find nothing, and scored options may tie.
    """
    if reply is None:
        return None if answer is None else "read" if answer else "unread"
    return "empty" if not reply.strip() else "unread" if answer in NOT_FOUND else "read"


def _first(value: Any) -> Any:
    while isinstance(value, list) and value:
        value = value[0]
    return value


@dataclass(frozen=True)
class Results:
    """The part of a results file that is about one task."""

    path: Path
    task: str
    content: Mapping[str, Any]

    def figure(self, metric: str, chosen: str) -> Any:
        """Return the figure that lm-eval reports of a metric behind a filter."""
        own, key = self.of("results"), f"{metric},{chosen}"
        if key not in own:
            raise BadInput(f"{self.path}: reports no {key} of task {self.task}; is it of another run?")
        return own[key]

    @property
    def filters(self) -> list[str]:
        """The filters that figures are reported of, in lm-eval's order."""
        return list(dict.fromkeys(key.partition(",")[2] for key in self.of("results") if "," in key))

    def aggregation(self, metric: str) -> str | None:
        """Name how lm-eval combines the samples' scores, if the file has it."""
        entries = (entry for entry in self.of("configs").get("metric_list") or () if isinstance(entry, dict))
        how = next((entry.get("aggregation") for entry in entries if entry.get("metric") == metric), None)
        return how if isinstance(how, str) and how.isidentifier() else None

    def check_samples(self, path: Path, rows: Sequence[Mapping[str, Any]], documents: int) -> bool:
        """Refuse a log without all the samples that lm-eval scored.

        Return whether these results say how many samples there are.

        Raises
        ------
        BadInput
            When it has another number of samples, or other samples or another order than lm-eval's digest.
        """
        effective = self.of("n-samples").get("effective")
        if effective is not None and effective != documents:
            raise BadInput(f"{path}: holds {documents} samples, but {self.path.name} counts {effective}")
        digest, hashes = self.of("task_hashes"), [row.get(key) for row in rows for key in HASHES]
        is_known = bool(digest) and all(isinstance(part, str) for part in hashes)
        if is_known and hashlib.sha256("".join(map(str, hashes)).encode()).hexdigest() != digest:
            fault = f"its samples are not those of {self.path.name} (the task_hashes differ)"
            raise BadInput(f"{path}: {fault}; lines were changed, lost or added")
        return effective is not None

    def of(self, section: str) -> Any:
        """Return this task's part of a section.

        It is empty where lm-eval's version does not write it.
        """
        return (self.content.get(section) or {}).get(self.task) or {}


def _older_results(log: Path) -> Results | None:
    """Find the results beside a log whose name ends in one of their tasks.

    lm-eval wrote both so until 0.4.2.
    """
    path = log.with_name(OLDER_RESULTS)
    content = read_json(path, RESULTS, "is the file cut off?") if path.is_file() else None
    tasks = content.get("results") if isinstance(content, dict) else None
    own = [task for task in tasks if log.stem.endswith(f"_{task}")] if isinstance(tasks, dict) else []
    return Results(path, max(own, key=len), content) if own and content else None


def results_beside(log: Path, date: str, task: str) -> Results | None:
    """Read the results of the run beside its log, if they are there.

    Raises
    ------
    BadInput
        When there are several, or they cannot be read or are of other tasks.
    """
    files = sorted(log.parent.glob(f"*_{date}.json"))
    if len(files) > 1:
        raise BadInput(f"{log}: {' and '.join(path.name for path in files)} may be its results; keep one beside it")
    if not files:
        return None
    content = read_json(files[0], RESULTS, "is the file cut off?")
    if not isinstance(content, dict) or not isinstance(content.get("results"), dict):
        raise BadInput(f"{files[0]}: is not a results file of lm-eval")
    if task not in content["results"]:
        raise BadInput(f"{files[0]}: has no task {task}, whose samples are beside it")
    return Results(files[0], task, content)

"""Logs of Inspect as tasks, with the values of a scorer.

The values are of each epoch, or as Inspect reduced the epochs of a sample.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from reprlib import repr as brief
from typing import Any, TypeVar

from accgate.errors import BadInput
from accgate.evaluation.reading import shorten
from accgate.interop.inspect_file import Log, message_text, prompt_text, read_log, reasoning_text
from accgate.interop.task_log import Choice, TaskLog, check_mean, files_of, sample_mean, written_as
from accgate.records.file import Record
from accgate.records.finish import CUT
from accgate.tasks import harness_fingerprint, numbered_ids, scale_of
from accgate.text import count_of, some_of

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # as value_to_float of Inspect has them
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
MEANS = ("accuracy", "mean")  # metrics of Inspect that are a mean over samples
MEAN = "mean"  # the reducer over epochs where a log names none
MANIFESTS = ("logs.json", "eval-set.json", "listing.json")  # what Inspect writes beside logs
Sample = Mapping[str, Any]
T = TypeVar("T")


def inspect_files(paths: Iterable[Path]) -> list[Path]:
    """List the logs that are named, one by one or by their folder.

    Raises BadInput.
    """
    return files_of(paths, _logs_in, "holds no logs of Inspect (.eval or .json)")


def _logs_in(folder: Path) -> list[Path]:
    """List the logs in a folder, without what Inspect writes beside them."""
    return sorted(p for p in folder.rglob("*") if p.suffix in (".eval", ".json") and p.name not in MANIFESTS)


def import_inspect(path: Path, choice: Choice) -> TaskLog:
    """Import the evaluation of a log.

    The metric names a scorer, or of one that gives several values `scorer/key`. Without it the only one is taken, or
    the headline of the log. Epochs that Inspect averages become repeats; with another reducer (mode, median, max,
    at_least_2, pass_at_2 ...) a sample has the one score that Inspect made of its epochs.

    Raises
    ------
    BadInput
        For a log that is cut off, unfinished, holds a sample twice or lacks some, whose mean is not the one that
        Inspect reports, and for a scorer that is ambiguous.
    """
    with written_as(path, "Inspect writes a log"):
        return _task_log(read_log(path), choice)


def _task_log(log: Log, choice: Choice) -> TaskLog:
    samples, scale = _all_samples(log), choice.scale
    scorer = _scorer(log, choice.metric)
    name, _, key = scorer.partition("/")
    reducer = _reducer(log, name, key, choice.reducer)
    raw = [_raw(sample, name, key) for sample in samples]
    in_words = all(isinstance(value, (str, bool)) for value in raw if value is not None)
    if reducer != MEAN:
        samples = [sample for sample in samples if sample["epoch"] == 1]
        raw = _reduced_values(log, samples, name, key, reducer)
        scorer += f" ({reducer} of epochs)"
    pairs = zip(samples, raw, strict=True)
    values = [None if value is None else _number(log, sample, value) for sample, value in pairs]
    scored = [value for value in values if value is not None]
    if not scored:
        raise BadInput(f"{log.path}: no sample has a score of {scorer}")
    if scale is None and in_words:
        scale = 100.0  # letters and truth values stand for 0, 1/2 and 1
    factor = scale_of(key or name, scored, scale, str(log.path))
    task = str(log.eval.get("task") or "task").rpartition("/")[2]
    records, prompts = _records(task, samples, values, factor, name)
    mean = sample_mean((r.id, value) for r, value in zip(records, values, strict=True) if value is not None)
    reports = _reported_mean(log, name, key, reducer)
    reported = None
    if reports is not None:
        reported = factor * check_mean(mean, reports[1], f"{scorer} ({reports[0]})", log.path, log.path)
    packages = log.eval.get("packages")
    return TaskLog(
        model=choice.model or str(log.eval.get("model") or "model"),
        task=task,
        metric=scorer,
        tool=f"Inspect {packages.get('inspect_ai', '') if isinstance(packages, dict) else ''}".strip(),
        source=log.path,
        records=tuple(records),
        prompts=prompts,
        scale=factor,
        reported=reported,
        note="" if reports else f"the log reports no mean of {scorer} over samples and epochs: it was not checked",
        higher_is_better=True if (key or name) in ("match", "includes") or in_words else None,
        fingerprint=harness_fingerprint(task, scorer, "inspect", None),
        date=str(log.eval.get("created") or "")[:10],
    )


def _all_samples(log: Log) -> list[Sample]:
    """Return every sample once, in the order of the dataset and then by epoch.

    Raises
    ------
    BadInput
        When one is there twice, or one of the dataset is missing.
    """
    by_epoch: dict[tuple[str, int], Sample] = {}
    for sample in log.samples:
        epoch = sample.get("epoch")
        if "id" not in sample or not isinstance(epoch, int) or "target" not in sample:
            raise BadInput(f"{log.path}: a sample has no id, epoch or target; is it a log of Inspect?")
        if (key := (str(sample["id"]), epoch)) in by_epoch:
            raise BadInput(f"{log.path}: sample {key[0]} of epoch {epoch} comes twice; each must come once")
        by_epoch[key] = sample
    config, dataset = log.eval.get("config") or {}, log.eval.get("dataset") or {}
    epochs = config.get("epochs") or 1
    if not isinstance(epochs, int) or not 1 <= epochs <= len(by_epoch):
        raise BadInput(f"{log.path}: should have {epochs!r} epochs, but holds {len(by_epoch)} samples in all")
    ids = [str(id_) for id_ in dataset.get("sample_ids") or dict.fromkeys(id_ for id_, _ in by_epoch)]
    wanted = [(id_, epoch) for id_ in ids for epoch in range(1, epochs + 1)]
    missing = [f"{id_} (epoch {epoch})" for id_, epoch in wanted if (id_, epoch) not in by_epoch]
    if missing:
        raise BadInput(f"{log.path}: {len(missing)} of {len(wanted)} samples are missing: {some_of(missing)}")
    if extra := [f"{id_} (epoch {epoch})" for id_, epoch in by_epoch if (id_, epoch) not in set(wanted)]:
        raise BadInput(f"{log.path}: has {count_of(len(extra), 'sample')} beyond its dataset: {some_of(extra)}")
    return [by_epoch[key] for key in wanted]


def _scorer(log: Log, metric: str | None) -> str:
    """Return the chosen scorer, as `scorer/key` where it gives several values."""
    names = _scorers(log)
    fitting = [name for name in names if metric in (None, name, name.partition("/")[0])]
    if metric is None and len(fitting) > 1 and (headline := log.results.get("headline")):
        chosen = headline.get("scorer"), headline.get("score")
        fitting = [name for name in names if tuple(name.split("/")) in (chosen, chosen[:1])] or fitting
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"--metric {name}" for name in fitting or names) or "none"
    fault = "holds several scores" if fitting else f"holds no scorer {metric}" if metric else "holds no scores"
    raise BadInput(f"{log.path}: {fault}; choose one: {listed}")


def _scorers(log: Log) -> list[str]:
    """Name the scorers, as `scorer/key` where one gives several values."""
    scores = [each for sample in log.samples for each in (sample.get("scores") or {}).items()]
    values = [(name, score.get("value") if isinstance(score, dict) else None) for name, score in scores]
    keyed = dict.fromkeys(f"{name}/{key}" for name, value in values if isinstance(value, dict) for key in value)
    several = {name.partition("/")[0] for name in keyed}
    plain = dict.fromkeys(name for name, value in values if not isinstance(value, dict) and name not in several)
    return [*plain, *keyed]


def _raw(sample: Sample, name: str, key: str) -> Any:
    """Return the value that the scorer gave, None for a sample without one."""
    score = (sample.get("scores") or {}).get(name)
    value = score.get("value") if isinstance(score, dict) else None
    if key and isinstance(value, dict):
        value = value.get(key)
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(log: Log, sample: Sample, value: Any) -> float:
    """Return a value as Inspect's accuracy takes it.

    Values that Inspect takes as 0 with a warning are refused.
    """
    if isinstance(value, str):
        value = LETTERS.get(value, WORDS.get(value.lower(), value))
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        where = f"{log.path}: sample {sample['id']} (epoch {sample['epoch']})"
        raise BadInput(f"{where} has the value {brief(value)}, which is not a score; name another scorer with --metric")
    return number


def _figures(log: Log, name: str, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the reducer and the figures of each result of a scorer."""
    for score in log.results.get("scores") or ():
        if score.get("scorer") == name and score.get("name") == (key or name):
            yield str(score.get("reducer") or MEAN), score


def _reducer(log: Log, name: str, key: str, wanted: str | None) -> str:
    """Return how the epochs of a sample become one score.

    The chosen way counts, else the mean, else the only way of the log.
    """
    reducers = list(dict.fromkeys(reducer for reducer, _ in _figures(log, name, key))) or [MEAN]
    if wanted in reducers:
        return str(wanted)
    if wanted is None and (MEAN in reducers or len(reducers) == 1):
        return MEAN if MEAN in reducers else reducers[0]
    listed = ", ".join(f"--reducer {reducer}" for reducer in reducers)
    fault = f"does not reduce its epochs by {wanted}" if wanted else "reduces its epochs in several ways"
    raise BadInput(f"{log.path}: {fault}; choose one: {listed}")


def _reduced_values(log: Log, samples: Sequence[Sample], name: str, key: str, reducer: str) -> list[Any]:
    """Return the value that Inspect made of each sample's epochs."""
    scores = [one for one in log.reductions if (one.get("scorer"), one.get("reducer")) == (name, reducer)]
    values = {str(score["sample_id"]): {"scores": {name: score}} for one in scores for score in one["samples"]}
    ids = [str(sample["id"]) for sample in samples]
    if len(scores) != 1 or len(scores[0]["samples"]) != len(ids) or set(values) != set(ids):
        raise BadInput(
            f"{log.path}: its epochs are reduced by {reducer}, but it does not hold that score of each of its "
            f"{len(ids)} samples; score the log again (`inspect score`), or evaluate with --epochs-reducer mean"
        )
    return [_raw(values[id_], name, key) for id_ in ids]


def _reported_mean(log: Log, name: str, key: str, reducer: str) -> tuple[str, Any] | None:
    """Return Inspect's metric that is a mean over samples, and its value, if any."""
    figures = [score.get("metrics") or {} for by, score in _figures(log, name, key) if by == reducer]
    metrics = chain.from_iterable(own.values() for own in figures)
    means = (m for m in metrics if str(m.get("name")).rpartition("/")[2] in MEANS and not m.get("group"))
    return next(((str(m["name"]), m.get("value")) for m in means), None)


def _records(
    task: str, samples: Sequence[Sample], values: Sequence[float | None], scale: float, name: str
) -> tuple[list[Record], dict[str, str]]:
    texts = {str(sample["id"]): (prompt_text(sample), _target(sample)) for sample in samples}
    ids = dict(zip(texts, numbered_ids(task, texts.values()), strict=True))
    points = [None if value is None else value * scale for value in values]
    records = [_record(ids[str(one["id"])], one, score, name) for one, score in zip(samples, points, strict=True)]
    return records, {ids[id_]: prompt for id_, (prompt, _) in texts.items()}


def _record(id_: str, sample: Sample, score: float | None, name: str) -> Record:
    output = sample.get("output") or {}
    first = (output.get("choices") or [{}])[0]
    message = first.get("message") or {}
    own = (sample.get("scores") or {}).get(name) or {}
    usage = output.get("usage") or {}
    failure = (sample.get("error") or {}).get("message") or own.get("reason") or "the scorer gave no score"
    seconds, reply = sample.get("total_time"), message_text(sample, message)
    return Record(
        id=id_,
        repeat=int(sample["epoch"]) - 1,
        score=score,
        target=_target(sample),
        answer=_of(str, own.get("answer")),
        reply=reply,
        finish_reason=_of(str, first.get("stop_reason")),
        prompt_tokens=_of(int, usage.get("input_tokens")),
        completion_tokens=_of(int, usage.get("output_tokens")),
        seconds=seconds if isinstance(seconds, float) and math.isfinite(seconds) else 0.0,
        error=None if score is not None else str(failure),
        reading=_reading(reply, own, is_cut=first.get("stop_reason") in CUT),
        reasoning=shorten(reasoning_text(sample, message)),
        reasoning_tokens=_of(int, usage.get("reasoning_tokens")),
    )


def _reading(reply: str | None, score: Mapping[str, Any], *, is_cut: bool) -> str | None:
    """Return how Inspect read a reply, None where the log does not say.

    A scorer that finds no answer gives an empty one.
    """
    if reply is None or "answer" not in score:
        return None
    if score["answer"] not in (None, ""):
        return "read"
    return "cut" if is_cut else "unread" if reply.strip() else "empty"


def _of(kind: type[T], value: Any) -> T | None:
    """Return a value, or None where it has another type than expected."""
    return value if isinstance(value, kind) else None


def _target(sample: Sample) -> str:
    target = sample["target"]
    return "\n".join(map(str, target)) if isinstance(target, list) else str(target)

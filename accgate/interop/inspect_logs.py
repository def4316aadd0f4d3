"""Logs of Inspect as run records: one for each sample and epoch, checked against the log's own results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as brief
from typing import Any, TypeVar

from accgate.errors import BadInput
from accgate.interop.imported import MALFORMED, Imported, check_mean, only_unique, sample_mean
from accgate.interop.inspect_files import Log, read_log
from accgate.interop.inspect_text import message_text, prompt_text
from accgate.records import Record
from accgate.tasks import harness_fingerprint, numbered_ids, scale_of
from accgate.text import some_of

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # as value_to_float of Inspect has them
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
MEANS = ("accuracy", "mean")  # metrics of Inspect that are a mean over samples
Sample = Mapping[str, Any]
T = TypeVar("T")


def import_inspect(
    paths: Sequence[Path], *, metric: str | None = None, scale: float | None = None, model: str | None = None
) -> list[Imported]:
    """The evaluations of logs, named one by one or by their folder; epochs become repeats.

    `metric` names a scorer, or of one that gives several values `scorer/key`. Without it the only one is meant, or the
    one that the log's author made its headline.

    Raises
    ------
    BadInput
        For logs that are cut off, unfinished, hold a sample twice or lack some, whose mean is not the one that Inspect
        reports, and for a scorer that is not said plainly.
    """
    return only_unique(_import_log(read_log(path), metric, scale, model) for path in _logs(paths))


def _logs(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(p for p in path.rglob("*") if p.suffix in (".eval", ".json")) if path.is_dir() else [path]
        if not found:
            raise BadInput(f"{path}: holds no logs of Inspect (.eval or .json)")
        yield from found


def _import_log(log: Log, metric: str | None, scale: float | None, model: str | None) -> Imported:
    try:
        return _imported(log, metric, scale, model)
    except MALFORMED as error:
        fault = f"{type(error).__name__}: {error}"
        raise BadInput(f"{log.path}: is not as Inspect writes a log ({fault}); import the file it wrote") from error


def _imported(log: Log, metric: str | None, scale: float | None, model: str | None) -> Imported:
    samples = _all_samples(log)
    scorer = _scorer(log, metric)
    name, _, key = scorer.partition("/")
    raw = [_raw(sample, name, key) for sample in samples]
    values = [
        None if value is _UNSCORED else _number(log, sample, value) for sample, value in zip(samples, raw, strict=True)
    ]
    scored = [value for value in values if value is not None]
    if not scored:
        raise BadInput(f"{log.path}: no sample has a score of {scorer}")
    known = all(isinstance(value, (str, bool)) for value in raw if value is not _UNSCORED)
    if scale is None and known:
        scale = 100.0  # letters and truth values stand for 0, 1/2 and 1
    factor = scale_of(key or name, scored, scale, str(log.path))
    task = str(log.eval.get("task") or "task").rpartition("/")[2]
    records, prompts = _records(task, samples, values, factor, name)
    mean = sample_mean((r.id, value) for r, value in zip(records, values, strict=True) if value is not None)
    reports = _reported(log, name, key)
    reported = (
        None
        if reports is None
        else factor * check_mean(mean, reports[1], f"{scorer} ({reports[0]})", log.path, log.path)
    )
    packages = log.eval.get("packages")
    return Imported(
        model=model or str(log.eval.get("model") or "model"), task=task, metric=scorer,
        tool=f"Inspect {packages.get('inspect_ai', '') if isinstance(packages, dict) else ''}".strip(),
        source=log.path, records=tuple(records), prompts=prompts, scale=factor, reported=reported,
        note="" if reports else f"the log reports no mean of {scorer} over samples and epochs: it was not checked",
        higher_is_better=True if (key or name) in ("match", "includes") or known else None,
        fingerprint=harness_fingerprint(task, scorer, "inspect", None), date=str(log.eval.get("created") or "")[:10],
    )  # fmt: skip


def _all_samples(log: Log) -> list[Sample]:
    """Every sample once, in the order of the dataset and then by epoch.

    Raises
    ------
    BadInput
        When one is there twice, or one that was to be asked is not there.
    """
    found: dict[tuple[str, int], Sample] = {}
    for sample in log.samples:
        epoch = sample.get("epoch")
        if "id" not in sample or not isinstance(epoch, int) or epoch < 1 or "target" not in sample:
            raise BadInput(f"{log.path}: a sample has no id, epoch or target; is it a log of Inspect?")
        if (key := (str(sample["id"]), epoch)) in found:
            raise BadInput(f"{log.path}: sample {key[0]} of epoch {epoch} comes twice; each must come once")
        found[key] = sample
    config, dataset = log.eval.get("config") or {}, log.eval.get("dataset") or {}
    epochs = config.get("epochs") or 1
    if not isinstance(epochs, int) or not 1 <= epochs <= len(found):
        raise BadInput(f"{log.path}: was to have {epochs!r} epochs, but holds {len(found)} samples in all")
    ids = [str(id_) for id_ in dataset.get("sample_ids") or dict.fromkeys(id_ for id_, _ in found)]
    wanted = [(id_, epoch) for id_ in ids for epoch in range(1, epochs + 1)]
    missing = [f"{id_} (epoch {epoch})" for id_, epoch in wanted if (id_, epoch) not in found]
    if missing:
        raise BadInput(f"{log.path}: {len(missing)} of {len(wanted)} samples are missing: {some_of(missing)}")
    if extra := [f"{id_} (epoch {epoch})" for id_, epoch in found if (id_, epoch) not in set(wanted)]:
        raise BadInput(f"{log.path}: {len(extra)} samples are not of its dataset: {some_of(extra)}")
    return [found[key] for key in wanted]


def _scorer(log: Log, metric: str | None) -> str:
    """The scorer, and of a score of several values its key, that is meant."""
    names = _scorers(log)
    fitting = [name for name in names if metric in (None, name, name.partition("/")[0])]
    if metric is None and len(fitting) > 1 and (headline := log.results.get("headline")):
        chosen = headline.get("scorer"), headline.get("score")
        fitting = [name for name in names if tuple(name.split("/")) in (chosen, chosen[:1])] or fitting
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"--metric {name}" for name in fitting or names) or "none"
    fault = "holds several scores" if fitting else f"holds no scorer {metric or ''}".rstrip()
    raise BadInput(f"{log.path}: {fault}; choose one: {listed}")


def _scorers(log: Log) -> list[str]:
    """Names of scorers, or of those that give several values `scorer/key`."""
    plain: dict[str, None] = {}
    keyed: dict[str, None] = {}
    for sample in log.samples:
        for name, score in (sample.get("scores") or {}).items():
            value = score.get("value") if isinstance(score, dict) else None
            if isinstance(value, dict):
                keyed |= dict.fromkeys(f"{name}/{key}" for key in value)
            else:
                plain[name] = None
    several = {name.partition("/")[0] for name in keyed}
    return [*(name for name in plain if name not in several), *keyed]


class _Unscored:
    """The mark of a sample without a score."""


_UNSCORED = _Unscored()


def _raw(sample: Sample, name: str, key: str) -> Any:
    """The value that the scorer gave; the mark where the sample failed or was left unscored."""
    score = (sample.get("scores") or {}).get(name)
    value = score.get("value") if isinstance(score, dict) else None
    if key and isinstance(value, dict):
        value = value.get(key)
    return _UNSCORED if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _number(log: Log, sample: Sample, value: Any) -> float:
    """A value as Inspect's accuracy takes it, but for what it takes as 0 with a warning, which is refused."""
    if isinstance(value, str):
        known = LETTERS.get(value, WORDS.get(value.lower()))
        if known is not None:
            return known
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        where = f"{log.path}: sample {sample['id']} (epoch {sample['epoch']})"
        raise BadInput(f"{where} has the value {brief(value)}, which is no score; name another scorer with --metric")
    return number


def _reported(log: Log, name: str, key: str) -> tuple[str, Any] | None:
    """The metric of Inspect that is a mean over samples of epochs' means, and its value; None where there is none."""
    for score in log.results.get("scores") or ():
        if score.get("scorer") != name or score.get("name") != (key or name):
            continue
        if score.get("reducer") not in (None, "mean"):
            continue
        for metric in (score.get("metrics") or {}).values():
            if str(metric.get("name")).rpartition("/")[2] in MEANS and not metric.get("group"):
                return str(metric["name"]), metric.get("value")
    return None


def _records(
    task: str, samples: Sequence[Sample], values: Sequence[float | None], scale: float, name: str
) -> tuple[list[Record], dict[str, str]]:
    texts = {str(sample["id"]): (prompt_text(sample), _target(sample)) for sample in samples}
    ids = dict(zip(texts, numbered_ids(task, texts.values()), strict=True))
    records = [
        _record(ids[str(sample["id"])], sample, None if value is None else value * scale, name)
        for sample, value in zip(samples, values, strict=True)
    ]
    return records, {ids[id_]: prompt for id_, (prompt, _) in texts.items()}


def _record(id_: str, sample: Sample, score: float | None, name: str) -> Record:
    output = sample.get("output") or {}
    first = (output.get("choices") or [{}])[0]
    own = (sample.get("scores") or {}).get(name) or {}
    usage = output.get("usage") or {}
    failure = (sample.get("error") or {}).get("message") or own.get("reason") or "the scorer gave no score"
    seconds = sample.get("total_time")
    return Record(
        id=id_, repeat=int(sample["epoch"]) - 1, score=score, target=_target(sample),
        answer=_of(str, own.get("answer")),
        reply=message_text(sample, first.get("message")), finish_reason=_of(str, first.get("stop_reason")),
        prompt_tokens=_of(int, usage.get("input_tokens")), completion_tokens=_of(int, usage.get("output_tokens")),
        seconds=seconds if isinstance(seconds, float) and math.isfinite(seconds) else 0.0,
        error=None if score is not None else str(failure),
    )  # fmt: skip


def _of(kind: type[T], value: Any) -> T | None:
    """A value that is only shown; None where it is of another kind than expected."""
    return value if isinstance(value, kind) else None


def _target(sample: Sample) -> str:
    target = sample["target"]
    return "\n".join(map(str, target)) if isinstance(target, list) else str(target)

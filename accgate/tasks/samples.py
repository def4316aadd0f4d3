"""A task ready to be asked: its samples with ids, in the fixed order, and what identifies it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate import metrics
from accgate.errors import BadInput
from accgate.metrics import Metric
from accgate.order import order_key
from accgate.tables import Row
from accgate.tasks.datasets import hub_rows, read_rows
from accgate.tasks.definition import Definition, DefinitionFile, Extract, Mode, read_definition
from accgate.tasks.extract import by_json_path, by_regex
from accgate.tasks.generated import CannotGenerate, check_options, generate
from accgate.tasks.library import library_file
from accgate.tasks.prompts import CannotRender, rendered
from accgate.tomlfile import dotted


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt with its target.

    `prompt` is everything the model is asked, the system message first; `user` is the part without it.
    """

    id: str
    prompt: str
    user: str
    system: str
    target: str
    cluster: str | None = None
    group: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Task:
    """A task's samples in the fixed order, and how their replies are scored.

    `dataset_ids` are those of the whole dataset, None for a generated task, which has no end.
    `fingerprint` has a hash for each part that can change a score: dataset, prompt, extract, metric, reply.
    """

    name: str
    samples: tuple[Sample, ...]
    metric: Metric
    extract: Extract
    mode: Mode
    stop: tuple[str, ...]
    max_tokens: int
    fingerprint: Mapping[str, str]
    sigma: float | None = None
    num_samples: int | None = None
    chance: float | None = None
    dataset_ids: frozenset[str] | None = None

    def answer(self, reply: str) -> str | None:
        """The answer in a reply; None where extraction finds none."""
        if self.extract.regex is not None:
            return by_regex(reply, self.extract.regex, self.extract.which)
        if self.extract.json_path is not None:
            return by_json_path(reply, self.extract.json_path)
        return reply.strip()

    def first(self, n: int) -> Task:
        """The same task with the first n samples of the order: the random subset, the same everywhere."""
        return self.of(self.samples[:n])

    def of(self, samples: Sequence[Sample]) -> Task:
        """The same task with only these samples."""
        return replace(self, samples=tuple(samples))


def sample_id(task: str, prompt: str, target: str, occurrence: int) -> str:
    r"""First 16 hex digits of SHA-256 over `task \0 prompt \0 target \0 occurrence`.

    >>> sample_id("arithmetic", "1 + 1 =", "2", 0)
    '69dc3a0c0980ceb6'
    """
    return hashlib.sha256(f"{task}\0{prompt}\0{target}\0{occurrence}".encode()).hexdigest()[:16]


def load_task(
    name: str,
    *,
    file: Path | None = None,
    library: str | None = None,
    options: Mapping[str, Any] | None = None,
    mode: Mode | None = None,
    seed: int = 0,
    count: int | None = None,
) -> Task:
    """Read a definition, its dataset, and render every sample.

    `options` and `count` (rows to generate) serve generated tasks; `seed` orders the samples and seeds a
    generated task whose options set no seed.

    Raises
    ------
    BadInput
        For faults of definition or dataset, each with file, line and mend.
    CannotEvaluate
        When the dataset cannot be had.
    """
    definition = read_definition(file or library_file(library or name))
    rows = _rows(definition, options or {}, seed, count)
    content = definition.content
    examples = _examples(definition, options or {}, seed)
    samples = _samples(name, definition, rows, examples)
    samples.sort(key=lambda sample: order_key(seed, sample.id, sample.cluster))
    used = mode or content.mode
    return Task(
        name=name,
        samples=tuple(samples),
        metric=metrics.get(content.metric),
        extract=content.extract,
        mode=used,
        stop=content.stop,
        max_tokens=content.max_tokens,
        fingerprint=_fingerprint(content, rows, examples, used),
        sigma=content.sigma,
        num_samples=content.num_samples,
        chance=content.chance,
        dataset_ids=None if content.dataset.generator else frozenset(sample.id for sample in samples),
    )


def _rows(definition: Definition, options: Mapping[str, Any], seed: int, count: int | None) -> list[Row]:
    dataset = definition.content.dataset
    if options and dataset.generator is None:
        raise BadInput(f"{definition.source.path}: takes no options; only generated tasks do")
    if dataset.file is not None:
        return read_rows(definition.folder / dataset.file)
    if dataset.hub is not None:
        return hub_rows(dataset.hub, dataset.name, dataset.split, dataset.revision, dataset.options)
    assert dataset.generator is not None
    faults = [f"{dotted(('options', key))}: {fault}" for key, fault in check_options(dataset.generator, options)]
    if faults:
        raise BadInput(*(f"task {definition.source.path.stem}: {fault}" for fault in faults))
    merged = {**dataset.options, **options}
    if count is not None:
        merged.setdefault("count", count)
    examples = _examples(definition, options, seed)
    if examples and "count" in merged:  # a solved example must not be asked again
        wanted = merged["count"]
        rows = _generated(definition, dataset.generator, {**merged, "count": wanted + len(examples)}, seed)
        return [row for row in rows if row not in examples][:wanted]
    return [row for row in _generated(definition, dataset.generator, merged, seed) if row not in examples]


def _generated(definition: Definition, generator: str, options: Mapping[str, Any], seed: int) -> list[Row]:
    try:
        return generate(generator, options, seed=seed)
    except CannotGenerate as error:
        raise BadInput(f"task {definition.source.path.stem}: {error}") from error


def _examples(definition: Definition, options: Mapping[str, Any], seed: int) -> Sequence[Row]:
    few_shot, dataset = definition.content.few_shot, definition.content.dataset
    if few_shot.examples:
        rows: Sequence[Row] = few_shot.examples
    elif few_shot.file is not None:
        rows = read_rows(definition.folder / few_shot.file)
    elif few_shot.split is not None and dataset.hub is not None:
        rows = hub_rows(dataset.hub, dataset.name, few_shot.split, dataset.revision, dataset.options)
    elif few_shot.count and dataset.generator is not None:
        drawn = {**dataset.options, **options, "count": few_shot.count, "seed": -1 - seed}
        rows = _generated(definition, dataset.generator, drawn, seed)
    elif few_shot.count:
        raise BadInput(definition.source.error(("few_shot", "count"), "has no source; give examples, file or split"))
    else:
        rows = ()
    if few_shot.count is not None and len(rows) < few_shot.count:
        found = f"is {few_shot.count}, but its source has {len(rows)} rows"
        raise BadInput(definition.source.error(("few_shot", "count"), found))
    return rows if few_shot.count is None else rows[: few_shot.count]


def _samples(name: str, definition: Definition, rows: Sequence[Row], examples: Sequence[Row]) -> list[Sample]:
    content = definition.content
    seen: Counter[str] = Counter()  # identical rows, by the id of the first
    samples = []
    for number, row in enumerate(rows, 1):
        try:
            user = rendered(content.prompt, row, examples)
            system = rendered(content.system, row, examples) if content.system else ""
            target = rendered(content.target, row, examples)
            extras = {key: _column(row, column) for key, column in _named_columns(content)}
            "".join((user, system, target, *extras.values())).encode()  # JSON can spell half a character
        except (CannotRender, UnicodeEncodeError) as error:
            raise BadInput(f"{definition.source.path}: row {number} of the dataset: {error}") from error
        prompt = f"{system}\n\n{user}" if system else user
        id_ = first = sample_id(name, prompt, target, 0)
        if seen[first]:
            id_ = sample_id(name, prompt, target, seen[first])
        seen[first] += 1
        samples.append(Sample(id_, prompt, user, system, target, **extras))
    return samples


def _named_columns(content: DefinitionFile) -> list[tuple[str, str]]:
    columns = content.columns
    named = {"cluster": columns.cluster, "group": columns.group, "label": columns.label}
    return [(key, column) for key, column in named.items() if column is not None]


def _column(row: Row, column: str) -> str:
    if column not in row:
        raise CannotRender(f"has no column {column!r}; the row has {', '.join(map(str, row))}")
    return str(row[column])


def _fingerprint(content: DefinitionFile, rows: Sequence[Row], examples: Sequence[Row], mode: Mode) -> dict[str, str]:
    parts: dict[str, Any] = {
        "dataset": rows,
        "prompt": [content.prompt, content.system, mode, examples],
        "extract": [content.target, content.extract.regex, content.extract.which, content.extract.json_path],
        "metric": content.metric,
        "reply": [content.stop, content.max_tokens],
    }
    return {key: _sha(json.dumps(part, sort_keys=True, default=str))[:16] for key, part in parts.items()}


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""A task ready to be asked: its samples with ids, in the fixed order, and what identifies it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accgate.metrics import Metric
from accgate.records import order_key
from accgate.tasks.definition import read_definition
from accgate.tasks.extract import by_json_path, by_letter, by_regex
from accgate.tasks.fingerprint import fingerprint_of
from accgate.tasks.library import library_file
from accgate.tasks.rendering import rendered_samples
from accgate.tasks.resolved import metric_of, with_choice
from accgate.tasks.rows import Place, Source, rows_of
from accgate.tasks.sample import Sample, sample_id
from accgate.tasks.schema import AttackFile, Choices, ChosenBy, Confidence, Extract, Judging, Mode

__all__ = ["Sample", "Task", "load_task", "sample_id"]


@dataclass(frozen=True)
class Task:
    """A task's samples in the fixed order, and how their replies are scored.

    `dataset_ids` are those of the whole dataset, None for a generated task, which has no end.
    `fingerprint` has a hash for each part that can change a score: dataset, prompt, extract, metric, reply. With
    `several` a sample's target is a JSON list of reference texts.
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
    several: bool = False
    metric_options: Mapping[str, Any] = field(default_factory=dict)
    choices: Choices | None = None
    confidence: Confidence | None = None
    judge: Judging | None = None
    attacks: tuple[AttackFile, ...] = ()
    aggregate: str | None = None
    aggregate_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def by_likelihood(self) -> bool:
        """Whether the engine scores the options of a multiple choice."""
        return self.choices is not None and self.choices.by == "likelihood"

    def answer(self, reply: str) -> str | None:
        """The answer in a reply; None where extraction finds none."""
        if self.extract.regex is not None:
            return by_regex(reply, self.extract.regex, self.extract.which)
        if self.extract.json_path is not None:
            return by_json_path(reply, self.extract.json_path)
        if self.choices is not None and not self.by_likelihood:
            return by_letter(reply)
        return reply.strip()

    def score(self, answer: str, target: str) -> float:
        """The points of an answer, by the metric and against every reference text."""
        if self.several:
            return self.metric.against(answer, json.loads(target))
        return self.metric(answer, target)

    def first(self, n: int) -> Task:
        """The same task with the first n samples of the order: the random subset, the same everywhere."""
        return self.of(self.samples[:n])

    def of(self, samples: Sequence[Sample]) -> Task:
        """The same task with only these samples."""
        return replace(self, samples=tuple(samples))


def load_task(
    name: str,
    *,
    file: Path | None = None,
    library: str | None = None,
    options: Mapping[str, Any] | None = None,
    mode: Mode | None = None,
    seed: int = 0,
    count: int | None = None,
    dataset: Path | None = None,
    few_shot: Path | None = None,
    subset: str | None = None,
    choose: ChosenBy | None = None,
    place: Place | None = None,
) -> Task:
    """Read a definition, its dataset, and render every sample.

    `options` and `count` (rows to generate) serve generated tasks; `seed` orders the samples and seeds a
    generated task whose options set no seed. `dataset`, `few_shot`, `subset` and `choose` take the place of what the
    definition says. `place` puts file, line and key before a message about a key of the task's settings.

    Raises
    ------
    BadInput
        For faults of definition or dataset, each with file, line and mend.
    CannotEvaluate
        When the dataset cannot be had.
    """
    definition = with_choice(read_definition(file or library_file(library or name)), choose)
    content = definition.content
    rows, examples = rows_of(definition, Source(options or {}, seed, count, dataset, few_shot, subset, place))
    folder = definition.folder if dataset is None else dataset.parent
    samples = rendered_samples(name, definition, rows, examples, folder)
    samples.sort(key=lambda sample: order_key(seed, sample.id, sample.cluster))
    used = mode or content.mode
    return Task(
        name=name,
        samples=tuple(samples),
        metric=metric_of(definition),
        extract=content.extract,
        mode=used,
        stop=content.stop,
        max_tokens=content.max_tokens,
        fingerprint=fingerprint_of(definition, rows, examples, used),
        sigma=content.sigma,
        num_samples=content.num_samples,
        chance=content.chance,
        dataset_ids=None if content.dataset.generator else frozenset(sample.id for sample in samples),
        several=content.targets is not None,
        metric_options=content.metric_options,
        choices=content.choices,
        confidence=content.confidence,
        judge=content.judge,
        attacks=content.attack,
        aggregate=content.aggregate,
        aggregate_options=content.aggregate_options,
    )

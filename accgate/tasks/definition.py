"""A task definition file: dataset, prompt, few-shot examples, extraction and metric."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate import metrics
from accgate.shapes import CLOSED, Count, Number, Text, Texts, Whole, validated
from accgate.tasks.extract import check_json_path
from accgate.tasks.generated import check_options, generator_names
from accgate.tasks.prompts import template_fault
from accgate.tomlfile import Key, TomlFile, located, nearest, read_toml

Rows = tuple[dict[Text, Any], ...]
Mode = Literal["chat", "completion"]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Dataset:
    """`[dataset]`: one of `file`, `hub` or `generator`."""

    file: Text | None = Field(default=None, description="JSONL, CSV or Parquet, relative to the definition")
    hub: Text | None = Field(default=None, description="a dataset of Hugging Face `datasets`")
    name: Text | None = Field(default=None, description="configuration of the hub dataset")
    split: Text = Field(default="test", description="split of the hub dataset")
    revision: Text | None = Field(default=None, description="commit of the hub dataset; pin it")
    generator: Text | None = Field(default=None, description="a generated task")
    options: dict[Text, Any] = Field(default_factory=dict, description="options of generator or hub loader")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class FewShot:
    """`[few_shot]`: solved examples that the prompt sees as `examples`."""

    count: Whole | None = Field(default=None, ge=0, description="how many examples; all given ones where unset")
    examples: Rows = Field(default=(), description="rows written here")
    file: Text | None = Field(default=None, description="JSONL, CSV or Parquet, relative to the definition")
    split: Text | None = Field(default=None, description="split of the hub dataset, as train")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Extract:
    """`[extract]`: how the answer is found in the reply; the whole reply where nothing is set."""

    regex: Text | None = Field(default=None, description="the answer is group 1, or the whole match without groups")
    which: Literal["first", "last"] = Field(default="last", description="the match that counts")
    json_path: Text | None = Field(default=None, description="JSONPath (RFC 9535) into the JSON in the reply")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Columns:
    """`[columns]`: dataset columns that go into the record."""

    cluster: Text | None = Field(default=None, description="samples of one cluster are not independent")
    group: Text | None = None
    label: Text | None = None


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class DefinitionFile:
    """A task definition file."""

    dataset: Dataset = Field(description="a table [dataset] with file, hub or generator")
    prompt: Text = Field(min_length=1, description='prompt = "{{ question }}", a Jinja template over a row')
    target: Text = Field(min_length=1, description='target = "{{ answer }}", a Jinja template over a row')
    metric: Text = Field(description=f"one of {', '.join(metrics.names())}")
    description: Text = ""
    source: Text = Field(default="", description="where task and settings come from")
    mode: Mode = Field(default="chat", description="ask by chat or by raw completion")
    system: Text = Field(default="", description="system message, a Jinja template")
    stop: Texts = Field(default=(), description="stop strings")
    max_tokens: Count = Field(default=256, description="longest reply, tokens")
    num_samples: Count | None = Field(default=None, description="how many samples are evaluated by default")
    sigma: Number | None = Field(default=None, ge=0, description="standard deviation of one score in points")
    chance: Number | None = Field(default=None, description="mean of a guesser in points")
    few_shot: FewShot = field(default_factory=FewShot)
    extract: Extract = field(default_factory=Extract)
    columns: Columns = field(default_factory=Columns)


@plain_dataclass(frozen=True)
class Definition:
    """A checked definition with its file."""

    content: DefinitionFile
    source: TomlFile

    @property
    def folder(self) -> Path:
        """The folder that the definition's paths start from."""
        return self.source.path.parent


def read_definition(path: Path) -> Definition:
    """Read and check a task definition.

    Raises
    ------
    BadInput
        With a message for every fault: file, line, key, what is wrong and the mend.
    """
    file = read_toml(path, mend="docs/tasks.md shows how a task is written")
    content = validated(file, DefinitionFile)
    if faults := list(_faults(content, path.parent)):
        raise located(file, faults)
    return Definition(content, file)


def _faults(content: DefinitionFile, folder: Path) -> Iterator[tuple[Key, str]]:
    yield from _dataset_faults(content.dataset, folder)
    for key in ("prompt", "target", "system"):
        if fault := template_fault(getattr(content, key)):
            yield (key,), fault
    if content.metric not in metrics.names():
        yield ("metric",), f"is {content.metric!r}; {nearest(content.metric, metrics.names())}"
    extract = content.extract
    if extract.regex is not None and extract.json_path is not None:
        yield ("extract", "json_path"), "stands beside regex; keep one of the two"
    if extract.regex is not None and (fault := _regex_fault(extract.regex)):
        yield ("extract", "regex"), fault
    if extract.json_path is not None and (fault := check_json_path(extract.json_path)):
        yield ("extract", "json_path"), fault
    yield from _few_shot_faults(content.few_shot, content.dataset, folder)


def _few_shot_faults(few_shot: FewShot, dataset: Dataset, folder: Path) -> Iterator[tuple[Key, str]]:
    if few_shot.file is not None and not _is_file(folder / few_shot.file):
        yield ("few_shot", "file"), f"there is no file {few_shot.file!r} in {folder}"
    if sum((bool(few_shot.examples), few_shot.file is not None, few_shot.split is not None)) > 1:
        yield ("few_shot",), "has several sources of examples; keep one of examples, file and split"
    if few_shot.examples and (few_shot.count or 0) > len(few_shot.examples):
        yield ("few_shot", "count"), f"is {few_shot.count}, but {len(few_shot.examples)} examples are written"
    if few_shot.split is not None and dataset.hub is None:
        yield ("few_shot", "split"), "needs a dataset of the hub; give examples or file"


def _dataset_faults(dataset: Dataset, folder: Path) -> Iterator[tuple[Key, str]]:
    given = [key for key in ("file", "hub", "generator") if getattr(dataset, key) is not None]
    if len(given) != 1:
        yield ("dataset",), f"has {' and '.join(given) or 'no source'}; give one of file, hub and generator"
    elif dataset.file is not None:
        if not _is_file(folder / dataset.file):
            yield ("dataset", "file"), f"there is no file {dataset.file!r} in {folder}; write it relative to this file"
        elif Path(dataset.file).suffix.lower() not in (".jsonl", ".csv", ".parquet"):
            yield ("dataset", "file"), f"is {dataset.file!r}; the name must end in .jsonl, .csv or .parquet"
    elif dataset.generator is not None:
        if dataset.generator not in generator_names():
            hint = nearest(dataset.generator, generator_names())
            yield ("dataset", "generator"), f"is {dataset.generator!r}; {hint}"
        else:
            for option, fault in check_options(dataset.generator, dataset.options):
                yield ("dataset", "options", option), fault


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 Path.is_file raises where a name is too long


def _regex_fault(pattern: str) -> str | None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error}"
    return None if groups <= 1 else f"has {groups} groups; keep one around the answer, write the others as (?:...)"

"""The rows of a task: its dataset's, and those of its solved examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs import Row
from accgate.tasks.datasets import hub_rows, read_rows
from accgate.tasks.definition import Definition
from accgate.tasks.generators import CannotGenerate, check_options, generate
from accgate.tasks.prompts import CannotRender, rendered
from accgate.text import Key, dotted

Place = Callable[[Key, str], str]
NOTHING = ("", "False", "false", "0", "None")  # what a condition renders to where it does not hold


@dataclass(frozen=True)
class Source:
    """What accuracy.toml says of a task's rows.

    `options` and `count` (rows to generate) serve generated tasks, and `seed` those whose options set none. `dataset`
    and `few_shot` are files that take the place of the definition's, `subset` that of its `dataset.name`. `place` puts
    file, line and key before a message about a key of the settings.
    """

    options: Mapping[str, Any]
    seed: int
    count: int | None = None
    dataset: Path | None = None
    few_shot: Path | None = None
    subset: str | None = None
    place: Place | None = None

    def error(self, key: Key, fault: str, otherwise: str) -> str:
        """What is wrong with a key of the settings, at its place; `otherwise` where there are no settings."""
        return otherwise if self.place is None else self.place(key, fault)


def rows_of(definition: Definition, source: Source) -> tuple[list[Row], Sequence[Row]]:
    """The dataset's rows and the solved examples.

    Raises
    ------
    BadInput
        For options, files and conditions that cannot be used.
    CannotEvaluate
        When the dataset cannot be had.
    """
    definition = _chosen(definition, source)
    _check_options(definition, source)
    examples = _examples(definition, source)
    rows = _rows(definition, source, examples)
    condition = definition.content.dataset.where
    return rows if condition is None else _kept(definition, rows, condition), examples


def _chosen(definition: Definition, source: Source) -> Definition:
    """The definition with the subset that accuracy.toml asks for."""
    if source.subset is None:
        return definition
    dataset = definition.content.dataset
    if dataset.hub is None:
        fault = "has no subsets; only a dataset of the hub has"
        raise BadInput(
            source.error(
                ("subset",), f"is {source.subset!r}, but the task {fault}", f"{definition.source.path}: {fault}"
            )
        )
    return replace(definition, content=replace(definition.content, dataset=replace(dataset, name=source.subset)))


def _check_options(definition: Definition, source: Source) -> None:
    generator, name, options = definition.content.dataset.generator, definition.source.path.stem, source.options
    if options and generator is None:
        fault = "takes no options; only generated tasks do"
        raise BadInput(source.error(("options",), f"the task {fault}", f"{definition.source.path}: {fault}"))
    if generator is not None and (faults := list(check_options(generator, options))):
        keys: list[tuple[Key, str]] = [(("options", option), fault) for option, fault in faults]
        raise BadInput(*(source.error(key, fault, f"task {name}: {dotted(key)}: {fault}") for key, fault in keys))


def _kept(definition: Definition, rows: Sequence[Row], condition: str) -> list[Row]:
    kept = []
    for number, row in enumerate(rows, 1):
        try:
            holds = rendered(condition, row).strip() not in NOTHING
        except CannotRender as error:
            raise BadInput(f"{definition.source.path}: row {number} of the dataset: {error}") from error
        if holds:
            kept.append(row)
    if not kept:
        raise BadInput(definition.source.error(("dataset", "where"), f"leaves none of the {len(rows)} rows"))
    return kept


def _rows(definition: Definition, source: Source, examples: Sequence[Row]) -> list[Row]:
    dataset = definition.content.dataset
    if source.dataset is not None:
        return read_rows(source.dataset, dataset.path)
    if dataset.file is not None:
        return read_rows(definition.folder / dataset.file, dataset.path)
    if dataset.hub is not None:
        return hub_rows(dataset.hub, dataset.name, dataset.split, dataset.revision, dataset.options)
    assert dataset.generator is not None
    return _generated_rows(definition, dataset.generator, source, examples)


def _generated_rows(definition: Definition, generator: str, source: Source, examples: Sequence[Row]) -> list[Row]:
    merged = {**definition.content.dataset.options, **source.options}
    if source.count is not None:
        merged.setdefault("count", source.count)
    if examples and "count" in merged:  # a solved example must not be asked again
        wanted = merged["count"]
        rows = _generated(definition, generator, {**merged, "count": wanted + len(examples)}, source)
        return [row for row in rows if row not in examples][:wanted]
    return [row for row in _generated(definition, generator, merged, source) if row not in examples]


def _generated(definition: Definition, generator: str, options: Mapping[str, Any], source: Source) -> list[Row]:
    try:
        return generate(generator, options, seed=source.seed)
    except CannotGenerate as error:
        key: Key = ("options",) if source.options else ()
        raise BadInput(source.error(key, str(error), f"task {definition.source.path.stem}: {error}")) from error


def _examples(definition: Definition, source: Source) -> Sequence[Row]:
    few_shot = definition.content.few_shot
    rows = _example_rows(definition, source)
    if few_shot.count is not None and len(rows) < few_shot.count:
        found = f"is {few_shot.count}, but its source has {len(rows)} rows"
        raise BadInput(definition.source.error(("few_shot", "count"), found))
    return rows if few_shot.count is None else rows[: few_shot.count]


def _example_rows(definition: Definition, source: Source) -> Sequence[Row]:
    few_shot, dataset = definition.content.few_shot, definition.content.dataset
    if source.few_shot is not None:
        return read_rows(source.few_shot, dataset.path)
    if few_shot.examples:
        return few_shot.examples
    if few_shot.file is not None:
        return read_rows(definition.folder / few_shot.file, dataset.path)
    if few_shot.split is not None and dataset.hub is not None:
        if source.dataset is not None:
            mend = "name their rows with few_shot_dataset beside dataset"
            raise BadInput(definition.source.error(("few_shot", "split"), f"needs the hub's dataset; {mend}"))
        return hub_rows(dataset.hub, dataset.name, few_shot.split, dataset.revision, dataset.options)
    if few_shot.count and dataset.generator is not None:
        drawn = {**dataset.options, **source.options, "count": few_shot.count, "seed": -1 - source.seed}
        return _generated(definition, dataset.generator, drawn, source)
    if few_shot.count:
        raise BadInput(definition.source.error(("few_shot", "count"), "has no source; give examples, file or split"))
    return ()

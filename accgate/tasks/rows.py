"""The rows of a task, read or generated, and its solved examples."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from accgate.errors import BadInput, CannotEvaluate, Key, KeyFaults, needing, refuse_faults
from accgate.inputs.parquet import MOST, is_parquet, parquet_rows, refuse_closed
from accgate.inputs.paths import plain_size, read_json
from accgate.inputs.rows import Row, read_table
from accgate.tasks.definition import Definition, former_task
from accgate.tasks.generators import GENERATORS, CannotGenerate, check_options
from accgate.tasks.prompts import CannotRender, Scope, names_in, render
from accgate.tasks.sample import SUBSET, asked_of
from accgate.tasks.schema import Dataset, Join
from accgate.text import count_of, nearest, some_of

NOTHING = ("", "False", "false", "0", "None")  # what a condition renders to where it does not hold


@dataclass(frozen=True)
class Source:
    """The settings of accuracy.toml about a task's rows.

    `options` and `count` (rows to generate) serve generated tasks, and `seed` those whose options set none. `dataset`
    and `few_shot` are files in place of the definition's. `subset` (one or several) takes the place of its
    `dataset.name`, `dataset.subsets` or `dataset.parts`. `rows` are those of a part of a joined task, where they come
    from a local file.
    """

    options: Mapping[str, Any]
    seed: int
    count: int | None = None
    dataset: Path | None = None
    few_shot: Path | None = None
    subset: str | Sequence[str] | None = None
    rows: Sequence[Row] | None = None

    @property
    def is_given(self) -> bool:
        """Whether rows take the place of the definition's."""
        return self.dataset is not None or self.rows is not None

    def picture_folder(self, definition: Definition) -> Path | None:
        """Return the folder in which pictures are that rows name.

        Parquet has none: its rows hold their pictures. So the guard knows every file that a task uses without opening
        it.
        """
        dataset = definition.content.dataset
        files = (self.dataset or dataset.file, None if dataset.join is None else dataset.join.file)
        if any(map(is_parquet, files)):
            return None
        return definition.folder if self.dataset is None else self.dataset.parent


def rows_of(definition: Definition, source: Source) -> tuple[Iterable[Row], Sequence[Row]]:
    """Return the dataset's rows, and all rows that may be solved examples.

    The dataset's rows can be gone through once. Those of several subsets are read at once, since the prompt depends on
    which subsets there are. Others are read one by one, and a fault in one is raised where it is reached.

    Raises
    ------
    KeyFaults
        For `options` that the task cannot take, with keys of its table in accuracy.toml.
    BadInput
        For files and conditions of the definition that cannot be used.
    CannotEvaluate
        When the dataset cannot be had.
    """
    dataset = definition.content.dataset
    refuse_faults(_option_faults(dataset, source.options))
    examples = _examples(definition, source)
    rows = _rows(definition, source, shown_first(definition, examples))
    if dataset.where is not None:
        rows = _rows_where(definition, rows, dataset.where, {**dataset.parameters, **source.options})
    if dataset.join is not None and not source.is_given:
        rows = _joined(definition, rows, dataset.join)
    by_subset = dataset.subsets or definition.content.columns.group == SUBSET
    return list(rows) if by_subset else rows, examples


def _joined(definition: Definition, rows: Iterable[Row], join: Join) -> Iterator[Row]:
    """Add to rows the columns of their partners in a second source.

    A column in both keeps the first source's value.
    """
    if join.file is not None:
        others = read_rows(definition.folder / join.file)
    else:
        others = hub_rows(join.hub or "", join.name, join.split, join.revision, join.options)
    partners: dict[str, Row] = {}
    for each in others:
        if partners.setdefault(_join_key(definition, each, join.on), each) is not each:
            raise definition.fault(("dataset", "join", "on"), f"is {join.on!r}, but two rows have {each[join.on]!r}")
    for row in rows:
        partner = partners.get(_join_key(definition, row, join.on))
        if partner is None:
            raise definition.fault(("dataset", "join"), f"has no row whose {join.on} is {row[join.on]!r}")
        yield {**partner, **row}


def _join_key(definition: Definition, row: Row, column: str) -> str:
    if column not in row:
        raise definition.fault(("dataset", "join", "on"), f"is {column!r}; a row has {', '.join(map(str, row))}")
    return json.dumps(row[column], sort_keys=True, default=str)


def with_subset(definition: Definition, source: Source) -> Definition:
    """Return the definition with the subsets that accuracy.toml asks for.

    Raises
    ------
    KeyFaults
        Where the task has none, or one is named twice.
    """
    if source.subset is None:
        return definition
    names = (source.subset,) if isinstance(source.subset, str) else tuple(source.subset)
    dataset = definition.content.dataset
    if dataset.parts:
        return definition  # `build_task` leaves the others out
    if dataset.hub is None:
        fault = "the task has no subsets; only a dataset of the hub has"
        raise KeyFaults((("subset",), f"is {source.subset!r}, but {fault}"))
    if not names or len(set(names)) < len(names):
        raise KeyFaults((("subset",), f"is {list(names)}; name at least one subset, each once"))
    if len(names) == 1 and SUBSET not in names_in(definition.content.prompt or ""):
        chosen = replace(dataset, name=names[0], subsets=())  # the rows keep their ids, as a task of this one alone
    else:
        chosen = replace(dataset, name=None, subsets=names)
    return replace(definition, content=replace(definition.content, dataset=chosen))


def _option_faults(dataset: Dataset, options: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    """Yield the faults of options for a generator, or for the definition's `where`.

    For `where` an option needs a parameter of its name, and a value of the same type.
    """
    parameters = dataset.parameters
    if dataset.generator is not None:
        yield from ((("options", option), fault) for option, fault in check_options(dataset.generator, options))
        return
    if options and not parameters:
        yield ("options",), "the task takes no options; only generated tasks do"
        return
    for key, value in options.items():
        if key not in parameters:
            yield ("options", key), f"unknown option; {nearest(key, parameters)}"
        elif type(value) is not type(parameters[key]):
            yield ("options", key), f"is {value!r}; write a value like the task's own, {parameters[key]}"


def _rows_where(
    definition: Definition, rows: Iterable[Row], condition: str, parameters: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield the rows for which a condition holds.

    A condition that renders to nothing, False or 0 does not hold.
    """
    number = selected = 0
    for number, row in enumerate(rows, 1):
        try:
            holds = render(condition, Scope(row, (), parameters)).strip() not in NOTHING
        except CannotRender as error:
            raise BadInput(f"{definition.path}: row {number} of the dataset: {error}") from error
        if holds:
            selected += 1
            yield row
    if not selected:
        values = ", ".join(f"{key} = {value}" for key, value in parameters.items())
        window = f" with {values}" if values else ""
        raise definition.fault(("dataset", "where"), f"leaves none of the {number} rows{window}")


def _rows(definition: Definition, source: Source, examples: Sequence[Row]) -> Iterable[Row]:
    dataset = definition.content.dataset
    if source.rows is not None:
        return source.rows
    if source.dataset is not None:
        return _file_rows(source.dataset, dataset.path)
    if dataset.file is not None:
        return _file_rows(definition.folder / dataset.file, dataset.path)
    if dataset.hub is not None:
        return _hub_rows(definition, dataset.split)
    assert dataset.generator is not None
    return _generated_rows(definition, dataset.generator, source, examples)


def _hub_rows(definition: Definition, split: str) -> list[Row]:
    """Return the rows of a split.

    Rows of several subsets come one subset after another, each with its subset's name.
    """
    dataset = definition.content.dataset
    assert dataset.hub is not None
    if not dataset.subsets:
        return hub_rows(dataset.hub, dataset.name, split, dataset.revision, dataset.options)
    rows = []
    for name in dataset.subsets:
        for row in hub_rows(dataset.hub, name, split, dataset.revision, dataset.options):
            if SUBSET in row:
                raise definition.fault(("dataset", "subsets"), f"adds a column {SUBSET!r}, which the rows have already")
            rows.append({**row, SUBSET: name})
    return rows


def _generated_rows(definition: Definition, generator: str, source: Source, examples: Sequence[Row]) -> Iterable[Row]:
    merged = {**definition.content.dataset.options, **source.options}
    if source.count is not None:
        merged.setdefault("count", source.count)
    wanted = merged.get("count")
    if wanted is not None:
        merged["count"] = wanted + len(examples)  # a solved example must not be asked again
    return islice((row for row in _generate(generator, merged, source) if row not in examples), wanted)


def _generate(generator: str, options: Mapping[str, Any], source: Source) -> Iterator[Row]:
    try:
        yield from GENERATORS[generator](**{"seed": source.seed, **options})
    except CannotGenerate as error:
        key: Key = ("options",) if source.options else ()
        raise KeyFaults((key, str(error))) from error


def _examples(definition: Definition, source: Source) -> Sequence[Row]:
    count = definition.content.few_shot.count or 0
    rows = _example_rows(definition, source)
    for each in _by_subset(definition, rows).values():
        if len(each) < count:
            raise _examples_fault(definition, source, f"is {count}, but its source has {count_of(len(each), 'row')}")
    return rows


def shown_first(definition: Definition, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the solved examples of a row that is no example itself.

    Where examples are drawn, these are all that may be.
    """
    few_shot = definition.content.few_shot
    if few_shot.count is None or few_shot.seed is not None:
        return rows
    return [row for each in _by_subset(definition, rows).values() for row in each[: few_shot.count]]


def _by_subset(definition: Definition, rows: Sequence[Row]) -> Mapping[Any, Sequence[Row]]:
    """Group rows by the subset that they name.

    All are under None where none names one, or the dataset does not have several.
    """
    if not definition.content.dataset.subsets or not any(SUBSET in row for row in rows):
        return {None: rows}
    own: dict[Any, list[Row]] = {}
    for row in rows:
        own.setdefault(row.get(SUBSET), []).append(row)
    return own


def _examples_fault(definition: Definition, source: Source, fault: str) -> KeyFaults | BadInput:
    """Return the error of solved examples that are too few.

    It is at the key that names the examples.
    """
    if source.few_shot is not None:
        return KeyFaults((("few_shot_dataset",), f"the task's few_shot.count {fault}"))
    return definition.fault(("few_shot", "count"), fault)


def _example_rows(definition: Definition, source: Source) -> Sequence[Row]:
    few_shot, dataset = definition.content.few_shot, definition.content.dataset
    if source.few_shot is not None:
        return read_rows(source.few_shot, dataset.path)
    if few_shot.examples:
        return few_shot.examples
    if few_shot.file is not None:
        return read_rows(definition.folder / few_shot.file, dataset.path)
    if few_shot.split is not None and dataset.hub is not None:
        if source.is_given:
            fix = "name their rows with few_shot_dataset beside dataset"
            if former := former_task(definition.path):
                fix += f', or write library = "{former}": it has its own examples, and asks as this name did before'
            raise definition.fault(("few_shot", "split"), f"needs the hub's dataset; {fix}")
        return _hub_rows(definition, few_shot.split)
    if few_shot.count and dataset.generator is not None:
        options = {**dataset.options, **source.options, "count": few_shot.count, "seed": -1 - source.seed}
        return list(_generate(dataset.generator, options, source))
    if few_shot.count:
        raise definition.fault(("few_shot", "count"), "has no source; give examples, file or split")
    return ()


class SolvedExamples:
    """The solved examples of a task's rows, taken in the order of the rows.

    An example that asks the same as its row is left out and one more is taken, as lm-evaluation-harness does within one
    split (api/samplers.py). Prompts are compared, so that an example in another file or with other columns is
    recognised. The draws of other rows do not change.
    """

    def __init__(self, definition: Definition, source: Source, rows: Iterable[Row], pool: Sequence[Row]) -> None:
        """Sort the examples by subset.

        Raises
        ------
        BadInput
            When examples name their subset, and some subset of the rows has none.
        """
        self._definition, self._source = definition, source
        self._pools = _by_subset(definition, pool)
        self._draws: dict[Any, Random] = {}  # of each subset, row by row, as lm-evaluation-harness draws
        self._asked: dict[int, str | None] = {}
        if self._pools.keys() - {None}:
            subsets = {str(row.get(SUBSET)) for row in rows}
            if without := sorted(subsets - set(map(str, self._pools))):
                fault = f"subsets {some_of(without)} have no solved example; give each at least one"
                raise BadInput(f"{definition.path}: {fault}")

    def of(self, row: Row) -> Sequence[Row]:
        """Return the examples of a row.

        Raises
        ------
        BadInput
            When too few are left without those that ask the same.
        """
        few_shot = self._definition.content.few_shot
        subset = row.get(SUBSET) if self._definition.content.dataset.subsets else None
        pool = self._pools.get(subset) or self._pools.get(None)
        if not pool:
            return ()
        number, again = len(pool) if few_shot.count is None else few_shot.count, Random()
        shots, first = pool[:number], pool[:number]
        if few_shot.seed is not None:
            draw = self._draws.setdefault(subset, Random(few_shot.seed))
            again.setstate(draw.getstate())
            shots = draw.sample(pool, number)
        asked = asked_of(self._definition.content, Scope(row, first)) if shots else None
        if asked is None or all(self._asked_by(each, first) != asked for each in shots):
            return shots
        more = min(len(pool), number + sum(self._asked_by(each, first) == asked for each in pool))
        drawn = pool[:more] if few_shot.seed is None else again.sample(pool, more)
        others = [each for each in drawn if self._asked_by(each, first) != asked]
        if len(others) < (few_shot.count or 1):
            size = "unset" if few_shot.count is None else few_shot.count
            fault = f"is {size}, but a row that is itself a solved example has only {len(others)} to show; give more"
            raise _examples_fault(self._definition, self._source, fault)
        return others[:number]

    def _asked_by(self, example: Row, first: Sequence[Row]) -> str | None:
        """Return what an example would ask if it were a row.

        The same examples stand before it.
        """
        if id(example) not in self._asked:
            self._asked[id(example)] = asked_of(self._definition.content, Scope(example, first))
        return self._asked[id(example)]


def read_rows(path: Path, key: str | None = None) -> list[Row]:
    """Read all rows of a JSONL, CSV, Parquet or JSON file.

    `key` names the list of rows in a JSON object.

    Raises
    ------
    BadInput
        With file and line, for a file that cannot be read or holds no rows.
    """
    return list(_file_rows(path, key))


def _file_rows(path: Path, key: str | None) -> Iterator[Row]:
    """Yield the rows of a file, one by one."""
    plain_size(path, MOST)
    row = None
    if is_parquet(path):
        rows: Iterable[Row] = parquet_rows(path)
    else:
        rows = _json(path, key) if path.suffix.lower() == ".json" else (row for _, row in read_table(path))
    for row in rows:
        yield row
    if row is None:
        raise BadInput(f"{path}: holds no rows; a task needs at least one")


def _json(path: Path, key: str | None) -> list[Row]:
    content = read_json(path, MOST, "is the file cut off?")
    rows = content.get(key) if key is not None and isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        where = "the file" if key is None else f"dataset.path = {key!r}"
        raise BadInput(f"{path}: {where} is not a list of objects; name the key that holds the rows as dataset.path")
    return rows


def hub_rows(name: str, config: str | None, split: str, revision: str | None, options: Mapping[str, Any]) -> list[Row]:
    """Read all rows of one split of a Hugging Face dataset.

    Raises
    ------
    CannotEvaluate
        When the package is missing or the dataset cannot be had.
    BadInput
        When the split holds no rows.
    """
    refuse_closed(f"dataset {name}: is not loaded in the step with the token; set num_samples, or record a reference")
    with needing(f"dataset {name}: needs Hugging Face datasets", "datasets"):
        import datasets
    where = name if config is None else f"{name} ({config})"
    try:
        loaded = datasets.load_dataset(name, config, split=split, revision=revision, **options)
    except Exception as error:  # the library raises what its file systems and builders raise
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CannotEvaluate(f"dataset {where}, split {split}: cannot be loaded: {cause}") from error
    rows = [dict(row) for row in loaded]
    if not rows:
        raise BadInput(f"dataset {where}, split {split}: holds no rows")
    return rows

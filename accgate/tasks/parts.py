"""A task that joins others of the library: each is asked, read and scored by its own definition, as a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from accgate import metrics
from accgate.errors import BadInput, KeyFaults
from accgate.inputs.rows import Row
from accgate.tasks.definition import Definition, read_definition
from accgate.tasks.library import library_file, library_names
from accgate.tasks.rows import Source, read_rows
from accgate.text import nearest


def parts_of(definition: Definition, source: Source) -> dict[str, tuple[Definition, Source]]:
    """The definition of each part that has rows, with where they come from; a local file holds those of all.

    Raises
    ------
    KeyFaults
        For settings of the task's table that no part takes.
    BadInput
        For a part that cannot be joined, and for rows of a local file that are of none.
    """
    if source.options:
        raise KeyFaults((("options",), "the task takes no options: its parts are joined as they are"))
    if source.few_shot is not None:
        raise KeyFaults((("few_shot_dataset",), "is nothing here: the parts have their own solved examples"))
    own = part_definitions(definition)
    names = _names(source.subset, own)
    for key, part in own.items():
        if fault := _unjoinable(part):
            raise definition.fault(("dataset", "parts", key), fault)
    rows = None if source.dataset is None else _rows_by_part(definition, source, names)
    plain = replace(source, dataset=None, subset=None, count=None)
    return {
        key: (part, plain if rows is None else replace(plain, rows=rows[key]))
        for key, part in own.items()
        if key in (names if rows is None else rows)
    }


def _names(subset: str | Sequence[str] | None, parts: Mapping[str, object]) -> Sequence[str]:
    """The parts that accuracy.toml asks for; all where it names none."""
    names = list(parts) if subset is None else [subset] if isinstance(subset, str) else list(subset)
    for name in names:
        if name not in parts:
            raise KeyFaults((("subset",), f"is {name!r}; {nearest(name, parts)}"))
    return names


def part_definitions(definition: Definition) -> dict[str, Definition]:
    """The definition of each part, by its group.

    Raises
    ------
    BadInput
        For a name that the library does not have.
    """
    parts = definition.content.dataset.parts
    for key, name in parts.items():
        if name not in library_names():
            raise definition.fault(("dataset", "parts", key), f"is {name!r}; {nearest(name, library_names())}")
    reasoning = definition.content.reasoning
    return {key: read_definition(library_file(name)).with_reasoning(reasoning) for key, name in parts.items()}


def _unjoinable(part: Definition) -> str | None:
    """Why a task cannot be a part: one verdict needs scores on one scale, of replies that are read by a function."""
    content = part.content
    try:
        metric = metrics.get(content.metric, **content.metric_options)
    except ImportError:  # said where the part is built
        metric = None
    is_plain = metric is None or (metric.kind == "text" and metric.higher_is_better and metric.width == 100.0)
    others = (content.choices, content.tools, content.confidence, content.aggregate)
    if is_plain and content.metric != "parts" and not content.attack and all(each is None for each in others):
        return None
    return "is a task that needs more than a reply's text, or is not scored from 0 to 100 points; name others"


def _rows_by_part(definition: Definition, source: Source, parts: Sequence[str]) -> Mapping[str, list[Row]]:
    assert source.dataset is not None
    column = definition.content.columns.group
    rows: dict[str, list[Row]] = {}
    for number, row in enumerate(read_rows(source.dataset, definition.content.dataset.path), 1):
        key = row.get(column) if column is not None else None
        if key not in parts:
            hint = nearest(str(key), parts)
            raise BadInput(f"{source.dataset}: row {number} has {column} = {key!r}, which is no part; {hint}")
        rows.setdefault(str(key), []).append(row)
    return rows

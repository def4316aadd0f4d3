"""Samples in a file of any tool.

This module finds the rows, and which of their values are id, score and repeat. What the user names counts. Without that
a file is read only where its form is known, or where only one value can be meant.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.checkout import refuse_stand_in
from accgate.inputs.parquet import MOST, is_parquet, parquet_rows
from accgate.inputs.paths import read_json
from accgate.inputs.rows import MARKS, Row, is_mark, read_table
from accgate.text import nearest

IDS = (
    *("id", "sample_id", "task_id", "instance_id", "question_id", "doc_id", "problem_id", "problem_idx", "example_id"),
    *("case_id", "test_id", "item_id", "prompt_id", "qid", "uid", "key", "index", "idx", "name"),
)
SCORES = (
    *("score", "accuracy", "acc", "correct", "is_correct", "passed", "pass", "success", "resolved", "reward"),
    *("exact_match", "em", "f1", "points", "grade", "mark", "rating", "result"),
)
REPEATS = ("repeat", "trial", "epoch", "repetition")
HEAD = 100  # rows that show how a file is laid out
DEEPEST = 5  # levels of nesting that are looked through
SHOWN = 30  # names that a message lists
LOST = ("empty_patch_ids", "error_ids")  # which SWE-bench counts as not resolved


@dataclass(frozen=True)
class Layout:
    """Where a file has its samples.

    None stands for what must be found. `rows` is the JSONPath of the rows. The others are names, with dots between
    nested ones, or JSONPaths in a row.
    """

    rows: str | None = None
    id: str | None = None
    score: str | None = None
    repeat: str | None = None


AS_FOUND = Layout()
GROUP = "sample_score.group_id"  # of EvalScope: what its repeats share
# Rows by columns that no other tool's have together; a score that ends with a dot begins the names of several.
# HELM: PerInstanceStats in benchmark/metrics/metric.py. EvalScope: ReviewResult in api/evaluator/cache.py. Every Eval
# Ever: instance_level_eval.schema.json. promptfoo: EvaluateResult in src/types/index.ts, whose id is of one run, as
# that of tau2-bench's SimulationRun is. AlpacaEval: results/*/*/annotations.json.
KNOWN = {
    ("instance_id", "stats"): Layout(None, "instance_id", "stats.", "train_trial_index"),
    ("index", "sample_score"): Layout(None, "index", "sample_score.score.value.", None),
    ("evaluation_id", "sample_id", "evaluation"): Layout(None, "sample_id", "evaluation.score"),
    ("promptIdx", "testIdx"): Layout(None, "testIdx", "score"),
    ("generator_2", "preference"): Layout(None, "instruction", "preference"),
    ("reward_info", "task_id"): Layout(None, "task_id", "reward_info.reward", "trial"),
}


def sample_rows(path: Path, layout: Layout) -> Iterator[tuple[int, Row]]:
    """Yield (line or number, row) of every sample.

    A row has `id`, `score` and perhaps `repeat` beside its own columns.

    Raises
    ------
    BadInput
        For a file that cannot be read, or in which rows, id or score are not named and could be several.
    CannotEvaluate
        For Parquet without pyarrow.
    """
    rows = iter(_rows(path, layout.rows))
    head = list(islice(rows, HEAD))
    first = head[0][1] if head else {}
    rows = chain(head, rows)
    is_plain = {"id", "score"} <= first.keys() and not first.keys() & {*REPEATS} - {"repeat"} and not _known(first)
    if not head or (is_plain and layout == Layout(layout.rows)):
        return rows
    return _named(rows, _completed(path, first, [values_of(row) for _, row in head], layout))


def _named(rows: Iterable[tuple[int, Row]], layout: Layout) -> Iterator[tuple[int, Row]]:
    """Yield the rows with what a layout names in its place."""
    labels: dict[str, int] = {}
    for number, row in rows:
        flat = values_of(row)
        named = {**row, "id": _value(layout.id, row, flat), "score": _value(layout.score, row, flat)}
        if layout.score == "preference" and "generator_2" in row and isinstance(named["score"], (int, float)):
            # Of AlpacaEval: 1 is the baseline's, 2 the model's, 1.5 and 0 are draws.
            named["score"] = 100.0 * ((named["score"] or 1.5) - 1.0)
        if layout.repeat not in (None, "repeat"):
            repeat = _value(layout.repeat, row, flat)
            named["repeat"] = repeat if type(repeat) is int else labels.setdefault(str(repeat), len(labels))
        yield number, named


def _rows(path: Path, where: str | None) -> Iterable[tuple[int, Row]]:
    refuse_stand_in(path)
    table = enumerate(parquet_rows(path), 1) if is_parquet(path) else read_table(path)
    content: Any = None
    if path.suffix.lower() == ".json":
        try:
            content = read_json(path, MOST, "is the file cut off?")
        except BadInput as error:
            if "Extra data" not in str(error):  # JSONL
                raise
    if where is not None:
        values = _find(where, [row for _, row in table] if content is None else content)
        is_query = bool({"?", "*"} & {*where})  # of which each value is a row
        content = values[0] if len(values) == 1 and not is_query else values
    return table if content is None else enumerate(_samples_in(path, content, where), 1)


def _samples_in(path: Path, content: Any, where: str | None) -> list[Row]:
    """Find the rows that JSON holds.

    Only one of its lists may look like samples, wherever it is.
    """
    if _is_table(content) and (content or where is None):
        return list(content)
    if where is not None and isinstance(content, dict) and all(map(_is_score, content.values())):
        return [{"id": key, "score": score} for key, score in content.items()]
    places = dict(_places("$", content, DEEPEST))
    lists = {place: rows for place, value in places.items() if (rows := _table_of(value))}
    tables = {place: rows for place, rows in lists.items() if _known(rows[0])}
    tables = tables or {place: rows for place, rows in lists.items() if _has_samples(rows)}
    candidates = [rows for value in places.values() if (rows := _by_outcome(path, value))] or list(tables.values())
    candidates = candidates or (list(lists.values()) if len(lists) == 1 else [])
    if len(candidates) == 1:
        return candidates[0]
    fault = f"has nothing at {where} that has ids and scores" if where else "shows no list of samples with scores"
    listed = ", ".join(tables or lists or places)
    fault = "may have its samples in several places" if candidates else fault
    raise BadInput(f"{path}: {fault}; name them with --rows JSONPATH: there are {listed or 'none'}")


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _places(place: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield objects and lists of objects, by their JSONPaths.

    Those within rows are left out.
    """
    if isinstance(value, dict) or (value and _is_table(value)):
        yield place, value
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from _places(f"{place}.{key}" if key.isidentifier() else f"{place}[{key!r}]", inner, depth - 1)


def _table_of(value: Any) -> list[Row]:
    """Make rows of a list of objects, or of objects by their ids.

    Objects by their ids must each have a score.
    """
    if isinstance(value, list):
        return value
    rows = [{"id": key, **row} for key, row in value.items() if isinstance(row, dict)]
    return rows if len(rows) == len(value) and all(_scores_of([values_of(row)]) for row in rows) else []


def _has_samples(rows: Sequence[Row]) -> bool:
    flats = [values_of(row) for row in rows[:HEAD]]
    return bool(_first(flats[0], IDS) and _scores_of(flats))


def _by_outcome(path: Path, value: Any) -> list[Row]:
    """Make rows of lists of ids that are named for what came of them.

    SWE-bench reports results so.
    """
    lists = {key: each for key, each in value.items() if isinstance(each, list)} if isinstance(value, dict) else {}
    marks = {key: MARKS[name] for key in lists if (name := key.casefold().removesuffix("_ids")) in MARKS}
    if {*marks.values()} != {0.0, 1.0}:
        return []
    marks |= {key: 0.0 for key in LOST if key in lists}
    rows = [{"id": id_, "score": mark} for key, mark in marks.items() for id_ in lists[key]]
    if len({str(row["id"]) for row in rows}) < len(rows):
        raise BadInput(f"{path}: some ids are in more than one of {', '.join(marks)}; each sample must come once")
    return rows


def _completed(path: Path, first: Row, flats: Sequence[Row], layout: Layout) -> Layout:
    """Complete a layout with names for id, score and, if there is one, repeat."""
    known, names = _known(first) or Layout(), list(dict.fromkeys(chain.from_iterable(flats)))
    if known.id == "index" and all(flat.get(GROUP) is not None for flat in flats):
        known = replace(known, id=GROUP, repeat="index")
    for name in (layout.id, layout.repeat):
        if name is not None and name not in names and not name.startswith("$"):
            raise BadInput(f"{path}: has no {name!r}; {nearest(name, names)}")
    listed = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    id_, score = layout.id or known.id or _first(names, IDS), layout.score or known.score
    if id_ is None:
        raise BadInput(f"{path}: no column is known as the id; choose one with --id: there are {listed}")
    if score is None:
        scores = _scores_of(flats)
    elif score in names or score.startswith("$"):
        scores = [score]
    elif score.endswith("."):
        scores = [name for name in names if name.startswith(score)]
    else:
        scores = [name for name in names if name.endswith(f".{score}")]
    if len(scores) != 1:
        fault = f"has no {layout.score!r}" if layout.score else "no column is known as the score"
        fault = f"{', '.join(scores)} may be the score" if scores else f"{fault}: there are {listed}"
        raise BadInput(f"{path}: {fault}; choose one with --score")
    return Layout(None, id_, scores[0], layout.repeat or known.repeat or next((n for n in REPEATS if n in names), None))


def _known(row: Row) -> Layout | None:
    return next((layout for columns, layout in KNOWN.items() if all(column in row for column in columns)), None)


def _first(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """Return the name that comes first among the usual ones, whatever its case."""
    plain = {name.casefold().replace(" ", "_").replace("-", "_"): name for name in names}
    return next((plain[name] for name in usual if name in plain), None)


def _scores_of(flats: Sequence[Row]) -> list[str]:
    """Return the names that may be the score.

    `score` alone counts if it is there, else all other usual names, outer ones before nested ones.
    """
    names = dict.fromkeys(chain.from_iterable(flats))
    usual = [name for name in names if _first([name.rpartition(".")[2]], SCORES)]
    usual = [name for name in usual if all(_is_score(flat.get(name)) for flat in flats)]
    outer = [name for name in usual if "." not in name]
    return [name for name in outer if name.casefold() == "score"] or outer or usual


def _is_score(value: Any) -> bool:
    if value is None or isinstance(value, (int, float)) or is_mark(value):
        return True
    return isinstance(value, str) and (not value or value.strip("+- ").replace(",", ".").replace(".", "", 1).isdigit())


def values_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the single values of a row, with dots between nested names.

    Objects in a list are named by their `name`.

    >>> values_of({"a": {"b": 1}, "stats": [{"name": {"name": "em"}, "mean": 1.0}], "c": [1]})
    {'a.b': 1, 'stats.em': 1.0}
    """
    return dict(_values("", row, DEEPEST))


def _values(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items() if depth else ():
            yield from _values(f"{prefix}.{key}" if prefix else str(key), inner, depth - 1)
    elif isinstance(value, list):
        for each in value:
            name = each.get("name") if isinstance(each, dict) else None
            name = name.get("name") if isinstance(name, dict) else name
            if name is not None:
                yield f"{prefix}.{name}", next((each[key] for key in ("mean", "value", "score") if key in each), None)
    else:
        yield prefix, value


def _value(name: str | None, row: Row, flat: Mapping[str, Any]) -> Any:
    if name is None or not name.startswith("$"):
        return flat.get(name or "")
    values = _find(name, row)
    return values[0] if len(values) == 1 else None


def _find(path: str, value: Any) -> list[Any]:
    import jsonpath

    try:
        return list(compiled_path(path).findall(value))
    except jsonpath.JSONPathError as error:
        raise BadInput(f"{path}: is not a JSONPath: {error}; write one such as $.results") from error


@functools.cache
def compiled_path(path: str) -> Any:
    """Compile a JSONPath.

    Raises jsonpath's own errors.
    """
    import jsonpath

    return jsonpath.compile(path)

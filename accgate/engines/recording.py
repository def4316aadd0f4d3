"""Scores or replies from a file, for evaluations that ran elsewhere."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass

from accgate.engines.base import ModelTable, Reply, Request, RequestFailed
from accgate.engines.wire import length_of
from accgate.errors import BadInput
from accgate.inputs.paths import model_file_in
from accgate.inputs.rows import read_table, repeat_of
from accgate.inputs.typed import CLOSED, Number, parse_table, setting
from accgate.records.file import CAN_HOLD, READINGS, is_number
from accgate.records.ids import Ids
from accgate.result import EngineInfo

SHORT = 16  # letters; equal replies shorter than this share one text in memory


def _is_cost(value: Any) -> bool:
    return is_number(value) and bool(value >= 0)


# Tests of the values in a row's columns, null aside, and what to write instead of a wrong one.
COLUMNS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "score": (CAN_HOLD["score"], "a finite number of points, or null"),
    "reply": (lambda value: isinstance(value, str), "text"),
    "confidence": (CAN_HOLD["confidence"], "a number from 0 to 1"),
    "attacked": (CAN_HOLD["attacked"], "the points after the attack, or a list of them"),
    "reading": (CAN_HOLD["reading"], f"one of {', '.join(READINGS)}"),
    "attacked_reading": (CAN_HOLD["attacked_reading"], f"a list, for each attack null or one of {', '.join(READINGS)}"),
    "completion_tokens": (_is_cost, "a number, 0 or more"),
    "seconds": (_is_cost, "a number, 0 or more"),
}


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Options:
    """`[models.NAME.options]` of the recorded engine."""

    scale: Number | None = setting(None, "factor to points: 100 for fractions, 1 for points", gt=0)


class RecordedEngine:
    """A replay of rows with `id`, optional `repeat`, and `score` (points) or `reply`.

    A score takes precedence over a reply. A row may also have `confidence`, `attacked`, `attacked_reading`,
    `finish_reason`, `reading`, `reasoning`, `completion_tokens`, `seconds` and `acceptance`, as run records do.
    """

    concurrency = 1

    def __init__(self, table: ModelTable) -> None:
        self.path = recording_path(table.model, table.folder)
        self._scale = parse_table(table.options, Options, ("options",)).scale
        self._rows: list[Reply | RequestFailed | str] = []  # a row that has a reply alone is that text: half the memory
        self._repeats: list[int] = []
        self._sorted, self._places = Ids(), Ids().by_text  # the ids in the order of their texts; where their rows are

    async def start(self) -> None:
        """Read the file."""
        self.read()

    def read(self) -> None:
        """Read the file, once.

        Raises
        ------
        BadInput
            With file and line, for what is no record, and for scores that may be fractions.
        """
        if self._rows:
            return
        rows: list[Reply | RequestFailed | str] = []
        texts: dict[str, str] = {}  # short replies, each once, since most are one of few answers
        lines, repeats = array("q"), list[int]()

        def ids() -> Iterator[str]:
            for line, content in read_table(self.path):
                id_, repeat, row = self._row(line, content)
                lines.append(line)
                repeats.append(repeat)
                rows.append(row)
                if isinstance(row, Reply) and row.text is not None and row == Reply(row.text):
                    rows[-1] = texts.setdefault(row.text, row.text) if len(row.text) < SHORT else row.text
                yield id_

        own = Ids(ids())
        if not rows:
            raise BadInput(f"{self.path}: holds no records")
        if again := own.first_again(repeats):
            second = again[0]
            fault = f"id {own[second]!r} (repeat {repeats[second]}) comes twice; keep one line"
            raise self._fault(lines[second], fault)
        self._rows, self._repeats, self._places = rows, repeats if any(repeats) else [], own.by_text
        self._sorted = own.take(self._places)
        largest = max((row.score or 0.0 for row in rows if isinstance(row, Reply)), default=0.0)
        if self._scale is None and 0.0 < largest <= 1.0:
            fix = "Set options.scale = 100 if scores are fractions, 1 if they are points"
            raise BadInput(f"{self.path}: the largest score is {largest:g}: fractions or points? {fix}")

    def _row(self, line: int, row: Mapping[str, Any]) -> tuple[str, int, Reply | RequestFailed]:
        if not isinstance(row.get("id"), str):
            raise self._fault(line, 'needs an id in text; write {"id": "...", "score": 100}')
        repeat, score, failure = repeat_of(row, self.path, line), row.get("score"), row.get("error")
        for name, (can_hold, words) in COLUMNS.items():
            if (value := row.get(name)) is not None and not can_hold(value):
                raise self._fault(line, f"{name} is {brief(value)}; write {words}")
        if score is None and row.get("reply") is None and not failure:
            raise self._fault(line, "has neither score nor reply")
        return row["id"], repeat, RequestFailed(str(failure)) if failure and score is None else self._reply(row)

    def _reply(self, row: Mapping[str, Any]) -> Reply:
        """Return a row's reply, with scores in points."""
        attacked, readings = row.get("attacked"), row.get("attacked_reading")
        tokens, seconds = row.get("completion_tokens"), row.get("seconds")
        several = attacked if isinstance(attacked, list) else [attacked]
        finish_reason, reasoning = (
            value if isinstance(value := row.get(name), str) else None for name in ("finish_reason", "reasoning")
        )
        points = [None if each is None else each * (self._scale or 1.0) for each in (row.get("score"), *several)]
        return Reply(
            row.get("reply"),
            finish_reason,
            completion_tokens=None if tokens is None else int(tokens),
            score=points[0],
            confidence=row.get("confidence"),
            attacked=tuple(points[1:]) if isinstance(attacked, list) else points[1],
            attacked_reading=None if readings is None else tuple(readings),
            reasoning=reasoning,
            reading=row.get("reading"),
            seconds=None if seconds is None else float(seconds),
            acceptance=length_of(row.get("acceptance")),  # a file of one's own may call anything so
        )

    def _fault(self, line: int, message: str) -> BadInput:
        return BadInput(f"{self.path}:{line}: {message}")

    async def complete(self, request: Request) -> Reply:
        """Return the recorded reply or score of this sample."""
        at = self._sorted.place_in_order(request.id)
        while 0 <= at < len(self._rows) and self._sorted[at] == request.id:
            place = int(self._places[at])
            if request.repeat == (self._repeats[place] if self._repeats else 0):
                row = self._rows[place]
                if isinstance(row, RequestFailed):
                    raise RequestFailed(*row.args)
                return Reply(row) if isinstance(row, str) else row
            at += 1
        raise RequestFailed(f"{self.path} has no record of this sample; did its prompt or dataset change?")

    def missing_ids(self, wanted: Iterable[str]) -> list[str]:
        """Return the wanted ids that have no record."""
        return Ids(wanted).without(self._sorted)

    def unknown_ids(self, datasets: Iterable[Ids]) -> list[str]:
        """Return the recorded ids that none of these datasets has."""
        as_recorded = self._sorted.take(np.argsort(self._places))
        return [*dict.fromkeys(as_recorded.without(*datasets))]

    def describe(self) -> EngineInfo:
        """Return the file's name, since nothing says what produced it."""
        return EngineInfo("recorded", self.path.name, "recorded")

    async def close(self) -> None:
        """Forget the rows, which deciding does not need."""
        self._rows, self._repeats, self._sorted, self._places = [], [], Ids(), Ids().by_text


def recording_path(model: str, folder: Path) -> Path:
    """Return the path of a recording, or raise KeyFaults where there is none."""
    return model_file_in(folder, model, "a JSONL or CSV file with id and score or reply")


def recording_of(engine: object) -> RecordedEngine | None:
    """Return the recording that answers, alone or in replicas, with its file read.

    An engine that asks a model has none.

    Raises
    ------
    BadInput
        When the file cannot be used.
    """
    recording = getattr(engine, "inner", engine)
    if not isinstance(recording, RecordedEngine):
        return None
    recording.read()
    return recording

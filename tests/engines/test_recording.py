"""The recorded engine: what a file may hold, and what is refused before anything is judged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.engines import Reply, Request, RequestFailed
from accgate.engines.base import ModelTable
from accgate.engines.recording import RecordedEngine
from accgate.errors import BadInput
from tests.support.cases import each


def engine(folder: Path, content: str | bytes, **options: Any) -> RecordedEngine:
    path = folder / "scores.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return RecordedEngine(ModelTable(path.name, options, folder))


def rows(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def replies(made: RecordedEngine, *keys: tuple[str, int]) -> list[Any]:
    async def work() -> list[Any]:
        await made.start()
        found = [made.complete(Request(id_, repeat, "?")) for id_, repeat in keys]
        try:
            return await asyncio.gather(*found, return_exceptions=True)
        finally:
            await made.close()

    return asyncio.run(work())


def refusal(made: RecordedEngine) -> str:
    with pytest.raises(BadInput) as caught:
        replies(made)
    return str(caught.value).rpartition("scores.jsonl")[2]


def test_scores_and_replies_are_replayed_by_id_and_repeat(tmp_path: Path) -> None:
    content = rows(
        {"id": "a", "score": 100},
        {"id": "a", "repeat": 1, "score": 0.0, "reply": "5", "other": [1]},
        {"id": "b", "reply": ""},
        {"id": "c", "score": 50, "reply": None, "error": "late, but scored"},
    )
    made = engine(tmp_path, "\ufeff" + content.replace("\n", "\r\n\n"))
    assert replies(made, ("a", 0), ("a", 1), ("b", 0), ("c", 0)) == [
        Reply(None, score=100.0), Reply("5", score=0.0), Reply(""), Reply(None, score=50.0),
    ]  # fmt: skip
    assert made.describe().version == "scores.jsonl"
    assert made.concurrency == 1


def test_records_of_no_known_sample_are_told_once_each(tmp_path: Path) -> None:
    made = engine(tmp_path, rows(*({"id": id_, "repeat": r, "score": 100} for id_ in "cab" for r in (0, 1))))
    made.read()
    assert made.unknown_ids({"a"}) == ["c", "b"]
    assert made.unknown_ids({"a", "b", "c"}) == []


@each("reply", [None, "half a rep"])
def test_a_sample_that_failed_when_it_was_recorded_has_failed(tmp_path: Path, reply: str | None) -> None:
    row = {"id": "a", "score": None, "reply": reply, "error": "HTTP 500"}
    with pytest.raises(RequestFailed, match=r"^HTTP 500$"):
        raise replies(engine(tmp_path, rows(row)), ("a", 0))[0]


@each(
    ("scores", "scale", "points"),
    [
        ([0.5, 1], 100, 50.0), ([0.5, 1], 1, 0.5), ([0.5, 1], 2.5, 1.25),
        ([0, 0], None, 0.0), ([-1, 0], None, -1.0), ([0, 1.5], None, 0.0), ([100], None, 100.0),
    ],
)  # fmt: skip
def test_scores_are_multiplied_by_the_scale_which_points_alone_need_not_have(
    tmp_path: Path, scores: list[float], scale: float | None, points: float
) -> None:
    content = rows(*({"id": str(i), "score": score} for i, score in enumerate(scores)))
    options = {} if scale is None else {"scale": scale}
    assert replies(engine(tmp_path, content, **options), ("0", 0)) == [Reply(None, score=points)]


GOOD = '{"id": "a", "score": 100}\n'
UNUSABLE = (
    GOOD + GOOD, GOOD + '\n{"id": "b", "sco', "[1]", '{"score": 1}', '{"id": "a", "repeat": -1, "score": 1}',
    '{"id": "a", "score": NaN}', '{"id": "a", "score": 1' + "0" * 400 + "}", '{"id": "a", "reply": 4}', '{"id": "a"}',
    "\n \n", GOOD.encode() + b"\xff\xfe",
    rows({"id": "a", "score": 0.5}, {"id": "b", "score": 1}, {"id": "c", "error": "no"}),
)  # fmt: skip


def test_a_file_that_cannot_be_used_names_the_line(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert {content: refusal(engine(tmp_path, content)) for content in UNUSABLE} == messages


def test_ids_of_any_length_and_letters_are_found_each_in_its_repeats(tmp_path: Path) -> None:
    keys = [("b", 0), ("a", 1), ("a", 0), ("long" * 9, 0), ("é", 2), ("", 0)]
    lines = [json.dumps({"id": id_, "repeat": repeat, "reply": f"{id_} {repeat}"}) for id_, repeat in keys]
    made = engine(tmp_path, "\n\n".join(lines))
    assert replies(made, *keys) == [Reply(f"{id_} {repeat}") for id_, repeat in keys]
    others = replies(made, ("b", 1), ("a", 2), ("c", 0), ("long" * 10, 0), ("b\0", 0), ("é", 0))
    assert all("has no record of this sample" in str(reply) for reply in others)
    twice = engine(tmp_path, "\n\n".join([*lines, lines[1]]))
    assert refusal(twice) == ":13: id 'a' (repeat 1) comes twice; keep one line"

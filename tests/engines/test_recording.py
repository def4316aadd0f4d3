"""The recorded engine: what a file may hold, and what is refused before anything is judged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

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


@each("key", [("b", 0), ("a", 1), ("", 0)])
def test_a_sample_that_the_file_lacks_has_failed(tmp_path: Path, key: tuple[str, int]) -> None:
    with pytest.raises(RequestFailed, match=r"has no record of this sample; did its prompt or dataset change\?$"):
        raise replies(engine(tmp_path, rows({"id": "a", "score": 100})), key)[0]


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


@each(("scale", "score"), [(100, 50.0), (1, 0.5), (2.5, 1.25)])
def test_scores_are_multiplied_by_the_scale(tmp_path: Path, scale: float, score: float) -> None:
    content = rows({"id": "a", "score": 0.5}, {"id": "b", "score": 1})
    assert replies(engine(tmp_path, content, scale=scale), ("a", 0)) == [Reply(None, score=score)]


def test_without_a_scale_fractions_are_refused_and_never_guessed(tmp_path: Path) -> None:
    message = refusal(
        engine(tmp_path, rows({"id": "a", "score": 0.5}, {"id": "b", "score": 1}, {"id": "c", "error": "no"}))
    )
    assert message.startswith(": the largest score is 1: fractions or points? Set options.scale = 100 if")


@each("scores", [[0, 0], [-1, 0], [0, 1.5], [100]])
def test_scores_that_can_only_be_points_need_no_scale(tmp_path: Path, scores: list[float]) -> None:
    content = rows(*({"id": str(i), "score": score} for i, score in enumerate(scores)))
    assert replies(engine(tmp_path, content), ("0", 0)) == [Reply(None, score=float(scores[0]))]


GOOD = '{"id": "a", "score": 100}\n'


@each(
    ("content", "message"),
    [
        (GOOD + GOOD, ":2: id 'a' (repeat 0) comes twice; keep one line"),
        (GOOD + '\n{"id": "b", "sco', ":3: is not a JSON object ("),
        ("[1]", ":1: is not a JSON object; write one object a line"),
        ('{"score": 1}', ':1: needs an id in text; write {"id": "...", "score": 100}'),
        ('{"id": "a", "repeat": -1, "score": 1}', ":1: repeat is -1; write a whole number, 0 or more"),
        ('{"id": "a", "score": NaN}', ":1: score is nan; write a finite number of points, or null"),
        ('{"id": "a", "score": 1' + "0" * 400 + "}", ":1: score is 1000"),
        ('{"id": "a", "reply": 4}', ":1: reply is 4; write text"),
        ('{"id": "a"}', ":1: has neither score nor reply"),
        ("\n \n", ": holds no records"),
        (GOOD.encode() + b"\xff\xfe", ":2: is not UTF-8; save the file as UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert refusal(engine(tmp_path, content)).startswith(message)


def test_ids_of_any_length_and_letters_are_found_each_in_its_repeats(tmp_path: Path) -> None:
    keys = [("b", 0), ("a", 1), ("a", 0), ("long" * 9, 0), ("é", 2), ("", 0)]
    lines = [json.dumps({"id": id_, "repeat": repeat, "reply": f"{id_} {repeat}"}) for id_, repeat in keys]
    made = engine(tmp_path, "\n\n".join(lines))
    assert replies(made, *keys) == [Reply(f"{id_} {repeat}") for id_, repeat in keys]
    others = replies(made, ("b", 1), ("a", 2), ("c", 0), ("long" * 10, 0), ("b\0", 0), ("é", 0))
    assert all(isinstance(reply, RequestFailed) for reply in others)
    twice = engine(tmp_path, "\n\n".join([*lines, lines[1]]))
    assert refusal(twice) == ":13: id 'a' (repeat 1) comes twice; keep one line"

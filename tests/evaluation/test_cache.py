"""Replies kept across runs: who may have them, what is damaged, and how they are pruned."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.engines.base import LogProbs, Reply, Request
from accgate.evaluation.cache.engine import CachedEngine
from accgate.evaluation.cache.identity import Identity
from accgate.evaluation.cache.store import Shelf, contents, prune

KEY, OTHER = "a" * 64, "b" * 64
WHO = Identity("1" * 64, {"model": "m"})
REPLY = Reply(' 4 \ud83d\n"', "stop", 30, 2)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def opened(tmp_path: Path, said: list[str]) -> Iterator[Callable[..., Shelf]]:
    """Opens shelves of the folder, as a run does each time."""
    made: list[Shelf] = []

    def opens(who: Identity = WHO) -> Shelf:
        made.append(Shelf(tmp_path, who, said.append))
        return made[-1]

    yield opens
    for shelf in made:
        shelf.close()


@pytest.fixture
def shelf(opened: Callable[..., Shelf]) -> Shelf:
    opened().put(KEY, REPLY)
    return opened()


def the_file(folder: Path, ending: str = "lines") -> Path:
    (path,) = folder.glob(f"*/*.{ending}")
    return path


@pytest.mark.parametrize(
    "kept",
    [
        REPLY,
        replace(REPLY, text="", tool_calls=(("weather", '{"city": "Rome"}'), ("weather", "{"))),
        replace(REPLY, logprobs=(-0.5, -1 / 3)),
        LogProbs((" A", "\ud83d"), (-0.1234567890123456789, -12.5), True),
        LogProbs((" A",), (-math.inf,), False),
        LogProbs((), (), None),
    ],
)
def test_what_an_engine_gave_comes_back_as_it_was_and_says_that_it_was_kept(
    opened: Any, kept: Reply | LogProbs
) -> None:
    opened().put(KEY, kept)
    assert opened().get(KEY) == replace(kept, cached=True)
    assert opened().get(OTHER) is None


def test_another_model_never_sees_it(tmp_path: Path, shelf: Shelf, said: list[str], opened: Any) -> None:
    assert opened(Identity("2" * 64, {})).get(KEY) is None
    moved = tmp_path / ("2" * 64)
    (tmp_path / WHO.digest).rename(moved)  # not even where its file lies in the other's folder
    assert opened(Identity("2" * 64, {})).get(KEY) is None
    assert "is damaged and was set aside" in said[0]


@pytest.mark.parametrize("reply", [Reply(None), Reply("4", score=100.0)])
def test_only_replies_of_a_model_are_kept(tmp_path: Path, said: list[str], opened: Any, reply: Reply) -> None:
    opened().put(KEY, reply)
    assert opened().get(KEY) is None


class Counting:
    """Says how likely a text is by its length, and how often it was asked."""

    concurrency = 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request.prompt)
        return Reply(request.prompt)

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        self.asked += [request.prompt + text for text in continuations]
        return [LogProbs((text,), (-1.0 * len(text),), None) for text in continuations]


def test_how_likely_a_text_is_is_asked_once_for_each_prompt_and_text(opened: Any) -> None:
    inner: Any = Counting()

    async def both(engine: CachedEngine) -> list[Any]:
        prompts = [Request("a", 0, "1 + 1 ="), Request("b", 0, "1 + 2 =")]
        rows = [await engine.score(prompt, [" 2", " three"]) for prompt in prompts]
        scored = [replace(found, cached=False) for row in rows for found in row]
        return [*scored, *[replace(await engine.complete(prompt), cached=False) for prompt in prompts]]

    asyncio.run(CachedEngine(inner, opened()).score(Request("a", 0, "1 + 1 ="), [" 2"]))  # one of two, the next time
    first = asyncio.run(both(CachedEngine(inner, opened())))
    assert len(inner.asked) == len(set(inner.asked)) == 6
    assert asyncio.run(both(CachedEngine(inner, opened()))) == first
    assert len(inner.asked) == 6
    drawn = Request("a", 0, "1 + 1 =", temperature=1.0)
    for _ in range(2):
        asyncio.run(CachedEngine(inner, opened()).score(drawn, [" 2"]))
    assert len(inner.asked) == 8


@pytest.mark.parametrize("place", [-4, 70, 100])
def test_a_damaged_line_is_no_answer_and_its_file_is_set_aside(
    tmp_path: Path, shelf: Shelf, said: list[str], opened: Any, place: int
) -> None:
    path = the_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    again = opened()
    assert again.get(KEY) is None
    assert said == [f"cache: {path} is damaged and was set aside; what it held is asked again"]
    assert the_file(tmp_path, "damaged")
    again.put(KEY, REPLY)
    assert opened().get(KEY) == replace(REPLY, cached=True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.write_bytes(path.read_bytes().replace(b"stop", b"stap")), "is damaged and was set aside"),
        (Path.unlink, "cannot be read: No such file"),
    ],
)
def test_a_file_that_changes_while_it_is_in_use_is_no_answer(
    tmp_path: Path, shelf: Shelf, said: list[str], change: Callable[[Path], Any], why: str
) -> None:
    change(the_file(tmp_path))
    assert shelf.get(KEY) is None
    (told,) = said
    assert why in told


def test_the_last_use_of_a_file_is_noted(tmp_path: Path, shelf: Shelf) -> None:
    os.utime(the_file(tmp_path), (100.0, 100.0))
    shelf.get(OTHER)
    assert the_file(tmp_path).stat().st_mtime == 100.0
    shelf.get(KEY)
    assert the_file(tmp_path).stat().st_mtime > 100.0


def test_a_torn_last_line_is_passed_over_in_silence(tmp_path: Path, shelf: Shelf, said: list[str], opened: Any) -> None:
    path = the_file(tmp_path)
    line = path.read_bytes()
    path.write_bytes(line + line.replace(KEY.encode(), OTHER.encode())[:-9])
    again = opened()
    assert again.get(OTHER) is None
    assert again.get(KEY) is not None
    assert said == []


def test_two_runs_at_once_keep_all_replies_of_both(opened: Any) -> None:
    keys = [f"{i:064}" for i in range(4)]
    for shelf, key in zip([opened(), opened()] * 2, keys, strict=True):
        shelf.put(key, Reply(key))
    again = opened()
    assert [again.get(key).text for key in keys] == keys


def test_a_folder_that_cannot_be_written_is_said_once_and_stops_nothing(
    tmp_path: Path, said: list[str], opened: Any
) -> None:
    (tmp_path / WHO.digest).write_text("in the way")
    made = opened()
    made.put(KEY, REPLY)
    made.put(OTHER, REPLY)
    assert len(said) == 1
    assert "cannot be written" in said[0]


def filled(folder: Path, sizes: dict[str, tuple[float, int]]) -> None:
    """Files of (time of use, bytes), each of another who answered."""
    for number, (name, (used, size)) in enumerate(sizes.items()):
        place = folder / f"{number:064}"
        place.mkdir()
        (place / "about.json").write_text("{}")
        (place / f"{name}.lines").write_bytes(b"x" * (size - 1) + b"\n")
        os.utime(place / f"{name}.lines", (used, used))


def test_prune_removes_what_was_long_unused_then_the_longest_unused_and_nothing_of_others(tmp_path: Path) -> None:
    filled(tmp_path, {"b": (200.0, 10), "old": (100.0, 10), "new": (900.0, 20)})
    mine = [tmp_path / "a.lines", tmp_path / "src" / "b.lines", tmp_path / f"{1:064}" / "mine.txt"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine\n")
    last_used_first = [(1, 20, 900.0), (1, 10, 200.0), (1, 10, 100.0)]
    assert [(kept.replies, kept.bytes, kept.used) for kept in contents(tmp_path)] == last_used_first
    assert prune(tmp_path, older_than=800.0, now=1000.0) == (1, 10)  # not what was used just so long ago
    assert prune(tmp_path, max_size=20) == (1, 10)
    assert [path.name for path in tmp_path.glob("0*/*.lines")] == ["new.lines"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{1:064}", f"{2:064}", "a.lines", "src"]
    assert all(path.exists() for path in mine)

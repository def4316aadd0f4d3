"""Shards that share a folder: they stop once what all of them have finished decides, and `merge` decides the same."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import Record, new_records, paths_of, read_records, to_line
from tests.evaluation.serving import command, configure, merge, served_by, sums_of
from tests.support.cases import each
from tests.support.gates import refused, without_seconds
from tests.support.launcher import Launched
from tests.support.servers import Server, sums

N = 200


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    """A folder with a reference of a server's answers."""
    folder = tmp_path_factory.mktemp("recorded")
    with Server() as made:
        write(folder, made)
        assert command(folder, "record", "--out", str(folder / "recorded")) == 0
        yield folder, made


@pytest.fixture
def server(tmp_path: Path, recorded: tuple[Path, Server]) -> Server:
    """The server, as it was recorded, and a copy of the folder."""
    folder, made = recorded
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    made.settle()
    made.seen.clear()
    made.answer, made.hold_after = sums(), None
    return made


def write(folder: Path, server: Server, **model: Any) -> None:
    model |= served_by(server.url, concurrency=4)
    configure(folder, {"models.m": model, "tasks.arithmetic": sums_of(N, high=300, theta=8)})


def together(folder: Path, shard: str, *arguments: str) -> int:
    return command(folder, "run", "--shard", shard, "--together", str(folder / "all"), *arguments)


def merged(folder: Path, *parts: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a merge of these shards, and its result."""
    code = merge(folder, [folder / "all" / part for part in parts])
    return code, json.loads((folder / "merged" / "accgate.json").read_text())


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """The verdict, but for how many replies had come by the decision, of which some were not needed."""
    (check,) = without_seconds(result["checks"])
    return check | {"candidate": check["candidate"] | {"readings": None}, "reference": check["reference"]["mean"]}


def count(folder: Path, part: str) -> int:
    path = paths_of(folder / "all" / part, "m", "arithmetic").records
    return len(read_records(path)) if path.exists() else 0


def whole_run(folder: Path) -> tuple[int, dict[str, Any]]:
    code = command(folder, "run", "--out", str(folder / "whole"))
    return code, json.loads((folder / "whole" / "accgate.json").read_text())


@pytest.mark.parametrize(("wrong", "code"), [(0.25, 0), (0.6, 1)])
def test_a_shard_stops_where_the_others_records_decide_with_its_own(
    tmp_path: Path, server: Server, wrong: float, code: int
) -> None:
    server.answer = sums(wrong=wrong)
    whole = whole_run(tmp_path)
    used = whole[1]["checks"][0]["n"]
    assert whole[0] == code
    assert used < N // 2
    assert together(tmp_path, "1/2") == 0  # alone it sees no beginning of the order, and asks all of its part
    assert count(tmp_path, "shard-1-of-2") == N // 2
    assert together(tmp_path, "2/2") == 0
    assert used // 2 <= count(tmp_path, "shard-2-of-2") < N // 2 - 10
    joined = merged(tmp_path, "shard-2-of-2", "shard-1-of-2")
    assert joined[0] == code
    assert figures(joined[1]) == figures(whole[1])
    assert whole[1]["saved_tokens"] > joined[1]["saved_tokens"] >= 0  # the first shard asked half of all samples
    assert main(["verify", str(tmp_path / "merged"), "--config", str(tmp_path / "accuracy.toml")]) == code
    # a decided run that is resumed asks nothing
    server.seen.clear()
    assert together(tmp_path, "2/2", "--resume") == 0
    assert not server.seen


def test_a_shard_killed_and_resumed_gives_the_verdict_of_one_run(tmp_path: Path, server: Server) -> None:
    whole = whole_run(tmp_path)
    server.settle()
    server.seen.clear()
    server.hold_after = 20
    run = ["run", str(tmp_path / "accuracy.toml"), "--quiet", "--together", str(tmp_path / "all"), "--shard"]
    shards = [Launched(*run, f"{i}/3") for i in (1, 2, 3)]
    try:
        deadline = time.monotonic() + 120
        begun = tmp_path / "all" / "shard-2-of-3" / "shard.json"
        while (len(server.seen) < 24 or not begun.exists()) and time.monotonic() < deadline:
            time.sleep(0.01)
        shards[1].send_signal(signal.SIGKILL)
        shards[1].wait()
        server.hold_after = None
        assert [shards[i].wait(timeout=300) for i in (0, 2)] == [0, 0]
    finally:
        for each in shards:
            each.kill()
            each.wait()
    code, _ = merged(tmp_path, "shard-1-of-3", "shard-2-of-3", "shard-3-of-3")
    assert code == 3 or count(tmp_path, "shard-2-of-3") * 3 >= whole[1]["checks"][0]["n"]
    assert together(tmp_path, "2/3", "--resume") == 0
    assert count(tmp_path, "shard-2-of-3") < N // 3
    code, joined = merged(tmp_path, "shard-1-of-3", "shard-2-of-3", "shard-3-of-3")
    assert (code, figures(joined)) == (whole[0], figures(whole[1]))


def test_records_of_another_run_stop_nothing(tmp_path: Path, server: Server) -> None:
    write(tmp_path, server, sampling={"seed": 7})
    assert together(tmp_path, "1/2") == 0
    write(tmp_path, server)
    assert together(tmp_path, "2/2") == 0
    assert count(tmp_path, "shard-2-of-2") == N // 2
    records = paths_of(tmp_path / "all" / "shard-1-of-2", "m", "arithmetic").records
    assert together(tmp_path, "1/2") == 0
    records.write_bytes(records.read_bytes()[:-300] + b"damaged\n")  # nor do damaged ones
    assert together(tmp_path, "2/2") == 0
    assert count(tmp_path, "shard-2-of-2") == N // 2


def test_shards_that_cannot_see_each_other_ask_what_is_expected_and_more_where_that_does_not_decide(
    tmp_path: Path, server: Server
) -> None:
    whole = whole_run(tmp_path)
    parts = [tmp_path / "all" / f"shard-{i}-of-2" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert command(tmp_path, "run", "--shard", f"{i}/2", "--first", "--out", str(part)) == 0
        assert count(tmp_path, part.name) < N // 2 - 10
    code, joined = merged(tmp_path, *(part.name for part in parts))
    assert (code, figures(joined)) == (whole[0], figures(whole[1]))
    records = paths_of(parts[1], "m", "arithmetic").records
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[:3]))  # too few for a decision
    code, joined = merged(tmp_path, *(part.name for part in parts))
    assert code == 3
    assert "samples lack records" in joined["checks"][0]["reasons"][0]
    assert command(tmp_path, "run", "--shard", "2/2", "--resume", "--out", str(parts[1])) == 0
    assert count(tmp_path, parts[1].name) == N // 2
    code, joined = merged(tmp_path, *(part.name for part in parts))
    assert (code, figures(joined)) == (whole[0], figures(whole[1]))


def test_a_line_that_is_still_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    first, second = (to_line(Record(i, 0, 100.0, "4", "4", "4", "stop", 1, 1, 0.0, None)) for i in "ab")
    path = tmp_path / "growing.jsonl"
    path.write_bytes(first + second[:40])
    records, offset = new_records(path, 0)
    assert (len(records), offset) == (1, len(first))
    path.write_bytes(first + second)
    assert new_records(path, offset)[1] == len(first + second)


@each(
    ("options", "fault"),
    [
        (["--together", "all"], "give --shard i/N too"),
        (["--together", "all", "--shard", "1/2", "--out", "out"], "leave --out out"),
        (["--first"], "give --shard i/N too"),
        (["--together", "all", "--shard", "1/2", "--first"], "leave it out with --together"),
    ],
)
def test_together_is_for_shards_and_instead_of_out(
    tmp_path: Path, options: list[str], fault: str, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fault in refused(capsys, main(["run", "no such file", *options]))


def test_a_shard_beside_others_leaves_the_folder_of_whole_runs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result, old = tmp_path / "accgate-out" / "accgate.json", tmp_path / "all" / "shard-1-of-2" / "shard.json"
    for path in (result, old):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    assert main(["run", "no such file", "--shard", "1/2", "--together", "all"]) == 2
    assert result.exists()
    assert not old.exists()

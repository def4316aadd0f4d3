"""Who marks the answers: the marks of two judges are never mixed in one run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.records.file import paths_of, read_records
from tests.gates import said, table, write_task
from tests.servers import Fault, Server

N = 40
FIRST = {"model": "toy-1", "system_fingerprint": "a"}
JUDGES: list[tuple[dict[str, Any], str | None, str]] = [
    ({**FIRST, "system_fingerprint": "b"}, None, "system_fingerprint"),
    ({**FIRST, "model": "toy-2"}, None, "model"),
    (FIRST, "org/other-70b", "listed.toy"),
]


@pytest.fixture
def model() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture
def judge(tmp_path: Path, model: Server) -> Iterator[Server]:
    with Server(answer=lambda prompt: "1" if prompt.endswith(" 2") else "5") as made:
        serve(made, FIRST, "org/first-70b")
        rubric = {"rubric": "1 + 4 {{ reply }}"}
        rows = [{"q": f"What is {i} + 1?", "a": "x"} for i in range(N)]
        write_task(tmp_path, "sums", rows, metric="judge", judge=rubric)
        configure(tmp_path, model, made)
        yield made


def configure(folder: Path, model: Server, judge: Server, **options: Any) -> None:
    asked = {"engine": "openai", "model": "toy"}
    common = {"concurrency": 1, "max_retries": 0}
    tables = {
        "gate": {"max_failed": 0},
        "models.m": {**asked, "options": {**common, "base_url": model.url}},
        "judges.j": {**asked, "options": {**common, **options, "base_url": judge.url}},
        "tasks.sums": {"file": "sums.toml", "judge": "j", "target": 50.0},
    }
    (folder / "accuracy.toml").write_text("".join(table(name, values) for name, values in tables.items()))


def serve(judge: Server, says: dict[str, Any], root: str | None) -> None:
    judge.says = says
    judge.models = {"data": [{"id": "toy", "owned_by": "vllm", "root": root or "org/first-70b"}]}


def run(folder: Path, *arguments: str) -> int:
    return main(["run", str(folder / "accuracy.toml"), "--quiet", *arguments])


def begun(folder: Path, judge: Server) -> list[str]:
    """Have a run end after some of its marks; its arguments."""
    judge.fault_of = lambda _: Fault(400) if len(judge.seen) == 10 else None
    where = ["--out", str(folder / "out")]
    assert run(folder, *where) == 3
    judge.fault_of = None
    return [*where, "--resume"]


def settings(folder: Path) -> dict[str, Any]:
    return dict(json.loads(paths_of(folder, "m", "sums").settings.read_text()))


def toml_of(folder: Path) -> Path:
    return folder / "references" / "m" / "sums.toml"


def forget_judge(folder: Path) -> None:
    """Make the reference one of an earlier version, which does not say who marked it."""
    path = toml_of(folder)
    text = re.sub(r"\n\[(judge_)?(served|files)(\.listed)?\]\n([^\[].*\n|\n)*", "\n", path.read_text())
    assert "judge_" not in text
    path.write_text(text)


def scored(folder: Path) -> int:
    return sum(record.score is not None for record in read_records(paths_of(folder, "m", "sums").records))


def test_the_settings_beside_records_name_who_marked_them(tmp_path: Path, judge: Server) -> None:
    assert run(tmp_path, "--out", str(tmp_path / "out")) == 0
    served = settings(tmp_path / "out")["judge_served"]
    assert {key: served[key] for key in FIRST} == FIRST
    assert "org/first-70b" in served["listed"]["toy"]


@pytest.mark.parametrize(("says", "root", "key"), JUDGES)
def test_a_resumed_run_mixes_the_marks_of_no_other_judge(
    tmp_path: Path, judge: Server, says: dict[str, Any], root: str | None, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    resume = begun(tmp_path, judge)
    before = scored(tmp_path / "out")
    assert before > 0
    serve(judge, says, root)
    for _ in range(2):  # who marked first is not forgotten
        code = run(tmp_path, *resume)
        if root is None:  # it shows with the first reply
            assert code == 3
            (check,) = json.loads((tmp_path / "out" / "accgate.json").read_text())["checks"]
            assert check["reasons"][0].startswith(f"judge j: {judge.url} changed in the middle of the run: {key} was ")
        else:
            assert code == 2
            assert "its records were marked by judge j with listed " in said(capsys)
        assert scored(tmp_path / "out") == before
    serve(judge, FIRST, None)
    assert run(tmp_path, *resume) == 0
    assert scored(tmp_path / "out") == N


def test_fingerprints_of_a_judge_that_its_options_name_may_mix(tmp_path: Path, model: Server, judge: Server) -> None:
    resume = begun(tmp_path, judge)
    serve(judge, {**FIRST, "system_fingerprint": "b"}, None)
    configure(tmp_path, model, judge, fingerprints=["a", "b"])
    assert run(tmp_path, *resume) == 0
    assert settings(tmp_path / "out")["judge_served"]["system_fingerprint"] == ["a", "b"]


def merge(folder: Path, parts: list[Path]) -> int:
    where = ["--config", str(folder / "accuracy.toml"), "--out", str(folder / "merged")]
    return main(["merge", *map(str, parts), *where])


@pytest.mark.parametrize(("says", "root", "key"), JUDGES)
def test_shards_that_two_judges_marked_are_not_merged(
    tmp_path: Path, judge: Server, says: dict[str, Any], root: str | None, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [tmp_path / "one", tmp_path / "two"]
    assert run(tmp_path, "--shard", "1/2", "--out", str(parts[0])) == 0
    serve(judge, says, root)
    assert run(tmp_path, "--shard", "2/2", "--out", str(parts[1])) == 0
    assert merge(tmp_path, parts) == 2
    assert f"judge j: {key} is " in said(capsys)
    assert not (tmp_path / "merged").exists()
    serve(judge, FIRST, None)
    assert run(tmp_path, "--shard", "2/2", "--out", str(parts[1])) == 0
    assert merge(tmp_path, parts) == 0
    assert settings(tmp_path / "merged")["judge_served"] == settings(parts[0])["judge_served"]


@pytest.mark.parametrize(("says", "root", "key"), JUDGES)
def test_a_shard_counts_no_marks_of_another_judge(
    tmp_path: Path, judge: Server, says: dict[str, Any], root: str | None, key: str
) -> None:
    def together(shard: str, *arguments: str) -> int:
        return run(tmp_path, "--shard", shard, "--together", str(tmp_path / "all"), *arguments)

    config = tmp_path / "accuracy.toml"
    config.write_text(config.read_text().replace("target = 50.0", "theta = 40"))
    assert main(["record", str(config), "--quiet", "--out", str(tmp_path / "recorded")]) == 0
    forget_judge(tmp_path)  # or the second shard would be held against a reference that another judge marked
    assert together("1/2") == 0
    assert together("2/2") == 0
    early = scored(tmp_path / "all" / "shard-2-of-2")
    serve(judge, says, root)
    assert together("2/2") == 0
    alone = scored(tmp_path / "all" / "shard-2-of-2")
    assert alone == settings(tmp_path / "all" / "shard-2-of-2")["records"] > early

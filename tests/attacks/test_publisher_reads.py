"""The step that has the token opens no Parquet of the head's: its reader is native code."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.inputs.parquet import Closed, without_native_readers
from accgate.tasks import read_rows
from accgate.tasks.rows import hub_rows
from tests.attacks.chain import Chain
from tests.support.gates import Project, questions, write_task
from tests.support.loading import load_task
from tests.support.pull_requests import Job
from tests.support.runner import commit

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    parquet.write_table(arrow.Table.from_pylist(rows), path)


def in_parquet(project: Project, *, picture: Any = None, start: int = 0, ending: str = "parquet", **keys: Any) -> None:
    """The task's rows as Parquet, with a picture each where one is given."""
    more = {} if picture is None else {"picture": picture}
    images = {} if picture is None else {"images": ["picture"]}
    write_task(project.folder, "sums", [], dataset__file=f"sums.{ending}", **images, **keys)
    (project.folder / "sums.jsonl").unlink()
    write(project.folder / f"sums.{ending}", [row | more for row in questions(60, start)])


@pytest.fixture
def read_to_publish(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The Parquet files that publishing reads."""
    read: list[Path] = []
    publish, real = Job.publish, parquet.ParquetFile

    def published(self: Job, *arguments: Any) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(parquet, "ParquetFile", lambda path: (read.append(path), real(path))[1])
            return publish(self, *arguments)

    monkeypatch.setattr(Job, "publish", published)
    return read


@pytest.mark.parametrize(("wrong", "picture"), [(0, None), (40, {"bytes": PNG, "path": "x.png"})])
def test_a_pull_request_is_decided_and_guarded_without_its_rows(
    chain: Chain, read_to_publish: list[Path], wrong: int, picture: Any
) -> None:
    chain.begin(lambda project: in_parquet(project, picture=picture))
    ended = chain.pull(lambda _: None, wrong=wrong)
    assert (ended.run, ended.job, ended.rules) == (bool(wrong), bool(wrong), {})
    assert read_to_publish == []


@pytest.mark.parametrize("ending", ["parquet", "PARQUET"])
def test_other_rows_are_listed_by_the_files_digest(chain: Chain, read_to_publish: list[Path], ending: str) -> None:
    chain.begin(lambda project: in_parquet(project, ending=ending))
    ended = chain.pull(lambda head: in_parquet(head, start=1, ending=ending))
    assert not ended.is_green
    assert read_to_publish == []


@pytest.mark.parametrize(("keys", "job"), [({}, 3), ({"num_samples": 60}, 0)])
def test_without_a_references_scores_the_config_says_how_many_samples(
    chain: Chain, read_to_publish: list[Path], keys: dict[str, int], job: int
) -> None:
    def targeted(project: Project) -> None:
        in_parquet(project)
        project.tasks["sums"] |= {"target": 90.0, **keys}
        project.write()

    targeted(chain.project)
    chain.begin()
    shutil.rmtree(chain.project.store)
    commit(chain.repository)
    ended = chain.pull(lambda _: None)
    assert (ended.run, ended.job) == (0, job)
    assert read_to_publish == []


def test_every_way_to_rows_is_closed(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", questions(2))
    assert len(read_rows(tmp_path / "x.parquet")) == 2
    with without_native_readers():
        with pytest.raises(Closed, match="job with a token"):
            read_rows(tmp_path / "x.parquet")
        with without_native_readers(), pytest.raises(Closed):
            read_rows(tmp_path / "x.parquet")
        with pytest.raises(Closed, match=r"dataset x/y: .*; set num_samples"):
            hub_rows("x/y", None, "test", None, {})
        with pytest.raises(Closed):
            read_rows(tmp_path / "x.parquet")
    assert len(read_rows(tmp_path / "x.parquet")) == 2


@pytest.mark.parametrize("place", ["x.png", "/absolute", {"bytes": None, "path": "x.png"}])
def test_rows_of_parquet_name_no_picture_file_whose_change_the_guard_could_not_see(tmp_path: Path, place: Any) -> None:
    (tmp_path / "x.png").write_bytes(PNG)
    picture = str(tmp_path / "x.png") if place == "/absolute" else place
    in_parquet(Project(tmp_path, n=60), picture=picture)
    with pytest.raises(BadInput, match="Parquet name no files"):
        load_task("sums", file=tmp_path / "sums.toml").samples  # noqa: B018

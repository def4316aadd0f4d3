"""The commit that a reference was recorded at."""

from pathlib import Path

import pytest

from accgate.inputs.checkout import commit_of
from tests.support.gates import RIGHT, Project
from tests.support.runner import commit, git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit of one file."""
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    (tmp_path / "file").write_text("one")
    commit(tmp_path)
    return tmp_path


def test_a_folder_is_at_its_repositorys_commit_and_changed_files_are_marked(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    (repository / "inner").mkdir()
    (repository / "inner" / "new").write_text("which git does not know")
    assert commit_of(repository / "inner") == commit_of(repository) == head
    (repository / "file").write_text("two")
    assert commit_of(repository) == f"{head}+changes"
    git(repository, "add", "file")
    assert commit_of(repository) == f"{head}+changes"


@pytest.mark.parametrize("sha", [None, "0123abcd"])
def test_without_a_repository_github_says_it_or_no_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sha: str | None
) -> None:
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    git(tmp_path, "init", "-q", "empty")
    assert commit_of(tmp_path / "empty") == ""
    if sha:
        monkeypatch.setenv("GITHUB_SHA", sha)
    assert commit_of(tmp_path) == (sha or "")


def test_without_git_installed_there_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert commit_of(repository) == ""


def test_a_reference_says_its_commit_and_what_it_replaced(repository: Path) -> None:
    project = Project(repository, n=4)
    first = git(repository, "rev-parse", "HEAD")
    assert project.record([RIGHT] * 4) == 0
    assert f'commit = "{first}"' in (project.store / "m/sums.toml").read_text()
    commit(repository)
    (repository / "sums.toml").write_text((repository / "sums.toml").read_text() + "\n")
    assert project.record(args=["--reason", "again"]) == 0
    text = (project.store / "m/sums.toml").read_text()
    assert f'commit = "{git(repository, "rev-parse", "HEAD")}+changes"' in text
    assert f'commit = "{first}"' in text.partition("[replaced]")[2]

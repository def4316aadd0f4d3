"""The commit that a reference was recorded at."""

import os
import subprocess
from pathlib import Path

import pytest

from accgate.inputs.checkout import commit_of
from tests.gates import RIGHT, Project


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular, without the user's own settings."""
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit of one file."""
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    (tmp_path / "file").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def test_a_clean_tree_is_its_commit(repository: Path) -> None:
    assert commit_of(repository) == git(repository, "rev-parse", "HEAD")


def test_a_folder_within_a_repository_is_at_its_commit(repository: Path) -> None:
    (repository / "inner").mkdir()
    assert commit_of(repository / "inner") == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("staged", [False, True])
def test_changed_files_are_marked(repository: Path, staged: bool) -> None:
    (repository / "file").write_text("two")
    if staged:
        git(repository, "add", "file")
    assert commit_of(repository) == git(repository, "rev-parse", "HEAD") + "+changes"


def test_files_that_git_does_not_know_are_no_change(repository: Path) -> None:
    (repository / "new").write_text("x")
    assert commit_of(repository) == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize("sha", [None, "0123abcd"])
def test_without_a_repository_github_says_it_or_no_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sha: str | None
) -> None:
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    if sha:
        monkeypatch.setenv("GITHUB_SHA", sha)
    assert commit_of(tmp_path) == (sha or "")


def test_a_repository_without_commits_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == ""


def test_without_git_installed_there_is_none(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert commit_of(repository) == ""


def test_a_reference_says_its_commit_and_what_it_replaced(repository: Path) -> None:
    project = Project(repository, n=4)
    first = git(repository, "rev-parse", "HEAD")
    assert project.record([RIGHT] * 4) == 0
    assert f'commit = "{first}"' in (project.store / "m/sums.toml").read_text()
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "two")
    (repository / "sums.toml").write_text((repository / "sums.toml").read_text() + "\n")
    assert project.record(args=["--reason", "again"]) == 0
    text = (project.store / "m/sums.toml").read_text()
    assert f'commit = "{git(repository, "rev-parse", "HEAD")}+changes"' in text
    assert f'commit = "{first}"' in text.partition("[replaced]")[2]

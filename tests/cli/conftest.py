from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ends(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that ends with this code, and returns on one line what it prints."""

    def ends(code: int, *words: object) -> str:
        capsys.readouterr()
        assert main([*map(str, words)]) == code, words
        return " ".join("".join(capsys.readouterr()).split())

    return ends

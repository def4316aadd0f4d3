from pathlib import Path

import pytest

from tests.questionnaire.made import Made


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Made:
    return Made(tmp_path, capsys)

"""A project with a reference."""

from pathlib import Path

import pytest

from tests.references.projects import N
from tests.support.gates import Project, recorded_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return recorded_project(tmp_path, N)

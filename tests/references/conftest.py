"""A project with a reference."""

from pathlib import Path

import pytest

from tests.gates import Project, recorded_project
from tests.references.projects import N


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return recorded_project(tmp_path, N)

"""The site, built from a copy of the pages as `make docs` builds it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def build(folder: Path) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Build the site in a folder of its own; where it lies, and what the builder said."""
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    if not (folder / "accgate").exists():
        (folder / "accgate").symlink_to(ROOT / "accgate")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return folder / "site", done

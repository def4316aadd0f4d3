"""axe-core's source, which npm brings once."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.runner import KEPT

PACKAGE = "axe-core@4.14.1"


def axe() -> str:
    """The script that finds what keeps people out of a page; skips where npm cannot bring it."""
    folder = KEPT / PACKAGE
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            pytest.skip("needs npm")
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        if done.returncode:
            pytest.skip(f"npm cannot install axe-core: {done.stderr[-300:]}")
    return script.read_text(encoding="utf-8")

"""What npm brings once: axe-core's source, and other packages of files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Page
from tests.support.runner import KEPT

PACKAGE = "axe-core@4.14.1"


def axe() -> str:
    """The script that finds what keeps people out of a page; skips where npm cannot bring it."""
    return (from_npm(PACKAGE) / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, part: str = "document", *, serious: bool = False) -> list[list[Any]]:
    """The rules that a page or its part breaks, how bad that is, and where; all of them, or only serious ones."""
    page.value(f"{axe()}; null")
    each = "(v) => [v.id, v.impact, v.nodes.map((n) => n.html)]"
    found = page.value(f"axe.run({part}).then((all) => all.violations.map({each}))")
    return [fault for fault in found if not serious or fault[1] in ("serious", "critical")]


def from_npm(package: str) -> Path:
    """The folder of a package of npm's, which is kept; skips where npm cannot bring it."""
    folder = KEPT / package
    files = folder / "node_modules" / package.rpartition("@")[0]
    if not files.exists():
        if not shutil.which("npm"):
            pytest.skip("needs npm")
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", package]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        if done.returncode:
            pytest.skip(f"npm cannot install {package}: {done.stderr[-300:]}")
    return files

"""scipy.special is loaded by the first function that a test of statistics takes from it, and not before."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.runner import ROOT

CODE = """
import sys
from accgate.stats import gsprt, special

assert "scipy.special" not in sys.modules
assert special.ndtr(0.0) == 0.5 and "scipy.special" in sys.modules
"""


def test_scipy_is_loaded_by_the_first_call() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_decides_and_publishes_takes_no_other_part_of_scipy() -> None:
    # The image for publishing holds no other.
    named = {
        part
        for path in (ROOT / "accgate").rglob("*.py")
        if path.parent.name != "metrics"
        for part in re.findall(r"^\s*(?:from|import) scipy\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == {"special"}

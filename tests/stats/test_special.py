"""scipy.special is the only part of SciPy that decides and publishes."""

from __future__ import annotations

import re

from tests.support.runner import ROOT


def test_what_decides_and_publishes_takes_no_other_part_of_scipy() -> None:
    # The image for publishing holds no other.
    named = {
        part
        for path in (ROOT / "accgate").rglob("*.py")
        if path.parent.name != "metrics"
        for part in re.findall(r"^\s*(?:from|import) scipy\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == {"special"}

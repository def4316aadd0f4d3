"""scipy.special is loaded without the modules of numpy that it does not use, and those stay as they are."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.runner import ROOT

CODE = """
import gc, importlib, sys, types
from accgate.stats.special import ndtr

assert ndtr(0.0) == 0.5
modules = {name: type(module) for name, module in sys.modules.items() if name.startswith("numpy.")}
assert set(modules.values()) == {types.ModuleType}, modules
for stub in [each for each in gc.get_objects() if type(each).__name__ == "_Stub"]:  # where scipy has all of numpy
    module = importlib.import_module(stub.__name__)
    assert type(module) is types.ModuleType
    assert all(getattr(stub, name) is getattr(module, name) for name in module.__all__)
"""


def test_modules_that_stood_aside_while_scipy_loaded_are_loaded_by_whoever_uses_them() -> None:
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

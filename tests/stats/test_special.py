"""scipy.special is loaded without the modules of numpy that it does not use, and those stay as they are."""

from __future__ import annotations

import subprocess
import sys

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

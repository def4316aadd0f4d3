"""Packages that judged programs may import: they work whole, and nothing beside them can be read."""

import asyncio
import importlib.metadata
import importlib.util

import pytest

from accgate.errors import CannotEvaluate
from accgate.metrics import BadOption, get
from accgate.sandbox.process import Confinement, Limits, Outcome, Packages, packages_of
from accgate.sandbox.runner import Sandbox
from tests.sandbox.conftest import outcomes

PASSES = [
    "import numpy as np\na = np.random.rand(200, 200)\nassert np.allclose(np.linalg.inv(a) @ a, np.eye(200))",
    "import numpy as np\nnp.save('a.npy', np.ones(3))\nassert np.load('a.npy').sum() == 3",
    "import numpy.polynomial, numpy.fft, numpy.ma, numpy.testing, numpy.f2py",
]
FAILS = {
    "import numpy as np\nassert np.arange(3).sum() == 4": "AssertionError",
    "import numpy as np\nnp.ones(200_000_000)": "Unable to allocate",
    "import pydantic": "ModuleNotFoundError",
    "import numpy, os\nos.listdir(os.path.dirname(os.path.dirname(numpy.__file__)))": "PermissionError",
    "import numpy\nopen(numpy.__file__.replace('numpy', 'pydantic', 1))": "PermissionError",
    "import numpy\nopen(numpy.__file__, 'a')": "PermissionError",
    "import numpy as np\nwhile True: np.ones((300, 300)) @ np.ones((300, 300))": "timed out",
}  # fmt: skip
PANDAS = """
import pandas as pd
frame = pd.DataFrame({"a": [1, 2], "s": ["x", "y"]})
assert frame.groupby("s").a.sum().sum() == 3 and len(frame.to_csv())
assert pd.to_datetime("2020-01-01").year == 2020
import pandas.testing
"""


def ends_of(programs: list[str], names: list[str], confined: Confinement) -> list[Outcome]:
    return outcomes(Sandbox(Limits(seconds=2.0), 1, packages_of(names)), [(text,) for text in programs])


@pytest.mark.slow
def test_numpy_works_and_nothing_beside_it_can_be_read(confined: Confinement) -> None:
    ends = ends_of([*PASSES, *FAILS], ["numpy"], confined)
    assert [end for end in ends[: len(PASSES)] if not end.passed] == []
    for end, (program, reason) in zip(ends[len(PASSES) :], FAILS.items(), strict=True):
        assert not end.passed, program
        assert reason in end.reason, (program, end.reason)


def test_pandas_comes_with_what_it_requires_and_with_no_optional_package(confined: Confinement) -> None:
    if importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    packages = packages_of(["pandas"])
    assert {"pandas", "numpy", "dateutil"} <= set(packages.modules)
    assert "pyarrow" not in packages.modules
    ends = ends_of([PANDAS, "import pandas, pyarrow"], ["pandas"], confined)
    assert [end.passed for end in ends] == [True, False]


def test_without_the_option_no_package_can_be_imported(confined: Confinement) -> None:
    (end,) = ends_of(["import numpy"], [], confined)
    assert "ModuleNotFoundError" in end.reason


def test_packages_that_programs_could_not_read_are_refused_at_the_start(confined: Confinement) -> None:
    async def enter(packages: Packages) -> None:
        async with Sandbox(Limits(), 1, packages):
            raise AssertionError("entered")

    with pytest.raises(CannotEvaluate, match="the packages they may use: FileNotFoundError"):
        asyncio.run(enter(Packages(paths=("/nowhere/numpy",))))
    with pytest.raises(CannotEvaluate, match="worker ended: ModuleNotFoundError: No module named 'nosuch'"):
        asyncio.run(enter(Packages(("nosuch",), ("/usr",), ("/usr",))))


def test_a_package_that_is_not_installed_is_refused_with_the_command() -> None:
    with pytest.raises(ImportError, match="packages names 'nosuch', which is not installed; check the name"):
        get("code_tests", packages=["nosuch"])
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        packages_of(["nosuch"])
    for wrong in ("numpy", [1], 3):
        with pytest.raises(BadOption, match="give a list of texts"):
            get("code_tests", packages=wrong)
    with pytest.raises(BadOption, match="packages names ''"):
        get("code_tests", packages=[""])

"""Property tests repeat their examples; HYPOTHESIS_PROFILE=explore draws new ones. No clock decides any of them."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import advice

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeat", unhurried, derandomize=True, max_examples=40)  # always the same 40
settings.register_profile("explore", unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# Commands under test would inherit that a shell starts jobs in its background deaf to Ctrl-C, and nohup to SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Before numpy loads: its products of small matrices would start threads that wait for the other workers' cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What is written need not outlive a power cut here; a slow disk would take a fifth of the tests' time.
os.fsync = lambda _: None  # type: ignore[assignment]

# Until all tests are collected, none of which is garbage: to look for some takes a seventh of the time.
gc.disable()

advice.watch()

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from tests.browser.chromium import Browser

# Files that share an image, an engine, a cluster, a browser, a model or long imports, in the order in which they begin.
TOGETHER = {
    "vllm": ("tests/real/test_vllm.py",),
    "vllm in process": ("tests/real/test_vllm_session.py", "tests/real/test_servers.py"),
    "workflows": ("tests/real/test_act.py",),
    "container": tuple(f"tests/real/test_{name}.py" for name in ("image", "sandbox_container", "shallow_*")),
    "ray": ("tests/real/test_ray*.py",),
    "lm_eval": ("tests/real/test_interop.py", "tests/real/test_lm_eval*.py", "tests/interop/test_[os]*.py"),
    "examples": ("tests/real/test_examples.py", "tests/real/test_base_in_containers.py"),
    "browser": ("tests/browser/*", "tests/*/test_look.py"),
    "model": ("tests/real/test_first_minutes.py", "tests/real/test_l[!m]*.py", "tests/real/test_quickstart.py"),
}


def group_of(nodeid: str) -> str:
    """What a test runs together with: the tests of its file, or of all files that share with it."""
    path = nodeid.partition("::")[0]
    shared = (name for name, patterns in TOGETHER.items() if any(fnmatch(path, pattern) for pattern in patterns))
    return next(shared, path)


# As the Makefile looks for the files of the real parts, which alone it imports for them.
PARTS = re.compile(r"mark\.(browser|container|interop|llamacpp|vllm|ray|slow)\b")


@pytest.hookimpl(optionalhook=True)  # without xdist there is none
def pytest_xdist_auto_num_workers() -> int:
    """One more than the cores: tests wait a seventh of their time, for processes and files."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker loads its share of the tests first, and finds the others' compiled, which takes half of the time."""
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    here = Path(__file__).parent
    for path in sorted(here.rglob("test_*.py"))[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # which collecting it says
            import_module(".".join(path.relative_to(here.parent).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first; a real part is marked in its own file, where `make test-parts` looks for it."""
    for path in {item.path for item in items if any(PARTS.match(f"mark.{mark.name}") for mark in item.iter_markers())}:
        if not PARTS.search(path.read_text(encoding="utf-8")):
            raise pytest.UsageError(f"{path}: write the mark of a real part in this file, where make test-parts looks")
    order = list(TOGETHER)
    items.sort(key=lambda item: order.index(group) if (group := group_of(item.nodeid)) in order else len(order))


def pytest_collection_finish() -> None:
    """What was collected stays: to look through it for garbage again and again takes a thirtieth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # without xdist there is none
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadgroup`: a group at a time, in one process. (xdist's own groups are lost on pytest 9.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.fixture(autouse=True)
def advice_that_can_be_followed() -> Iterator[None]:
    """Every setting and command that a message advises in a test is one that accgate takes."""
    yield
    faults, advice.faults[:] = advice.faults[:], []
    assert not faults, "a message advises what accgate does not take"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, started once; each test is another person."""
    from tests.browser.chromium import Browser

    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def messages(snapshot: SnapshotAssertion, tmp_path: Path) -> SnapshotAssertion:
    """The messages of a test as `__snapshots__` beside its file has them, which `make messages` writes anew."""

    def without_folder(data: Any, **_: Any) -> Any:
        return data.replace(str(tmp_path), "FOLDER") if isinstance(data, str) else data

    return snapshot.with_defaults(matcher=without_folder)

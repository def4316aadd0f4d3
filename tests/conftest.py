"""Property tests repeat their examples; HYPOTHESIS_PROFILE=explore draws new ones. No clock decides any of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeat", unhurried, derandomize=True)
settings.register_profile("explore", unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A shell starts what runs in its background deaf to Ctrl-C, which commands under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is written need not outlive a power cut here; a slow disk would take a fifth of the tests' time.
os.fsync = lambda _: None  # type: ignore[assignment]

if TYPE_CHECKING:
    from tests.browser.chromium import Browser

# Tests with one of these marks run one after the other, in this order; tests of one file do so too.
TOGETHER = ("container", "vllm", "ray", "browser", "real")


@pytest.hookimpl(tryfirst=True)  # xdist looks at the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares an image, an engine, a cluster or a browser runs in one process; what takes longest begins first."""
    marks = {id(item): next(filter(item.get_closest_marker, TOGETHER), None) for item in items}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(marks[id(item)] or "/".join(item.path.parts[-2:])))
    items.sort(key=lambda item: TOGETHER.index(mark) if (mark := marks[id(item)]) else len(TOGETHER))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, started once; each test is another person."""
    from tests.browser.chromium import Browser

    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()

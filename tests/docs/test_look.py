"""The site in headless Chromium, light, dark and on a phone: all fits, every picture shows, no error is logged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.browser.axe import violations
from tests.browser.chromium import Browser, Page
from tests.docs.blocks import SITE
from tests.docs.site import build

pytestmark = pytest.mark.browser
SCREENS = {"light": (1280, 900, False, "light"), "dark": (1280, 900, False, "dark"), "phone": (390, 844, True, "light")}


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site and says nothing of it."""

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site is served, from this machine to itself."""
    folder, done = build(tmp_path_factory.mktemp("site"))
    assert done.returncode == 0, done.stdout + done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def opened(browser: Browser, screen: str) -> Page:
    """A tab of somebody who was never here, on a screen."""
    page = Page(browser, browser.person())
    show(page, screen)
    return page


def show(page: Page, screen: str) -> None:
    """Let the page be seen on another screen."""
    width, height, phone, scheme = SCREENS[screen]
    page.scheme(scheme)
    page.size(width, height, phone=phone)


def faults(browser: Browser) -> list[str]:
    """What the pages logged as errors, and what they could not load."""
    kinds = {"Runtime.exceptionThrown", "Network.loadingFailed", "Log.entryAdded"}
    found = [event["params"] for event in browser.events if event["method"] in kinds]
    return [str(event) for event in found if event.get("entry", {}).get("level", "error") == "error"]


def test_every_page_fits_and_logs_nothing(address: str, browser: Browser) -> None:
    page = opened(browser, "light")
    for source in SITE:
        show(page, "light")
        page.open(f"{address}/{source.with_suffix('.html').name}")
        for screen, (width, *_) in SCREENS.items():
            show(page, screen)
            wide = page.value("document.documentElement.scrollWidth")
            assert wide <= width, f"{source.name} is {wide} pixels wide on the screen {screen} of {width}"
        empty = "[...document.images].filter(i => !i.complete || !i.naturalWidth || !i.alt).map(i => i.src)"
        assert page.value(empty) == [], source.name
        assert not faults(browser), source.name


def test_pictures_follow_the_page_s_own_switch(address: str, browser: Browser) -> None:
    page = opened(browser, "light")
    page.open(f"{address}/concepts.html")
    page.value("document.querySelector('[for=__palette_1]').click()")
    assert page.value("getComputedStyle(document.querySelector('article img')).colorScheme") == "dark"


@pytest.mark.parametrize("screen", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "concepts", "config"])
def test_axe_finds_no_serious_violation_in_what_we_wrote(
    address: str, browser: Browser, screen: str, name: str
) -> None:
    page = opened(browser, screen)
    page.open(f"{address}/{name}.html")
    scheme = page.value("document.body.getAttribute('data-md-color-scheme')")
    assert scheme == {"light": "default", "dark": "slate"}[screen]
    found = violations(page, "document.querySelector('article')", serious=True)
    # The theme's code blocks scroll; browsers let the keyboard into such regions by themselves.
    assert [fault for fault in found if fault[0] != "scrollable-region-focusable"] == []

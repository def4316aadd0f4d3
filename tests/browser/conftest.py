from collections.abc import Iterator

import pytest

from tests.browser.chromium import Browser, Page


@pytest.fixture
def person(browser: Browser) -> Iterator[str]:
    """Somebody who was never here."""
    person = browser.person()
    yield person
    browser.forget(person)


@pytest.fixture
def page(browser: Browser, person: str) -> Page:
    """A blank tab."""
    return Page(browser, person)

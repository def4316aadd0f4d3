"""Values inside JSON from elsewhere: of the kind that is expected, or none."""

from __future__ import annotations

from typing import Any


def text_at(value: Any, *keys: str) -> str | None:
    """The text at nested keys; None where there is no such key or no text.

    >>> text_at({"user": {"login": "ann"}}, "user", "login"), text_at({"user": None}, "user", "login")
    ('ann', None)
    """
    found = _at(value, keys)
    return found if isinstance(found, str) else None


def number_at(value: Any, *keys: str) -> int | None:
    """The whole number at nested keys; None where there is no such key or no number.

    >>> number_at({"id": 5}, "id"), number_at({"id": True}, "id")
    (5, None)
    """
    found = _at(value, keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value

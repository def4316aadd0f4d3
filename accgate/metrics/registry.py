"""The metrics by name, with their options, bounds and direction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from accgate.metrics.metric import BadOption, Entry, Metric, UnknownMetric, checked_option
from accgate.text import nearest


@cache
def entries() -> Mapping[str, Entry]:
    """Every metric of accgate's own."""
    from accgate.metrics.families import FAMILIES

    return {entry.name: entry for family in FAMILIES for entry in family}


def names() -> tuple[str, ...]:
    """Names of all metrics, sorted."""
    return tuple(sorted(entries()))


def get(name: str, **options: Any) -> Metric:
    """The metric of this name, with these options.

    Raises
    ------
    UnknownMetric
        When there is none.
    BadOption
        When an option is not the metric's, or not in its range.

    Examples
    --------
    >>> get("numeric_match")("1,234.0", "1234")
    100.0
    """
    known = entries()
    if name not in known:
        raise UnknownMetric(f"no metric {name!r}; {nearest(name, known)}")
    entry = known[name]
    checked = {option: checked_option(entry, option, value) for option, value in options.items()}
    try:
        return entry.build(**checked)
    except ValueError as error:
        raise BadOption(f"{name}: {error}") from error

"""The statistics by name, with their options checked as a metric's are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from accgate.metrics.metric import BadOption, Entry, check_option
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.metrics.aggregates.base import Aggregate, AggregateEntry


class UnknownAggregate(ValueError):
    """No statistic has this name; the message says which one is near."""


@cache
def aggregate_entries() -> Mapping[str, AggregateEntry]:
    """Every statistic over samples."""
    from accgate.metrics.aggregates import calibration, classification, fairness, robustness, sampling

    families = (calibration, fairness, robustness, classification, sampling)
    return {entry.name: entry for family in families for entry in family.ENTRIES}


def aggregate(name: str, **options: Any) -> Aggregate:
    """The statistic over samples of this name, with these options.

    Raises
    ------
    UnknownAggregate
        When there is none.
    BadOption
        When an option is not the statistic's, or not in its range.

    Examples
    --------
    >>> records = [{"confidence": 0.9, "score": 100.0}, {"confidence": 0.8, "score": 0.0}]
    >>> aggregate("ece", bins=10)(records)
    45.0
    """
    name = name.replace("equalized", "equalised")  # fairlearn's spelling
    if name not in aggregate_entries():
        raise UnknownAggregate(f"no aggregate {name!r}; {nearest(name, aggregate_entries())}")
    entry = aggregate_entries()[name]
    like_a_metric = cast("Entry", entry)
    values = {option: check_option(like_a_metric, option, value) for option, value in options.items()}
    try:
        return entry.build(**values)
    except ValueError as error:
        raise BadOption(f"{name}: {error}") from error

"""The metrics and the statistics over samples by name.

Each is built from its options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from accgate.metrics import (
    calls,
    instructions,
    kinds,
    longbench,
    match,
    mathematics,
    mmmu,
    overlap,
    questions,
    rouge,
    translation,
)
from accgate.metrics.metric import Builder, Metric, UnknownMetric, build_with
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.metrics.aggregates.base import Aggregate

FAMILIES = (
    match, mathematics, overlap, rouge, translation, instructions, longbench, mmmu, questions, calls, kinds,
)  # fmt: skip


@cache
def metric_builders() -> Mapping[str, Builder]:
    """Return the builder of every metric of accgate's own, by name."""
    return {name: build for family in FAMILIES for name, build in family.METRICS.items()}


@cache
def aggregate_builders() -> Mapping[str, Callable[..., Aggregate]]:
    """Return the builder of every statistic over samples, by name.

    Each public function of these modules that gives an `Aggregate` is one.
    """
    from accgate.metrics.aggregates import base, calibration, classification, fairness, robustness, sampling

    families = (calibration, fairness, robustness, classification, sampling)
    public = ((name, each) for family in families for name, each in vars(family).items() if not name.startswith("_"))
    return {name: each for name, each in public if getattr(each, "__annotations__", {}).get("return") is base.Aggregate}


def get(name: str, **options: Any) -> Metric:
    """Return the metric of this name, ready to score.

    Raises
    ------
    UnknownMetric, BadOption
        As `describe`.
    ImportError
        When a package that it needs is not installed: which, and how to install it.

    Examples
    --------
    >>> get("numeric_match")("1,234.0", "1234")
    100.0
    """
    metric = describe(name, **options)
    metric.prepare()
    return metric


def describe(name: str, **options: Any) -> Metric:
    """Return the metric of this name, whose bounds, direction and kind are known.

    No package is loaded, so it may be unable to score.

    Raises
    ------
    UnknownMetric
        When there is none.
    BadOption
        When an option is not the metric's, or not in its range.
    """
    if name not in metric_builders():
        raise UnknownMetric(f"no metric {name!r}; {nearest(name, metric_builders())}")
    return build_with(name, metric_builders()[name], options)


def aggregate(name: str, **options: Any) -> Aggregate:
    """Return the statistic over samples of this name, with these options.

    Raises
    ------
    UnknownMetric
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
    if name not in aggregate_builders():
        raise UnknownMetric(f"no aggregate {name!r}; {nearest(name, aggregate_builders())}")
    return build_with(name, aggregate_builders()[name], options)

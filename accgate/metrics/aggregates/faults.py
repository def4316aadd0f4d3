"""What can be wrong with the name of a statistic or with the records it is asked of."""

from __future__ import annotations


class UnknownAggregate(ValueError):
    """No statistic has this name; the message says which one is near."""


class UnusableRecords(ValueError):
    """Records lack what a statistic needs, are failed, doubled, or differ between the sides."""

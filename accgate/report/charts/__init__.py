"""Charts of the HTML report: pure functions from figures to SVG, each with its text and a table of its figures."""

from __future__ import annotations

from accgate.report.charts.svg import Chart

__all__ = ["Chart"]

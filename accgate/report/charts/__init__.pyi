from .axes import Axis, axis_of, short
from .confidence import coverage_chart, reliability_chart
from .distribution import distribution_chart
from .evidence import evidence_chart
from .svg import Chart, element, label, line, mark, percent

__all__ = [
    "Axis",
    "Chart",
    "axis_of",
    "coverage_chart",
    "distribution_chart",
    "element",
    "evidence_chart",
    "label",
    "line",
    "mark",
    "percent",
    "reliability_chart",
    "short",
]

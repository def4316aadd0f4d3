"""accgate: tells a pull request whether a language model's accuracy regressed.

>>> import accgate
>>> accgate.plan(2.0, sigma=50.0).n
7729
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accgate.planning.samples import Plan, plan

if TYPE_CHECKING:
    from accgate import metrics
    from accgate.config.config import Config, load_config
    from accgate.decision.comparison import Verdict, compare
    from accgate.decision.statistic import compare_statistic
    from accgate.gate import run
    from accgate.result import Result

__version__ = "0.1.0"
__all__ = [
    "Config",
    "Plan",
    "Result",
    "Verdict",
    "compare",
    "compare_statistic",
    "load_config",
    "metrics",
    "plan",
    "run",
]

# Names that load numpy, pydantic or an engine, each with its module: start-up is a feature.
_LAZY = {
    "Config": "accgate.config",
    "Result": "accgate.result",
    "Verdict": "accgate.decide",
    "compare": "accgate.decide",
    "compare_statistic": "accgate.aggregate",
    "load_config": "accgate.config",
    "run": "accgate.gate",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "metrics":
        return import_module("accgate.metrics")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'accgate' has no attribute {name!r}")

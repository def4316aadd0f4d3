from . import errors, metrics
from ._version import __version__
from .config.config import Config, load_config
from .decision.comparison import compare, compare_statistic
from .gate import run
from .planning.samples import Plan, plan
from .result import Result
from .verdict import Verdict

__all__ = [
    "Config", "Plan", "Result", "Verdict", "__version__", "compare", "compare_statistic", "errors", "load_config",
    "metrics", "plan", "run",
]  # fmt: skip

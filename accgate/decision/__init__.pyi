from .comparison import Verdict, compare, compare_scores, decide
from .early import early_stop, watch_of
from .evidence import Evidence, evidence_of
from .run import decide_checks, summary
from .statistic import compare_statistic

__all__ = [
    "Evidence",
    "Verdict",
    "compare",
    "compare_scores",
    "compare_statistic",
    "decide",
    "decide_checks",
    "early_stop",
    "evidence_of",
    "summary",
    "watch_of",
]

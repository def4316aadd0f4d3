from .bisection import Bisection, Commit, Culprit
from .cause import (
    ENOUGH,
    MOST_PAIRS,
    Blame,
    Change,
    Explained,
    Finding,
    Kind,
    Trial,
    causes_of,
    explained_bounds,
    is_consistent,
    is_finished,
    levels_of,
    trial_of,
)
from .comparison import compare, compare_scores, decide, is_decided
from .evidence import Evidence, evidence_of
from .groups import add_groups
from .overall import decide_overall
from .path import Bets, SequentialPath, path_of
from .progress import early_stop, watch_of
from .readings import with_readings
from .run import Decided, decide_checks, result_of
from .statistic import compare_statistic

__all__ = [
    "ENOUGH",
    "MOST_PAIRS",
    "Bets",
    "Bisection",
    "Blame",
    "Change",
    "Commit",
    "Culprit",
    "Decided",
    "Evidence",
    "Explained",
    "Finding",
    "Kind",
    "SequentialPath",
    "Trial",
    "add_groups",
    "causes_of",
    "compare",
    "compare_scores",
    "compare_statistic",
    "decide",
    "decide_checks",
    "decide_overall",
    "early_stop",
    "evidence_of",
    "explained_bounds",
    "is_consistent",
    "is_decided",
    "is_finished",
    "levels_of",
    "path_of",
    "result_of",
    "trial_of",
    "watch_of",
    "with_readings",
]

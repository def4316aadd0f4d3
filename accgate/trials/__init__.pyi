from .bisection import BATCH, ENOUGH, SURE, bisect
from .comparison import ab
from .repetition import rerun
from .search import blame

__all__ = [
    "BATCH",
    "ENOUGH",
    "SURE",
    "ab",
    "bisect",
    "blame",
    "rerun",
]

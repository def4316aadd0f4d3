from .allowed import Allowed
from .cost import Cost
from .figures import Answer, CandidateSummary, Drift, GroupFigures, Readings, ReferenceSummary
from .reasons import Figure, Reason, texts_of, words_of
from .verdict import Verdict

__all__ = [
    "Allowed", "Answer", "CandidateSummary", "Cost", "Drift", "Figure", "GroupFigures", "Readings", "Reason",
    "ReferenceSummary", "Verdict", "texts_of", "words_of",
]  # fmt: skip

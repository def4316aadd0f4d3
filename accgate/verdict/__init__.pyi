from .figures import CandidateSummary, Cost, Drift, GroupFigures, Readings, ReferenceSummary
from .findings import (
    chance_sentence,
    drop_sentence,
    lack_sentence,
    loss_of,
    lost_answers,
    mean_change,
    move_sentence,
    pass_words,
    samples_words,
    subject_of,
)
from .groups import groups_paragraph, groups_sentence
from .paragraphs import Paragraph, other_rules
from .sentences import drift_sentence, name_of, readings_sentence, sentence, sight_sentence
from .verdict import Verdict

__all__ = [
    "CandidateSummary",
    "Cost",
    "Drift",
    "GroupFigures",
    "Paragraph",
    "Readings",
    "ReferenceSummary",
    "Verdict",
    "chance_sentence",
    "drift_sentence",
    "drop_sentence",
    "groups_paragraph",
    "groups_sentence",
    "lack_sentence",
    "loss_of",
    "lost_answers",
    "mean_change",
    "move_sentence",
    "name_of",
    "other_rules",
    "pass_words",
    "readings_sentence",
    "samples_words",
    "sentence",
    "sight_sentence",
    "subject_of",
]

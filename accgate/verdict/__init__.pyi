from .advice import Step, after_inconclusive, approval_steps
from .allowed import Allowed
from .figures import Answer, CandidateSummary, Cost, Drift, GroupFigures, Readings, ReferenceSummary
from .findings import (
    chance_sentence,
    collapse_sentence,
    drop_sentence,
    lack_sentence,
    loss_of,
    lost_answers,
    move_sentence,
    pass_words,
    samples_words,
    subject_of,
)
from .groups import groups_paragraph, groups_sentence
from .paragraphs import Paragraph, other_rules
from .points import asked_text, change_text, interval_text, points_text, range_text, samples_of, theta_text
from .reasons import Figure, Reason, texts_of, words_of
from .sentences import Setting, drift_sentence, name_of, readings_sentence, sentence, settings_of, sight_sentence
from .verdict import Verdict

__all__ = [
    "Allowed", "Answer", "CandidateSummary", "Cost", "Drift", "Figure", "GroupFigures", "Paragraph", "Readings",
    "Reason", "ReferenceSummary", "Setting", "Step", "Verdict", "after_inconclusive", "approval_steps", "asked_text",
    "chance_sentence", "change_text", "collapse_sentence", "drift_sentence", "drop_sentence", "groups_paragraph",
    "groups_sentence", "interval_text", "lack_sentence", "loss_of", "lost_answers", "move_sentence", "name_of",
    "other_rules", "pass_words", "points_text", "range_text", "readings_sentence", "samples_of", "samples_words",
    "sentence", "settings_of", "sight_sentence", "subject_of", "texts_of", "theta_text", "words_of",
]  # fmt: skip

from .base import Rulings, Selection, own_samples, rulings
from .base_tree import has_rules
from .changes import changed_rules
from .own_rules import verdicts_beside
from .state import Guard, RuleChange

__all__ = [
    "Guard",
    "RuleChange",
    "Rulings",
    "Selection",
    "changed_rules",
    "has_rules",
    "own_samples",
    "rulings",
    "verdicts_beside",
]

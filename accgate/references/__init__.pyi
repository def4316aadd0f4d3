from .anchor import Anchor, Step, anchor_beside, drift_of, find_anchor
from .columns import COST_COLUMNS
from .commit import commit_of
from .copies import copy_references
from .judge import OF_JUDGE, Makers, other_judge, refuse_other_judge
from .settings import answer_settings, batch_note, setting_changes
from .store import (
    PARTS,
    Reference,
    ReferenceFile,
    baseline_of,
    changed_parts,
    find_reference,
    folder_of,
    is_rescored,
    mismatch,
    missing_reference,
    read_reference,
    reference_path,
    scores_of,
    toml_of,
    variant_label,
)
from .writer import add_runs, figures_of, has_runs, makers_of, reference_to_extend, replaced_figures, write_reference

__all__ = [
    "COST_COLUMNS",
    "OF_JUDGE",
    "PARTS",
    "Anchor",
    "Makers",
    "Reference",
    "ReferenceFile",
    "Step",
    "add_runs",
    "anchor_beside",
    "answer_settings",
    "baseline_of",
    "batch_note",
    "changed_parts",
    "commit_of",
    "copy_references",
    "drift_of",
    "figures_of",
    "find_anchor",
    "find_reference",
    "folder_of",
    "has_runs",
    "is_rescored",
    "makers_of",
    "mismatch",
    "missing_reference",
    "other_judge",
    "read_reference",
    "reference_path",
    "reference_to_extend",
    "refuse_other_judge",
    "replaced_figures",
    "scores_of",
    "setting_changes",
    "toml_of",
    "variant_label",
    "write_reference",
]

from .anchor import Anchor, Step, anchor_beside, drift_of, find_anchor
from .commit import commit_of
from .copies import copy_references
from .settings import changes, settings_told
from .store import (
    Reference,
    ReferenceFile,
    baseline_of,
    changed_parts,
    find_reference,
    folder_of,
    mismatch,
    missing_reference,
    read_reference,
    reference_path,
    scores_of,
    variant_label,
    write_toml,
)
from .write import add_run, check_addition, check_replacement, figures, is_added, write_reference

__all__ = [
    "Anchor",
    "Reference",
    "ReferenceFile",
    "Step",
    "add_run",
    "anchor_beside",
    "baseline_of",
    "changed_parts",
    "changes",
    "check_addition",
    "check_replacement",
    "commit_of",
    "copy_references",
    "drift_of",
    "figures",
    "find_anchor",
    "find_reference",
    "folder_of",
    "is_added",
    "mismatch",
    "missing_reference",
    "read_reference",
    "reference_path",
    "scores_of",
    "settings_told",
    "variant_label",
    "write_reference",
    "write_toml",
]

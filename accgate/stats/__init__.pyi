from .answers import Repeats
from .betting import betting_path, coin_evidence
from .bootstrap import weighted_bootstrap
from .drift import anchor_tails
from .group_sequential import LOOKS, group_design
from .gsprt import n_without_change
from .multiplicity import adjust_p_values
from .names import PAIRED_TESTS, SEQUENTIAL_TESTS, TESTS, Correction, TestName
from .noise import discordance_of_repeats
from .paired import mcnemar_exact
from .power import (
    N_LIMIT,
    error_of_mean,
    one_sample_n,
    paired_binary_effect,
    paired_sd,
    quantile,
    quantile_sum,
    share_of_alpha,
)
from .repeats import repeats_exact
from .result import TestResult
from .sequential import SequentialResult, Units, units_of
from .statistics import Rows, Unsigned
from .walk import Floats

__all__ = [
    "LOOKS",
    "N_LIMIT",
    "PAIRED_TESTS",
    "SEQUENTIAL_TESTS",
    "TESTS",
    "Correction",
    "Floats",
    "Repeats",
    "Rows",
    "SequentialResult",
    "TestName",
    "TestResult",
    "Units",
    "Unsigned",
    "adjust_p_values",
    "anchor_tails",
    "betting_path",
    "coin_evidence",
    "discordance_of_repeats",
    "error_of_mean",
    "group_design",
    "mcnemar_exact",
    "n_without_change",
    "one_sample_n",
    "paired_binary_effect",
    "paired_sd",
    "quantile",
    "quantile_sum",
    "repeats_exact",
    "share_of_alpha",
    "units_of",
    "weighted_bootstrap",
]  # fmt: skip

from .agreement import krippendorff_alpha
from .answers import Repeats, repeats_of
from .betting import betting_path, confidence_sequence
from .bootstrap import weighted_bootstrap
from .bounds import (
    hoeffding_margin,
    hoeffding_n,
    hoeffding_probability,
    serfling_margin,
    serfling_n,
    serfling_probability,
)
from .clusters import cluster_robust_error, cluster_totals, clustered_exact, clustered_t
from .coin import coin_evidence, share_evidence
from .culprit import Asked, culprit_posterior, next_place
from .difference import exact_difference_interval
from .drift import anchor_tails, difference_to_anchor, drift_test, normal_tails
from .e_process import e_process_test
from .early_repeats import repeats_boundaries, repeats_schedule, repeats_sequential, visible_drop
from .graded import graded_next
from .group_sequential import (
    DISCRETENESS,
    LOOKS,
    expected_shares,
    group_design,
    group_sequential_boundaries,
    group_sequential_test,
    next_look,
)
from .gsprt import Passing, gsprt_boundaries, gsprt_test, schedule, soonest_pass, unseen_n
from .influence import Rows, StatisticUndefined
from .margin import LOOKS_COST, LOOKS_EXPECTED, MARGIN_EXACTNESS, margin_effect, margin_looks, margin_test
from .mcnemar import mcnemar_n, mcnemar_power, mcnemar_theta
from .multiplicity import adjust_p_values, level_shares
from .names import DEFAULT_SEQUENTIAL, PAIRED_TESTS, SEQUENTIAL_TESTS, TESTS, Correction, TestName
from .noise import (
    Estimate,
    VarianceParts,
    clopper_pearson,
    discordance_of_repeats,
    estimate_discordance,
    estimate_sigma,
    variance_parts,
)
from .paired import McNemarResult, mcnemar_exact, mcnemar_p, paired_t
from .pooled import Series, pooled_test
from .power import (
    E_PROCESS_MAXIMUM,
    GSPRT_LEAST,
    GSPRT_MAXIMUM,
    GSPRT_MORE,
    N_LIMIT,
    ceiling,
    one_sample_n,
    paired_binary_effect,
    paired_sd,
    quantile,
    quantile_sum,
    share_of_alpha,
    two_sample_n,
)
from .ratio import ratio_test
from .repeats import repeats_exact
from .resampling import choose_paired_test, sign_flip
from .result import Interval, TestResult, move
from .sequential import TYPICAL, Boundaries, SequentialResult, Units, include, units_of
from .statistics import Method, statistic_test
from .unconditional import MOST_PAIRS, unconditional_exact, unconditional_n, unconditional_power, unconditional_theta
from .unpaired import student_t, target_z, two_sample_z, welch_t
from .walk import Floats

__all__ = [
    "DEFAULT_SEQUENTIAL",
    "DISCRETENESS",
    "E_PROCESS_MAXIMUM",
    "GSPRT_LEAST",
    "GSPRT_MAXIMUM",
    "GSPRT_MORE",
    "LOOKS",
    "LOOKS_COST",
    "LOOKS_EXPECTED",
    "MARGIN_EXACTNESS",
    "MOST_PAIRS",
    "N_LIMIT",
    "PAIRED_TESTS",
    "SEQUENTIAL_TESTS",
    "TESTS",
    "TYPICAL",
    "Asked",
    "Boundaries",
    "Correction",
    "Estimate",
    "Floats",
    "Interval",
    "McNemarResult",
    "Method",
    "Passing",
    "Repeats",
    "Rows",
    "SequentialResult",
    "Series",
    "StatisticUndefined",
    "TestName",
    "TestResult",
    "Units",
    "VarianceParts",
    "adjust_p_values",
    "anchor_tails",
    "betting_path",
    "ceiling",
    "choose_paired_test",
    "clopper_pearson",
    "cluster_robust_error",
    "cluster_totals",
    "clustered_exact",
    "clustered_t",
    "coin_evidence",
    "confidence_sequence",
    "culprit_posterior",
    "difference_to_anchor",
    "discordance_of_repeats",
    "drift_test",
    "e_process_test",
    "estimate_discordance",
    "estimate_sigma",
    "exact_difference_interval",
    "expected_shares",
    "graded_next",
    "group_design",
    "group_sequential_boundaries",
    "group_sequential_test",
    "gsprt_boundaries",
    "gsprt_test",
    "hoeffding_margin",
    "hoeffding_n",
    "hoeffding_probability",
    "include",
    "krippendorff_alpha",
    "level_shares",
    "margin_effect",
    "margin_looks",
    "margin_test",
    "mcnemar_exact",
    "mcnemar_n",
    "mcnemar_p",
    "mcnemar_power",
    "mcnemar_theta",
    "move",
    "next_look",
    "next_place",
    "normal_tails",
    "one_sample_n",
    "paired_binary_effect",
    "paired_sd",
    "paired_t",
    "pooled_test",
    "quantile",
    "quantile_sum",
    "ratio_test",
    "repeats_boundaries",
    "repeats_exact",
    "repeats_of",
    "repeats_schedule",
    "repeats_sequential",
    "schedule",
    "serfling_margin",
    "serfling_n",
    "serfling_probability",
    "share_evidence",
    "share_of_alpha",
    "sign_flip",
    "soonest_pass",
    "statistic_test",
    "student_t",
    "target_z",
    "two_sample_n",
    "two_sample_z",
    "unconditional_exact",
    "unconditional_n",
    "unconditional_power",
    "unconditional_theta",
    "units_of",
    "unseen_n",
    "variance_parts",
    "visible_drop",
    "weighted_bootstrap",
    "welch_t",
]

from .annotation import AnnotationPlan, annotation_plan
from .checks import Check, as_rows, plan_checks, split_of, split_of_pairs
from .cost import Cost, Estimate, estimates, hardware_here
from .design import planned_judge, planned_model
from .model import ModelKey, PlannedModel
from .noise import Noise, noise_of
from .overall import AlphaSplit
from .samples import ASSUMED_DISCORDANCE, Plan, plan
from .validation import probe, validate

__all__ = [
    "ASSUMED_DISCORDANCE",
    "AlphaSplit",
    "AnnotationPlan",
    "Check",
    "Cost",
    "Estimate",
    "ModelKey",
    "Noise",
    "Plan",
    "PlannedModel",
    "annotation_plan",
    "as_rows",
    "estimates",
    "hardware_here",
    "noise_of",
    "plan",
    "plan_checks",
    "planned_judge",
    "planned_model",
    "probe",
    "split_of",
    "split_of_pairs",
    "validate",
]

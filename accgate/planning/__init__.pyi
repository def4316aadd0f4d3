from .annotation import AnnotationPlan, annotation_plan
from .checks import Check, as_rows, plan_checks, validate
from .cost import Cost, Estimate, estimates, hardware_here
from .model import PlannedModel
from .noise import Noise, noise_of
from .samples import ASSUMED_DISCORDANCE, Plan, plan

__all__ = [
    "ASSUMED_DISCORDANCE",
    "AnnotationPlan",
    "Check",
    "Cost",
    "Estimate",
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
    "validate",
]

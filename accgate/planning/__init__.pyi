from .annotation import AnnotationPlan, annotation_plan
from .checks import Check, as_rows, engine_of, plan_checks, validate
from .cost import Cost, Estimate, estimates, hardware_here
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
    "annotation_plan",
    "as_rows",
    "engine_of",
    "estimates",
    "hardware_here",
    "noise_of",
    "plan",
    "plan_checks",
    "validate",
]

from . import recorded
from .base import Engine, LogProbs, Reply, Request, RequestFailed, Scorer, cpu_name
from .llamacpp import NoModel, found_model, model_path
from .openai.options import url_fault
from .operational import parted
from .recorded import replayed
from .table import create, unchecked

__all__ = [
    "Engine",
    "LogProbs",
    "NoModel",
    "Reply",
    "Request",
    "RequestFailed",
    "Scorer",
    "cpu_name",
    "create",
    "found_model",
    "model_path",
    "parted",
    "recorded",
    "replayed",
    "unchecked",
    "url_fault",
]

from .base import Engine, LogProbs, ModelTable, Reply, Request, RequestFailed, Scorer, cpu_name
from .openai.options import url_fault
from .recorded import replayed
from .table import check_options, create, model_file, split_options

__all__ = [
    "Engine",
    "LogProbs",
    "ModelTable",
    "Reply",
    "Request",
    "RequestFailed",
    "Scorer",
    "check_options",
    "cpu_name",
    "create",
    "model_file",
    "replayed",
    "split_options",
    "url_fault",
]

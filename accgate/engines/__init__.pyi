from .base import Engine, LogProbs, Reply, Request, RequestFailed, all_or_first_error, useful_in_flight
from .identity import FINGERPRINT, union_of
from .openai.options import url_fault
from .reasoning import split_reasoning
from .recording import recording_of
from .table import model_file, split_options, split_parts

__all__ = [
    "FINGERPRINT", "Engine", "LogProbs", "Reply", "Request", "RequestFailed", "all_or_first_error",
    "model_file", "recording_of", "split_options", "split_parts", "split_reasoning", "union_of", "url_fault",
    "useful_in_flight",
]  # fmt: skip

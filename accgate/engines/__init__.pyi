from .base import (
    Engine,
    LogProbs,
    ModelTable,
    Reply,
    Request,
    RequestFailed,
    Scorer,
    ServerEngine,
    all_replies,
    cpu_name,
    useful_in_flight,
)
from .identity import FINGERPRINT, Identity, change_of, fingerprints_of, identity_of, may_mix, union_of
from .openai.listing import settings_to_keep
from .openai.options import is_this_machine, url_fault
from .openai.probe import ask_server
from .reasoning import opened_by, split_reasoning
from .recording import recording_of
from .table import check_options, create, determinism, model_file, server_engine, split_options, split_parts

__all__ = [
    "FINGERPRINT",
    "Engine",
    "Identity",
    "LogProbs",
    "ModelTable",
    "Reply",
    "Request",
    "RequestFailed",
    "Scorer",
    "ServerEngine",
    "all_replies",
    "ask_server",
    "change_of",
    "check_options",
    "cpu_name",
    "create",
    "determinism",
    "fingerprints_of",
    "identity_of",
    "is_this_machine",
    "may_mix",
    "model_file",
    "opened_by",
    "recording_of",
    "server_engine",
    "settings_to_keep",
    "split_options",
    "split_parts",
    "split_reasoning",
    "union_of",
    "url_fault",
    "useful_in_flight",
]

from . import proposal, publication
from .api.client import Client
from .api.failures import CannotPublish
from .commands import command, mask
from .event import Event, read_event
from .history_branch import Place, push, refuse_other_branch
from .opening import start
from .outcome import FAIL_ON
from .response import respond
from .trees import Trees

__all__ = [
    "FAIL_ON",
    "CannotPublish",
    "Client",
    "Event",
    "Place",
    "Trees",
    "command",
    "mask",
    "proposal",
    "publication",
    "push",
    "read_event",
    "refuse_other_branch",
    "respond",
    "start",
]

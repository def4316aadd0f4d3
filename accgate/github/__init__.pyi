from . import proposal, publication
from .api.answers import CannotPublish
from .api.client import Client
from .branch import push_files, refuse_other_branch
from .event import Event, read_event
from .outcome import FAIL_ON
from .publication import start
from .response import respond
from .rules import Trees
from .runner import command, mask

__all__ = [
    "FAIL_ON",
    "CannotPublish",
    "Client",
    "Event",
    "Trees",
    "command",
    "mask",
    "proposal",
    "publication",
    "push_files",
    "read_event",
    "refuse_other_branch",
    "respond",
    "start",
]

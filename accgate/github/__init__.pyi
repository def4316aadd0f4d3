from . import proposal, publication
from .admission import start, state_of, write_state
from .api.answers import CannotPublish
from .api.client import Client
from .branch import push_files, refuse_other_branch
from .event import Event, read_event
from .outcome import FAIL_ON
from .response import respond
from .rules import Trees
from .runner import command, mask
from .troubles import trouble

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
    "state_of",
    "trouble",
    "write_state",
]

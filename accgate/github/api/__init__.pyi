from .client import Client
from .failures import (
    CannotPublish,
    CannotReach,
    CannotRead,
    LimitedTooLong,
    MissingPermission,
    NotFound,
    Refused,
    Uncertain,
    Unreadable,
)
from .fields import number_at, text_at
from .git_data import Commit, Entry, Git

__all__ = [
    "CannotPublish",
    "CannotReach",
    "CannotRead",
    "Client",
    "Commit",
    "Entry",
    "Git",
    "LimitedTooLong",
    "MissingPermission",
    "NotFound",
    "Refused",
    "Uncertain",
    "Unreadable",
    "number_at",
    "text_at",
]

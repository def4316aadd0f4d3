from .answers import (
    CannotPublish,
    CannotReach,
    CannotRead,
    LimitedTooLong,
    MissingPermission,
    NotFound,
    Refused,
    Uncertain,
    Unreadable,
    as_promised,
    number_at,
    text_at,
)
from .client import Client
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
    "as_promised",
    "number_at",
    "text_at",
]

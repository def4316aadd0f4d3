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
from .git_data import Entry, Git

__all__ = [
    "CannotPublish",
    "CannotReach",
    "CannotRead",
    "Client",
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

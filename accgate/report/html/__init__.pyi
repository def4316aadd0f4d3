from .cause import blame_html
from .inline import embed, page_template, policy_hash
from .page import html_report
from .run import Sides, sides_of

__all__ = [
    "Sides",
    "blame_html",
    "embed",
    "html_report",
    "page_template",
    "policy_hash",
    "sides_of",
]

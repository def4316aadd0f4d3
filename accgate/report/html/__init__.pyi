from .cause import blame_html
from .inline import embed, policy_hash
from .page import html_report

__all__ = ["blame_html", "embed", "html_report", "policy_hash"]

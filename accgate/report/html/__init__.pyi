from .inline import embed, policy_hash
from .page import html_report

__all__ = ["embed", "html_report", "policy_hash"]

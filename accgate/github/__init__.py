"""accgate on GitHub: events, approvals, the check run and the comment."""

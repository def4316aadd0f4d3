"""accgate on GitHub, with its API, check runs, comments and approvals."""

"""accgate on GitHub: the event, the API, the comment, the check run, and who may change the rules."""

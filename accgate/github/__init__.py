"""accgate on GitHub, from the event to the comment.

Here are the API, the check run, and who may change the rules.
"""

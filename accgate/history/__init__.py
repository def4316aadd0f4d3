"""The history of a repository's runs.

It is kept as lines that only grow, joined, shown, drawn and published.
"""

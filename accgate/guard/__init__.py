"""The guard of a pull request's rules.

It knows whose rules decide, which of them the pull request changes, and whether that holds.
"""

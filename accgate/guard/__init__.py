"""The guard of a pull request's rules.

It says whose rules decide, and which of them the pull request changes.
"""

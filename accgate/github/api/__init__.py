"""GitHub's REST API, and the branches and files of a repository.

Requests are repeated where that is safe.
"""
